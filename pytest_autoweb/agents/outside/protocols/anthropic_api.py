"""Anthropic's Messages API: `/v1/messages`, `/v1/messages/count_tokens` and its `/v1/models`.

Sources: https://platform.claude.com/docs/en/api/messages, `…/messages-count-tokens`, `…/errors` and
`…/build-with-claude/streaming`. Thoughts are not passed on, in either direction. What runs at
Anthropic (its own tools, files, containers) is refused.
"""

import json
import secrets
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pytest_autoweb.agents.outside.protocols.one_form import (
    Conversation,
    PassOn,
    Sent,
    as_events,
    as_json,
    calls_of,
    chosen_function,
    function_tool,
    json_form,
    picture_part,
    text_of,
    text_part,
    tokens_of,
    understood,
    without_blanks,
)
from pytest_autoweb.base.local_server import RequestRefused
from pytest_autoweb.models.messages import Reply
from pytest_autoweb.results.records import Usage

_PATHS = (MESSAGES, COUNT) = ("/v1/messages", "/v1/messages/count_tokens")
_ERRORS: Mapping[int, str] = {
    401: "authentication_error",
    402: "billing_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
    503: "overloaded_error",
    504: "timeout_error",
}
_ENDINGS: Mapping[str, str] = {"length": "max_tokens", "content_filter": "refusal"}
_CHOICES: Mapping[str, str] = {"auto": "auto", "any": "required", "none": "none"}
_THOUGHTS = ("thinking", "redacted_thinking")
_FAILED = "The tool failed:"


class AnthropicApi:
    """The Messages API of an attempt's endpoint.

    Args:
        model: the name of the cell's model.
    """

    def __init__(self, model: str) -> None:
        self._model = model

    def answer(self, path: str, asked: Mapping[str, Any], pass_on: PassOn) -> Sent:
        """Answer a request; see `ModelProtocol`."""
        if path not in _PATHS:
            raise RequestRefused(404, f"there is only {' and '.join(_PATHS)}")
        chat = understood(_chat_of, asked, kind="message")
        if path == COUNT:
            return as_json({"input_tokens": tokens_of(chat)})
        message = _message_of(pass_on(chat), self._model)
        if not asked.get("stream"):
            return as_json(message)
        return as_events(list(_events(message)), named=True)

    def listing(self, path: str) -> Mapping[str, Any] | None:
        """Return the list of the one model; see `ModelProtocol`."""
        name = self._model
        model = {"type": "model", "id": name, "display_name": name}
        model["created_at"] = "1970-01-01T00:00:00Z"
        if path == "/v1/models":
            return {"data": [model], "has_more": False, "first_id": name, "last_id": name}
        return model if path.startswith("/v1/models/") else None

    def error(self, status: int, code: str, message: str) -> Mapping[str, Any]:
        """Return an error in Anthropic's form; see `ModelProtocol`."""
        kind = _ERRORS.get(status, "invalid_request_error" if status < 500 else "api_error")
        return {
            "type": "error",
            "error": {"type": kind, "message": message},
            "request_id": f"req_{secrets.token_hex(12)}",
        }


def _chat_of(asked: Mapping[str, Any]) -> dict[str, Any]:
    """Translate a request.

    Raises:
        ValueError: it asks for a feature that only the service itself offers.
    """
    talk = Conversation()
    messages = list(asked.get("messages") or ())
    if system := [*_opening(asked.get("system"), messages)]:
        talk.say("system", "\n\n".join(system))
    for message in messages:
        _add(talk, message.get("role"), message.get("content"))
    choice = asked.get("tool_choice") or {}
    schema = ((asked.get("output_config") or {}).get("format") or {}).get("schema")
    return without_blanks(
        {
            "messages": talk.messages(),
            "tools": [_tool(tool) for tool in asked.get("tools") or ()],
            "tool_choice": _choice(choice) if choice else None,
            "parallel_tool_calls": False if choice.get("disable_parallel_tool_use") else None,
            "response_format": json_form(schema) if schema else None,
            "max_tokens": asked.get("max_tokens"),
            "stop": list(asked.get("stop_sequences") or ()),
        }
    )


def _opening(system: Any, messages: list[Mapping[str, Any]]) -> Iterator[str]:
    """Yield the system's texts before the first reply, and take their messages out.

    Claude Code sends some after the question, where the templates of many models allow none.
    """
    if system:
        yield _words(system)
    for message in tuple(messages):
        if message.get("role") == "assistant":
            return
        if message.get("role") == "system":
            messages.remove(message)
            yield _words(message.get("content"))


def _words(content: Any) -> str:
    """Return the text of a content that may be only text."""
    parts = _parts(content)
    if any(part["type"] != "text" for part in parts):
        raise ValueError("there are pictures where only texts may be")
    return "\n\n".join(part["text"] for part in parts)


def _parts(content: Any) -> list[dict[str, Any]]:
    if isinstance(content, str):
        return [text_part(content)]
    return [_part(block) for block in content or ()]


def _part(block: Mapping[str, Any]) -> dict[str, Any]:
    kind, source = block.get("type"), block.get("source") or {}
    if kind == "text":
        return text_part(block.get("text"))
    if kind == "image" and source.get("type") == "base64":
        return picture_part(source.get("media_type"), source.get("data"))
    if kind == "document" and source.get("type") == "text":
        return text_part(source.get("data"))
    what = f"{kind!r} from {source['type']!r}" if source else f"{kind!r}"
    raise ValueError(
        f"content of type {what} is not supported: there are texts, and pictures as base64"
    )


def _add(talk: Conversation, role: Any, content: Any) -> None:
    """Add a message's blocks; results stand apart from what is said beside them."""
    if role not in ("user", "assistant", "system"):
        raise ValueError(f"a message's role must be user or assistant, not {role!r}")
    if isinstance(content, str):
        talk.say(role, content)
        return
    said = [block for block in content or () if block.get("type") not in _THOUGHTS]
    for block in said:
        if block.get("type") == "tool_result":
            talk.result(block.get("tool_use_id"), _result(block))
    beside = [block for block in said if block.get("type") not in ("tool_result", "tool_use")]
    if beside and role == "user":
        talk.say(role, _parts(beside))
    elif beside:
        talk.say(role, _words(beside))
    for block in said:
        if block.get("type") == "tool_use":
            given = json.dumps(block.get("input") or {}, ensure_ascii=False)
            talk.call(str(block.get("id")), str(block.get("name")), given)


def _result(block: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the parts of a result; a chat has no other place to say that the tool failed."""
    parts = _parts(block.get("content"))
    return [text_part(_FAILED), *parts] if block.get("is_error") else parts


def _tool(tool: Mapping[str, Any]) -> dict[str, Any]:
    if tool.get("type") not in (None, "custom"):
        raise ValueError(
            f"tools of type {tool['type']!r} are Anthropic's own, and are not supported; there are "
            "tools with an input_schema"
        )
    return function_tool(
        tool["name"], tool.get("description"), tool["input_schema"], tool.get("strict")
    )


def _choice(choice: Mapping[str, Any]) -> Any:
    if choice.get("type") == "tool":
        return chosen_function(choice["name"])
    return _CHOICES[str(choice.get("type"))]


def _message_of(reply: Reply, model: str) -> dict[str, Any]:
    """Return a reply as a message."""
    text = text_of(reply)
    content: list[dict[str, Any]] = [{"type": "text", "text": text}] if text else []
    content += [
        {"type": "tool_use", "id": call.id, "name": call.name, "input": call.arguments}
        for call in calls_of(reply)
    ]
    called = any(block["type"] == "tool_use" for block in content)
    return {
        "id": f"msg_{secrets.token_hex(12)}",
        "type": "message",
        "role": "assistant",
        "model": model,
        "content": content,
        "stop_reason": "tool_use" if called else _ENDINGS.get(reply.finish_reason, "end_turn"),
        "stop_sequence": None,
        "usage": _usage(reply.usage),
    }


def _usage(usage: Usage) -> dict[str, Any]:
    """Return the usage; input tokens are those that were not read from the service's cache."""
    return {
        "input_tokens": max(0, usage.input_tokens - usage.cached_tokens),
        "cache_creation_input_tokens": 0,
        "cache_read_input_tokens": usage.cached_tokens,
        "output_tokens": usage.output_tokens,
    }


def _events(message: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield a whole message as the events of a stream."""
    usage: Mapping[str, Any] = message["usage"]
    begun = {**message, "content": [], "stop_reason": None, "usage": {**usage, "output_tokens": 0}}
    yield {"type": "message_start", "message": begun}
    yield {"type": "ping"}
    content: Sequence[Mapping[str, Any]] = message["content"]
    blank: dict[str, Any]
    for index, block in enumerate(content):
        if block["type"] == "text":
            blank, delta = {"text": ""}, {"type": "text_delta", "text": block["text"]}
        else:
            given = json.dumps(block["input"], ensure_ascii=False)
            blank, delta = {"input": {}}, {"type": "input_json_delta", "partial_json": given}
        yield {
            "type": "content_block_start",
            "index": index,
            "content_block": {**block, **blank},
        }
        yield {"type": "content_block_delta", "index": index, "delta": delta}
        yield {"type": "content_block_stop", "index": index}
    ending = {name: message[name] for name in ("stop_reason", "stop_sequence")}
    yield {"type": "message_delta", "delta": ending, "usage": usage}
    yield {"type": "message_stop"}
