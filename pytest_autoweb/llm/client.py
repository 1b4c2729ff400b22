"""The one signature by which the rest of the package calls a model."""

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
    """What a model is asked.

    `case_id`, `capture_mode`, `repeat`, `attempt`, `stage` and `turn` say where in a run the call
    belongs. They name the recording in a cassette; `repeat` is part of its key, so that repeats
    stay independent.
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
    """GBNF; sent only to servers whose spec says they understand it."""
    json_schema: dict[str, Any] | None = None
    """Asks for a JSON reply of this form where the server offers it."""
    stop: tuple[str, ...] = ()
    max_tokens: int | None = None
    """Tighter than the model's own setting, if given."""


class Reply(BaseModel):
    """What a model answered."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    text: str
    usage: Usage = Field(default_factory=Usage)
    model_served: str = ""
    """The name the server gave itself."""
    finish_reason: str = ""


class Client(Protocol):
    """Answers requests. Implementations: gateway, built-ins, `testing.ScriptedClient`."""

    def complete(self, request: Request) -> Reply:
        """Answer one request.

        Raises:
            ModelError: with its cause; the reply is missing, empty or refused.
        """
        ...
