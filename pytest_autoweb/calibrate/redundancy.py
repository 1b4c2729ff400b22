"""Recognise a call that was made before in the same state, and answer it only if that is safe.

Only readings are ever answered from the cache, and only while the page is provably the same; what
acts on the page is counted when it is repeated, and always performed. Failures are never kept.
"""

import hashlib
import json
import math
import time
import unicodedata
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

TTL_S = 300.0
"""How long an answer may be used again (row 3.1.3 of the seed)."""
TOOLS_VERSION = 1
"""Part of every key: what a tool gives may change with this package."""

READINGS = frozenset(
    "all_inner_texts all_text_contents aria_snapshot count get_attribute inner_html inner_text "
    "input_value text_content title".split()
)
"""Calls that only read what the digest of the page covers."""


class Cache(Protocol):
    """Keeps texts for a while: in memory, in a file, or in Redis.

    One that cannot answer (a lost connection) behaves as if it were empty, and says so once in the
    log of its own: a cache must never fail a run.
    """

    def get(self, key: str) -> str | None:
        """The text kept under a key, or None when there is none or its time is over."""
        ...

    def put(self, key: str, text: str, ttl_s: float) -> None:
        """Keep a text for so many seconds; a text already there is replaced."""
        ...

    def close(self) -> None:
        """Let go of files and connections; safe to call twice."""
        ...


class MemoryCache:
    """Keeps texts in this process.

    Args:
        now: seconds on a clock that never goes back.
        most: texts kept; beyond it the oldest go.
    """

    def __init__(self, now: Callable[[], float] = time.monotonic, *, most: int = 10_000) -> None:
        self._now, self._most = now, most
        self._kept: dict[str, tuple[float, str]] = {}

    def get(self, key: str) -> str | None:
        """See `Cache`."""
        until, text = self._kept.get(key, (-math.inf, ""))
        if self._now() < until:
            return text
        self._kept.pop(key, None)
        return None

    def put(self, key: str, text: str, ttl_s: float) -> None:
        """See `Cache`."""
        self._kept.pop(key, None)
        self._kept[key] = (self._now() + ttl_s, text)
        while len(self._kept) > self._most:
            del self._kept[next(iter(self._kept))]

    def close(self) -> None:
        """See `Cache`."""
        self._kept.clear()


class PageState(NamedTuple):
    """What a reading depends on."""

    url: str
    digest: str
    """Of the document as it stands."""
    epoch: int
    """Acting calls so far."""


def canonical(value: Any) -> str:
    """A JSON value as text that is the same for the same value, however it was put together.

    Keys are sorted at every level, texts are in Unicode's form NFC, null is kept. `1`, `1.0`,
    `true` and `"1"` stay four different values.

    Raises:
        TypeError: it holds something that JSON has no form for.
        ValueError: it holds infinity or NaN.
    """
    return json.dumps(_plain(value), ensure_ascii=False, allow_nan=False, separators=(",", ":"))


def _plain(value: Any) -> Any:
    if isinstance(value, str):
        return unicodedata.normalize("NFC", value)
    if isinstance(value, Mapping):
        if not all(isinstance(key, str) for key in value):
            raise TypeError("only text can be a key")
        pairs = [(_plain(key), _plain(inner)) for key, inner in value.items()]
        return dict(sorted(pairs, key=lambda pair: str(pair[0])))
    if isinstance(value, list | tuple):
        return [_plain(inner) for inner in value]
    if isinstance(value, float):
        # -0.0 and 0.0 are equal, and repr() of floats is the shortest that reads back.
        return value + 0.0 if value else 0.0
    if value is None or isinstance(value, bool | int):
        return value
    raise TypeError(f"{type(value).__name__} has no canonical form")


def call_hash(tool: str, arguments: Any, state: Any = None) -> str:
    """SHA-256 of a call: 64 hexadecimal digits.

    Args:
        tool: its name.
        arguments: a JSON value; two calls without arguments of different tools differ all the same.
        state: what the answer depends on beside the arguments, e.g. a `PageState`.

    Raises:
        TypeError: see `canonical`.
        ValueError: see `canonical`.
    """
    text = canonical([TOOLS_VERSION, tool, arguments, state])
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


class Answer(NamedTuple):
    """A kept answer."""

    value: Any


@dataclass(slots=True)
class _Asked:
    key: str | None
    """None: not to be kept."""
    state: PageState | None


class Recall:
    """The calls of one attempt, seen at the border of the sandbox (`sandbox.base.Recall`).

    Args:
        cache: where validated readings are kept.
        look: the page's address and a digest of what it shows; None where it cannot be told.
    """

    def __init__(self, cache: Cache, look: Callable[[Any], tuple[str, str] | None]) -> None:
        self._cache, self._look = cache, look
        self._epoch = 0
        self._seen: set[str] = set()

    def repeated(self, target: str, method: str, arguments: str, url: str) -> bool:
        """Whether this very call was made since something last acted; asking also notes it."""
        key = call_hash(f"{target}.{method}", arguments, [url, self._epoch])
        before = key in self._seen
        self._seen.add(key)
        return before

    def acted(self) -> None:
        """Something acted on the page: what was read before may be wrong now."""
        self._epoch += 1

    def read(self, page: Any, target: str, method: str, arguments: str) -> Answer | None:
        """A kept answer to a reading, if the page is still the same; None: perform it."""
        key, _ = self._key(page, target, method, arguments)
        kept = self._cache.get(key) if key else None
        return None if kept is None else Answer(json.loads(kept))

    def keep(
        self, page: Any, target: str, method: str, arguments: str, value: Any, before: Any
    ) -> None:
        """Keep what was read, if it is valid: the page is the same after the reading as before.

        Args:
            page: Playwright's page.
            target: what was read from.
            method: the reading.
            arguments: as shown.
            value: what came back; only JSON values are kept.
            before: what `state` gave before the reading.
        """
        key, state = self._key(page, target, method, arguments)
        if key is None or state != before:
            return
        try:
            self._cache.put(key, canonical(value), TTL_S)
        except (TypeError, ValueError):
            return

    def state(self, page: Any) -> PageState | None:
        """The page's state now; None where it cannot be told."""
        seen = self._look(page)
        return None if seen is None else PageState(*seen, self._epoch)

    def _key(
        self, page: Any, target: str, method: str, arguments: str
    ) -> tuple[str | None, PageState | None]:
        state = self.state(page) if method in READINGS else None
        if state is None:
            return None, None
        return call_hash(f"{target}.{method}", arguments, state), state
