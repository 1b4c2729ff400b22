"""A session's use of its store: queries before a cell, cached answers, and the final write.

Cached tool answers that outlive a process are kept in a table of the store.
"""

import datetime as dt
import logging
import shlex
from collections.abc import Callable
from pathlib import Path

from sqlalchemy import select
from sqlalchemy.dialects import postgresql, sqlite

from pytest_autoweb.base.errors import AutowebError, StoreError
from pytest_autoweb.store import correction_queries
from pytest_autoweb.store.database import Store, display_url, read_address
from pytest_autoweb.store.sync import sync_run
from pytest_autoweb.store.table_rows import row_id
from pytest_autoweb.store.tables import CachedCall

WAIT_S = 2
"""Longest wait for a busy store; performing the call again is usually quicker than this."""

_log = logging.getLogger(__name__)
"""Longest wait for a busy store; without an answer the cell runs all the same."""


def open_store_cache(text: str, *, base: Path | None = None) -> "StoreCache":
    """Open the cache in the store that a URL names.

    Args:
        text: the URL.
        base: the folder that relative paths in it start from; None means the current folder.

    Raises:
        SettingsError: the URL is invalid, or a package is missing.
    """
    return StoreCache(Store(read_address(text, base=base), wait_s=WAIT_S))


class StoreCache:
    """A cache in a store's table `tool_call_cache`, shared by all processes.

    Args:
        store: the store, which is closed together with the cache.
        now: returns the current time with its time zone.
    """

    def __init__(
        self, store: Store, now: Callable[[], dt.datetime] = lambda: dt.datetime.now(dt.UTC)
    ) -> None:
        self._store, self._now = store, now
        self._lost = False

    def get(self, key: str) -> str | None:
        """Return a cached answer; see `Cache`."""
        wanted = select(CachedCall.cached_result).where(
            CachedCall.call_hash == key, CachedCall.expires_at > self._now()
        )
        if self._lost:
            return None
        try:
            with self._store.read() as connection:
                return connection.execute(wanted).scalar()
        except StoreError as error:
            self._lose(error)
            return None

    def put(self, key: str, text: str, ttl_s: float) -> None:
        # Postgres stores no NUL characters in texts.
        if self._lost or "\0" in text:
            return
        now = self._now()
        row = {
            "cached_result": text,
            "created_at": now,
            "expires_at": now + dt.timedelta(seconds=ttl_s),
        }
        try:
            # Single rows need no lock on the whole store, so processes do not queue here.
            with self._store.write(alone=False) as connection:
                dialect = sqlite if connection.dialect.name == "sqlite" else postgresql
                new = dialect.insert(CachedCall).values(
                    id=row_id("cache", key), call_hash=key, **row
                )
                connection.execute(new.on_conflict_do_update(index_elements=["id"], set_=row))
        except StoreError as error:
            self._lose(error)

    def close(self) -> None:
        self._store.close()

    def _lose(self, error: StoreError) -> None:
        """Stop using the store, because every further try would cost the whole wait again."""
        self._lost = True
        _log.warning("the cache of tool calls is no longer used: %s", error)


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
        last: limit on the corrections, the latest ones, that count for a type.
    """
    try:
        with (
            Store(read_address(text, base=rootdir), wait_s=WAIT_S) as store,
            store.read() as connection,
        ):
            return correction_queries.past_corrections(connection, model, arm, last)
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
        last: limit on the choices, the latest ones, that count for a kind.

    Returns:
        For each kind, the counts of wrong choices and of all choices.
    """
    try:
        with (
            Store(read_address(text, base=rootdir), wait_s=WAIT_S) as store,
            store.read() as connection,
        ):
            return correction_queries.past_choices(connection, model, last)
    except StoreError as error:
        _log.warning("the store did not say which elements were mistaken before: %s", error)
        return {}


def store_at_end(text: str, rootdir: Path, folder: Path) -> str:
    """Write a finished run into the store and return one sentence on the result.

    A store that cannot be reached does not fail the run, because its folder has everything.

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
        again = f"autoweb db sync {shlex.quote(str(folder))} --database URL"
        return f"the run is not in the store yet ({error}); nothing is lost: `{again}` catches up"
    return f"stored as {written.run_id[:8]} in {display_url(url)}"
