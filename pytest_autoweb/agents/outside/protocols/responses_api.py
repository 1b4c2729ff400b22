"""OpenAI's responses API: `/v1/responses`.

A stream has all its events and arrives in one piece. Features that run at the service itself (its
tools, conversations and files) have no counterpart with other providers and are refused; a response
of the same attempt can be continued by its id.
"""

import json
import secrets
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pytest_autoweb.agents.outside.protocols.chat_api import ChatApi
from pytest_autoweb.agents.outside.protocols.one_form import (
    Conversation,
    PassOn,
    Sent,
    as_events,
    as_json,
    chosen_function,
    function_tool,
    text_part,
    understood,
    without_blanks,
)
from pytest_autoweb.base.local_server import RequestRefused
from pytest_autoweb.base.whole_characters import read_json
from pytest_autoweb.models.agent_chat import as_message
from pytest_autoweb.models.messages import Reply
from pytest_autoweb.results.records import Usage

_ITEM_ROLES = ("user", "assistant", "system", "developer")
_TEXTS = ("input_text", "output_text", "text")
_AT_THE_SERVICE = ("background", "conversation", "prompt")
"""Request fields that ask the service to store or fetch something."""
_MORE_TOOLS = "additional_tools"
_CUSTOM = "custom_tool_call"
_TEXT_ALONE = {
    "type": "object",
    "properties": {"input": {"type": "string"}},
    "required": ["input"],
}
_BLANK: Mapping[str, Mapping[str, Any]] = {
    "message": {"content": []},
    "function_call": {"arguments": ""},
    _CUSTOM: {"input": ""},
}
"""What an item of each type has at the beginning of its stream."""
_ENDINGS = {"length": "max_output_tokens", "content_filter": "content_filter"}


class ResponsesApi(ChatApi):
    """The responses API of an attempt's endpoint, which keeps the attempt's responses."""

    def __init__(self, model: str) -> None:
        super().__init__(model)
        self._responses: dict[str, tuple[Mapping[str, Any], ...]] = {}

    def answer(self, path: str, asked: Mapping[str, Any], pass_on: PassOn) -> Sent:
        """Answer a request; see `ModelProtocol`."""
        before = str(asked.get("previous_response_id") or "")
        if before and before not in self._responses:
            raise RequestRefused(404, f"this attempt has had no response {before!r}")
        earlier = self._responses[before] if before else ()
        chat = understood(_chat_of, asked, earlier, kind="response")
        reply = pass_on(chat)
        message = as_message(reply.text)
        response = _response_of(reply, message, self._model, asked)
        # Instructions apply to a single response.
        said = chat["messages"][1 if asked.get("instructions") else 0 :]
        self._responses[response["id"]] = (*said, message)
        if not asked.get("stream"):
            return as_json(response)
        events = enumerate(_events(response))
        return as_events(
            [{**event, "sequence_number": number} for number, event in events], named=True
        )


def _chat_of(asked: Mapping[str, Any], earlier: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Translate a request.

    Args:
        asked: the request's body.
        earlier: the messages up to and including the response that the request continues.

    Raises:
        ValueError: it asks for a feature that only the service itself offers.
    """
    for name in _AT_THE_SERVICE:
        if asked.get(name):
            raise ValueError(f"{name} is not supported: nothing is kept at a service")
    given = asked.get("input")
    items = [{"role": "user", "content": given}] if isinstance(given, str) else given or []
    if not isinstance(items, list):
        raise ValueError("input must be a text or a list of items")
    words = asked.get("instructions")
    instructions = [{"role": "system", "content": words}] if words else []
    return without_blanks(
        {
            "messages": [*instructions, *earlier, *_messages(items)],
            "tools": [_tool(namespace, tool) for namespace, tool in _functions(asked)],
            "tool_choice": _choice(asked.get("tool_choice")),
            "parallel_tool_calls": asked.get("parallel_tool_calls"),
            "response_format": _format(asked.get("text")),
            "max_tokens": asked.get("max_output_tokens"),
        }
    )


def _messages(items: Sequence[Any]) -> list[dict[str, Any]]:
    talk = Conversation()
    for item in items:
        if not isinstance(item, Mapping):
            raise ValueError("an item of input is no object")
        kind = item.get("type") or "message"
        if kind in ("function_call_output", f"{_CUSTOM}_output"):
            talk.result(item.get("call_id"), _output(item.get("output")))
        elif kind == "message":
            talk.say(*_said(item))
        elif kind in ("function_call", _CUSTOM):
            name = _joined(item.get("namespace"), item.get("name"))
            given = item.get("arguments") or "{}"
            if kind == _CUSTOM:
                given = json.dumps({"input": item.get("input")}, ensure_ascii=False)
            talk.call(str(item.get("call_id")), name, given)
        elif kind not in ("reasoning", _MORE_TOOLS):
            raise ValueError(f"items of type {kind!r} are not supported")
    return talk.messages()


def _said(item: Mapping[str, Any]) -> tuple[str, Any]:
    role, content = item.get("role"), item.get("content")
    if role not in _ITEM_ROLES:
        raise ValueError(f"a message's role must be one of {', '.join(_ITEM_ROLES)}")
    if isinstance(content, str):
        return role, content
    parts = [_part(part) for part in content or ()]
    if role == "assistant":
        return role, "\n".join(part.get("text", "") for part in parts)
    return role, parts


def _part(part: Any) -> dict[str, Any]:
    kind = part.get("type") if isinstance(part, Mapping) else None
    if kind in _TEXTS:
        return text_part(part.get("text"))
    if kind == "refusal":
        return text_part(part.get("refusal"))
    if kind == "input_image" and isinstance(part.get("image_url"), str):
        picture = {"url": part["image_url"]}
        if part.get("detail") in ("low", "high"):
            picture["detail"] = part["detail"]
        return {"type": "image_url", "image_url": picture}
    raise ValueError(
        f"content of type {kind!r} is not supported: there are texts, and pictures by image_url"
    )


def _output(output: Any) -> list[dict[str, Any]]:
    if isinstance(output, str):
        return [text_part(output)]
    return [_part(part) for part in output or ()]


def _functions(asked: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield the functions that a request offers, each with its namespace, which may be empty."""
    for tool in [*(asked.get("tools") or ()), *_more_tools(asked.get("input"))]:
        kind = tool.get("type") if isinstance(tool, Mapping) else None
        if kind in ("function", "custom"):
            yield "", tool
        elif kind == "namespace":
            for inner in _functions({"tools": tool.get("tools")}):
                yield str(tool.get("name")), inner[1]
        else:
            raise ValueError(
                f"tools of type {kind!r} run at the service, and are not supported; there are "
                "'function', 'custom', and 'namespace' with such"
            )


def _tool(namespace: str, tool: Mapping[str, Any]) -> dict[str, Any]:
    """Return a tool for a chat, in which one that takes a text is a function of that text."""
    name, says = _joined(namespace, tool.get("name")), tool.get("description")
    if tool.get("type") != "custom":
        return function_tool(name, says, tool.get("parameters"), tool.get("strict"))
    form = tool.get("format") or {}
    if form.get("type") == "grammar":
        says = f"{says}\n\nThe input follows this grammar:\n{form.get('definition')}"
    return function_tool(name, says, _TEXT_ALONE)


def _more_tools(given: Any) -> Iterator[Any]:
    """Yield the tools that items of the input add."""
    for item in given if isinstance(given, list) else ():
        if isinstance(item, Mapping) and item.get("type") == _MORE_TOOLS:
            yield from item.get("tools") or ()


def _joined(namespace: Any, name: Any) -> str:
    """Return a function's name in the chat API, which has no namespaces."""
    return f"{namespace}__{name}" if namespace else str(name)


def _choice(choice: Any) -> Any:
    if not isinstance(choice, Mapping):
        return choice
    if choice.get("type") != "function":
        raise ValueError(f"tool_choice of type {choice.get('type')!r} is not supported")
    return chosen_function(choice.get("name"))


def _format(text: Any) -> dict[str, Any] | None:
    form = text.get("format") if isinstance(text, Mapping) else None
    if not isinstance(form, Mapping) or form.get("type") in (None, "text"):
        return None
    if form["type"] != "json_schema":
        return {"type": form["type"]}
    names = ("name", "description", "schema", "strict")
    schema = {name: form[name] for name in names if form.get(name) is not None}
    return {"type": "json_schema", "json_schema": schema}


def _response_of(
    reply: Reply, message: Mapping[str, Any], model: str, asked: Mapping[str, Any]
) -> dict[str, Any]:
    """Return a reply as a response.

    Args:
        reply: the model's reply.
        message: the same as a message of the chat API.
        model: the model's name.
        asked: the request's body.
    """
    cut = _ENDINGS.get(reply.finish_reason)
    state = "incomplete" if cut else "completed"
    return {
        "id": f"resp_{secrets.token_hex(12)}",
        "object": "response",
        "created_at": int(time.time()),
        "status": state,
        "error": None,
        "incomplete_details": {"reason": cut} if cut else None,
        "instructions": asked.get("instructions"),
        "metadata": asked.get("metadata") or {},
        "model": model,
        "output": [
            {"id": f"item_{secrets.token_hex(8)}", **item} for item in _items(message, state, asked)
        ],
        "parallel_tool_calls": asked.get("parallel_tool_calls") is not False,
        "previous_response_id": asked.get("previous_response_id"),
        "temperature": None,
        "text": asked.get("text") or {"format": {"type": "text"}},
        "tool_choice": asked.get("tool_choice") or "auto",
        "tools": asked.get("tools") or [],
        "top_p": None,
        "usage": _usage(reply.usage),
    }


def _items(
    message: Mapping[str, Any], state: str, asked: Mapping[str, Any]
) -> Iterator[dict[str, Any]]:
    if said := message.get("content"):
        part = {"type": "output_text", "text": said, "annotations": [], "logprobs": []}
        yield {"type": "message", "role": "assistant", "status": state, "content": [part]}
    offered = {_joined(space, tool.get("name")): (space, tool) for space, tool in _functions(asked)}
    for call in message.get("tool_calls") or ():
        function = call.get("function") or {}
        name, given = str(function.get("name")), function.get("arguments") or "{}"
        namespace, tool = offered.get(name, ("", {}))
        item = {"call_id": call["id"], "name": tool.get("name") or name, "status": "completed"}
        if namespace:
            item["namespace"] = namespace
        if tool.get("type") == "custom":
            yield {"type": _CUSTOM, "input": _text_alone(given), **item}
        else:
            yield {"type": "function_call", "arguments": given, **item}


def _text_alone(arguments: str) -> str:
    """Return the text for a tool that takes nothing else."""
    try:
        given = read_json(arguments)
    except (ValueError, RecursionError):
        return arguments
    return str(given["input"]) if isinstance(given, dict) and "input" in given else arguments


def _usage(usage: Usage) -> dict[str, Any]:
    return {
        "input_tokens": usage.input_tokens,
        "input_tokens_details": {"cached_tokens": usage.cached_tokens, "cache_write_tokens": 0},
        "output_tokens": usage.output_tokens,
        "output_tokens_details": {"reasoning_tokens": usage.reasoning_tokens},
        "total_tokens": usage.input_tokens + usage.output_tokens,
    }


def _events(response: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    begun = {**response, "status": "in_progress", "output": [], "usage": None}
    begun["incomplete_details"] = None
    for kind in ("created", "in_progress"):
        yield {"type": f"response.{kind}", "response": begun}
    for number, item in enumerate(response["output"]):
        place = {"output_index": number}
        added = {**item, **_BLANK[item["type"]], "status": "in_progress"}
        yield {"type": "response.output_item.added", **place, "item": added}
        yield from _parts(item, {**place, "item_id": item["id"]})
        yield {"type": "response.output_item.done", **place, "item": item}
    yield {"type": f"response.{response['status']}", "response": response}


def _parts(item: Mapping[str, Any], place: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    if item["type"] == _CUSTOM:
        kind, said = "response.custom_tool_call_input", item["input"]
        yield {"type": f"{kind}.delta", **place, "delta": said}
        yield {"type": f"{kind}.done", **place, "input": said}
        return
    if item["type"] == "function_call":
        kind, said = "response.function_call_arguments", item["arguments"]
        yield {"type": f"{kind}.delta", **place, "delta": said}
        yield {"type": f"{kind}.done", **place, "arguments": said, "name": item["name"]}
        return
    (part,) = item["content"]
    place, text = {**place, "content_index": 0}, part["text"]
    yield {"type": "response.content_part.added", **place, "part": {**part, "text": ""}}
    yield {"type": "response.output_text.delta", **place, "delta": text, "logprobs": []}
    yield {"type": "response.output_text.done", **place, "text": text, "logprobs": []}
    yield {"type": "response.content_part.done", **place, "part": part}
