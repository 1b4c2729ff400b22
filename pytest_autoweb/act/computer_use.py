"""Actions of a provider's computer tool, read as decisions on the marks that are at their places.

Where an action is about an element with a mark, it becomes the same action as that of a model that
names the mark, and the element is compared again before anything is done. Elsewhere its place
counts.
"""

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from pytest_autoweb.act.actions import (
    MAX_WAIT_MS,
    Action,
    Click,
    Done,
    DoubleClick,
    Drag,
    DragAt,
    GoBack,
    Hover,
    Press,
    PressAt,
    Retry,
    RightClick,
    ScrollAt,
    TypeKeys,
    Wait,
)
from pytest_autoweb.act.step_code import chord
from pytest_autoweb.choice.decision_json import ReplyProblem
from pytest_autoweb.marks.marking import Mark

SCROLL_LINE_PX = 100
"""How far one unit of a wheel scrolls, for tools that count these."""
DRAWN = frozenset({"canvas", "svg", "img", "video", "object", "embed"})
"""Elements whose places differ in meaning, so that a mark around them does not say enough."""
_ON_ELEMENT: Mapping[str, type[Click | DoubleClick | RightClick | Hover]] = {
    "click": Click,
    "left_click": Click,
    "double_click": DoubleClick,
    "right_click": RightClick,
    "move": Hover,
    "mouse_move": Hover,
}
_PRESSED: Mapping[str, tuple[str, int]] = {
    "click": ("left", 1),
    "left_click": ("left", 1),
    "middle_click": ("middle", 1),
    "right_click": ("right", 1),
    "double_click": ("left", 2),
    "triple_click": ("left", 3),
}
_NAMES = {Click: "click", DoubleClick: "double_click", RightClick: "right_click", Hover: "hover"}
_WAYS = {"down": (0, 1), "up": (0, -1), "right": (1, 0), "left": (-1, 0)}
_BACK = frozenset({"Alt+ArrowLeft", "BrowserBack"})


class _Place(NamedTuple):
    x: float
    y: float


def mark_at(marks: Sequence[Mark], x: float, y: float) -> Mark | None:
    """Return the innermost mark at a point of the viewport, in CSS pixels."""
    here = [
        mark
        for mark in marks
        if mark.box.x <= x <= mark.box.x + mark.box.width
        and mark.box.y <= y <= mark.box.y + mark.box.height
    ]
    return min(here, key=lambda mark: mark.box.width * mark.box.height, default=None)


def computer_action(reply: str, marks: Sequence[Mark], scale: float) -> Action:
    """Return the decision that a reply means; a reply without the tool ends the task.

    Args:
        reply: what `computer_tool.completion_with` made of the provider's reply.
        marks: the marks of the page that the model saw.
        scale: pixels of its picture for each CSS pixel.

    Raises:
        ReplyProblem: the action is not one that can be performed.
    """
    thinking, call = _said(reply)
    if call is None:
        return Done(action="done", answer=thinking.strip() or None)
    name = str(call.get("action") or call.get("type") or "")
    made = _in_place(name, call, marks, scale) or _elsewhere(name, call)
    if made is None:
        raise ReplyProblem(f"{name[:40]!r} is no action of the tool that can be performed here")
    return made.model_copy(update={"thinking": thinking})


def _said(reply: str) -> tuple[str, Mapping[str, Any] | None]:
    try:
        found = json.loads(reply)
    except (ValueError, RecursionError):
        return reply, None
    if isinstance(found, dict) and isinstance(found.get("computer"), dict):
        return str(found.get("thinking") or ""), found["computer"]
    return reply, None


def _elsewhere(name: str, call: Mapping[str, Any]) -> Action | None:
    """Return an action that is about no place."""
    if name == "type":
        return TypeKeys(action="type_keys", text=str(call.get("text") or ""))
    if name in ("key", "keypress"):
        keys = call.get("keys")
        held = "+".join(map(str, keys)) if isinstance(keys, list) else str(call.get("text") or "")
        pressed = chord(re.sub(r"\s+", "+", held.strip()) or "Enter")
        return GoBack(action="go_back") if pressed in _BACK else Press(action="press", key=pressed)
    if name == "wait":
        seconds = call.get("duration")
        wanted = float(seconds) * 1_000 if isinstance(seconds, int | float) else 1_000.0
        return Wait(action="wait", timeout_ms=round(min(max(0.0, wanted), MAX_WAIT_MS)))
    if name in ("screenshot", "cursor_position"):
        return Retry(action="retry")
    return None


def _in_place(
    name: str, call: Mapping[str, Any], marks: Sequence[Mark], scale: float
) -> Action | None:
    """Return an action at a place, on the mark that is there."""
    if name in ("drag", "left_click_drag"):
        return _drag(*_ends(call), marks, scale)
    if name not in (*_ON_ELEMENT, *_PRESSED, "scroll"):
        return None
    place = _place(call)
    if name == "scroll":
        return ScrollAt(action="scroll_at", x=place.x, y=place.y, **_wheel(call))
    button, clicks = _PRESSED.get(name, ("left", 1))
    if call.get("button") in ("right", "middle") and name == "click":
        button = str(call["button"])
    kind = _ON_ELEMENT.get("right_click" if button == "right" else name)
    kind = None if button == "middle" else kind
    mark = mark_at(marks, place.x / scale, place.y / scale)
    if kind and mark and mark.tag not in DRAWN:
        return kind.model_validate({"action": _NAMES[kind], **_on(mark)})
    if kind is Hover:
        return ScrollAt(action="scroll_at", x=place.x, y=place.y)
    return PressAt.model_validate(
        {"action": "click_at", "x": place.x, "y": place.y, "button": button, "clicks": clicks}
    )


def _drag(start: _Place, end: _Place, marks: Sequence[Mark], scale: float) -> Action:
    first, last = (mark_at(marks, at.x / scale, at.y / scale) for at in (start, end))
    if first and last and first is not last and not {first.tag, last.tag} & DRAWN:
        return Drag(action="drag", **_on(first), to_mark_id=last.number, to_expected_text=last.text)
    return DragAt(action="drag_at", x=start.x, y=start.y, to_x=end.x, to_y=end.y)


def _on(mark: Mark) -> dict[str, Any]:
    return {"mark_id": mark.number, "expected_text": mark.text}


def _place(call: Mapping[str, Any], name: str = "coordinate") -> _Place:
    given = call.get(name)
    pair = given if isinstance(given, list) and len(given) == 2 else (call.get("x"), call.get("y"))
    numbers = [float(number) for number in pair if isinstance(number, int | float)]
    if len(numbers) != 2:
        raise ReplyProblem("the action names no place")
    return _Place(*numbers)


def _ends(call: Mapping[str, Any]) -> tuple[_Place, _Place]:
    path = call.get("path")
    if isinstance(path, list) and len(path) > 1 and all(isinstance(at, dict) for at in path):
        return _place(path[0]), _place(path[-1])
    return _place(call, "start_coordinate"), _place(call)


def _wheel(call: Mapping[str, Any]) -> dict[str, float]:
    if "scroll_direction" in call:
        across, down = _WAYS.get(str(call["scroll_direction"]), (0, 1))
        amount = call.get("scroll_amount")
        by = SCROLL_LINE_PX * (float(amount) if isinstance(amount, int | float) else 3.0)
        return {"by_x": across * by, "by_y": down * by}
    given = (call.get("scroll_x"), call.get("scroll_y"))
    by_x, by_y = (float(one) if isinstance(one, int | float) else 0.0 for one in given)
    return {"by_x": by_x, "by_y": by_y}
