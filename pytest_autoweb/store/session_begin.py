"""The question to the store before a cell runs: have corrections helped so far?"""

import logging
from pathlib import Path

from pytest_autoweb.errors import StoreError
from pytest_autoweb.store import queries
from pytest_autoweb.store.address import read_address
from pytest_autoweb.store.opening import Store

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
            return queries.past_corrections(connection, model, arm, last)
    except StoreError as error:
        _log.warning("the store did not say whether corrections helped before: %s", error)
        return {}
