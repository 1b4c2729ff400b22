"""What an attempt did to pages, a line for each action, beside the parts of its task."""

import re
from collections.abc import Iterator

from pytest_autoweb.agents.correction.task_parts import task_parts
from pytest_autoweb.results.records import Attempt, ToolCall

MOST_DEEDS = 40
_LONGEST = 120
_FINDER = re.compile(
    r"get_by_(role|label|text|placeholder|title|alt_text)\((['\"])(.*?)\2(.*?)\)(?=[.,)]|\Z)"
)
_NAME = re.compile(r"name=(['\"])(.*?)\1")


def parts_and_deeds(task: str, failed: Attempt) -> str:
    """Return the parts of a task that was said to be done, and what was done for it.

    Empty if the attempt did not end as done, or nothing tells its task apart.
    """
    parts, deeds = task_parts(task), tuple(_deeds(failed))
    if not failed.executed or failed.checks_passed is not False or not parts:
        return ""
    if left_out := len(deeds) - MOST_DEEDS:
        half = MOST_DEEDS // 2
        deeds = deeds if left_out < 0 else (*deeds[:half], f"({left_out} more)", *deeds[-half:])
    lines = ["The task's parts:"]
    lines += (f"{number}. {' '.join(part.split())}" for number, part in enumerate(parts, 1))
    lines += (
        ["What was done:", *(f"- {deed}" for deed in deeds)] if deeds else ["Nothing was done."]
    )
    return "\n".join(lines)


def _deeds(attempt: Attempt) -> Iterator[str]:
    """Yield the actions in their order, equal ones in a row as one line."""
    last, times = "", 0
    for call in attempt.tool_calls:
        if not (call.ok and call.acting) or call.method in _NO_DEEDS:
            continue
        deed = _deed(call)
        if deed != last and last:
            yield _times(last, times)
        last, times = deed, times + 1 if deed == last else 1
    if last:
        yield _times(last, times)
    if attempt.answered:
        yield "answer(…), see below"


_NO_DEEDS = frozenset({"show_more", "look", "hover", "bring_to_front"})


def _times(deed: str, times: int) -> str:
    return deed if times == 1 else f"{deed}, {times} times in a row"


def _deed(call: ToolCall) -> str:
    """Return `click button "Save"` for a click on `page.get_by_role('button', name='Save')`."""
    target = _FINDER.sub(_found, call.target.removeprefix("page.").removeprefix("page"))
    told = f"{call.method} {target}".strip()
    told += f": {call.arguments}" if call.arguments else ""
    return told if len(told) <= _LONGEST else f"{told[:_LONGEST]}…"


def _found(match: re.Match[str]) -> str:
    kind, _, text, rest = match.groups()
    if kind != "role":
        return f'"{text}"'
    name = _NAME.search(rest)
    return f'{text} "{name[2]}"' if name else text
