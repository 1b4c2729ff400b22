"""What a session asks its store before a cell, and writes to it at its end."""

import logging
import shlex
from pathlib import Path

from pytest_autoweb.errors import AutowebError, StoreError
from pytest_autoweb.store import call_queries
from pytest_autoweb.store.database import Store, display_url, read_address
from pytest_autoweb.store.sync import sync_run

WAIT_S = 2
"""Longest wait for a busy store; without an answer the cell runs all the same."""

_log = logging.getLogger(__name__)


def corrections_so_far(
    text: str, rootdir: Path, model: str, arm: str, last: int
) -> dict[str, tuple[int, int]]:
    """Return for each failure type how many of its latest corrections helped, and their number.

    The result is empty when the store does not answer; the log then says why.

    Args:
        text: the store's URL.
        rootdir: the folder that a relative path in the URL starts from.
        model: the model that corrects.
        arm: the way of correcting.
        last: the most corrections that count for a type; the latest ones do.
    """
    try:
        with (
            Store(read_address(text, base=rootdir), wait_s=WAIT_S) as store,
            store.read() as connection,
        ):
            return call_queries.past_corrections(connection, model, arm, last)
    except StoreError as error:
        _log.warning("the store did not say whether corrections helped before: %s", error)
        return {}


def mistaken_kinds(text: str, rootdir: Path, model: str, last: int) -> dict[str, tuple[int, int]]:
    """Return for each kind of element how many of a model's latest choices were wrong.

    The result is empty when the store does not answer; the log then says why.

    Args:
        text: the store's URL.
        rootdir: the folder that a relative path in the URL starts from.
        model: the model that chooses.
        last: the most choices that count for a kind; the latest ones do.

    Returns:
        For each kind the wrong choices and all choices.
    """
    try:
        with (
            Store(read_address(text, base=rootdir), wait_s=WAIT_S) as store,
            store.read() as connection,
        ):
            return call_queries.past_choices(connection, model, last)
    except StoreError as error:
        _log.warning("the store did not say which elements were mistaken before: %s", error)
        return {}


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
