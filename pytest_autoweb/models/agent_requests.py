"""Calls in which a model acts as an agent: chats of outside agents, and a provider's computer tool.

A chat is passed on as it is. The reply's text is the model's text; if it calls tools, the text is
`{"assistant": {"content": …, "tool_calls": […]}}`. Cassettes, records and fakes therefore hold it
like any other reply.

Anthropic's computer tool is called through litellm. OpenAI's is part of its responses API, which
litellm reaches only with further packages, so that API is called directly. Both give replies like
those of any other call.
"""

import json
from collections.abc import Callable, Mapping
from functools import partial
from types import ModuleType, SimpleNamespace
from typing import Any

from pydantic import BaseModel, ConfigDict

from pytest_autoweb.base.whole_characters import read_json
from pytest_autoweb.models import openai_api

_WRAPPED = "assistant"

OPENAI_TOOL = "computer_use_preview"


class ChatBody(BaseModel):
    """What a request of OpenAI's chat API asks for, beside the model's own settings."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    messages: tuple[dict[str, Any], ...]
    """The messages in OpenAI's form, with calls of tools and their results."""
    tools: tuple[dict[str, Any], ...] = ()
    tool_choice: str | dict[str, Any] | None = None
    parallel_tool_calls: bool | None = None
    response_format: dict[str, Any] | None = None

    def beside_messages(self) -> dict[str, Any]:
        """Return the settings besides the messages, as arguments of a call."""
        given = self.model_dump(mode="json", exclude={"messages"}, exclude_none=True)
        return {name: value for name, value in given.items() if value != []}

    def shown_to(self, *, vision: bool) -> list[dict[str, Any]]:
        """Return the messages, without pictures if the model cannot see."""
        return [dict(each) if vision else _without_pictures(each) for each in self.messages]


def _without_pictures(message: Mapping[str, Any]) -> dict[str, Any]:
    content = message.get("content")
    if not isinstance(content, list):
        return dict(message)
    return {**message, "content": [part for part in content if not is_picture(part)]}


def is_picture(part: Any) -> bool:
    """Tell whether a part of a message's content is a picture."""
    return isinstance(part, dict) and part.get("type") == "image_url"


def completion_of(chat: ChatBody | None, litellm: ModuleType | None) -> Callable[..., Any]:
    """Return the function that makes a call; for a chat, the reply's text includes its tool calls.

    Args:
        chat: an outside agent's chat; None for every other call.
        litellm: the module, or None where calls are made without it.
    """
    completion: Callable[..., Any] = (
        openai_api.completion if litellm is None else litellm.completion
    )
    if chat is None:
        return completion
    if litellm is not None:
        # Keeps litellm from looking for the tools on MCP servers.
        completion = partial(completion, _skip_mcp_handler=True)

    def complete(**arguments: Any) -> Any:
        response = completion(**arguments)
        for choice in response.choices[:1]:
            if calls := getattr(choice.message, "tool_calls", None):
                said = {"content": choice.message.content, "tool_calls": _plain(calls)}
                choice.message.content = as_text(said)
        return response

    return complete


def _plain(value: Any) -> Any:
    """Return JSON for a reply object of litellm or `openai_api`."""
    if isinstance(value, SimpleNamespace):
        return _plain(vars(value))
    if isinstance(value, BaseModel):
        return value.model_dump(mode="json", exclude_none=True)
    if isinstance(value, dict):
        return {name: _plain(inner) for name, inner in value.items()}
    return [_plain(inner) for inner in value] if isinstance(value, list) else value


def as_text(message: Mapping[str, Any]) -> str:
    """Return the text of a reply that calls tools."""
    return json.dumps({_WRAPPED: message}, ensure_ascii=False)


def as_message(text: str) -> dict[str, Any]:
    """Return a reply with that text as a message in OpenAI's form."""
    try:
        found = read_json(text) if text.startswith("{") else None
    except ValueError:
        found = None
    said = found.get(_WRAPPED) if isinstance(found, dict) and len(found) == 1 else None
    if not isinstance(said, dict) or not isinstance(said.get("tool_calls"), list):
        return {"role": "assistant", "content": text}
    calls = [
        {"id": f"call_{number}", "type": "function", **call}
        for number, call in enumerate(said["tool_calls"], 1)
        if isinstance(call, dict)
    ]
    return {"role": "assistant", "content": said.get("content"), "tool_calls": calls}


class ComputerTool(BaseModel):
    """The tool that a request offers."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    kind: str
    """The type under which the provider knows it."""
    width: int
    height: int
    """Size of the pictures in pixels, in which the model gives places."""


def completion_with(tool: ComputerTool, litellm: ModuleType | None) -> Callable[..., Any]:
    """Return a replacement for `completion` whose reply text is an action of the tool.

    The text is `{"thinking": "…", "computer": {…}}` with the action as the provider writes it, or
    the model's words if it did not use the tool.

    Args:
        tool: the tool on offer.
        litellm: the module, without which only OpenAI can be called.
    """
    if tool.kind == OPENAI_TOOL:
        return partial(_respond, tool, litellm)
    if litellm is None:
        raise ValueError(f"the tool {tool.kind} needs litellm, which is not installed")
    return partial(_complete, tool, litellm)


def _complete(tool: ComputerTool, litellm: ModuleType, **arguments: Any) -> Any:
    size = {"display_width_px": tool.width, "display_height_px": tool.height}
    offered = {"type": tool.kind, "function": {"name": "computer", "parameters": size}}
    # Keeps litellm from looking for the tool on MCP servers, for which it needs a package.
    response = litellm.completion(**arguments, tools=[offered], _skip_mcp_handler=True)
    message = response.choices[0].message
    if calls := getattr(message, "tool_calls", None):
        action = read_json(calls[0].function.arguments)
        message.content = _as_text(message.content or "", action)
    return response


def _respond(tool: ComputerTool, litellm: ModuleType | None, **arguments: Any) -> Any:
    found = openai_api.respond(
        tools=[
            {
                "type": tool.kind,
                "display_width": tool.width,
                "display_height": tool.height,
                "environment": "browser",
            }
        ],
        **arguments,
    )
    words, action = "", None
    for item in found.get("output") or ():
        if item.get("type") == "computer_call" and action is None:
            # Newer tools give several actions at once.
            action = item.get("action") or next(iter(item.get("actions") or ()), None)
        elif item.get("type") == "message":
            words += "".join(str(part.get("text") or "") for part in item.get("content") or ())
    cut = (found.get("incomplete_details") or {}).get("reason") == "max_output_tokens"
    used = found.get("usage") or {}
    chat = {
        "model": found.get("model"),
        "choices": [
            {
                "finish_reason": "length" if cut else "stop",
                "message": {"role": "assistant", "content": _as_text(words, action)},
            }
        ],
        "usage": {
            "prompt_tokens": used.get("input_tokens", 0),
            "completion_tokens": used.get("output_tokens", 0),
            "total_tokens": used.get("total_tokens", 0),
            "prompt_tokens_details": used.get("input_tokens_details"),
            "completion_tokens_details": used.get("output_tokens_details"),
        },
    }
    # litellm knows the price only of replies in its own form.
    return litellm.ModelResponse(**chat) if litellm else openai_api.with_attributes(chat)


def _as_text(words: str, action: Mapping[str, Any] | None) -> str:
    if action is None:
        return words
    return json.dumps({"thinking": words, "computer": action}, ensure_ascii=False)
