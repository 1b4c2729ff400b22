"""Recognises repeated calls in an unchanged state, and answers them if that is safe."""

import hashlib
import json
import math
import time
import unicodedata
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, Protocol

from pytest_autoweb.models.client import Client
from pytest_autoweb.models.messages import Reply, Request
from pytest_autoweb.models.model_spec import ModelSpec
from pytest_autoweb.results.records import Usage
from pytest_autoweb.sandbox.allowed_members import words

TTL_S = 300.0
"""Time for which an answer may be reused."""
TOOLS_VERSION = 1
"""Part of every key; raise it when this package changes the result of a tool."""

READINGS = words(
    "all_inner_texts all_text_contents aria_snapshot count get_attribute inner_html inner_text "
    "input_value text_content title"
)
"""Calls that only read data covered by the page's digest, so that equal digests give equal
answers."""


SETTINGS = words(
    "check clear fill focus goto hover scroll_into_view_if_needed select_option select_text "
    "set_checked set_input_files set_viewport_size uncheck"
)
"""Calls that establish a named state, and so have no effect if it already holds."""


class Cache(Protocol):
    """A store that keeps texts for a limited time: in memory, in a file, or in Redis.

    A store that cannot answer, e.g. without a connection, behaves as if it were empty and logs this
    once, because a cache must never make a run fail.
    """

    def get(self, key: str) -> str | None:
        """Return the text under a key, or None if there is none or it has expired."""
        ...

    def put(self, key: str, text: str, ttl_s: float) -> None:
        """Store a text for some seconds, replacing one with the same key."""
        ...

    def close(self) -> None:
        """Close files and connections; may be called twice."""
        ...


class MemoryCache:
    """A cache in the memory of this process.

    Args:
        now: returns the seconds of a monotonic clock.
        most: limit on the texts, beyond which the oldest are dropped.
    """

    def __init__(self, now: Callable[[], float] = time.monotonic, *, most: int = 10_000) -> None:
        self._now, self._most = now, most
        self._kept: dict[str, tuple[float, str]] = {}

    def get(self, key: str) -> str | None:
        until, text = self._kept.get(key, (-math.inf, ""))
        if self._now() < until:
            return text
        self._kept.pop(key, None)
        return None

    def put(self, key: str, text: str, ttl_s: float) -> None:
        # Removed first, so that entries stay ordered by age.
        self._kept.pop(key, None)
        self._kept[key] = (self._now() + ttl_s, text)
        while len(self._kept) > self._most:
            del self._kept[next(iter(self._kept))]

    def close(self) -> None:
        self._kept.clear()


class PageState(NamedTuple):
    """The state on which the result of a reading call depends."""

    url: str
    digest: str
    """Digest of the current document."""
    epoch: int
    """Number of acting calls so far."""


def canonical(value: Any) -> str:
    """Return a JSON value as text that is the same for equal values, however they were built.

    Keys are sorted at every level, texts are in the Unicode form NFC, and null is kept. `1`, `1.0`,
    `true` and `"1"` remain four different values.

    Raises:
        TypeError: the value contains something that is not JSON.
        ValueError: the value contains infinity or NaN.
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
        # -0.0 and 0.0 are equal, but JSON would write them differently.
        return value + 0.0 if value else 0.0
    if value is None or isinstance(value, bool | int):
        return value
    raise TypeError(f"{type(value).__name__} has no canonical form")


def call_hash(tool: str, arguments: Any, state: Any = None) -> str:
    """Return the SHA-256 of a call as 64 hexadecimal digits.

    Args:
        tool: the tool's name.
        arguments: the arguments as a JSON value.
        state: anything else that the answer depends on, e.g. a `PageState`.

    Raises:
        TypeError: see `canonical`.
        ValueError: see `canonical`.
    """
    text = canonical([TOOLS_VERSION, tool, arguments, state])
    # Page texts may hold a lone surrogate, which UTF-8 rejects.
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


class SeenCalls:
    """The calls of one attempt, as the sandbox reports them (`sandbox.engine.CallMemory`).

    Args:
        look: returns the page's address and a digest of its content, or None if unknown.
        cache: keeps the results of reading calls; None if calls are only counted.
    """

    def __init__(
        self, look: Callable[[Any], tuple[str, str] | None], cache: Cache | None = None
    ) -> None:
        self._look, self._cache = look, cache
        self._epoch = 0
        self._seen: set[str] = set()

    def ask(
        self, page: Any, method: str, identity: str, *, acting: bool
    ) -> "SeenCall | ActingCall":
        """Look up a call about to be made, and count it as made.

        A reading repeats an earlier one if nothing has acted since; it is kept, and answered from
        what was kept, from its second time on. A call that acts repeats an earlier one if the page
        looks as it did before that one, or if it sets something already set and so leaves the page
        unchanged. Where the page cannot be compared, as with frames, no acting call counts as a
        repeat.

        Args:
            page: Playwright's page.
            method: the name of the method.
            identity: receiver, method and arguments in full.
            acting: whether the call may change the page, so that earlier results expire.
        """
        if acting:
            return self._ask_to_act(page, method, identity)
        key = call_hash(method, identity, [page.url, self._epoch])
        duplicate = self._made_before(key)
        # To compare the page takes longer than to read from it, so only what is read again and
        # again is worth keeping.
        again = method in READINGS and self._made_before(call_hash(method, identity))
        cache = self._cache if again else None
        return SeenCall(cache, lambda: self._state(page), (method, identity), duplicate)

    def _ask_to_act(self, page: Any, method: str, identity: str) -> "ActingCall":
        # Counted even if the call fails, because it may have changed the page first.
        self._epoch += 1
        before = self._look(page)
        again = self._made_before(call_hash(method, identity))
        same = before is not None and self._made_before(call_hash(method, identity, before))
        look = self._look if again and not same and method in SETTINGS else None
        return ActingCall(page, look, before, same)

    def _made_before(self, key: str) -> bool:
        known = key in self._seen
        self._seen.add(key)
        return known

    def _state(self, page: Any) -> PageState | None:
        seen = self._look(page)
        return None if seen is None else PageState(*seen, self._epoch)


class SeenCall:
    """One call, with its answer if a valid one is known.

    Attributes:
        duplicate: whether it was made before and nothing has acted since.
        answered: whether `value` is the answer, so that the call need not be made.
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
        """Keep the call's result if the page is the same as before the call."""
        # If the page changed during the call, it may have been read before or after the change.
        if self._cache is None or self._before is None or self._state() != self._before:
            return
        try:
            self._cache.put(self._key(self._before), canonical(value), TTL_S)
        except (TypeError, ValueError):
            return  # JSON cannot represent the result, so it is read afresh each time

    def _key(self, state: PageState) -> str:
        return call_hash(*self._call, tuple(state))


class ActingCall:
    """One call that acts, which is always made.

    Attributes:
        duplicate: whether the same call was made before in the same state of the page; known for
            certain only after `done`.
        answered: always false.
        value: always None.
    """

    def __init__(
        self,
        page: Any,
        look: Callable[[Any], tuple[str, str] | None] | None,
        before: tuple[str, str] | None,
        duplicate: bool,
    ) -> None:
        self._page, self._look, self._before = page, look, before
        self.duplicate = duplicate
        self.answered = False
        self.value: Any = None

    def done(self, value: Any) -> None:
        """Determine whether a call that had been made before had any effect this time."""
        if self._look is not None and self._before is not None:
            self.duplicate = self._look(self._page) == self._before


class CachingClient:
    """A client that answers identical requests from a cache.

    It does so only at temperature 0, where asking again would give the same reply, and caches only
    complete replies. The repeat is part of the key, so that repeats of a case stay independent. The
    plain arm of a correction repeats its request by design, so at temperature 0 it costs nothing
    and gains nothing.

    Args:
        client: answers requests that are not in the cache.
        spec: the model, whose settings are part of the key.
        cache: keeps the replies.
    """

    def __init__(self, client: Client, spec: ModelSpec, cache: Cache) -> None:
        self._client, self._spec, self._cache = client, spec, cache

    def complete(self, request: Request) -> Reply:
        if self._spec.temperature != 0:
            return self._client.complete(request)
        # Attempt, turn and stage of a request do not change its answer.
        fields = request.model_dump(mode="json", exclude={"attempt", "turn", "stage"})
        key = call_hash("model", fields, self._spec.model_dump(mode="json"))
        if (kept := self._cache.get(key)) is not None:
            # A cached answer costs nothing.
            return Reply.model_validate_json(kept).model_copy(update={"usage": Usage()})
        reply = self._client.complete(request)
        if reply.finish_reason in ("", "stop"):
            self._cache.put(key, reply.model_dump_json(), TTL_S)
        return reply


def with_reply_cache(client: Client, spec: ModelSpec, cache: Cache | None) -> Client:
    """Return the client, wrapped in a reply cache if there is a cache."""
    return client if cache is None else CachingClient(client, spec, cache)
