"""Where kept answers of tools lie when they outlive a process: in a store's table, or in Redis."""

import datetime as dt
import logging
from collections.abc import Callable
from pathlib import Path

from sqlalchemy import select
from sqlalchemy.dialects import postgresql, sqlite

from pytest_autoweb.calibrate.redundancy import Cache
from pytest_autoweb.errors import SettingsError, StoreError
from pytest_autoweb.store.address import read_address
from pytest_autoweb.store.extra import need
from pytest_autoweb.store.fields import row_id
from pytest_autoweb.store.opening import Store
from pytest_autoweb.store.redis_cache import RedisCache
from pytest_autoweb.store.tables import CachedCall
from pytest_autoweb.values.urls import without_password

WAIT_S = 2
"""Longest wait for a store that is busy: performing the call is quicker than that."""

_log = logging.getLogger(__name__)


def open_cache(text: str, *, base: Path | None = None) -> Cache:
    """The cache that a URL names: `redis://…`, `rediss://…`, or a store's URL.

    Args:
        text: the URL.
        base: what relative paths in it are relative to; None: the current folder.

    Raises:
        SettingsError: the URL is wrong, or a package is missing.
    """
    if not text.startswith(("redis://", "rediss://", "unix://")):
        return StoreCache(Store(read_address(text, base=base), wait_s=WAIT_S))
    need("redis", "redis")
    try:
        return RedisCache(text)
    except ValueError as error:
        raise SettingsError(f"{without_password(text)!r}: {error}") from None


class StoreCache:
    """Keeps answers in a store's table `tool_call_cache`; all processes share them.

    Args:
        store: closed together with the cache.
        now: the present moment, aware.
    """

    def __init__(
        self, store: Store, now: Callable[[], dt.datetime] = lambda: dt.datetime.now(dt.UTC)
    ) -> None:
        self._store, self._now = store, now
        self._lost = False

    def get(self, key: str) -> str | None:
        """See `Cache`."""
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
        """See `Cache`."""
        if self._lost or "\0" in text:
            return
        now = self._now()
        row = {
            "cached_result": text,
            "created_at": now,
            "expires_at": now + dt.timedelta(seconds=ttl_s),
        }
        try:
            with self._store.write(alone=False) as connection:
                dialect = sqlite if connection.dialect.name == "sqlite" else postgresql
                new = dialect.insert(CachedCall).values(
                    id=row_id("cache", key), call_hash=key, **row
                )
                connection.execute(new.on_conflict_do_update(index_elements=["id"], set_=row))
        except StoreError as error:
            self._lose(error)

    def close(self) -> None:
        """See `Cache`."""
        self._store.close()

    def _lose(self, error: StoreError) -> None:
        """Go on as if empty: asking again would cost the wait again, at every call."""
        self._lost = True
        _log.warning("calls are not answered from the cache any more: %s", error)
