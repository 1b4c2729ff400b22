"""Conversion of the wire record to a HAR 1.2 file without secrets, and back."""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

from pydantic import TypeAdapter, ValidationError

from pytest_autoweb import __version__
from pytest_autoweb.evidence.wire import WireEntry

_FORM = "application/x-www-form-urlencoded"
_HTTP = "HTTP/1.1"

Redact = Callable[[str], str]


def har_text(entries: Iterable[WireEntry], redact: Redact, *, dropped: int = 0) -> str:
    """Return the record as JSON, with `redact` applied to every text."""
    log: dict[str, Any] = {
        "version": "1.2",
        "creator": {"name": "pytest-autoweb", "version": __version__},
        "pages": [],
        "entries": [_entry(entry, redact) for entry in entries],
    }
    if dropped:
        log["comment"] = f"{dropped} requests did not fit and are missing"
    return json.dumps({"log": log}, ensure_ascii=True, indent=1)


def read_har(text: str) -> tuple[WireEntry, ...]:
    """Read the requests from a file that `har_text` wrote.

    Raises:
        ValueError: the text is not such a file.
    """
    try:
        return tuple(_read(entry) for entry in json.loads(text)["log"]["entries"])
    except (KeyError, TypeError, AttributeError, IndexError) as error:
        raise ValueError(f"not a wire record: {error!r}") from error


def _entry(entry: WireEntry, redact: Redact) -> dict[str, Any]:
    duration = entry.duration_ms or 0.0
    kept: dict[str, Any] = {
        "startedDateTime": (entry.started or datetime.fromtimestamp(0, UTC)).isoformat(),
        "time": duration,
        "request": _request(entry, redact),
        "response": _response(entry, redact),
        "cache": {},
        "timings": {"send": 0, "wait": duration, "receive": 0},
        "_resourceType": entry.resource_type,
        "_counted": entry.counted,
    }
    # An underscore marks fields that HAR 1.2 itself does not know.
    optional = {
        "_failureText": redact(entry.failed),
        "_pageUrl": redact_url(entry.page_url, redact),
        "_frameUrl": redact_url(entry.frame_url, redact),
        "_requestTruncated": entry.request_truncated,
        "_responseTruncated": entry.response_truncated,
    }
    return {**kept, **{name: value for name, value in optional.items() if value}}


def _request(entry: WireEntry, redact: Redact) -> dict[str, Any]:
    url = redact_url(entry.url, redact)
    request: dict[str, Any] = {
        "method": redact(entry.method),
        "url": url,
        "httpVersion": _HTTP,
        "cookies": [],
        "headers": _headers(entry.request_headers, redact),
        "queryString": [{"name": name, "value": value} for name, value in _query(url)],
        "headersSize": -1,
        "bodySize": len((entry.request_body or "").encode("utf-8", "replace")),
    }
    if entry.request_body is not None:
        kind = entry.request_headers.get("content-type", "")
        body = redact_body(entry.request_body, kind, redact)
        request["postData"] = {"mimeType": redact(kind), "params": [], "text": body}
    return request


def _query(url: str) -> list[tuple[str, str]]:
    try:
        return parse_qsl(urlsplit(url).query, keep_blank_values=True)
    except ValueError:
        return []


def _response(entry: WireEntry, redact: Redact) -> dict[str, Any]:
    kind = entry.response_headers.get("content-type", "")
    content: dict[str, Any] = {"size": -1, "mimeType": redact(kind) or "x-unknown"}
    if entry.response_body is not None:
        content["text"] = redact_body(entry.response_body, kind, redact)
        content["size"] = len(entry.response_body.encode("utf-8", "replace"))
    return {
        "status": entry.status or 0,
        "statusText": redact(entry.status_text),
        "httpVersion": _HTTP,
        "cookies": [],
        "headers": _headers(entry.response_headers, redact),
        "content": content,
        "redirectURL": redact_url(entry.response_headers.get("location", ""), redact),
        "headersSize": -1,
        "bodySize": -1,
    }


def _headers(headers: Mapping[str, str], redact: Redact) -> list[dict[str, str]]:
    return [
        # Headers such as `location` and `referer` may hold URLs with secrets in their query.
        {"name": redact(name), "value": redact_url(value, redact)}
        for name, value in headers.items()
    ]


def redact_url(url: str, redact: Redact) -> str:
    """Return a URL without secrets, however the parts of its query are escaped."""
    shown = redact(url)
    try:
        parts = urlsplit(shown)
        pairs = parse_qsl(parts.query, keep_blank_values=True)
    except ValueError:
        return shown
    clean = [(redact(name), redact(value)) for name, value in pairs]
    return shown if clean == pairs else urlunsplit(parts._replace(query=urlencode(clean)))


def redact_body(text: str, content_type: str, redact: Redact) -> str:
    """Return a body without secrets; JSON stays valid JSON, and a form keeps its fields."""
    shown = redact(text)
    if _FORM in content_type:
        pairs = parse_qsl(shown, keep_blank_values=True)
        clean = [(redact(name), redact(value)) for name, value in pairs]
        return shown if clean == pairs else urlencode(clean)
    # Secrets are replaced in the decoded values, because JSON can escape any character.
    value = _json(text)
    if value is None:
        return shown
    clean_value = _redacted(value, redact)
    if clean_value == value and shown == text:
        return text
    return redact(json.dumps(clean_value, ensure_ascii=False))


def _redacted(value: Any, redact: Redact) -> Any:
    if isinstance(value, str):
        return redact(value)
    if isinstance(value, dict):
        return {redact(key): _redacted(item, redact) for key, item in value.items()}
    if isinstance(value, list):
        return [_redacted(item, redact) for item in value]
    if value is None or isinstance(value, bool):
        return value
    # A secret of digits may occur as a number.
    spelled = json.dumps(value)
    hidden = redact(spelled)
    return value if hidden == spelled else hidden


def _json(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


_WHEN: TypeAdapter[datetime] = TypeAdapter(datetime)


def _read(entry: Any) -> WireEntry:
    request, response = entry["request"], entry["response"]
    post = request.get("postData")
    try:
        started = _WHEN.validate_python(entry["startedDateTime"])
    except ValidationError as error:
        raise ValueError("not a wire record: a time cannot be read") from error
    return WireEntry(
        method=str(request["method"]),
        url=str(request["url"]),
        status=int(response["status"]) or None,
        status_text=str(response["statusText"]),
        resource_type=str(entry.get("_resourceType", "other")),
        request_headers=_read_headers(request["headers"]),
        request_body=None if post is None else str(post.get("text", "")),
        request_truncated=bool(entry.get("_requestTruncated")),
        response_headers=_read_headers(response["headers"]),
        response_body=response["content"].get("text"),
        response_truncated=bool(entry.get("_responseTruncated")),
        started=started,
        duration_ms=float(entry["time"]),
        failed=str(entry.get("_failureText", "")),
        page_url=str(entry.get("_pageUrl", "")),
        frame_url=str(entry.get("_frameUrl", "")),
        counted=entry.get("_counted") is not False,
    )


def _read_headers(headers: Sequence[Mapping[str, str]]) -> dict[str, str]:
    return {str(header["name"]): str(header["value"]) for header in headers}
