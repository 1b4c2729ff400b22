"""The file of a recording: HAR 1.2, which browsers and other tools read, without secrets.

One file holds one case. Each attempt that recorded it is a page of the HAR, a take. Its requests
are in the order in which they were made, which shows the writes before each answer. A file may come
from anyone, so it is read with care.
"""

import base64
import hashlib
import json
import re
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from functools import lru_cache
from pathlib import Path
from typing import Annotated, Any, Literal
from urllib.parse import parse_qsl, urlsplit

from msgspec import Struct
from msgspec.structs import replace
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError
from pydantic.alias_generators import to_camel

from pytest_autoweb import __version__
from pytest_autoweb.base.errors import TrafficError
from pytest_autoweb.base.passing_lock import PassingLock
from pytest_autoweb.results.runs.saving import write_text_atomic

FORMAT = "pytest-autoweb/traffic"
VERSION = 1
PARTS = frozenset({"font", "image", "manifest", "script", "style", "track", "audio", "video"})
"""Resources that the browser fetches only to show a page, by its own names for them."""
TAKES = 100
"""Limit on the takes of a recording."""
FILE_BYTES = 128_000_000
"""Limit on a recording; a take that no longer fits is left out."""
NEW = "Record it with --autoweb-traffic=record, on the live site."


class RecordedExchange(Struct, frozen=True):
    """A request and its answer in stored form, without secrets."""

    method: str
    url: str
    status: int
    reason: str = ""
    request_headers: tuple[tuple[str, str], ...] = ()
    request_body: str = ""
    request_type: str = ""
    headers: tuple[tuple[str, str], ...] = ()
    body: bytes = b""
    is_text: bool = False
    """Whether the body is text, which can be read in the file."""
    started: str = ""
    milliseconds: float = 0.0
    destination: str = ""
    """The browser's purpose for it, such as `document` or `image`."""
    held: bool = False
    """Whether the request was held back and answered by the case."""
    not_kept: str = ""
    """Why the body is missing; empty if it is present."""

    @property
    def is_part(self) -> bool:
        """Tell whether it is a picture, a script or the like, which no write changes."""
        return self.method == "GET" and self.destination in PARTS


class Take(Struct, frozen=True):
    """The recording of one attempt."""

    title: str
    exchanges: tuple[RecordedExchange, ...]
    started: str = ""


class TrafficRecording(Struct, frozen=True):
    """All recordings of a case."""

    case_id: str
    takes: tuple[Take, ...]
    run: str = ""
    """The id of the run that recorded it; a later run starts over."""
    recorded: str = ""
    password_fields: tuple[str, ...] = ()
    """Names of fields of the type password on its pages."""
    checksum: str = ""
    """SHA-256 of the file."""


def read_traffic(path: Path) -> TrafficRecording:
    """Read a recording, or reuse the one read before if the file has not changed.

    Raises:
        TrafficError: there is no recording, or it is damaged.
    """
    try:
        stat = path.stat()
    except OSError:
        raise TrafficError(f"there is no recording {path}. {NEW}") from None
    return _read(path, stat.st_mtime_ns, stat.st_size)


def traffic_checksum(path: Path) -> str:
    """Return the checksum of a recording; empty if there is no readable one."""
    try:
        return read_traffic(path).checksum
    except TrafficError:
        return ""


@lru_cache(maxsize=8)
def _read(path: Path, _changed: int, size: int) -> TrafficRecording:
    if size > FILE_BYTES:
        raise TrafficError(f"recording {path} has more than {FILE_BYTES:,} bytes. {NEW}")
    try:
        content = path.read_bytes()
        log = _File.model_validate(json.loads(content)).log
        pages = {page.id: page for page in log.pages}
        taken: dict[str, list[RecordedExchange]] = {name: [] for name in pages}
        for entry in log.entries:
            taken.setdefault(entry.pageref, []).append(entry.exchange())
    except OSError as error:
        raise TrafficError(f"recording {path}: {error.strerror or error}") from None
    except (ValueError, RecursionError) as error:
        raise TrafficError(
            f"recording {path} is damaged or no HAR file ({_told(error)}); "
            f"restore it, or delete it. {NEW}"
        ) from None
    own = log.own or _OwnLog()
    if own.version != VERSION:
        raise TrafficError(
            f"recording {path} is of version {own.version}, this pytest-autoweb reads "
            f"{VERSION}. {NEW}"
        )
    takes = [
        Take(pages[name].title if name in pages else name, tuple(exchanges))
        for name, exchanges in taken.items()
    ]
    return TrafficRecording(
        case_id=own.case,
        takes=tuple(takes),
        run=own.run,
        recorded=own.recorded,
        password_fields=own.password_fields,
        checksum=hashlib.sha256(content).hexdigest(),
    )


def _told(error: Exception) -> str:
    """Return what is wrong with a file, in one line."""
    if isinstance(error, ValidationError):
        first = error.errors(include_url=False, include_input=False)[0]
        return f"{'.'.join(map(str, first['loc']))}: {first['msg']}"
    return f"{type(error).__name__}: {error}"[:300]


def _one_line(text: str) -> str:
    if re.search(r"[\r\n\0]", text):
        raise ValueError("must be one line")
    return text


def _an_address(text: str) -> str:
    parts = urlsplit(text)
    if parts.scheme not in ("http", "https") or not parts.hostname or (parts.port or 1) < 0:
        raise ValueError("must be an address with http or https")
    return text


_Line = Annotated[str, AfterValidator(_one_line)]


class _Part(BaseModel):
    """A part of the file; what other tools add to it is left alone."""

    # Few sessions read or write such a file.
    model_config = ConfigDict(
        extra="ignore", strict=True, alias_generator=to_camel, defer_build=True
    )


class _OwnLog(_Part):
    version: int | _Line = VERSION
    case: str = ""
    run: str = ""
    recorded: str = ""
    # As in files of lists, where JSON knows no other sequence.
    password_fields: Annotated[tuple[str, ...], Field(strict=False)] = ()


class _Page(_Part):
    id: str
    title: str = ""


class _Named(_Part):
    name: _Line
    value: _Line


class _Posted(_Part):
    mime_type: _Line = ""
    text: str = ""


class _Asked(_Part):
    method: Annotated[str, Field(pattern=r"^[A-Za-z]{1,30}$")]
    url: Annotated[_Line, AfterValidator(_an_address)]
    post_data: _Posted | None = None


class _Content(_Part):
    text: str = ""
    encoding: str = ""


class _Answered(_Part):
    status: Annotated[int, Field(ge=100, le=999)]
    status_text: _Line = ""
    headers: list[_Named]
    content: _Content


class _OwnEntry(_Part):
    destination: str = ""
    held: bool = False
    not_kept: str = ""
    charset: Literal["utf-8", "latin-1"] = "utf-8"


class _Entry(_Part):
    pageref: str = ""
    request: _Asked
    response: _Answered
    own: Annotated[_OwnEntry | None, Field(alias="_autoweb")] = None

    def exchange(self) -> RecordedExchange:
        own, content = self.own or _OwnEntry(), self.response.content
        post = self.request.post_data or _Posted()
        if content.encoding == "base64":
            try:
                body = base64.b64decode(content.text, validate=True)
            except ValueError as error:
                raise ValueError(f"a body cannot be read: {error}") from None
        else:
            body = content.text.encode(own.charset, "replace")
        return RecordedExchange(
            method=self.request.method,
            url=self.request.url,
            status=self.response.status,
            reason=self.response.status_text,
            request_body=post.text,
            request_type=post.mime_type,
            headers=tuple((one.name, one.value) for one in self.response.headers),
            body=body,
            is_text=content.encoding != "base64",
            destination=own.destination,
            held=own.held,
            not_kept=own.not_kept,
        )


class _Log(_Part):
    pages: list[_Page] = Field(default_factory=list)
    entries: list[_Entry]
    own: Annotated[_OwnLog | None, Field(alias="_autoweb")] = None


class _File(_Part):
    log: _Log


def add_take(
    path: Path,
    case_id: str,
    run: str,
    take: Take,
    fields: Sequence[str],
    *,
    extends: bool = False,
) -> str:
    """Add a take to the recording of a case, replacing the takes of other runs.

    Args:
        path: the file.
        case_id: the id of the case.
        run: the id of this run, shared by all its processes and cells.
        take: the new take.
        fields: the names of the password fields that were seen.
        extends: keep the takes of other runs.

    Returns:
        The reason why the take was left out, or "".

    Raises:
        OSError: the file cannot be written.
        TrafficError: the recording that is to stay is damaged.
    """
    with PassingLock("traffic", path, wait_s=60):
        try:
            known = read_traffic(path)
        except TrafficError:
            if extends and path.exists():
                raise
            known = TrafficRecording(case_id, ())
        takes = known.takes if extends or known.run == run else ()
        if len(takes) >= TAKES:
            return f"the recording has {TAKES} takes already"
        recording = TrafficRecording(
            case_id=case_id,
            takes=(*takes, _without_known_parts(take, takes)),
            run=run,
            recorded=datetime.now(UTC).isoformat(timespec="seconds"),
            password_fields=tuple(sorted({*fields, *(known.password_fields if takes else ())})),
        )
        text = _har(recording)
        if len(text) > FILE_BYTES:
            return f"the recording would have more than {FILE_BYTES:,} bytes"
        path.parent.mkdir(parents=True, exist_ok=True)
        write_text_atomic(path, text)
    return ""


def _without_known_parts(take: Take, takes: Sequence[Take]) -> Take:
    """Return a take without the parts of pages that an earlier one has, byte for byte.

    They are replayed regardless of order, so they are needed only once.
    """
    known = {(one.url, one.body) for each in takes for one in each.exchanges if one.is_part}
    new = (e for e in take.exchanges if not (e.is_part and (e.url, e.body) in known))
    return replace(take, exchanges=tuple(new))


def _har(recording: TrafficRecording) -> str:
    log = {
        "version": "1.2",
        "creator": {"name": "pytest-autoweb", "version": __version__},
        "comment": "Recorded traffic of a case without its secrets; see docs/traffic.md.",
        "_autoweb": {
            "format": FORMAT,
            "version": VERSION,
            "case": recording.case_id,
            "run": recording.run,
            "recorded": recording.recorded,
            "passwordFields": list(recording.password_fields),
        },
        "pages": [
            {
                "startedDateTime": take.started or recording.recorded,
                "id": f"take_{number}",
                "title": take.title,
                "pageTimings": {},
            }
            for number, take in enumerate(recording.takes, 1)
        ],
        "entries": [
            _entry(exchange, f"take_{number}", recording.recorded)
            for number, take in enumerate(recording.takes, 1)
            for exchange in take.exchanges
        ],
    }
    return json.dumps({"log": log}, ensure_ascii=True, indent=1) + "\n"


def _entry(exchange: RecordedExchange, take: str, recorded: str) -> dict[str, Any]:
    own = {
        "destination": exchange.destination,
        "held": exchange.held,
        "notKept": exchange.not_kept,
    }
    content: dict[str, Any] = {"size": len(exchange.body), "mimeType": _kind(exchange)}
    if exchange.is_text:
        try:
            content["text"] = exchange.body.decode()
        except UnicodeDecodeError:
            # Every byte is one character, so that the same bytes come back.
            content["text"] = exchange.body.decode("latin-1")
            own["charset"] = "latin-1"
    elif exchange.body:
        content |= {"text": base64.b64encode(exchange.body).decode(), "encoding": "base64"}
    return {
        "pageref": take,
        "startedDateTime": exchange.started or recorded,
        "time": exchange.milliseconds,
        "request": _request(exchange),
        "response": {
            "status": exchange.status,
            "statusText": exchange.reason,
            "httpVersion": "HTTP/1.1",
            "cookies": [],
            "headers": list(_named(exchange.headers)),
            "content": content,
            "redirectURL": next((v for n, v in exchange.headers if n.lower() == "location"), ""),
            "headersSize": -1,
            "bodySize": len(exchange.body),
        },
        "cache": {},
        "timings": {"send": 0, "wait": exchange.milliseconds, "receive": 0},
        "_autoweb": {name: value for name, value in own.items() if value},
    }


def _request(exchange: RecordedExchange) -> dict[str, Any]:
    query = parse_qsl(urlsplit(exchange.url).query, keep_blank_values=True)
    request: dict[str, Any] = {
        "method": exchange.method,
        "url": exchange.url,
        "httpVersion": "HTTP/1.1",
        "cookies": [],
        "headers": list(_named(exchange.request_headers)),
        "queryString": list(_named(query)),
        "headersSize": -1,
        "bodySize": len(exchange.request_body.encode()),
    }
    if exchange.request_body:
        body = {"mimeType": exchange.request_type, "params": [], "text": exchange.request_body}
        request["postData"] = body
    return request


def _named(pairs: Sequence[tuple[str, str]]) -> Iterator[dict[str, str]]:
    return ({"name": name, "value": value} for name, value in pairs)


def _kind(exchange: RecordedExchange) -> str:
    kinds = (value for name, value in exchange.headers if name.lower() == "content-type")
    return next(kinds, "x-unknown")
