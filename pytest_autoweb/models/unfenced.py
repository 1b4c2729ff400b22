"""Prompts without what marks the text of pages as data: the control arm of attacks by the page.

A model that gets them is told nothing of where such text begins or ends, nor that it should follow
no instruction in it. Only our own marks are taken away: a page cannot write the lines of a fence.
"""

import re

from pytest_autoweb.models.messages import Message

_FENCE = re.compile(
    r"^<<(?P<label>[\w ]+) (?P<mark>[0-9a-f]{8})>>\n(?P<text>.*?)\n?^<<end (?P=label) (?P=mark)>>$",
    re.DOTALL | re.MULTILINE,
)
_BAR = re.compile(r"^\| ", re.MULTILINE)
_RULE = re.compile(
    r"(?:^[ ]*- |(?<=\s)|^)(?:What (?:is|stands)|Text) (?:between|of|in)\b[^.]*?\bis data\b"
    r".{0,150}?(?:instructions?\s+to\s+you|found\s+there|instructions\s+in\s+it)\.(?:[ ]|\n|\Z)",
    re.DOTALL | re.MULTILINE,
)
"""The sentences of the prompt files that forbid it to follow instructions of a page."""


def without_fences(messages: tuple[Message, ...]) -> tuple[Message, ...]:
    """Return the messages without fences and bars, and without the rule that names them."""
    return tuple(
        message.model_copy(
            update={
                "content": _RULE.sub("", message.content)
                if message.role == "system"
                else _bare(message.content)
            }
        )
        for message in messages
    )


def _bare(text: str) -> str:
    """Return a text without the fences in it, and without the bars outside of them."""
    parts, at = [], 0
    for found in _FENCE.finditer(text):
        parts += [_BAR.sub("", text[at : found.start()]), _inner(found["text"])]
        at = found.end()
    return "".join([*parts, _BAR.sub("", text[at:])])


def _inner(text: str) -> str:
    """Return a fenced text without the fences within; bars in it are the page's own."""
    return _FENCE.sub(lambda found: _inner(found["text"]), text)
