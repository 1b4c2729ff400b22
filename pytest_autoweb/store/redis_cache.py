"""Caches tool answers in Redis, which needs none of the store's other packages."""

import logging

from pytest_autoweb.base.errors import SettingsError
from pytest_autoweb.base.installation import require_extras
from pytest_autoweb.base.values.normal_forms import without_password

SCHEMES = ("redis://", "rediss://", "unix://")
PREFIX = "autoweb:call:"
TIMEOUT_S = 2
"""Timeout for connecting and for every command; performing the call again is usually quicker."""

_log = logging.getLogger(__name__)


def open_redis_cache(url: str) -> "RedisCache":
    """Open the cache at a URL.

    Args:
        url: `redis://…`, `rediss://…` or `unix://…`.

    Raises:
        SettingsError: the URL is invalid, or a package is missing.
    """
    require_extras("redis")
    try:
        return RedisCache(url)
    except ValueError as error:
        raise SettingsError(f"{without_password(url)!r}: {error}") from None


class RedisCache:
    """A cache in Redis, shared by all processes and machines that use its URL.

    Args:
        url: `redis://…`, `rediss://…` or `unix://…`.

    Raises:
        ValueError: the URL is invalid.
    """

    def __init__(self, url: str) -> None:
        # Late, because redis is an extra, and `open_redis_cache` checks first that it is there.
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
        """Return a cached answer; see `correct.call_cache.Cache`."""
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
        """Stop using Redis, because every further try would cost the whole timeout again."""
        self._lost = True
        _log.warning(
            "the cache of tool calls in Redis is no longer used: %s: %s",
            type(error).__name__,
            error,
        )
