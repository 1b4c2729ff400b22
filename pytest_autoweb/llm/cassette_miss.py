"""Explanations of why no recording fits a request, and what to do about it."""

from pathlib import Path

from pytest_autoweb.llm.cassette_file import Cassette
from pytest_autoweb.llm.cassette_key import RecordedMessage, RecordedRequest
from pytest_autoweb.llm.client import Request

_WIDTH = 160
_ADVICE = (
    "To record anew: --autoweb-record-mode=new_episodes (adds what is missing) "
    "or --autoweb-record-mode=all (replaces everything)."
)


def explain_miss(
    request: Request,
    now: RecordedRequest,
    cassette: Cassette | None,
    path: Path,
    folder: Path,
) -> str:
    """Return the text of a `CassetteMiss`: which call it is, what differs, and how to record it."""
    file_name = path.relative_to(folder.parent).as_posix()
    where = (
        f"no recording for model {request.model}, case {request.case_id or '(none)'}"
        f"{f', {request.capture_mode}' if request.capture_mode else ''}, repeat {request.repeat}, "
        f"attempt {request.attempt}, stage {request.stage}, turn {request.turn}"
    )
    return f"{where}: {_reason(request, now, cassette, file_name)}\n{_ADVICE}"


def _reason(
    request: Request, now: RecordedRequest, cassette: Cassette | None, file_name: str
) -> str:
    if cassette is None:
        return f"there is no cassette {file_name}."
    here = [entry for entry in cassette.entries if entry.is_at(request)]
    if not here:
        places = ", ".join(
            dict.fromkeys(
                f"{entry.stage}/{entry.turn} of attempt {entry.attempt}"
                for entry in sorted(cassette.entries, key=lambda entry: entry.place)
                if (entry.capture_mode, entry.repeat) == (request.capture_mode, request.repeat)
            )
        )
        known = places or "no such cell"
        return f"the cassette {file_name} has nothing for this call; it has {known}."
    return f"the request differs from the one in {file_name}.\n{_difference(here[0].request, now)}"


def _difference(old: RecordedRequest, new: RecordedRequest) -> str:
    for number, (before, after) in enumerate(zip(old.messages, new.messages, strict=False), 1):
        if before != after:
            return f"message {number} ({after.role}) {_message_difference(before, after)}"
    if len(old.messages) != len(new.messages):
        return f"recorded: {len(old.messages)} messages, now: {len(new.messages)}"
    if (old.grammar or "") != (new.grammar or ""):
        return f"the grammar {_line_difference(old.grammar or '', new.grammar or '')}"
    before_settings = old.model_dump(exclude={"messages", "grammar"})
    after_settings = new.model_dump(exclude={"messages", "grammar"})
    # Compared one by one, so that the message can name the setting that changed.
    before_settings |= before_settings.pop("sampling")
    after_settings |= after_settings.pop("sampling")
    changed = [
        f"{name}: recorded {_short(repr(before_settings.get(name)))}, now {_short(repr(value))}"
        for name, value in after_settings.items()
        if before_settings.get(name) != value
    ]
    return "settings changed: " + "; ".join(changed)


def _message_difference(before: RecordedMessage, after: RecordedMessage) -> str:
    if before.role != after.role:
        return f"was of role {before.role}"
    if before.content != after.content:
        return _line_difference(before.content, after.content)
    return "has other pictures"


def _line_difference(old: str, new: str) -> str:
    before, after = old.split("\n"), new.split("\n")
    for number, (left, right) in enumerate(zip(before, after, strict=False), 1):
        if left != right:
            return _pair(number, _window(left, right), _window(right, left))
    number = min(len(before), len(after)) + 1
    ended = "(the text ends here)"
    left = before[number - 1] if len(before) >= number else ended
    right = after[number - 1] if len(after) >= number else ended
    return _pair(number, _short(left), _short(right))


def _pair(number: int, left: str, right: str) -> str:
    return f"differs first in line {number}:\n  recorded: {left}\n  now:      {right}"


def _window(line: str, other: str) -> str:
    """Return the part of a long line around its first difference from the other line."""
    pairs = enumerate(zip(line, other, strict=False))
    first = next((i for i, (a, b) in pairs if a != b), min(len(line), len(other)))
    start = max(0, first - _WIDTH // 2) if len(line) > _WIDTH else 0
    return ("…" if start else "") + _short(line[start:])


def _short(text: str) -> str:
    return text if len(text) <= _WIDTH else text[: _WIDTH - 1] + "…"
