"""The log of an attempt's requests as a HAR 1.2 file, without secrets."""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from pydantic import TypeAdapter, ValidationError

from pytest_autoweb import __version__
from pytest_autoweb.base.redaction import REDACTED, FieldMasks, is_sensitive_field, redact_keys
from pytest_autoweb.base.whole_characters import read_json
from pytest_autoweb.judging.evidence.requests_log import WireEntry

_HTTP = "HTTP/1.1"

Redact = Callable[[str], str]


def har_text(
    entries: Iterable[WireEntry], redact: Redact, *, dropped: int = 0, whole: bool = False
) -> str:
    """Return the record as JSON, with `redact` applied to every text.

    Args:
        entries: the requests.
        redact: removes known secrets from text.
        dropped: how many requests are missing.
        whole: keep the values of fields such as `password` as well, for readers in this process.
    """
    masks = FieldMasks(is_sensitive_field if not whole else lambda name: False, REDACTED, redact)
    log: dict[str, Any] = {
        "version": "1.2",
        "creator": {"name": "pytest-autoweb", "version": __version__},
        "pages": [],
        "entries": [_entry(entry, masks) for entry in entries],
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
        return tuple(_read(entry) for entry in read_json(text)["log"]["entries"])
    except (KeyError, TypeError, AttributeError, IndexError) as error:
        raise ValueError(f"not a wire record: {error!r}") from error


def _entry(entry: WireEntry, masks: FieldMasks) -> dict[str, Any]:
    duration = entry.duration_ms or 0.0
    kept: dict[str, Any] = {
        "startedDateTime": (entry.started or datetime.fromtimestamp(0, UTC)).isoformat(),
        "time": duration,
        "request": _request(entry, masks),
        "response": _response(entry, masks),
        "cache": {},
        "timings": {"send": 0, "wait": duration, "receive": 0},
        "_resourceType": entry.resource_type,
        "_counted": entry.counted,
    }
    # An underscore marks fields that HAR 1.2 itself does not know.
    optional = {
        "_failureText": masks.text(entry.failed),
        "_pageUrl": masks.url(entry.page_url),
        "_frameUrl": masks.url(entry.frame_url),
        "_requestTruncated": entry.request_truncated,
        "_responseTruncated": entry.response_truncated,
    }
    return {**kept, **{name: value for name, value in optional.items() if value}}


def _request(entry: WireEntry, masks: FieldMasks) -> dict[str, Any]:
    url = masks.url(entry.url)
    request: dict[str, Any] = {
        "method": masks.text(entry.method),
        "url": url,
        "httpVersion": _HTTP,
        "cookies": [],
        "headers": _har_headers(entry.request_headers, masks),
        "queryString": [{"name": name, "value": value} for name, value in _query(url)],
        "headersSize": -1,
        "bodySize": len((entry.request_body or "").encode("utf-8", "replace")),
    }
    if entry.request_body is not None:
        kind = entry.request_headers.get("content-type", "")
        body = masks.body(entry.request_body, kind)
        request["postData"] = {"mimeType": masks.text(kind), "params": [], "text": body}
    return request


def _query(url: str) -> list[tuple[str, str]]:
    try:
        return parse_qsl(urlsplit(url).query, keep_blank_values=True)
    except ValueError:
        return []


def _response(entry: WireEntry, masks: FieldMasks) -> dict[str, Any]:
    kind = entry.response_headers.get("content-type", "")
    content: dict[str, Any] = {"size": -1, "mimeType": masks.text(kind) or "x-unknown"}
    if entry.response_body is not None:
        content["text"] = masks.body(entry.response_body, kind)
        content["size"] = len(entry.response_body.encode("utf-8", "replace"))
    return {
        "status": entry.status or 0,
        "statusText": masks.text(entry.status_text),
        "httpVersion": _HTTP,
        "cookies": [],
        "headers": _har_headers(entry.response_headers, masks),
        "content": content,
        "redirectURL": masks.url(entry.response_headers.get("location", "")),
        "headersSize": -1,
        "bodySize": -1,
    }


def _har_headers(headers: Mapping[str, str], masks: FieldMasks) -> list[dict[str, str]]:
    return [
        # Headers such as `location` and `referer` may hold URLs with secrets in their query.
        {"name": masks.text(name), "value": redact_keys(masks.url(value))}
        for name, value in headers.items()
    ]


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
