"""Removes old runs; their folders still have everything."""

import datetime as dt

from sqlalchemy import delete, select

from pytest_autoweb.store.opening import Store
from pytest_autoweb.store.rollup import roll_up
from pytest_autoweb.store.sync import reach_of
from pytest_autoweb.store.tables import CachedCall, RunRow


def prune(store: Store, *, before: dt.datetime, now: dt.datetime) -> int:
    """Remove the runs that started earlier, with all that belongs to them.

    The roll-ups are made anew from what is left, so they never speak of rows that are gone; kept
    answers whose time is over are removed as well.

    Args:
        store: the store.
        before: an aware moment.
        now: the present one.

    Returns:
        How many runs were removed.

    Raises:
        StoreError: the store cannot be written; it is as it was.
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
