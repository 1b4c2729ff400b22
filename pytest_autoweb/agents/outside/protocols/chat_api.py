"""OpenAI's chat API, which is the one form itself: `/v1/chat/completions` and `/v1/models`."""

import json
import secrets
import time
from collections.abc import Mapping
from typing import Any

from pytest_autoweb.agents.outside.protocols.one_form import PassOn, Sent, as_json
from pytest_autoweb.base.local_server import RequestRefused
from pytest_autoweb.models.agent_chat import as_message
from pytest_autoweb.models.messages import Reply

_PATHS = ("/v1/chat/completions", "/v1/responses", "/v1/messages", "/v1beta/models/…")


class ChatApi:
    """The chat API of an attempt's endpoint.

    Args:
        model: the name of the cell's model.
    """

    def __init__(self, model: str) -> None:
        self._model = model

    def answer(self, path: str, asked: Mapping[str, Any], pass_on: PassOn) -> Sent:
        """Answer a request; see `ModelProtocol`."""
        if path != "/v1/chat/completions":
            raise RequestRefused(404, f"there is only {', '.join(_PATHS)} and /v1/models")
        if asked.get("n") not in (None, 1):
            raise RequestRefused(400, "n must be 1")
        completion = completion_of(pass_on(asked), self._model)
        if not asked.get("stream"):
            return as_json(completion)
        options = asked.get("stream_options")
        with_usage = isinstance(options, Mapping) and bool(options.get("include_usage"))
        return _chunks(completion, with_usage)

    def listing(self, path: str) -> Mapping[str, Any] | None:
        """Return the list of the one model; see `ModelProtocol`."""
        model = {"id": self._model, "object": "model", "created": 0, "owned_by": "autoweb"}
        if path == "/v1/models":
            return {"object": "list", "data": [model]}
        return model if path.startswith("/v1/models/") else None

    def error(self, status: int, code: str, message: str) -> Mapping[str, Any]:
        """Return an error as OpenAI's APIs have it; see `ModelProtocol`."""
        return {"error": {"message": message, "type": code, "code": code, "param": None}}


def completion_of(reply: Reply, model: str) -> dict[str, Any]:
    """Return a reply as the chat API has it."""
    message, usage = as_message(reply.text), reply.usage
    ending = "tool_calls" if message.get("tool_calls") else reply.finish_reason or "stop"
    return {
        "id": f"chatcmpl-{secrets.token_hex(8)}",
        "object": "chat.completion",
        "created": int(time.time()),
        "model": model,
        "choices": [{"index": 0, "message": message, "finish_reason": ending, "logprobs": None}],
        "usage": {
            "prompt_tokens": usage.input_tokens,
            "completion_tokens": usage.output_tokens,
            "total_tokens": usage.input_tokens + usage.output_tokens,
        },
    }


def _chunks(completion: dict[str, Any], with_usage: bool) -> Sent:
    """Return a whole reply as the events of a stream."""
    (choice,) = completion["choices"]
    delta = dict(choice["message"])
    if calls := delta.get("tool_calls"):
        delta["tool_calls"] = [{"index": index, **call} for index, call in enumerate(calls)]
    head = {**completion, "object": "chat.completion.chunk"}
    usage = head.pop("usage")
    first = {"index": 0, "delta": delta, "finish_reason": None}
    last = {"index": 0, "delta": {}, "finish_reason": choice["finish_reason"]}
    events: list[dict[str, Any]] = [{**head, "choices": [each]} for each in (first, last)]
    if with_usage:
        events.append({**head, "choices": [], "usage": usage})
    lines = [*(json.dumps(event) for event in events), "[DONE]"]
    return Sent("".join(f"data: {line}\n\n" for line in lines).encode(), "text/event-stream")
