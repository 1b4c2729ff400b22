"""A store's address, and the open store: migrated to the newest version, one writer at a time."""

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Self

from alembic import command
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, Engine, create_engine, event, text
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError, SQLAlchemyError

from pytest_autoweb.base.errors import SettingsError, StoreError
from pytest_autoweb.base.installation import require_extras
from pytest_autoweb.base.values.normal_forms import without_password

_DRIVERS = {
    "sqlite": "sqlite+pysqlite",
    "postgres": "postgresql+psycopg",
    "postgresql": "postgresql+psycopg",
}


def read_address(text: str, *, base: Path | None = None) -> URL:
    """Read the URL of a store and check it.

    Args:
        text: `sqlite:///PATH`, `sqlite:////ABSOLUTE/PATH` or `postgresql://USER:…@HOST/DATABASE`.
        base: the folder that relative paths start from; None means the current folder.

    Raises:
        SettingsError: it is none of these. The message never contains the password.
    """
    try:
        # A half of a pair, as a byte of the command line that is no UTF-8, cannot be sent or shown.
        text.encode()
        url = make_url(text)
    except (ArgumentError, ValueError):
        raise SettingsError(
            f"{without_password(text)!r} is not the URL of a store; write sqlite:///PATH or "
            "postgresql://USER:PASSWORD@HOST/DATABASE"
        ) from None
    driver = _DRIVERS.get(url.drivername, url.drivername)
    if driver not in _DRIVERS.values():
        raise SettingsError(
            f"{without_password(text)!r}: a store is kept in SQLite (sqlite:///PATH) or in "
            f"Postgres (postgresql://…), not in {url.drivername}"
        )
    url = url.set(drivername=driver)
    if driver != _DRIVERS["sqlite"]:
        require_extras("postgres")
        return url
    if not url.database or url.database.startswith((":", "file:")):
        raise SettingsError(f"{text!r} names no file; write sqlite:///PATH")
    return url.set(database=str((base or Path()) / url.database))


def display_url(url: URL) -> str:
    """Return the URL for printing, without its password and driver."""
    plain = url.set(drivername=url.get_backend_name())
    return without_password(plain.render_as_string(hide_password=True))


_FOLDER = Path(__file__).parent / "migrations"


def migrate(connection: Connection) -> None:
    """Migrate the tables to the newest version, inside the connection's transaction.

    Raises:
        StoreError: the tables were written by a newer version of this package.
    """
    config = Config()
    # Alembic's options go through configparser, which would expand a lone percent sign.
    config.set_main_option("script_location", str(_FOLDER).replace("%", "%%"))
    config.set_main_option("path_separator", "os")
    scripts = ScriptDirectory.from_config(config)
    known = {script.revision for script in scripts.walk_revisions()}
    current = MigrationContext.configure(connection).get_current_revision()
    if current == scripts.get_current_head():
        return
    if current is not None and current not in known:
        raise StoreError(
            f"the store was written by a newer version of pytest-autoweb (revision {current}); "
            "update this package"
        )
    config.attributes["connection"] = connection
    command.upgrade(config, "head")


WAIT_S = 60
"""Longest wait for another writer."""
CONNECT_S = 10

_LOCK = 0x6175746F776562
"""The key of the advisory lock: "autoweb" in ASCII."""


class Store:
    """An open store.

    Args:
        url: the address, as `read_address` returns it.
        wait_s: the longest wait for another writer.
    """

    def __init__(self, url: URL, *, wait_s: int = WAIT_S) -> None:
        self.display_url = display_url(url)
        self._wait_s = wait_s
        self._password = url.password or ""
        self._sqlite = url.get_backend_name() == "sqlite"
        self._engine = _sqlite_engine(url, wait_s) if self._sqlite else _postgres_engine(url)
        self._migrated = False

    @contextmanager
    def write(self, *, alone: bool = True) -> Iterator[Connection]:
        """Open a transaction that writes, after bringing the tables up to date.

        Args:
            alone: lock the whole store, as roll-ups need.

        Raises:
            StoreError: the store cannot be reached, was written by a newer version of this
                package, or refuses the transaction.
        """
        with self._told(), self._engine.connect() as connection:
            connection = connection.execution_options(autoweb_write=True)
            with connection.begin():
                if not self._sqlite and (alone or not self._migrated):
                    # Both end with the transaction, so no connection goes back to the pool with a
                    # lock.
                    connection.execute(text(f"SET LOCAL lock_timeout = '{self._wait_s}s'"))
                    connection.execute(text(f"SELECT pg_advisory_xact_lock({_LOCK})"))
                if not self._migrated:
                    migrate(connection)
                yield connection
            # Only after the commit, because a transaction that is rolled back has migrated nothing.
            self._migrated = True

    @contextmanager
    def read(self) -> Iterator[Connection]:
        """Open a transaction that only reads and sees one consistent state of the store.

        Raises:
            StoreError: for the same reasons as `write`.
        """
        # Reading needs up-to-date tables too, and only `write` migrates them.
        if not self._migrated:
            with self.write():
                pass
        with self._told(), self._engine.connect() as connection:
            # Postgres shows other writers' commits between two queries unless told otherwise.
            if not self._sqlite:
                connection = connection.execution_options(isolation_level="REPEATABLE READ")
            with connection.begin():
                yield connection

    def close(self) -> None:
        """Close all connections."""
        self._engine.dispose()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    @contextmanager
    def _told(self) -> Iterator[None]:
        """Turn database errors into one that names the store but never its password."""
        try:
            yield
        except (SQLAlchemyError, OSError) as error:
            reason = str(getattr(error, "orig", None) or error).strip()
            if self._password:
                reason = reason.replace(self._password, "***")
            raise StoreError(f"the store {self.display_url}: {reason}") from None


def _sqlite_engine(url: URL, wait_s: int) -> Engine:
    engine = create_engine(url, connect_args={"timeout": wait_s})

    # The driver would begin transactions itself and leave changes of the schema outside of them:
    # https://docs.sqlalchemy.org/en/20/dialects/sqlite.html
    @event.listens_for(engine, "do_connect")
    def make_folder(*_: Any) -> None:
        Path(str(url.database)).parent.mkdir(parents=True, exist_ok=True)

    @event.listens_for(engine, "connect")
    def configure(connection: sqlite3.Connection, _: Any) -> None:
        connection.isolation_level = None
        connection.execute("PRAGMA foreign_keys = ON")

    @event.listens_for(engine, "begin")
    def begin(connection: Connection) -> None:
        # A plain BEGIN takes the write lock only at the first write and can then fail at once
        # instead of waiting, because another process wrote in between.
        writes = connection.get_execution_options().get("autoweb_write")
        connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")

    return engine


def _postgres_engine(url: URL) -> Engine:
    # The ping replaces a connection that the server has closed since its last use.
    return create_engine(url, connect_args={"connect_timeout": CONNECT_S}, pool_pre_ping=True)
