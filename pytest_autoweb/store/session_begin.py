"""What a session asks its store before a cell: whether corrections helped so far."""

import logging
from pathlib import Path

from pytest_autoweb.errors import StoreError
from pytest_autoweb.store import queries
from pytest_autoweb.store.address import read_address
from pytest_autoweb.store.opening import Store

WAIT_S = 2
"""Longest wait for a store that is busy: without an answer the cell goes on."""

_log = logging.getLogger(__name__)


def corrections_so_far(
    text: str, rootdir: Path, model: str, arm: str, last: int
) -> dict[str, tuple[int, int]]:
    """Of each failure type's latest corrections: how many helped, and of how many.

    Empty where the store cannot say; the log tells why.

    Args:
        text: the store's URL.
        rootdir: what a relative path in it is relative to.
        model: that corrects.
        arm: the way of correcting.
        last: corrections of a type at most, the latest ones.
    """
    try:
        with (
            Store(read_address(text, base=rootdir), wait_s=WAIT_S) as store,
            store.read() as connection,
        ):
            return queries.past_corrections(connection, model, arm, last)
    except StoreError as error:
        _log.warning("whether corrections helped before is not known: %s", error)
        return {}
