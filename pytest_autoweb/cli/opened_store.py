"""`--database`, and the store that it names."""

import argparse
import os
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_autoweb.base.errors import SettingsError
from pytest_autoweb.base.installation import extra_of_store, require_extras
from pytest_autoweb.settings.merged_settings import DEFAULT_STORE

if TYPE_CHECKING:
    from pytest_autoweb.store.database import Store


def add_database_argument(parser: argparse.ArgumentParser) -> None:
    """Declare `--database`, which is the same for every command that has it."""
    parser.add_argument(
        "--database",
        metavar="URL",
        help=f"the database; default: AUTOWEB_DATABASE, or {DEFAULT_STORE}",
    )
    # The name of earlier versions.
    parser.add_argument("--store", dest="database", default=None, help=argparse.SUPPRESS)


def open_store(
    text: str | None, *, extras: tuple[str, ...] = (), must_exist: bool = True
) -> "Store":
    """Return the store that the command line or the environment names.

    Args:
        text: the URL on the command line, if there is one.
        extras: what the command needs besides the store, for one message about all of it.
        must_exist: refuse a SQLite file that is not there; a new one would only hide a wrong name.

    Raises:
        SettingsError: the URL is invalid, there is no such file, or a package is missing.
    """
    given = map(os.environ.get, ("AUTOWEB_DATABASE", "AUTOWEB_STORE"))
    text = text or next(filter(None, given), DEFAULT_STORE)
    require_extras(*extras, extra_of_store(text))
    # Late, because only the extra brings the packages, which were just asked for.
    from pytest_autoweb.store.database import Store, read_address

    url = read_address(text)
    store = Store(url)
    if must_exist and url.get_backend_name() == "sqlite" and not Path(str(url.database)).exists():
        raise SettingsError(
            f"there is no database {store.display_url}; `pytest --autoweb-database=URL` or "
            "`autoweb db sync --database URL` makes one"
        )
    return store
