"""Recognises a call that was made before in the same state, and answers it only if that is safe."""

import hashlib
import json
import math
import time
import unicodedata
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, Protocol

from pytest_autoweb.llm.client import Client, Reply, Request
from pytest_autoweb.llm.model_spec import ModelSpec
from pytest_autoweb.results import Usage
from pytest_autoweb.sandbox.allowed_members import words

TTL_S = 300.0
"""How long an answer may be used again (row 3.1.3 of the seed)."""
TOOLS_VERSION = 1
"""Part of every key: what a tool gives may change with this package."""

READINGS = words(
    "all_inner_texts all_text_contents aria_snapshot count get_attribute inner_html inner_text "
    "input_value text_content title"
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


class SeenCalls:
    """The calls of one attempt, seen at the border of the sandbox (`sandbox.base.SeenCalls`).

    Args:
        look: the page's address and a digest of what it shows; None where it cannot be told.
        cache: where validated readings are kept; None: calls are only counted.
    """

    def __init__(
        self, look: Callable[[Any], tuple[str, str] | None], cache: Cache | None = None
    ) -> None:
        self._look, self._cache = look, cache
        self._epoch = 0
        self._seen: set[str] = set()

    def ask(self, page: Any, method: str, identity: str, *, acting: bool) -> "SeenCall":
        """What is known of a call that is about to be made; it counts as made from now on.

        Args:
            page: Playwright's page.
            method: the call's name.
            identity: receiver, method and arguments, in full.
            acting: whether it may change the page; if so, nothing read before holds any more.
        """
        key = call_hash(method, identity, [page.url, self._epoch])
        duplicate = key in self._seen
        self._seen.add(key)
        if acting:
            self._epoch += 1
        cache = self._cache if method in READINGS and not acting else None
        return SeenCall(cache, lambda: self._state(page), (method, identity), duplicate)

    def _state(self, page: Any) -> PageState | None:
        seen = self._look(page)
        return None if seen is None else PageState(*seen, self._epoch)


class SeenCall:
    """One call: whether it was made before, and the answer if there is a valid one.

    Attributes:
        duplicate: made before, and nothing has acted since.
        answered: `value` is the answer; the call need not be made.
        value: a JSON value.
    """

    def __init__(
        self,
        cache: Cache | None,
        state: Callable[[], PageState | None],
        call: tuple[str, str],
        duplicate: bool,
    ) -> None:
        self._cache, self._state, self._call = cache, state, call
        self.duplicate = duplicate
        self._before = state() if cache else None
        kept = cache.get(self._key(self._before)) if cache and self._before else None
        self.answered = kept is not None
        self.value: Any = json.loads(kept) if kept is not None else None

    def done(self, value: Any) -> None:
        """The call gave this; kept only if the page is now the same as before it."""
        if self._cache is None or self._before is None or self._state() != self._before:
            return
        try:
            self._cache.put(self._key(self._before), canonical(value), TTL_S)
        except (TypeError, ValueError):
            return  # nothing that JSON can hold: it is read anew each time

    def _key(self, state: PageState) -> str:
        return call_hash(*self._call, tuple(state))


class CachingClient:
    """A client that answers identical requests from a cache.

    Only where asking again would give the same (temperature 0), and only whole replies; the repeat
    is part of the key, so repeats of a case stay independent. The plain arm of a correction is a
    repetition by design: at temperature 0 it costs nothing this way, and gains nothing.

    Args:
        client: asked for what is not known.
        spec: the model's settings are part of the key.
        cache: where replies are kept.
    """

    def __init__(self, client: Client, spec: ModelSpec, cache: Cache) -> None:
        self._client, self._spec, self._cache = client, spec, cache

    def complete(self, request: Request) -> Reply:
        """Answer one request; see `Client`."""
        if self._spec.temperature != 0:
            return self._client.complete(request)
        # Where in the run a call belongs does not change its answer, but for the repeat.
        fields = request.model_dump(mode="json", exclude={"attempt", "turn", "stage"})
        key = call_hash("model", fields, self._spec.model_dump(mode="json"))
        if (kept := self._cache.get(key)) is not None:
            return Reply.model_validate_json(kept).model_copy(update={"usage": Usage()})
        reply = self._client.complete(request)
        if reply.finish_reason in ("", "stop"):
            self._cache.put(key, reply.model_dump_json(), TTL_S)
        return reply


def with_reply_cache(client: Client, spec: ModelSpec, cache: Cache | None) -> Client:
    """The client, with a memory where there is a cache."""
    return client if cache is None else CachingClient(client, spec, cache)
