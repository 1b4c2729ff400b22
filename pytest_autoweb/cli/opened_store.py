"""`--store`, and the store that it names."""

import argparse
import os
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_autoweb.base.errors import SettingsError
from pytest_autoweb.base.installation import extra_of_store, require_extras
from pytest_autoweb.settings.merged_settings import DEFAULT_STORE

if TYPE_CHECKING:
    from pytest_autoweb.store.database import Store


def add_store_option(parser: argparse.ArgumentParser) -> None:
    """Declare `--store`, which is the same for every command that has it."""
    parser.add_argument(
        "--store", metavar="URL", help="the store; default: AUTOWEB_STORE, or " + DEFAULT_STORE
    )


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
    text = text or os.environ.get("AUTOWEB_STORE") or DEFAULT_STORE
    require_extras(*extras, extra_of_store(text))
    # Late, because only the extra brings the packages, which were just asked for.
    from pytest_autoweb.store.database import Store, read_address

    url = read_address(text)
    store = Store(url)
    if must_exist and url.get_backend_name() == "sqlite" and not Path(str(url.database)).exists():
        raise SettingsError(
            f"there is no store {store.display_url}; `pytest --autoweb-store=URL` or "
            "`autoweb store sync --store URL` makes one"
        )
    return store
