"""Where kept answers of tools lie when they outlive a process: in a store's table, or in Redis."""

import datetime as dt
import logging
from collections.abc import Callable
from pathlib import Path

from sqlalchemy import select
from sqlalchemy.dialects import postgresql, sqlite

from pytest_autoweb.correct.call_cache import Cache
from pytest_autoweb.errors import SettingsError, StoreError
from pytest_autoweb.store.address import read_address, require_packages
from pytest_autoweb.store.database import Store
from pytest_autoweb.store.table_rows import row_id
from pytest_autoweb.store.tables import CachedCall
from pytest_autoweb.values.normal_forms import without_password

PREFIX = "autoweb:call:"
TIMEOUT_S = 2
"""Timeout for connecting and for every command; performing the call again is usually quicker."""

_log = logging.getLogger(__name__)


class RedisCache:
    """A cache in Redis, shared by all processes and machines that use its URL.

    Args:
        url: `redis://…`, `rediss://…` or `unix://…`.

    Raises:
        ValueError: the URL is invalid.
    """

    def __init__(self, url: str) -> None:
        # Late: redis is an optional package, and `open_cache` checks first that it is there.
        from redis import Redis, RedisError

        self._gone = (RedisError, UnicodeError)
        self._redis = Redis.from_url(
            url,
            decode_responses=True,
            socket_timeout=TIMEOUT_S,
            socket_connect_timeout=TIMEOUT_S,
        )
        self._lost = False

    def get(self, key: str) -> str | None:
        """Return a kept answer; see `correct.call_cache.Cache`."""
        if self._lost:
            return None
        try:
            kept = self._redis.get(PREFIX + key)
        except self._gone as error:
            self._lose(error)
            return None
        return kept if isinstance(kept, str) else None

    def put(self, key: str, text: str, ttl_s: float) -> None:
        """Keep an answer; see `correct.call_cache.Cache`."""
        if self._lost:
            return
        try:
            self._redis.set(PREFIX + key, text, px=max(1, round(ttl_s * 1000)))
        except self._gone as error:
            self._lose(error)

    def close(self) -> None:
        """Close the connection; see `correct.call_cache.Cache`."""
        self._redis.close()

    def _lose(self, error: Exception) -> None:
        """Stop using Redis, since every further try would cost the whole timeout again."""
        self._lost = True
        _log.warning(
            "the cache of tool calls in Redis is no longer used: %s: %s",
            type(error).__name__,
            error,
        )


WAIT_S = 2
"""Longest wait for a busy store; performing the call again is usually quicker than this."""

_caches_log = logging.getLogger(__name__)


def open_cache(text: str, *, base: Path | None = None) -> Cache:
    """Open the cache that a URL names: `redis://…`, `rediss://…`, or a store's URL.

    Args:
        text: the URL.
        base: the folder that relative paths in it start from; None means the current folder.

    Raises:
        SettingsError: the URL is invalid, or a package is missing.
    """
    if not text.startswith(("redis://", "rediss://", "unix://")):
        return StoreCache(Store(read_address(text, base=base), wait_s=WAIT_S))
    require_packages("redis", "redis")
    try:
        return RedisCache(text)
    except ValueError as error:
        raise SettingsError(f"{without_password(text)!r}: {error}") from None


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
        _caches_log.warning("the cache of tool calls is no longer used: %s", error)
