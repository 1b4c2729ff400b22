"""Answers the requests of one attempt from the live site, its recording, or the case itself.

Where a recording has no answer, the reason is noted, and the attempt leaves the recording.
"""

import asyncio
import time
from collections import Counter, defaultdict
from collections.abc import AsyncIterator, Callable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlsplit

from msgspec import Struct
from msgspec.structs import replace

from pytest_autoweb.base import waiting
from pytest_autoweb.base.errors import TrafficError
from pytest_autoweb.base.installation import missing_extras
from pytest_autoweb.browser.egress.traffic_reader import (
    Fetch,
    HttpAnswer,
    HttpRequest,
    is_event_stream,
    refusal,
)
from pytest_autoweb.browser.traffic.traffic_file import (
    PARTS,
    RecordedExchange,
    Take,
    TrafficRecording,
    add_take,
    read_traffic,
)
from pytest_autoweb.browser.traffic.traffic_masks import StoredBody, TrafficMasks
from pytest_autoweb.browser.traffic.traffic_rules import TrafficMode, TrafficRules

State = tuple[str, ...]
"""The writes so far, each by its key."""

# Resources that a page can do without.
_DISPENSABLE = frozenset({"font", "image", "track", "audio", "video", "manifest"})
_SHOWN_CHARS = 200

BODY_BYTES = 8_000_000
"""Limit on the stored bytes of one answer."""
TAKE_BYTES = 48_000_000
"""Limit on the stored bytes of all answers of an attempt together."""
EXCHANGES = 3_000
"""Limit on the stored requests of one attempt."""


class Played(Struct, frozen=True):
    """A recording's answer to a request."""

    exchange: RecordedExchange | None = None
    """The answer; None if there is none."""
    left: str = ""
    """Why the attempt leaves the recording; empty if it does not."""


class PlayedTraffic:
    """One attempt's pass through a recording.

    Args:
        recording: the recording.
        rules: the case's rules for its traffic.
        masks: remove secrets from requests, so that they compare with those of the recording.
    """

    def __init__(
        self, recording: TrafficRecording, rules: TrafficRules, masks: TrafficMasks
    ) -> None:
        self._rules, self._masks = rules, masks
        self._at: dict[tuple[State, str], list[RecordedExchange]] = {}
        self._anywhere: dict[str, list[RecordedExchange]] = defaultdict(list)
        self._addresses: set[tuple[str, str]] = set()
        self._played: Counter[tuple[State, str]] = Counter()
        self._state: State = ()
        for take in recording.takes:
            self._add(take.exchanges)

    def _add(self, exchanges: tuple[RecordedExchange, ...]) -> None:
        state: State = ()
        own: dict[tuple[State, str], list[RecordedExchange]] = defaultdict(list)
        for one in exchanges:
            key = self._rules.key(one.method, one.url, one.request_body, one.request_type)
            own[state, key].append(one)
            self._anywhere[key].append(one)
            self._addresses.add((one.method, _place(one.url)))
            if self._rules.order == "writes" and self._rules.writes(one.method, one.url):
                state = (*state, key)
        # The first take that has a request is replayed, so that a page and its resources come from
        # the same moment.
        self._at = {**own, **self._at}

    def key_of(self, request: HttpRequest) -> str:
        return self._rules.key(
            request.method,
            self._masks.url(request.url),
            self._masks.request_body(request),
            request.header("content-type"),
        )

    def wrote(self, request: HttpRequest) -> None:
        """Note a write, after which pages differ."""
        if self._rules.order == "writes" and self._rules.writes(request.method, request.url):
            self._state = (*self._state, self.key_of(request))

    def play(self, request: HttpRequest) -> Played:
        """Return the recorded answer to a request, and note a write."""
        key = self.key_of(request)
        place = (self._state, key)
        if known := self._at.get(place):
            played = self._played[place]
            self._played[place] += 1
            self.wrote(request)
            return _kept(known[min(played, len(known) - 1)], request)
        if (known := self._anywhere.get(key)) and request.destination in PARTS:
            return _kept(known[-1], request)
        if self._does_without(request):
            return Played()
        return Played(left=f"{_shown(request, self._masks)} {self._why(request, key)}")

    def _does_without(self, request: HttpRequest) -> bool:
        """Tell whether a page can do without a request that was not recorded."""
        return request.destination in _DISPENSABLE or request.url.endswith("/favicon.ico")

    def _why(self, request: HttpRequest, key: str) -> str:
        if key in self._anywhere:
            return "was recorded only after other writes than those made here"
        if (request.method, _place(self._masks.url(request.url))) in self._addresses:
            return "was recorded with another query or body only"
        return "is not in the recording"


def _kept(exchange: RecordedExchange, request: HttpRequest) -> Played:
    if exchange.not_kept and request.destination not in _DISPENSABLE:
        path = urlsplit(request.url).path[:_SHOWN_CHARS]
        return Played(left=f"{request.method} {path} was not kept: {exchange.not_kept}")
    return Played(None if exchange.not_kept else exchange)


def _place(url: str) -> str:
    return urlsplit(url)._replace(query="", fragment="").geturl()


def _shown(request: HttpRequest, masks: TrafficMasks) -> str:
    shown = f"{request.method} {masks.url(request.url)}"
    return shown if len(shown) <= _SHOWN_CHARS else f"{shown[: _SHOWN_CHARS - 1]}…"


class TrafficFile(NamedTuple):
    """The file of a case's recording, and its recorder."""

    path: Path
    case_id: str
    run: str
    """The id of the run."""
    title: str
    """The title of the take: the cell and its attempt."""
    extends: bool = False
    """Whether the recordings of other runs stay."""
    encrypted: bool = False
    """Whether a site of the case speaks https."""


class _Heard(Struct):
    """A request and its answer, as on the wire."""

    request: HttpRequest
    started: datetime
    began: float
    answer: HttpAnswer | None = None
    """None until it has arrived."""
    took_ms: float = 0.0
    held: bool = False
    not_kept: str = ""


class CellTraffic:
    """The traffic of one attempt; answers come from it in the proxy's thread.

    Args:
        mode: `record`, `replay`, or `off` if requests are only held back.
        rules: the rules of the case.
        file: the recording's file.
        secrets: the values of the case's secrets, by name.
        note: receives sentences for the attempt's log.

    Raises:
        TrafficError: there is no recording to replay, or it is damaged.
    """

    def __init__(
        self,
        mode: TrafficMode,
        rules: TrafficRules,
        file: TrafficFile,
        secrets: Mapping[str, str],
        note: Callable[[str], None],
    ) -> None:
        self.mode, self.rules, self._file, self._note = mode, rules, file, note
        self._secrets = dict(secrets)
        if file.encrypted and (problem := missing_extras(["traffic"])):
            raise TrafficError(f"traffic of https sites cannot be read: {problem}")
        recording = read_traffic(file.path) if mode == "replay" else None
        fields = recording.password_fields if recording else ()
        self._masks = TrafficMasks(self._secrets, fields)
        self._played = PlayedTraffic(recording, rules, self._masks) if recording else None
        self._heard: list[_Heard] = []
        self._room = TAKE_BYTES
        self._noted: set[str] = set()
        self._began = datetime.now(UTC)
        self.left = ""
        """Why the attempt left the recording; empty if it did not."""
        self.on_left: Callable[[], None] = lambda: None

    def learn_code(self, secret: str, code: str) -> None:
        """Let a one-time code match any other code of its secret, and be answered with.

        Args:
            secret: the name of the secret, whose value is the key of the codes.
            code: what is about to be typed.
        """
        # The key itself may be part of a page, so the two must have different names.
        name = f"{secret}.code"
        self._masks.learn_code(name, code)
        self._secrets[name] = code

    @property
    def sockets_pass(self) -> bool:
        """Tell whether WebSockets may go to their servers."""
        return self.mode != "replay"

    def note_socket(self, request: HttpRequest) -> None:
        """Log that WebSockets are not part of recordings."""
        if self.mode != "off":
            what = "is refused in a replay" if self.mode == "replay" else "is not recorded"
            self._note_once(f"traffic: a WebSocket {what}: {self._masks.url(request.url)}")

    def _note_once(self, text: str) -> None:
        if text not in self._noted:
            self._noted.add(text)
            self._note(text)

    async def answer(self, request: HttpRequest, fetch: Fetch) -> HttpAnswer:
        """Return the answer to a request, and keep it if traffic is recorded."""
        if (held := self.rules.held(request)) is not None:
            self._note(f"traffic: held back: {request.method} {self._masks.url(request.url)}")
            if self._played is not None:
                self._played.wrote(request)
            elif self.mode == "record":
                self._keep(self._begun(request), held, held=True)
            return held
        if self._played is not None:
            return await self._replayed(self._played, request)
        if self.mode == "off" or self._is_ignored(request):
            return await fetch(request, BODY_BYTES)
        return await self._recorded(request, fetch)

    async def _replayed(self, played: PlayedTraffic, request: HttpRequest) -> HttpAnswer:
        if self._is_ignored(request):
            return HttpAnswer(204, "Ignored")
        said = played.play(request)
        if said.exchange is not None:
            return self._answer_of(said.exchange, request)
        if not said.left:
            self._note_once(
                f"traffic: not recorded, answered with 404: {self._masks.url(request.url)[:200]}"
            )
            return refusal(404, "not in the recording")
        if not self.left:
            self.left = said.left
            self._note(f"traffic: off the record: {said.left}")
            self.on_left()
        return refusal(504, f"off the record: {said.left}")

    def _is_ignored(self, request: HttpRequest) -> bool:
        return request.is_beacon or self.rules.ignores(request.method, request.url)

    def _answer_of(self, exchange: RecordedExchange, request: HttpRequest) -> HttpAnswer:
        restored = [
            (name, self._masks.restored(value, self._secrets)) for name, value in exchange.headers
        ]
        body = exchange.body
        if exchange.is_text and self._secrets:
            text = body.decode("utf-8", "surrogateescape")
            body = self._masks.restored(text, self._secrets).encode("utf-8", "surrogateescape")
        answer = HttpAnswer(exchange.status, exchange.reason, tuple(restored), body)
        # A page would keep reopening a stream that ended.
        return replace(answer, rest=_silence()) if is_event_stream(answer) else answer

    async def _recorded(self, request: HttpRequest, fetch: Fetch) -> HttpAnswer:
        # Requests are kept in their own order, not in that of their answers.
        heard = self._begun(request)
        answer = await fetch(request, BODY_BYTES)
        if answer.rest is None or not is_event_stream(answer):
            self._keep(heard, answer)
            return answer
        return replace(answer, rest=self._listened(heard, answer, answer.rest))

    async def _listened(
        self, heard: _Heard, answer: HttpAnswer, rest: AsyncIterator[bytes]
    ) -> AsyncIterator[bytes]:
        """Yield an event stream, and keep it as it grows, because it may end only with the page."""
        so_far = b""
        async for data in rest:
            so_far += data if len(so_far) < BODY_BYTES else b""
            self._keep(heard, replace(answer, body=so_far, rest=None))
            yield data

    def _begun(self, request: HttpRequest) -> _Heard:
        heard = _Heard(request, datetime.now(UTC), time.monotonic())
        self._heard.append(heard)
        return heard

    def _keep(self, heard: _Heard, answer: HttpAnswer, *, held: bool = False) -> None:
        heard.took_ms, heard.held = (time.monotonic() - heard.began) * 1000, held
        self._room += len(heard.answer.body) if heard.answer else 0
        if answer.rest is not None:
            heard.not_kept = f"it has more than {BODY_BYTES:,} bytes"
        elif len(answer.body) > self._room:
            heard.not_kept = f"the answers of the attempt have more than {TAKE_BYTES:,} bytes"
        if heard.not_kept or len(self._heard) > EXCHANGES:
            answer = replace(answer, body=b"", rest=None)
        self._room -= len(answer.body)
        heard.answer = answer

    def save(self) -> None:
        """Write the recording, once the browser can send no more requests.

        Raises:
            TrafficError: the file cannot be written.
        """
        if self.mode != "record":
            return
        kept = self._heard[:EXCHANGES]
        answered = [(heard, heard.answer) for heard in kept if heard.answer is not None]
        for heard, answer in answered:
            self._masks.learn_request(heard.request)
            self._masks.learn_answer(answer)
        exchanges = tuple(self._masked(*one) for one in answered)
        title, started = self._masks.text(self._file.title), self._began.isoformat()
        try:
            fields = sorted(self._masks.password_fields)
            file = self._file
            take = Take(title, exchanges, started)
            # Other cells in flight continue during the write.
            why = waiting.blocking(
                lambda: add_take(
                    *(file.path, file.case_id, file.run, take, fields), extends=file.extends
                )
            )
        except OSError as error:
            raise TrafficError(
                f"the recording {self._file.path} cannot be written: {error.strerror or error}"
            ) from None
        if why or len(self._heard) > EXCHANGES:
            self._note(f"traffic: not kept: {why or f'more than {EXCHANGES:,} requests'}")

    def _masked(self, heard: _Heard, answer: HttpAnswer) -> RecordedExchange:
        masks, request = self._masks, heard.request
        stored = StoredBody() if heard.not_kept else masks.answer_body(answer)
        return RecordedExchange(
            method=request.method,
            url=masks.url(request.url),
            status=answer.status,
            reason=masks.text(answer.reason),
            request_headers=_pairs(masks.headers(request.headers)),
            request_body=masks.request_body(request),
            request_type=request.header("content-type").partition(";")[0],
            headers=_pairs(masks.headers(answer.headers)),
            body=stored.body,
            is_text=stored.is_text,
            started=heard.started.isoformat(timespec="milliseconds"),
            milliseconds=round(heard.took_ms, 1),
            destination=request.destination,
            held=heard.held,
            not_kept=heard.not_kept or stored.not_kept,
        )


def _pairs(named: list[dict[str, str]]) -> tuple[tuple[str, str], ...]:
    return tuple((one["name"], one["value"]) for one in named)


async def _silence() -> AsyncIterator[bytes]:
    """Send nothing more until the browser leaves."""
    await asyncio.Event().wait()
    yield b""
