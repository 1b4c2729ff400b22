"""Chats of outside agents, which are passed on to the model as they are.

The reply's text is the model's text; if it calls tools, the text is
`{"assistant": {"content": …, "tool_calls": […]}}`. Cassettes, records and fakes therefore hold it
like any other reply.
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


class ChatBody(BaseModel):
    """What a request of OpenAI's chat API asks for, beside the model's own settings."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)

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
