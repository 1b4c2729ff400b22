"""The file of a recording: HAR 1.2, which browsers and other tools read, without secrets.

One file holds one case. Each attempt that recorded it is a page of the HAR, a take. Its requests
are in the order in which they were made, which shows the writes before each answer.

Cookies, logins, passwords and tokens are removed before anything is kept. A replayed page must
still work, so nothing is removed by its appearance alone where scripts could break. Instead, values
are learned where they are certainly secret (headers, cookies, fields by name) and then replaced
everywhere.
"""

import base64
import binascii
import hashlib
import json
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from email.message import Message
from email.parser import BytesParser
from functools import lru_cache
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit

from pytest_autoweb import __version__
from pytest_autoweb.egress.traffic_reader import Headers, HttpAnswer, HttpRequest
from pytest_autoweb.errors import TrafficError
from pytest_autoweb.evidence.wire import is_sensitive, redact_url
from pytest_autoweb.passing_lock import PassingLock
from pytest_autoweb.redaction import SECRET, Redactor, redact_keys
from pytest_autoweb.runs.saving import write_text_atomic
from pytest_autoweb.traffic.traffic_rules import is_sensitive_field

STAND_IN = "redacted"
"""Replaces an undeclared secret; it contains no tag or quote, so that pages still work."""
LONG_ENOUGH = 8
"""A shorter value is removed only where it was found: elsewhere it may be an ordinary word."""

_TEXT = re.compile(
    r"(?i)^(?:text/|application/(?:[\w.+-]*\+)?(?:json|xml|javascript|x-javascript|ecmascript)\b"
    r"|application/x-www-form-urlencoded|image/svg)"
)
_INPUT = re.compile(r"<(?:input|meta)\b[^>]*>", re.IGNORECASE)
_ATTRIBUTE = re.compile(
    r"""(?i)\b(name|type|value|content)\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s>]+))"""
)
_QUOTED = re.compile(
    r"""["']?([\w.\-\[\]]{2,40})["']?\s*[:=]\s*(["'])((?:(?!\2)[^\\\r\n]){8,4096})\2"""
)
_COOKIE = re.compile(r"^([^=;]+)=([^;]*)(.*)$", re.DOTALL)

FORMAT = "pytest-autoweb/traffic"
VERSION = 1
PARTS = frozenset({"font", "image", "manifest", "script", "style", "track", "audio", "video"})
"""Resources that the browser fetches only to show a page, by its own names for them."""
TAKES = 100
"""Limit on the takes of a recording."""
FILE_BYTES = 128_000_000
"""Limit on a recording; a take that no longer fits is left out."""
NEW = "Record it with --autoweb-traffic=record, on the live site."


def is_text(content_type: str) -> bool:
    """Tell whether a body of this type is kept as text."""
    return _TEXT.match(content_type) is not None


class TrafficMasks:
    """Removes secrets from the traffic of one attempt, and learns more of them on the way.

    Args:
        secrets: those that the case declares, by name.
        remembered: the password fields of pages that other attempts have seen.
    """

    def __init__(self, secrets: dict[str, str], remembered: Iterable[str] = ()) -> None:
        self._secrets = dict(secrets)
        self._declared = Redactor(secrets)
        self._learned: set[str] = set()
        self.password_fields = set(remembered)
        """Names of fields of the type password, whatever they are called."""
        self._all: Redactor | None = None

    def learn_request(self, request: HttpRequest) -> None:
        """Learn from the headers and fields of a request."""
        for name, value in request.headers:
            if name.lower() == "cookie":
                for part in value.split(";"):
                    self._learn(part.partition("=")[2].strip(), sure=False)
            elif is_sensitive(name):
                self._learn(value.rpartition(" ")[2])
        for name, value in self._fields(request):
            if self._hides(name):
                self._learn(value)

    def learn_answer(self, answer: HttpAnswer) -> None:
        """Learn from the cookies, forms and tokens of an answer."""
        for name, value in answer.headers:
            if name.lower() == "set-cookie" and (match := _COOKIE.match(value)):
                self._learn(match[2].strip(), sure=False)
            elif is_sensitive(name):
                self._learn(value)
        kind = answer.header("content-type")
        if not is_text(kind):
            return
        text = answer.body.decode("utf-8", "replace")
        if "html" in kind:
            self._learn_forms(text)
        if "json" in kind or "html" in kind:
            for match in _QUOTED.finditer(text):
                if is_sensitive_field(match[1]):
                    self._learn(match[3])

    def _learn_forms(self, text: str) -> None:
        for tag in _INPUT.findall(text):
            said = {m[0].lower(): m[1] or m[2] or m[3] for m in _ATTRIBUTE.findall(tag)}
            name, value = said.get("name", ""), said.get("value") or said.get("content", "")
            if said.get("type", "").lower() == "password":
                self.password_fields.add(name)
            if self._hides(name):
                self._learn(value)

    def _hides(self, name: str) -> bool:
        return name in self.password_fields or is_sensitive_field(name)

    def _learn(self, value: str, *, sure: bool = True) -> None:
        """Learn a value; if it need not be secret, only when it looks like a token."""
        random = any(map(str.isdigit, value)) and any(map(str.isalpha, value))
        if not (len(value) >= LONG_ENOUGH if sure else len(value) >= 12 and random):
            return
        if value not in self._learned and STAND_IN not in value:
            self._learned.add(value)
            self._all = None

    def text(self, text: str) -> str:
        """Return a text without the secrets known so far."""
        if self._all is None:
            named = {
                f"learned{number}": value for number, value in enumerate(sorted(self._learned))
            }
            self._all = Redactor(named)
        hidden = self._all(self._declared(text))
        return re.sub(r"<secret:learned\d+>", STAND_IN, hidden)

    def url(self, url: str) -> str:
        """Return an address without secrets."""
        parts = urlsplit(url)
        pairs = parse_qsl(parts.query, keep_blank_values=True)
        clean = [(name, STAND_IN if self._hides(name) else value) for name, value in pairs]
        if clean != pairs:
            url = parts._replace(query=urlencode(clean)).geturl()
        return redact_url(url, self.text)

    def headers(self, headers: Headers) -> list[dict[str, str]]:
        """Return headers in stored form."""
        return [{"name": name, "value": self._header(name.lower(), v)} for name, v in headers]

    def _header(self, name: str, value: str) -> str:
        if name == "set-cookie" and (match := _COOKIE.match(value)):
            return f"{match[1]}={STAND_IN}{match[3]}"
        if is_sensitive(name):
            return STAND_IN
        if name in ("location", "referer", "origin", "refresh", "content-location"):
            return self.url(value)
        return redact_keys(self.text(value))

    def request_body(self, request: HttpRequest) -> str:
        """Return the body of a request in the form for storing and comparing."""
        kind = request.header("content-type").lower()
        if not request.body:
            return ""
        if "application/x-www-form-urlencoded" in kind:
            return self.text(urlencode(self._shown(self._fields(request))))
        if kind.startswith("multipart/"):
            return self.text(json.dumps(self._shown(self._fields(request)), ensure_ascii=False))
        try:
            text = request.body.decode("utf-8")
        except UnicodeDecodeError:
            return _digest(request.body)
        try:
            value = json.loads(text)
        except (ValueError, RecursionError):
            return redact_keys(self.text(text))
        return self.text(json.dumps(self._in_json(value), ensure_ascii=False))

    def _shown(self, fields: list[tuple[str, str]]) -> list[tuple[str, str]]:
        return [(name, STAND_IN if self._hides(name) else value) for name, value in fields]

    def _in_json(self, value: Any) -> Any:
        if isinstance(value, dict):
            return {
                key: STAND_IN
                if self._hides(key) and isinstance(one, str | int | float)
                else self._in_json(one)
                for key, one in value.items()
            }
        return [self._in_json(one) for one in value] if isinstance(value, list) else value

    def _fields(self, request: HttpRequest) -> list[tuple[str, str]]:
        """Return the fields of a form or the members of an object, with files as digests."""
        kind = request.header("content-type").lower()
        if "application/x-www-form-urlencoded" in kind:
            return parse_qsl(request.body.decode("utf-8", "replace"), keep_blank_values=True)
        if kind.startswith("multipart/"):
            return _parts(request.header("content-type"), request.body)
        if "json" not in kind:
            return []
        try:
            value = json.loads(request.body)
        except (ValueError, RecursionError):
            return []
        members = value.items() if isinstance(value, dict) else ()
        return [(name, one) for name, one in members if isinstance(one, str)]

    def answer_text(self, text: str, content_type: str) -> str:
        """Return the body of an answer in stored form."""
        if "json" in content_type:
            return self.text(_json_without(text, self._in_json))
        return self.text(text)

    def restored(self, text: str, secrets: dict[str, str]) -> str:
        """Return a stored text with the case's declared secrets restored, for replay."""
        return SECRET.sub(lambda match: secrets.get(match[1], match[0]), text)


def _json_without(text: str, change: Callable[[Any], Any]) -> str:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return text
    clean = change(value)
    return text if clean == value else json.dumps(clean, ensure_ascii=False)


def _parts(content_type: str, body: bytes) -> list[tuple[str, str]]:
    parsed: Message = BytesParser().parsebytes(
        b"Content-Type: " + content_type.encode("latin-1", "replace") + b"\r\n\r\n" + body
    )
    found = []
    for part in parsed.walk():
        name = part.get_param("name", header="content-disposition")
        content = part.get_payload(decode=True)
        if not isinstance(name, str) or not isinstance(content, bytes):
            continue
        file = part.get_filename()
        shown = content.decode("utf-8", "replace") if file is None else _digest(content)
        found.append((name, shown))
    return found


def _digest(content: bytes) -> str:
    return f"sha256:{hashlib.sha256(content).hexdigest()}, {len(content):,} bytes"


@dataclass(frozen=True, slots=True)
class RecordedExchange:
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


@dataclass(frozen=True, slots=True)
class Take:
    """The recording of one attempt."""

    title: str
    exchanges: tuple[RecordedExchange, ...]
    started: str = ""


@dataclass(frozen=True, slots=True)
class TrafficRecording:
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
def _read(path: Path, _changed: int, _size: int) -> TrafficRecording:
    try:
        content = path.read_bytes()
        log = json.loads(content)["log"]
        own = log.get("_autoweb", {})
        pages = {page["id"]: page for page in log.get("pages", [])}
        taken: dict[str, list[RecordedExchange]] = {name: [] for name in pages}
        for entry in log["entries"]:
            taken.setdefault(str(entry.get("pageref", "")), []).append(_exchange(entry))
    except OSError as error:
        raise TrafficError(f"recording {path}: {error.strerror or error}") from None
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise TrafficError(
            f"recording {path} is damaged or no HAR file ({type(error).__name__}: {error}); "
            f"restore it, or delete it. {NEW}"
        ) from None
    if own.get("version", VERSION) != VERSION:
        raise TrafficError(
            f"recording {path} is of version {own['version']}, this pytest-autoweb reads "
            f"{VERSION}. {NEW}"
        )
    takes = [
        Take(str(pages.get(name, {}).get("title", name)), tuple(exchanges))
        for name, exchanges in taken.items()
    ]
    return TrafficRecording(
        case_id=str(own.get("case", "")),
        takes=tuple(takes),
        run=str(own.get("run", "")),
        recorded=str(own.get("recorded", "")),
        password_fields=tuple(map(str, own.get("passwordFields", ()))),
        checksum=hashlib.sha256(content).hexdigest(),
    )


def _exchange(entry: Any) -> RecordedExchange:
    request, response = entry["request"], entry["response"]
    post, content = request.get("postData") or {}, response["content"]
    own = entry.get("_autoweb", {})
    text = str(content.get("text", ""))
    if content.get("encoding") == "base64":
        try:
            body = base64.b64decode(text, validate=True)
        except binascii.Error as error:
            raise ValueError(f"a body cannot be read: {error}") from None
    else:
        body = text.encode(str(own.get("charset", "utf-8")), "replace")
    return RecordedExchange(
        method=str(request["method"]),
        url=str(request["url"]),
        status=int(response["status"]),
        reason=str(response.get("statusText", "")),
        request_body=str(post.get("text", "")),
        request_type=str(post.get("mimeType", "")),
        headers=tuple((str(one["name"]), str(one["value"])) for one in response["headers"]),
        body=body,
        is_text=content.get("encoding") != "base64",
        destination=str(own.get("destination", "")),
        held=bool(own.get("held")),
        not_kept=str(own.get("notKept", "")),
    )


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


def without_body(exchange: RecordedExchange, why: str) -> RecordedExchange:
    """Return an exchange whose answer existed but is not kept."""
    return replace(exchange, body=b"", is_text=False, not_kept=why)
