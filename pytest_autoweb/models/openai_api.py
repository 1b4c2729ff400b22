"""Calls of servers that speak OpenAI's API, without litellm, as in a lean installation.

Replies and errors have the same attributes as litellm's, so `litellm_client` reads both alike. For
everything else that litellm can do (other providers, its table of prices), an error names litellm
as a requirement.

Some servers report an error with status 200, and some send the text of a reply in parts or as a
number. Both are brought into the form that the API promises, here and in `answer_repairs`.

Streamed replies are server-sent events, described at
https://platform.openai.com/docs/api-reference/chat-streaming and, for their lines, at
https://html.spec.whatwg.org/multipage/server-sent-events.html.
"""

import json
import os
import re
from collections.abc import Iterator, Mapping
from functools import cache
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import unquote, urlsplit
from urllib.request import getproxies, proxy_bypass

from pytest_autoweb.base.whole_characters import read_json

# Late imports: test processes load this module, but only the gateway calls a server.

if TYPE_CHECKING:
    import urllib3


EVENTS = "text/event-stream"
"""The media type of a body of events."""
_END = "[DONE]"
_ABOUT = ("id", "object", "created", "model", "system_fingerprint", "usage")
_PIECES = ("content", "reasoning_content", "reasoning", "refusal")
_MOST_CALLS = 128
# Only these end a line; `str.splitlines` would split at many other characters.
_NEWLINE = re.compile(r"\r\n|\r|\n")

OPENAI = "https://api.openai.com/v1"
PREFIX = "openai/"
LARGEST_REPLY = 32 * 1024 * 1024
"""A longer body is refused, because no model's reply is that long."""
_KEY = "OPENAI_API_KEY"
_KEPT = 64
"""Limit on connections to one server that stay open between calls."""
_FIRST_REFUSAL = 300
# A reasoning model's thoughts before its reply, if the server does not separate them.
_THOUGHTS = re.compile(r"\A\s*<think(?:ing)?>(.*?)</think(?:ing)?>", re.DOTALL)

_WORDS_OF_STATUS = (
    # Looked up in an error's code, type and message, in this order.
    (("rate_limit", "rate limit", "too many requests", "overloaded", "quota"), 429),
    (("auth", "api key", "api_key", "permission", "forbidden"), 401),
    (("context", "invalid", "unsupported", "content_filter", "content_policy", "safety"), 400),
)
_UNKNOWN_ERROR = 500
_REASONING_PARTS = ("thinking", "reasoning", "reasoning_text")


def whole_reply(body: str) -> dict[str, Any]:
    """Assemble the events of a body into the reply as it would be without streaming.

    Args:
        body: the events; only the first choice is kept.

    Returns:
        An object with `error` if the server reports one, or if the stream ended early.

    Raises:
        ValueError: an event does not have the form of OpenAI's API.
    """
    try:
        return _put_together(_events(body))
    except (AttributeError, TypeError) as error:
        raise ValueError(f"a piece of the stream has another form: {error}") from error


def _put_together(events: Iterator[dict[str, Any]]) -> dict[str, Any]:
    reply: dict[str, Any] = {}
    message: dict[str, Any] = {"role": "assistant", "content": None}
    calls: dict[int, dict[str, Any]] = {}
    ended = None
    for event in events:
        if event.get("error"):
            return {"error": event["error"]}
        reply |= {name: event[name] for name in _ABOUT if event.get(name)}
        for choice in event.get("choices") or ():
            if choice.get("index", 0) == 0:
                _add(choice.get("delta") or {}, message, calls)
                ended = choice.get("finish_reason") or ended
    if ended is None:
        return {"error": {"message": "the server ended the stream before the reply", "code": 502}}
    if calls:
        message["tool_calls"] = [calls[place] for place in sorted(calls)]
    return reply | {"choices": [{"index": 0, "message": message, "finish_reason": ended}]}


def _events(body: str) -> Iterator[dict[str, Any]]:
    """Yield the events' data up to the one that marks the end.

    An event without an empty line at its end was cut off, except that a server may omit the last
    such line.
    """
    data: list[str] = []
    for line in (*_NEWLINE.split(body.removeprefix("\ufeff")), ""):
        # Lines that begin with a colon only keep the connection open.
        if line.startswith("data:"):
            data.append(line.removeprefix("data:").removeprefix(" "))
        elif not line and data:
            text = "\n".join(data)
            data.clear()
            if text.strip() == _END:
                return
            yield read_json(text)


def _add(delta: dict[str, Any], message: dict[str, Any], calls: dict[int, dict[str, Any]]) -> None:
    """Append one piece of a reply to those received so far."""
    for name in _PIECES:
        if isinstance(piece := delta.get(name), str):
            message[name] = (message.get(name) or "") + piece
    for piece in delta.get("tool_calls") or ():
        place = int(piece.get("index") or 0)
        if place not in calls and len(calls) >= _MOST_CALLS:
            raise ValueError(f"the reply calls more than {_MOST_CALLS} tools")
        call = calls.setdefault(
            place, {"type": "function", "function": {"name": "", "arguments": ""}}
        )
        if piece.get("id"):
            call["id"] = piece["id"]
        function = piece.get("function") or {}
        for name in ("name", "arguments"):
            call["function"][name] += str(function.get(name) or "")


class ServerRefused(Exception):
    """Raised when the server answers with an error.

    Args:
        message: the server's own words.
        status: the HTTP status.
        headers: the headers of the answer.
        body: the error as the server sent it.
    """

    def __init__(
        self, message: str, status: int, headers: Mapping[str, str], body: object = None
    ) -> None:
        super().__init__(message)
        self.status_code, self.headers, self.body = status, headers, body


def completion(
    *,
    model: str,
    messages: list[dict[str, Any]],
    timeout: float,
    api_base: str | None = None,
    api_key: str | None = None,
    extra_body: Mapping[str, Any] | None = None,
    **fields: Any,
) -> SimpleNamespace:
    """Ask a server for one reply, once.

    Args:
        model: the model's name as the server knows it.
        messages: the messages in OpenAI's form.
        timeout: seconds for each single read.
        api_base: the server's URL; None is OpenAI's own.
        api_key: its key; None is the one in the environment.
        extra_body: additional fields of the body.
        fields: further fields of the API, such as the limit of the reply. Those that only steer
            litellm are dropped.

    Raises:
        ServerRefused: the server answered with an error.
        OSError: there is no connection.
        ValueError: the answer is not JSON, or too long.
    """
    fields = {name: value for name, value in fields.items() if not name.endswith("_retries")}
    body = {"model": model, "messages": messages} | fields | dict(extra_body or {})
    found, headers = _sent(_posted("chat/completions", body, api_base, api_key), timeout)
    reply = _reply(found)
    reply.headers = headers
    return reply


def respond(
    *,
    model: str,
    messages: list[dict[str, Any]],
    timeout: float,
    tools: list[dict[str, Any]],
    max_tokens: int | None = None,
    max_completion_tokens: int | None = None,
    api_base: str | None = None,
    api_key: str | None = None,
    reasoning_effort: str | None = None,
    extra_body: Mapping[str, Any] | None = None,
    **fields: Any,
) -> dict[str, Any]:
    """Ask OpenAI's responses API once, and return its JSON.

    Args:
        model: the model's name, with or without `openai/`.
        messages: the messages in the form of chat completions.
        timeout: seconds for each single read.
        tools: the tools that are offered.
        max_tokens: the limit of the reply.
        max_completion_tokens: the same under its newer name.
        api_base: the server's URL; None is OpenAI's own.
        api_key: its key; None is the one in the environment.
        reasoning_effort: how much the model is asked to think.
        extra_body: additional fields of the body.
        fields: other fields of chat completions, all ignored because this API takes none.

    Raises:
        ServerRefused: the server answered with an error.
        OSError: there is no connection.
        ValueError: the answer is not a JSON object, or too long.
    """
    body: dict[str, Any] = {
        "model": model.removeprefix(PREFIX),
        "input": [{"role": m["role"], "content": _input(m["content"])} for m in messages],
        "tools": tools,
        "truncation": "auto",
    }
    if (limit := max_tokens or max_completion_tokens) is not None:
        body["max_output_tokens"] = limit
    if reasoning_effort is not None:
        body["reasoning"] = {"effort": reasoning_effort}
    posted = _posted("responses", body | dict(extra_body or {}), api_base, api_key)
    found, _ = _sent(posted, timeout)
    if not isinstance(found, dict):
        raise ValueError("Empty or invalid response: it is no object")
    return found


def _input(content: str | list[dict[str, Any]]) -> str | list[dict[str, Any]]:
    if isinstance(content, str):
        return content
    return [
        {"type": "input_text", "text": part["text"]}
        if part["type"] == "text"
        else {"type": "input_image", "image_url": part["image_url"]["url"], "detail": "auto"}
        for part in content
    ]


class _Posted(NamedTuple):
    url: str
    body: bytes
    headers: dict[str, str]


def _posted(
    path: str, body: Mapping[str, Any], api_base: str | None, api_key: str | None
) -> _Posted:
    return _Posted(
        f"{(api_base or default_base()).rstrip('/')}/{path}",
        json.dumps(body).encode(),
        {
            "Content-Type": "application/json",
            "Accept": "application/json",
            "Authorization": f"Bearer {api_key or os.environ.get(_KEY, '')}",
        },
    )


def limits_of(api_base: str | None) -> tuple[str, str]:
    """Return the names of the field that limits a reply, the one that a server prefers first.

    OpenAI itself has renamed the field, and most other servers know only the old name.
    """
    names = ("max_tokens", "max_completion_tokens")
    return names[::-1] if (api_base or default_base()) == OPENAI else names


def default_base() -> str:
    """Return OpenAI's URL, or the one set in the environment."""
    named = os.environ.get("OPENAI_BASE_URL") or os.environ.get("OPENAI_API_BASE") or ""
    return named.strip() or OPENAI


def _proxy_of(url: str) -> str:
    """Return the proxy for a URL from the environment; empty if there is none."""
    parts = urlsplit(url)
    return "" if proxy_bypass(parts.netloc) else getproxies().get(parts.scheme, "")


def load_connections() -> None:
    """Load what sends requests, which takes longer than a server of this machine to answer one."""
    import urllib3  # noqa: F401


@cache
def _connections(proxy: str) -> "urllib3.PoolManager":
    """Return the pool of open connections: each new one to a service costs a handshake."""
    import urllib3

    if not proxy:
        return urllib3.PoolManager(maxsize=_KEPT)
    parts = urlsplit(proxy if "://" in proxy else f"http://{proxy}")
    login = f"{unquote(parts.username or '')}:{unquote(parts.password or '')}"
    headers = urllib3.make_headers(proxy_basic_auth=login) if parts.username else None
    return urllib3.ProxyManager(parts.geturl(), maxsize=_KEPT, proxy_headers=headers)


def _sent(posted: _Posted, timeout: float) -> tuple[Any, Mapping[str, str]]:
    """Return the JSON of the server's answer, and its headers.

    Raises:
        ServerRefused: see `completion`, also for other errors.
    """
    from urllib3 import exceptions

    try:
        # A redirect would carry the key to another server; retries are up to the caller.
        answer = _connections(_proxy_of(posted.url)).request(
            "POST",
            posted.url,
            body=posted.body,
            headers=posted.headers,
            timeout=timeout,
            retries=False,
            redirect=False,
            preload_content=False,
        )
        content = answer.read(LARGEST_REPLY + 1)
        # Only a connection whose answer was read to the end can be reused.
        (answer.release_conn if len(content) <= LARGEST_REPLY else answer.close)()
    except exceptions.HTTPError as error:
        raise _plain_error(error) from None
    if answer.status >= _FIRST_REFUSAL:
        said = _said(content)
        raise ServerRefused(_words(said, answer), answer.status, answer.headers, said)
    if len(content) > LARGEST_REPLY:
        raise ValueError(f"the reply is longer than {LARGEST_REPLY} bytes")
    found = _read(content, answer)
    if (status := error_status(found)) is not None:
        message = str(found["error"].get("message") or found["error"])
        raise ServerRefused(message, status, answer.headers, found)
    tidy_choices(found)
    return found, answer.headers


def _read(content: bytes, answer: "urllib3.BaseHTTPResponse") -> Any:
    if answer.headers.get("Content-Type", "").startswith(EVENTS):
        return whole_reply(content.decode(errors="replace"))
    return read_json(content)


def _plain_error(error: "urllib3.exceptions.HTTPError") -> OSError:
    """Return the error of the connection itself, which those of urllib3 only wrap."""
    from urllib3 import exceptions

    # urllib3 reports a refused connection as a timeout, too.
    if isinstance(cause := error.__cause__, OSError):
        return cause
    if isinstance(error, exceptions.TimeoutError):
        return TimeoutError("timed out")
    if isinstance(error, exceptions.ProtocolError):
        cause = error.args[-1]
        return OSError(f"the server broke off: {type(cause).__name__}: {cause}")
    return OSError(str(error))


def _said(content: bytes) -> Any:
    """Return the body of a refusal: its JSON, or the beginning of its text."""
    try:
        return read_json(content)
    except ValueError:
        return content.decode(errors="replace").strip()[:600]


def _words(said: Any, answer: "urllib3.BaseHTTPResponse") -> str:
    """Return the server's error message, whatever its form."""
    inner = said.get("error") or said.get("message") or said if isinstance(said, dict) else said
    if isinstance(inner, dict):
        inner = inner.get("message") or inner
    code = said["error"].get("code") if isinstance(said, dict) and _has_code(said) else None
    text = str(inner) if inner else f"HTTP {answer.status} {answer.reason}"
    return f"{text} ({code})" if code and str(code) not in text else text


def _has_code(said: Mapping[str, Any]) -> bool:
    return isinstance(said.get("error"), dict) and not str(said["error"].get("code")).isdecimal()


def _reply(found: Any) -> SimpleNamespace:
    """Return a reply with attributes in place of keys, and its refusal and reasoning separated."""
    if not isinstance(found, dict) or not isinstance(found.get("choices"), list):
        raise ValueError("Empty or invalid response: there are no choices")
    for choice in found["choices"]:
        message = choice["message"]
        message["provider_specific_fields"] = {
            name: message.get(name) for name in ("refusal", "reasoning") if message.get(name)
        }
        if thoughts := _THOUGHTS.match(message.get("content") or ""):
            message["content"] = message["content"][thoughts.end() :]
            message.setdefault("reasoning_content", thoughts[1])
    kept = ("choices", "usage", "model", "system_fingerprint")
    return SimpleNamespace(**{name: with_attributes(found.get(name)) for name in kept})


def with_attributes(value: Any) -> Any:
    """Return JSON with attributes in place of keys, as litellm's replies have them."""
    if isinstance(value, list):
        return [with_attributes(item) for item in value]
    if not isinstance(value, dict):
        return value
    return SimpleNamespace(
        **{
            name: inner if name == "provider_specific_fields" else with_attributes(inner)
            for name, inner in value.items()
        }
    )


def error_status(found: Any) -> int | None:
    """Return the status that an error sent with status 200 should have had; None if it is no error.

    Args:
        found: the body, read from JSON; an error given as plain text becomes an object.
    """
    if not isinstance(found, dict) or found.get("choices") or not found.get("error"):
        return None
    error = found["error"]
    if not isinstance(error, dict):
        found["error"] = error = {"message": str(error)}
    for name in ("code", "status", "status_code"):
        code = error.get(name)
        if str(code).isdecimal() and 400 <= int(str(code)) < 600:
            return int(str(code))
    words = " ".join(str(error.get(name) or "") for name in ("code", "type", "message")).lower()
    for known, status in _WORDS_OF_STATUS:
        if any(word in words for word in known):
            return status
    return _UNKNOWN_ERROR


def tidy_choices(found: Any) -> bool:
    """Turn reply contents that are not text into text; return whether there were any."""
    if not isinstance(found, dict) or not isinstance(choices := found.get("choices"), list):
        return False
    changed = False
    for choice in choices:
        message = choice.get("message") if isinstance(choice, dict) else None
        if not isinstance(message, dict):
            continue
        content = message.get("content")
        if isinstance(content, list):
            message["content"], thoughts = _joined(content)
            if thoughts:
                message.setdefault("reasoning_content", thoughts)
            changed = True
        elif content is not None and not isinstance(content, str):
            message["content"] = json.dumps(content, ensure_ascii=False)
            changed = True
    return changed


def _joined(parts: list[Any]) -> tuple[str, str]:
    """Return the text of all parts and, separately, their reasoning."""
    texts: list[str] = []
    thoughts: list[str] = []
    for part in parts:
        if not isinstance(part, dict):
            texts.append(part if isinstance(part, str) else json.dumps(part, ensure_ascii=False))
        elif part.get("type") in _REASONING_PARTS:
            inner = part.get("thinking") or part.get("reasoning") or part.get("text")
            thoughts.append(_joined(inner)[0] if isinstance(inner, list) else str(inner or ""))
        else:
            texts.append(str(part.get("text") or ""))
    return "".join(texts), "".join(thoughts)
