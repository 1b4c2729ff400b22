"""The elements at which agents failed, and what it was about them; pure.

Read from what the records have anyway: the calls that failed with the browser's own log, and the
choices that verification refused.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Literal, NamedTuple, get_args

from pytest_autoweb.results.records import Attempt, CellResult, Decision, Record, ToolCall

ElementTrouble = Literal[
    "nameless", "covered", "twins", "hidden", "disabled", "not_found", "other_text", "tool", "other"
]
"""What was wrong about an element: `nameless` has no text or name to be told by, `covered` lies
under another one, `twins` read alike, `hidden` and `disabled` are there but of no use,
`not_found` is not there under the name that was used, `other_text` reads otherwise than the agent
expected, and `tool` is one of the page's own tools that refused its call or failed."""

_MOST_CHARS = 160
_PATTERNS: tuple[tuple[str, ElementTrouble], ...] = (
    (r"intercepts pointer events", "covered"),
    (r"strict mode violation", "twins"),
    (r"element is not visible|element is hidden|would wait .* hidden", "hidden"),
    (r"element is not enabled|is disabled", "disabled"),
    (r"not expected_text|reads otherwise", "other_text"),
    (r"waiting for (locator|get_by|frame_locator|selector)|is not on the list|no such element"
     r"|did not find some options", "not_found"),
)  # fmt: skip
_ALIKE = re.compile(r"\d+ elements fit ")
_NAMES = re.compile(
    r"get_by_(?:text|label|placeholder|title|alt_text|test_id|sight|mark)\(|\bname=|has_text="
)
_FITS = re.compile(r"resolved to (\d+) elements")
_COVER = re.compile(r"(<[^\n]{1,80}?>)[^\n]{0,200}intercepts pointer events")


class FailedElement(Record):
    """An element at which an agent failed."""

    agent: str
    """The agent, as flags name it."""
    element: str
    """The element: its locator, the text that it was to have, or the name of a tool."""
    trouble: ElementTrouble
    """What was wrong about it."""
    detail: str = ""
    """More about it, such as what covers it or how many read alike; from the page."""
    times: int = 1
    """How often it came to nothing."""
    cells: int = 1
    """In how many cells."""


class _Seen(NamedTuple):
    element: str
    trouble: ElementTrouble
    detail: str = ""


def failed_elements(
    cells: Iterable[CellResult], agent_of: Mapping[str, str]
) -> tuple[FailedElement, ...]:
    """Return the elements at which agents failed, those that cost most cells first.

    Args:
        cells: of a run.
        agent_of: the agent of each cell, by the cell's folder.
    """
    times: Counter[tuple[str, _Seen]] = Counter()
    places: dict[tuple[str, _Seen], set[str]] = {}
    details: dict[tuple[str, _Seen], str] = {}
    for cell in cells:
        for attempt in cell.attempts:
            for seen in _of_attempt(attempt):
                key = (agent_of[cell.folder], seen._replace(detail=""))
                times[key] += 1
                places.setdefault(key, set()).add(cell.folder)
                details[key] = details.get(key) or seen.detail
    order = get_args(ElementTrouble)
    found = [
        FailedElement(
            agent=agent,
            element=seen.element,
            trouble=seen.trouble,
            detail=details[agent, seen],
            times=count,
            cells=len(places[agent, seen]),
        )
        for (agent, seen), count in times.items()
    ]
    return tuple(sorted(found, key=lambda one: (-one.cells, -one.times, order.index(one.trouble))))


def _of_attempt(attempt: Attempt) -> Iterator[_Seen]:
    for result in attempt.step_results:
        failure = result.failure
        if result.ok or failure is None or failure.kind not in ("step", "timeout"):
            continue
        calls = [call for call in attempt.tool_calls if call.step_index == result.step_index]
        last = next((call for call in reversed(calls) if not call.ok), None)
        if last is not None:
            detail = str(failure.evidence.get("detail") or last.error or failure.message)
            if seen := _of_call(last, detail, failure.evidence.get("tool")):
                yield seen
    for decision in attempt.decisions:
        if decision.status == "refused" and (chosen := _of_choice(decision)):
            yield chosen


def _of_call(call: ToolCall, detail: str, tool: object) -> _Seen | None:
    """Return the element of a failed call; None for a call about no element."""
    if call.method == "call_tool":
        name = re.match(r"""(['"])(.*?)\1""", call.arguments)
        return _Seen(f"tool {name[2] if name else call.arguments}"[:_MOST_CHARS], "tool", _brief(
            f"{tool or 'failed'}: {detail}"))  # fmt: skip
    if call.target in ("page", "") or not call.acting:
        return None
    trouble = next((what for words, what in _PATTERNS if re.search(words, detail)), None)
    told = ""
    if trouble == "covered" and (cover := _COVER.search(detail)):
        told = f"by {cover[1]}"
    if trouble == "twins" and (count := _FITS.search(detail)):
        told = f"{count[1]} fit"
    # What can only be told by its place or its markup has no name for anybody.
    if trouble in ("twins", "not_found") and not _NAMES.search(call.target):
        trouble = "nameless"
    if trouble is None:
        trouble, told = "other", detail
    target = re.sub(r"^page\.", "", call.target)
    return _Seen(_brief(call.element or target), trouble, _brief(told))


def _of_choice(decision: Decision) -> _Seen | None:
    """Return the element of a refused choice."""
    if not decision.chosen:
        return None
    chosen = decision.chosen[0]
    element = _brief(chosen.expected_text or chosen.actual_text or chosen.kind)
    if _ALIKE.search(chosen.reason) or _ALIKE.search(decision.error):
        return _Seen(element, "twins", _brief(chosen.reason))
    if not chosen.actual_text.strip():
        return _Seen(element or f"mark {chosen.mark}", "nameless", _brief(chosen.kind))
    if chosen.verdict in ("mismatch", "incomplete"):
        return _Seen(element, "other_text", _brief(f"it reads “{chosen.actual_text}”"))
    return _Seen(element, "other", _brief(chosen.reason))


def _brief(text: str) -> str:
    flat = " ".join(text.split())
    return flat if len(flat) <= _MOST_CHARS else f"{flat[: _MOST_CHARS - 1]}…"
