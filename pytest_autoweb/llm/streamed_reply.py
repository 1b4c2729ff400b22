"""Replies that come in pieces, as server-sent events in the form of OpenAI's chat API.

The events are described at https://platform.openai.com/docs/api-reference/chat-streaming, their
lines in https://html.spec.whatwg.org/multipage/server-sent-events.html.
"""

import json
import re
from collections.abc import Iterator
from typing import Any

EVENTS = "text/event-stream"
"""The media type of a body of events."""
_END = "[DONE]"
_ABOUT = ("id", "object", "created", "model", "usage")
_PIECES = ("content", "reasoning_content", "reasoning", "refusal")
_MOST_CALLS = 128
# No other character ends a line, as many do for `str.splitlines`.
_NEWLINE = re.compile(r"\r\n|\r|\n")


def whole_reply(body: str) -> dict[str, Any]:
    """Return the reply, as it had come without streaming, that the events of a body add up to.

    Args:
        body: the events. What they tell beside the first choice is not kept.

    Returns:
        An object with `error` if the server reports one, or if it ended before the reply did.

    Raises:
        ValueError: an event does not have the form of OpenAI's API.
    """
    try:
        return _put_together(_events(body))
    except (AttributeError, TypeError) as error:
        raise ValueError(f"a piece of the stream has another form: {error}") from error


def _put_together(events: Iterator[dict[str, Any]]) -> dict[str, Any]:
    reply: dict[str, Any] = {}
    message: dict[str, Any] = {"role": "assistant", "content": None}
    calls: dict[int, dict[str, Any]] = {}
    ended = None
    for event in events:
        if event.get("error"):
            return {"error": event["error"]}
        reply |= {name: event[name] for name in _ABOUT if event.get(name)}
        for choice in event.get("choices") or ():
            if choice.get("index", 0) == 0:
                _add(choice.get("delta") or {}, message, calls)
                ended = choice.get("finish_reason") or ended
    if ended is None:
        return {"error": {"message": "the server ended the stream before the reply", "code": 502}}
    if calls:
        message["tool_calls"] = [calls[place] for place in sorted(calls)]
    return reply | {"choices": [{"index": 0, "message": message, "finish_reason": ended}]}


def _events(body: str) -> Iterator[dict[str, Any]]:
    """Yield what the events hold, up to the one that says that there are no more.

    An event that no empty line ends was cut off, but a server may leave out the last one.
    """
    data: list[str] = []
    for line in (*_NEWLINE.split(body.removeprefix("\ufeff")), ""):
        # Lines that begin with a colon only keep the connection open.
        if line.startswith("data:"):
            data.append(line.removeprefix("data:").removeprefix(" "))
        elif not line and data:
            text = "\n".join(data)
            data.clear()
            if text.strip() == _END:
                return
            yield json.loads(text)


def _add(delta: dict[str, Any], message: dict[str, Any], calls: dict[int, dict[str, Any]]) -> None:
    """Append one piece of a reply to what has come so far."""
    for name in _PIECES:
        if isinstance(piece := delta.get(name), str):
            message[name] = (message.get(name) or "") + piece
    for piece in delta.get("tool_calls") or ():
        place = int(piece.get("index") or 0)
        if place not in calls and len(calls) >= _MOST_CALLS:
            raise ValueError(f"the reply calls more than {_MOST_CALLS} tools")
        call = calls.setdefault(
            place, {"type": "function", "function": {"name": "", "arguments": ""}}
        )
        if piece.get("id"):
            call["id"] = piece["id"]
        function = piece.get("function") or {}
        for name in ("name", "arguments"):
            call["function"][name] += str(function.get(name) or "")
