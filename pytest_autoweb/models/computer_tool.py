"""Calls in which a model uses the computer tool of its provider.

Anthropic's is called through litellm. OpenAI's is part of its responses API, which litellm reaches
only with further packages, so that API is called directly. Both give replies like those of any
other call.
"""

import json
from collections.abc import Callable, Mapping
from functools import partial
from types import ModuleType
from typing import Any

from pydantic import BaseModel, ConfigDict

from pytest_autoweb.base.whole_characters import read_json
from pytest_autoweb.models import openai_api

OPENAI_TOOL = "computer_use_preview"


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
