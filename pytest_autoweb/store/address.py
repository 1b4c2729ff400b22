"""Where a store is, shown without its password."""

from pathlib import Path

from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError

from pytest_autoweb.errors import SettingsError
from pytest_autoweb.extras import require_extras
from pytest_autoweb.values.normal_forms import without_password

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
    """Return the URL without its password and its driver, as it may be printed."""
    plain = url.set(drivername=url.get_backend_name())
    return without_password(plain.render_as_string(hide_password=True))
