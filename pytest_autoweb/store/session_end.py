"""The writing of a finished session's run into its store."""

import shlex
from pathlib import Path

from pytest_autoweb.errors import AutowebError
from pytest_autoweb.store.address import display_url, read_address
from pytest_autoweb.store.opening import Store
from pytest_autoweb.store.sync import sync_run


def store_at_end(text: str, rootdir: Path, folder: Path) -> str:
    """Write a finished run into the store and return one sentence that says how that went.

    A store that cannot be reached does not fail the run, since its folder has everything.

    Args:
        text: the store's URL.
        rootdir: the folder that a relative path in the URL starts from.
        folder: the run folder.
    """
    url = read_address(text, base=rootdir)
    try:
        with Store(url) as store:
            written = sync_run(store, folder)
    except (AutowebError, OSError) as error:
        again = f"autoweb store sync {shlex.quote(str(folder))} --store URL"
        return f"the run is not in the store yet ({error}); nothing is lost: `{again}` catches up"
    return f"stored as {written.run_id[:8]} in {display_url(url)}"
