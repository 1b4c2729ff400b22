"""The endpoint of an outside agent, and a model behind it that answers as told."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from pytest_autoweb.agents.outside.model_endpoint import ModelEndpoint
from pytest_autoweb.base.errors import ModelError
from pytest_autoweb.models.messages import Reply, Request
from pytest_autoweb.models.model_spec import ModelSpec
from pytest_autoweb.results.records import Usage

PICTURE_DATA = "iVBORw0KGgo="
PICTURE = f"data:image/png;base64,{PICTURE_DATA}"
CALLS: list[dict[str, Any]] = [
    {"id": f"c{n}", "type": "function", "function": {"name": "click", "arguments": f'{{"n": {n}}}'}}
    for n in (1, 2)
]
PARAMETERS: dict[str, Any] = {"type": "object", "properties": {"n": {"type": "integer"}}}
USAGE = Usage(calls=1, input_tokens=9, output_tokens=4, cached_tokens=3, reasoning_tokens=2)


def both(content: str | None, calls: list[dict[str, Any]]) -> str:
    """The text of a reply that says something and calls tools."""
    return json.dumps({"assistant": {"content": content, "tool_calls": calls}})


class ToldClient:
    """Answers in order, and keeps what it was asked."""

    def __init__(self) -> None:
        self.answers, self.requests = list[Reply | ModelError](), list[Request]()

    def says(self, text: str, finish_reason: str = "") -> None:
        """Let the next reply be this."""
        self.answers.append(Reply(text=text, usage=USAGE, finish_reason=finish_reason))

    def complete(self, request: Request) -> Reply:
        self.requests.append(request)
        answer = self.answers.pop(0)
        if isinstance(answer, ModelError):
            raise answer
        return answer

    @property
    def chat(self) -> dict[str, Any]:
        """The newest chat, as JSON has it."""
        sent = self.requests[-1].chat
        assert sent is not None
        return sent.model_dump(mode="json", exclude_none=True)


@contextmanager
def served(model: ToldClient, most: int = 20) -> Iterator[ModelEndpoint]:
    """An endpoint to which `hunter2` is a secret."""
    like = Request(model="fake/m", messages=(), stage="agent", case_id="case")
    spec = ModelSpec(name="fake/m", vision=True)

    def redact(text: str) -> str:
        return text.replace("hunter2", "<secret:password>")

    with ModelEndpoint(model, spec, like, redact, most=most) as endpoint:
        yield endpoint
