"""The removal of old runs from a store; their folders keep everything."""

import datetime as dt

from sqlalchemy import delete, select

from pytest_autoweb.store.opening import Store
from pytest_autoweb.store.rollup import roll_up
from pytest_autoweb.store.sync import reach_of
from pytest_autoweb.store.tables import CachedCall, RunRow


def prune(store: Store, *, before: dt.datetime, now: dt.datetime) -> int:
    """Remove the runs that started before a moment, with everything that belongs to them.

    The roll-ups are computed again from the remaining rows, so they never count removed ones.
    Expired entries of the cache of tool calls are removed as well.

    Args:
        store: the store.
        before: runs that started before this moment are removed; it has a time zone.
        now: the present moment, which decides which entries of the cache are expired.

    Returns:
        How many runs were removed.

    Raises:
        StoreError: the store cannot be written; nothing in it has changed.
    """
    with store.write() as connection:
        old = connection.execute(select(RunRow.id).where(RunRow.started_at < before)).scalars()
        gone = list(old)
        for run in gone:
            reach = reach_of(connection, run)
            connection.execute(delete(RunRow).where(RunRow.id == run))
            roll_up(connection, reach.days, reach.tools)
        connection.execute(delete(CachedCall).where(CachedCall.expires_at <= now))
    return len(gone)
