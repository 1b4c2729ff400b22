"""Opens a store: one transaction at a time writes, however many processes want to.

A writer takes the whole database first (SQLite: `BEGIN IMMEDIATE`; Postgres: an advisory lock for
the length of the transaction), because roll-ups are made from the rows of many runs: two writers
side by side would each miss the other's.
"""

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Self

from sqlalchemy import Connection, Engine, create_engine, event, text
from sqlalchemy.engine import URL
from sqlalchemy.exc import SQLAlchemyError

from pytest_autoweb.errors import StoreError
from pytest_autoweb.store.address import shown
from pytest_autoweb.store.migrating import migrate

WAIT_S = 60
"""Longest wait for another writer."""
CONNECT_S = 10

_LOCK = 0x6175746F776562
"""The advisory lock's number: "autoweb"."""


class Store:
    """An open store.

    Args:
        url: as `address.read_address` gives it.
        wait_s: longest wait for another writer.
    """

    def __init__(self, url: URL, *, wait_s: int = WAIT_S) -> None:
        self.shown = shown(url)
        self._wait_s = wait_s
        self._password = url.password or ""
        self._sqlite = url.get_backend_name() == "sqlite"
        self._engine = _sqlite_engine(url, wait_s) if self._sqlite else _postgres_engine(url)
        self._migrated = False

    @contextmanager
    def write(self, *, alone: bool = True) -> Iterator[Connection]:
        """A transaction that writes; tables are brought up to date first.

        Args:
            alone: hold the whole store, as is needed by what is made from the rows of many runs.

        Raises:
            StoreError: it cannot be reached, was written by a newer version, or refuses.
        """
        with self._told(), self._engine.connect() as connection:
            connection = connection.execution_options(autoweb_write=True)
            with connection.begin():
                if not self._sqlite and (alone or not self._migrated):
                    connection.execute(text(f"SET LOCAL lock_timeout = '{self._wait_s}s'"))
                    connection.execute(text(f"SELECT pg_advisory_xact_lock({_LOCK})"))
                if not self._migrated:
                    migrate(connection)
                yield connection
            self._migrated = True

    @contextmanager
    def read(self) -> Iterator[Connection]:
        """A transaction that only reads, from one state of the store.

        Raises:
            StoreError: as `write`.
        """
        if not self._migrated:
            with self.write():
                pass
        with self._told(), self._engine.connect() as connection:
            if not self._sqlite:
                connection = connection.execution_options(isolation_level="REPEATABLE READ")
            with connection.begin():
                yield connection

    def close(self) -> None:
        """Let go of all connections."""
        self._engine.dispose()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    @contextmanager
    def _told(self) -> Iterator[None]:
        """Says which store it was, and never its password."""
        try:
            yield
        except (SQLAlchemyError, OSError) as error:
            reason = str(getattr(error, "orig", None) or error).strip()
            if self._password:
                reason = reason.replace(self._password, "***")
            raise StoreError(f"the store {self.shown}: {reason}") from None


def _sqlite_engine(url: URL, wait_s: int) -> Engine:
    engine = create_engine(url, connect_args={"timeout": wait_s})

    # https://docs.sqlalchemy.org/en/20/dialects/sqlite.html: the driver's own way of beginning
    # transactions would leave changes of the schema outside of them.
    @event.listens_for(engine, "do_connect")
    def make_folder(*_: Any) -> None:
        Path(str(url.database)).parent.mkdir(parents=True, exist_ok=True)

    @event.listens_for(engine, "connect")
    def configure(connection: sqlite3.Connection, _: Any) -> None:
        connection.isolation_level = None
        connection.execute("PRAGMA foreign_keys = ON")

    @event.listens_for(engine, "begin")
    def begin(connection: Connection) -> None:
        writes = connection.get_execution_options().get("autoweb_write")
        connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")

    return engine


def _postgres_engine(url: URL) -> Engine:
    return create_engine(url, connect_args={"connect_timeout": CONNECT_S}, pool_pre_ping=True)
