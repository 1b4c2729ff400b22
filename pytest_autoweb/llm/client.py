"""The interface through which the rest of the package calls a model."""

import base64
from typing import Any, Literal, Protocol

from pydantic import BaseModel, ConfigDict, Field

from pytest_autoweb.results import StageName, Usage


class Message(BaseModel):
    """One chat message."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    role: Literal["system", "user", "assistant"]
    content: str
    images: tuple[str, ...] = ()
    """`data:` URIs, for models with vision."""


def picture_uri(picture: bytes, kind: str = "png") -> str:
    """Return a picture as a `data:` URI, the form that `Message.images` takes."""
    return f"data:image/{kind};base64,{base64.b64encode(picture).decode()}"


class Request(BaseModel):
    """A request to a model.

    `case_id`, `capture_mode`, `repeat`, `attempt`, `stage` and `turn` tell which call of a run
    this is. They locate the recording in a cassette; `repeat` is also part of its key, so that
    each repeat replays its own reply.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    model: str
    messages: tuple[Message, ...]
    stage: StageName
    case_id: str = ""
    capture_mode: str = ""
    repeat: int = 1
    attempt: int = 1
    turn: int = 0
    grammar: str | None = None
    """GBNF grammar; sent only to servers whose spec says that they understand it."""
    json_schema: dict[str, Any] | None = None
    """JSON schema of the reply, for servers that can enforce one."""
    stop: tuple[str, ...] = ()
    max_tokens: int | None = None
    """Limit of the reply, if lower than the model's own setting."""


class Reply(BaseModel):
    """The reply of a model."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    text: str
    usage: Usage = Field(default_factory=Usage)
    model_served: str = ""
    """Name of the model as the server reports it."""
    finish_reason: str = ""


class Client(Protocol):
    """Anything that answers requests: the gateway, a control, `testing.ScriptedClient`."""

    def complete(self, request: Request) -> Reply:
        """Answer one request.

        Raises:
            ModelError: the call failed, or its reply is empty or a refusal.
        """
        ...
