"""What is exchanged with a model: a request of messages and its reply."""

import base64
from collections.abc import Callable
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from pytest_autoweb.base.specs import WholeText
from pytest_autoweb.models.agent_chat import ChatBody
from pytest_autoweb.models.computer_tool import ComputerTool
from pytest_autoweb.results.records import StageName, Usage


class Message(BaseModel):
    """One chat message."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    role: Literal["system", "user", "assistant"]
    content: WholeText
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
    more_room: bool = False
    """Whether the reply was cut off at its limit before, so that it gets a higher one."""
    computer: ComputerTool | None = None
    """The provider's computer tool, if the reply is to be an action of it."""
    chat: ChatBody | None = None
    """What an outside agent sends, of which `messages` then holds only the texts and pictures."""


class Reply(BaseModel):
    """The reply of a model."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    text: WholeText
    usage: Usage = Field(default_factory=Usage)
    model_served: WholeText = ""
    """Name of the model as the server reports it."""
    fingerprint: WholeText = ""
    """What else the server tells of that model; see `results.records.Exchange`."""
    finish_reason: str = ""
    more_room: bool = False
    """Whether a reply that was cut off could be longer if it were asked for again."""


def redacted_messages(
    messages: tuple[Message, ...], redact: Callable[[str], str]
) -> tuple[Message, ...]:
    """Return the messages with `redact` applied to all but the system's, which are our own text."""
    return tuple(
        message
        if message.role == "system"
        else message.model_copy(update={"content": redact(message.content)})
        for message in messages
    )
