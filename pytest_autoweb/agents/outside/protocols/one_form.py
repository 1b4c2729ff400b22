"""The one form of a call, OpenAI's chat, and what a protocol does with it."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

from pytest_autoweb.base.local_server import RequestRefused
from pytest_autoweb.base.whole_characters import read_json
from pytest_autoweb.browser.page.outline import estimate_tokens
from pytest_autoweb.models.agent_chat import as_message, is_picture
from pytest_autoweb.models.messages import Reply

PICTURE_TOKENS = 1_500
"""A cautious estimate of what a picture costs, whose size is not looked at."""

PassOn = Callable[[Mapping[str, Any]], Reply]
"""Passes a chat on to the model: the fields of OpenAI's chat API, and `max_tokens` and `stop`.

Raises a `ModelError` if the call failed, and a `RequestRefused` if it was not made."""


class Sent(NamedTuple):
    """The body of an answer, and its content type."""

    body: bytes
    kind: str = "application/json"


class ModelProtocol(Protocol):
    """A protocol as one attempt's endpoint speaks it."""

    def answer(self, path: str, asked: Mapping[str, Any], pass_on: PassOn) -> Sent:
        """Answer a request.

        Args:
            path: of its URL, without the query.
            asked: its body.
            pass_on: passes a chat on.

        Raises:
            ModelError: the call failed.
            RequestRefused: it was not made.
        """
        ...

    def listing(self, path: str) -> Mapping[str, Any] | None:
        """Return what a GET request of the path receives; None if there is nothing."""
        ...

    def error(self, status: int, code: str, message: str) -> Mapping[str, Any]:
        """Return the body of an answer that is an error."""
        ...


class Conversation:
    """The messages of a chat, put together from the pieces that other protocols send.

    A chat allows no pictures in the results of tools, and no messages between the results of one
    reply, so pictures follow after the results as a message of the user.
    """

    def __init__(self) -> None:
        self._messages: list[dict[str, Any]] = []
        self._pictures: list[dict[str, Any]] = []

    def say(self, role: str, content: Any) -> None:
        """Add a message; `content` is a text or, of a user, a list of parts."""
        self._show_pictures()
        self._messages.append({"role": role, "content": content})

    def call(self, call_id: str, name: str, arguments: str) -> None:
        """Add a call to the assistant's message that came last, or to a new one."""
        self._show_pictures()
        function = {"name": name, "arguments": arguments}
        if not self._messages or self._messages[-1]["role"] != "assistant":
            self._messages.append({"role": "assistant", "content": None})
        calls = self._messages[-1].setdefault("tool_calls", [])
        calls.append({"id": call_id, "type": "function", "function": function})

    def result(self, call_id: Any, parts: Sequence[Mapping[str, Any]]) -> None:
        """Add the result of a call; `parts` are texts and pictures in the chat's form."""
        text = "\n".join(part["text"] for part in parts if part["type"] == "text")
        self._messages.append({"role": "tool", "tool_call_id": call_id, "content": text})
        self._pictures += [dict(part) for part in parts if is_picture(part)]

    def messages(self) -> list[dict[str, Any]]:
        self._show_pictures()
        return self._messages

    def _show_pictures(self) -> None:
        if self._pictures:
            self._messages.append({"role": "user", "content": self._pictures})
            self._pictures = []


def text_part(text: Any) -> dict[str, Any]:
    return {"type": "text", "text": str(text or "")}


def picture_part(kind: Any, data: Any) -> dict[str, Any]:
    """Return a picture whose bytes a request holds, as base64."""
    return {"type": "image_url", "image_url": {"url": f"data:{kind};base64,{data}"}}


def function_tool(
    name: Any, description: Any, parameters: Any, strict: Any = None
) -> dict[str, Any]:
    """Return a tool that the agent itself runs."""
    about = {"name": name, "description": description, "parameters": parameters, "strict": strict}
    function = {name: value for name, value in about.items() if value is not None}
    return {"type": "function", "function": function}


def chosen_function(name: Any) -> dict[str, Any]:
    return {"type": "function", "function": {"name": name}}


def json_form(schema: Any) -> dict[str, Any]:
    """Return the reply's form for a protocol whose schemas have no names."""
    return {"type": "json_schema", "json_schema": {"name": "reply", "schema": schema}}


def without_blanks(chat: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in chat.items() if value not in (None, [])}


class FunctionCall(NamedTuple):
    """A call of a tool in a reply."""

    id: str
    name: str
    arguments: dict[str, Any]
    """An object even where the model wrote something else, which is then its only value."""


def text_of(reply: Reply) -> str:
    return str(as_message(reply.text).get("content") or "")


def calls_of(reply: Reply) -> Iterator[FunctionCall]:
    """Yield the calls of a reply."""
    for call in as_message(reply.text).get("tool_calls") or ():
        function = call.get("function") or {}
        said = function.get("arguments") or "{}"
        try:
            given = read_json(said) if isinstance(said, str) else said
        except (ValueError, RecursionError):
            given = said
        # The agent rejects arguments that its tool does not take, and tells the model.
        arguments = given if isinstance(given, dict) else {"arguments": given}
        yield FunctionCall(str(call["id"]), str(function.get("name")), arguments)


def tokens_of(chat: Mapping[str, Any]) -> int:
    """Estimate the tokens of a chat from its length; a picture counts `PICTURE_TOKENS`."""
    pictures = 0

    def counted(value: Any) -> Any:
        nonlocal pictures
        if is_picture(value):
            pictures += 1
            return None
        if isinstance(value, Mapping):
            return {name: counted(inner) for name, inner in value.items()}
        return [counted(inner) for inner in value] if isinstance(value, list) else value

    words = counted({name: chat.get(name) for name in ("messages", "tools")})
    return estimate_tokens(json.dumps(words, ensure_ascii=False)) + pictures * PICTURE_TOKENS


def understood(
    read: Callable[..., dict[str, Any]], asked: Mapping[str, Any], *more: Any, kind: str
) -> dict[str, Any]:
    """Return the chat that a request asks for.

    Args:
        read: translates the request.
        asked: its body.
        more: further arguments of `read`.
        kind: what the request should be, for the error.

    Raises:
        RequestRefused: it is not of this kind, or asks for what only the service itself offers.
    """
    try:
        return read(asked, *more)
    except (ValueError, TypeError, AttributeError, KeyError, RecursionError) as error:
        what = f"{error} is missing" if isinstance(error, KeyError) else error
        raise RequestRefused(400, f"not a {kind} request: {what}") from None


def as_events(events: Sequence[Mapping[str, Any]], *, named: bool) -> Sent:
    """Return events as a stream in one piece; `named` ones begin with their type."""
    lines = (
        (f"event: {event['type']}\n" if named else "") + f"data: {json.dumps(event)}\n\n"
        for event in events
    )
    return Sent("".join(lines).encode(), "text/event-stream")


def as_json(value: Any) -> Sent:
    return Sent(json.dumps(value).encode())
