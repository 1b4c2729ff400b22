"""Keeps answers of tools that outlive a process, in a store's table."""

import datetime as dt
import logging
from collections.abc import Callable
from pathlib import Path

from sqlalchemy import select
from sqlalchemy.dialects import postgresql, sqlite

from pytest_autoweb.errors import StoreError
from pytest_autoweb.store.database import Store, read_address
from pytest_autoweb.store.table_rows import row_id
from pytest_autoweb.store.tables import CachedCall

WAIT_S = 2
"""Longest wait for a busy store; performing the call again is usually quicker than this."""

_log = logging.getLogger(__name__)


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
        now: returns the present moment with its time zone.
    """

    def __init__(
        self, store: Store, now: Callable[[], dt.datetime] = lambda: dt.datetime.now(dt.UTC)
    ) -> None:
        self._store, self._now = store, now
        self._lost = False

    def get(self, key: str) -> str | None:
        """Return a kept answer; see `Cache`."""
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
        """Keep an answer; see `Cache`."""
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
            # One row at a time needs no hold on the whole store, so processes do not queue here.
            with self._store.write(alone=False) as connection:
                dialect = sqlite if connection.dialect.name == "sqlite" else postgresql
                new = dialect.insert(CachedCall).values(
                    id=row_id("cache", key), call_hash=key, **row
                )
                connection.execute(new.on_conflict_do_update(index_elements=["id"], set_=row))
        except StoreError as error:
            self._lose(error)

    def close(self) -> None:
        """Close the store; see `Cache`."""
        self._store.close()

    def _lose(self, error: StoreError) -> None:
        """Stop using the store, since every further try would cost the whole wait again."""
        self._lost = True
        _log.warning("the cache of tool calls is no longer used: %s", error)
