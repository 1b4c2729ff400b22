"""Kept answers in Redis, which forgets them by itself."""

import logging
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    pass

PREFIX = "autoweb:call:"
TIMEOUT_S = 2
"""Of connecting, and of every command: performing the call is quicker than that."""

_log = logging.getLogger(__name__)


class RedisCache:
    """Keeps answers in Redis; all processes and machines that name it share them.

    Args:
        url: `redis://…`, `rediss://…` or `unix://…`.

    Raises:
        ValueError: the URL is wrong.
    """

    def __init__(self, url: str) -> None:
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
        """See `calibrate.redundancy.Cache`."""
        if self._lost:
            return None
        try:
            kept = self._redis.get(PREFIX + key)
        except self._gone as error:
            self._lose(error)
            return None
        return kept if isinstance(kept, str) else None

    def put(self, key: str, text: str, ttl_s: float) -> None:
        """See `calibrate.redundancy.Cache`."""
        if self._lost:
            return
        try:
            self._redis.set(PREFIX + key, text, px=max(1, round(ttl_s * 1000)))
        except self._gone as error:
            self._lose(error)

    def close(self) -> None:
        """See `calibrate.redundancy.Cache`."""
        self._redis.close()

    def _lose(self, error: Exception) -> None:
        """Go on as if empty: asking again would cost the wait again, at every call."""
        self._lost = True
        _log.warning(
            "calls are not answered from Redis any more: %s: %s", type(error).__name__, error
        )
