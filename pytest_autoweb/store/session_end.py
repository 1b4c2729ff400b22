"""What a session does with its store: a look at the URL before, the run's rows after."""

import shlex
from pathlib import Path

from pytest_autoweb.errors import AutowebError
from pytest_autoweb.store.address import read_address, shown
from pytest_autoweb.store.opening import Store
from pytest_autoweb.store.sync import sync_run


def store_at_end(text: str, rootdir: Path, folder: Path) -> str:
    """Write a finished run; what to tell about it, in one sentence.

    A store that cannot be reached is no failure of the run, whose folder has everything.

    Args:
        text: the store's URL.
        rootdir: what a relative path in it is relative to.
        folder: the run's.
    """
    url = read_address(text, base=rootdir)
    try:
        with Store(url) as store:
            written = sync_run(store, folder)
    except (AutowebError, OSError) as error:
        again = f"autoweb store sync {shlex.quote(str(folder))} --store URL"
        return f"the run is not in the store yet ({error}); nothing is lost: `{again}` catches up"
    return f"stored as {written.run_id[:8]} in {shown(url)}"
