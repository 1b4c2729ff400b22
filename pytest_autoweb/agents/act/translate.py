"""Translate actions: into the step language, and from a provider's computer tool.

Everything that `act` does is written in the step language, and the sandbox performs it: addresses,
secrets, time limits and the record of tool calls are the same as for generated code, and a call
that fails makes the step fail.

A computer tool names places instead of marks. A place on a marked element becomes the same action
that a model naming the mark would give, and the element is compared again before anything is done.
Elsewhere the place itself is used.
"""

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from pytest_autoweb.agents.act.actions import (
    MAX_WAIT_MS,
    Action,
    AnswerDialog,
    Click,
    ClickAt,
    Done,
    DoubleClick,
    Drag,
    DragAt,
    Extract,
    GoBack,
    Hover,
    HoverAt,
    Navigate,
    OnElement,
    Press,
    PressAt,
    Retry,
    RightClick,
    Scroll,
    ScrollAt,
    ScrollIn,
    Select,
    SwitchTab,
    Type,
    TypeKeys,
    Upload,
    Wait,
    WaitFor,
)
from pytest_autoweb.agents.attempt.editor_code import ALL, typed_as_keys
from pytest_autoweb.agents.choice.decision_json import ReplyProblem
from pytest_autoweb.browser.marks.marking import Mark

TIMEOUT_MS = 5_000
"""Time limit of an action on an element; short, as a visible element can be acted on at once."""
WAIT_FOR_MS = 10_000
SCROLL_SHARE = 0.7
"""Share of the viewport's height to scroll; below 1, so that content at the edge stays visible."""
SCROLL_IN_PX = 300
"""How far a box within the page is scrolled, which is usually lower than the viewport."""
_HEIGHT = 720
_MODIFIERS = {
    "ctrl": "Control",
    "control": "Control",
    "strg": "Control",
    "cmd": "Meta",
    "command": "Meta",
    "meta": "Meta",
    "alt": "Alt",
    "option": "Alt",
    "shift": "Shift",
}
_KEYS = {
    "enter": "Enter",
    "return": "Enter",
    "esc": "Escape",
    "escape": "Escape",
    "tab": "Tab",
    "del": "Delete",
    "delete": "Delete",
    "backspace": "Backspace",
    "space": "Space",
    "up": "ArrowUp",
    "down": "ArrowDown",
    "left": "ArrowLeft",
    "right": "ArrowRight",
    "pageup": "PageUp",
    "pagedown": "PageDown",
    "home": "Home",
    "end": "End",
}

SCROLL_LINE_PX = 100
"""How far one unit of a wheel scrolls, for tools that count these."""
DRAWN = frozenset({"canvas", "svg", "img", "video", "object", "embed"})
"""Elements in which different places mean different things, so a mark alone is not precise
enough."""
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


class Details(NamedTuple):
    """Data that the code of an action needs besides the action and its element."""

    target: int | None = None
    """The number of the verified element to drop on."""
    viewport: tuple[float, float] = (1280, _HEIGHT)
    """Width and height in CSS pixels."""
    scale: float = 1.0
    """Pixels of the picture for each CSS pixel."""
    file_field: bool = True
    """Whether the element is itself a file field; otherwise it opens a chooser."""
    under: tuple[float, float] | None = None
    """The place of an element that appears only under the mouse."""
    editor: str = ""
    """Which kind of editor the element is, as `Mark.editor`."""


_NO_DETAILS = Details()


def code_of(action: Action, mark: int | None = None, details: Details = _NO_DETAILS) -> str:
    """Return the action in the step language; empty if it does nothing on the page.

    Args:
        action: the action that was decided on.
        mark: the number of the verified element, for actions on one.
        details: further facts about elements and picture.
    """
    if isinstance(action, OnElement):
        code = _on_element(action, mark, details)
        if details.under is None:
            return code
        x, y = details.under
        return f"page.mouse.move({x:.0f}, {y:.0f})\n{code}"
    match action:
        case Press(key=key):
            return f"page.keyboard.press({text(chord(key))})"
        case Scroll(direction=direction):
            return _scroll(direction, details.viewport)
        case Navigate(url=url):
            return f"page.goto({text(url)})"
        case Wait(timeout_ms=milliseconds):
            return f"page.wait_for_timeout({milliseconds})"
        case WaitFor(text=shown):
            return f"page.get_by_text({text(shown)}).first.wait_for(timeout={WAIT_FOR_MS})"
        case GoBack():
            return "page.go_back()"
        case SwitchTab(tab=number):
            return f"page.context.pages[{number - 1}].bring_to_front()"
        case ClickAt() | DragAt() | HoverAt() | ScrollAt():
            return _at_a_place(action, details.scale)
        case TypeKeys(text=typed):
            return f"page.keyboard.type({text(typed)})"
        case Done(answer=answer) if answer is not None:
            return f"answer({answer!r})"
        case _:
            return ""


def _on_element(action: OnElement, mark: int | None, details: Details) -> str:
    found = _marked(mark, action.expected_text)
    match action:
        case Drag(to_expected_text=expected):
            target = _marked(details.target, expected)
            return f"{found}.drag_to({target}, timeout={TIMEOUT_MS})"
        case ScrollIn(direction=direction):
            way = SCROLL_IN_PX if direction == "down" else -SCROLL_IN_PX
            # The wheel scrolls the innermost box under the mouse that can be scrolled.
            return f"{found}.hover(timeout={TIMEOUT_MS})\npage.mouse.wheel(0, {way})"
        case Type(text=typed) if details.editor:
            selected = f'{found}.click(timeout={TIMEOUT_MS})\npage.keyboard.press("{ALL}")'
            return typed_as_keys(selected, typed, indents=details.editor == "indents")
        case Upload(file=name) if not details.file_field:
            return (
                f"with page.expect_file_chooser(timeout={TIMEOUT_MS}) as chooser:\n"
                f"    {found}.click(timeout={TIMEOUT_MS})\n"
                f"chooser.value.set_files({text(name)})"
            )
        case _:
            return f"{found}.{_call(action)}"


def _marked(number: int | None, expected: str) -> str:
    return f"page.get_by_mark({number}, expected_text={text(expected)})"


def _at_a_place(action: ClickAt | DragAt | HoverAt | ScrollAt, scale: float) -> str:
    start = f"{action.x / scale:.0f}, {action.y / scale:.0f}"
    if isinstance(action, ScrollAt):
        wheel = f"\npage.mouse.wheel({action.by_x:.0f}, {action.by_y:.0f})"
        return f"page.mouse.move({start})" + (wheel if action.by_x or action.by_y else "")
    if isinstance(action, HoverAt):
        return f"page.mouse.move({start})"
    if isinstance(action, PressAt):
        how = f'button="{action.button}", click_count={action.clicks}'
        return f"page.mouse.click({start}, {how})"
    if isinstance(action, ClickAt):
        return f"page.mouse.click({start})"
    end = f"{action.to_x / scale:.0f}, {action.to_y / scale:.0f}"
    return (
        f"page.mouse.move({start})\npage.mouse.down()\n"
        f"page.mouse.move({end}, steps=8)\npage.mouse.up()"
    )


def chord(keys: str) -> str:
    """Return a key, or several held together, in Playwright's names: `ctrl+a` is `Control+a`."""
    # The plus sign is itself a key, alone or at the end of a chord.
    *held, last = keys.replace(" ", "").removesuffix("+").split("+") if "+" in keys else [keys]
    last = last or "+"
    named = [_MODIFIERS.get(key.casefold(), key) for key in held]
    return "+".join([*named, _KEYS.get(last.casefold(), last)])


def may_be_found_by_sight(action: Action) -> bool:
    """Return whether the vision locator may look for the element; it finds one place, not two."""
    return not isinstance(action, Drag | ScrollIn | Upload)


def code_by_sight(action: OnElement) -> str:
    """Return the same action on the element that the vision locator finds, if its text matches."""
    where = f" ({action.near})" if action.near else ""
    described, expected = text(action.expected_text + where), text(action.expected_text)
    return f"page.get_by_sight({described}, expected_text={expected}).{_call(action)}"


def _call(action: OnElement) -> str:
    match action:
        case Type():
            return f"fill({text(action.text)}, timeout={TIMEOUT_MS})"
        case Select():
            return f"select_option(label={text(action.option)}, timeout={TIMEOUT_MS})"
        case Extract():
            return f"inner_text(timeout={TIMEOUT_MS})"
        case DoubleClick():
            return f"dblclick(timeout={TIMEOUT_MS})"
        case RightClick():
            return f'click(button="right", timeout={TIMEOUT_MS})'
        case Hover():
            return f"hover(timeout={TIMEOUT_MS})"
        case Upload():
            return f"set_input_files({text(action.file)}, timeout={TIMEOUT_MS})"
        case _:
            return f"click(timeout={TIMEOUT_MS})"


def _scroll(direction: str, viewport: tuple[float, float]) -> str:
    width, height = viewport
    way = height * SCROLL_SHARE * (1 if direction == "down" else -1)
    # The wheel scrolls the part of the page under the mouse, which may be any element.
    return f"page.mouse.move({width / 2:.0f}, {height / 2:.0f})\npage.mouse.wheel(0, {way:.0f})"


def describe_action(action: Action) -> str:
    """Describe the action in one line, for the model's list of past actions."""
    match action:
        case Type():
            return f"type {text(action.text)} into {_named(action)}"
        case Select():
            return f"select {text(action.option)} in {_named(action)}"
        case Drag():
            near = f" near {text(action.to_near)}" if action.to_near else ""
            return f"drag {_named(action)} to {text(action.to_expected_text)}{near}"
        case Upload():
            return f"upload {text(action.file)} to {_named(action)}"
        case ScrollIn():
            return f"scroll {action.direction} around {_named(action)}"
        case Click() | Extract() | DoubleClick() | RightClick() | Hover():
            return f"{action.action.replace('_', ' ')} {_named(action)}"
        case WaitFor():
            return f"wait for {text(action.text)}"
        case AnswerDialog():
            return f"have {text(action.text)} typed into the next dialog that asks for a text"
        case SwitchTab():
            return f"go to tab {action.tab}"
        case ClickAt():
            return f"click at {action.x:.0f}, {action.y:.0f}"
        case HoverAt():
            return f"point at {action.x:.0f}, {action.y:.0f}"
        case ScrollAt():
            what = "scroll" if action.by_x or action.by_y else "move the mouse"
            return f"{what} at {action.x:.0f}, {action.y:.0f}"
        case TypeKeys():
            return f"type {text(action.text)}"
        case DragAt():
            return (
                f"drag from {action.x:.0f}, {action.y:.0f} to {action.to_x:.0f}, {action.to_y:.0f}"
            )
        case Press(key=key):
            return f"press {key}"
        case Scroll(direction=direction):
            return f"scroll {direction}"
        case Navigate(url=url):
            return f"navigate to {url}"
        case _:
            return action.action.replace("_", " ")


def _named(action: OnElement) -> str:
    near = f" near {text(action.near)}" if action.near else ""
    return f"{text(action.expected_text)}{near}"


def text(value: Any) -> str:
    """Return a value as a string literal of both Python and JSON."""
    return json.dumps(str(value), ensure_ascii=False)


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
    """Return the decision that a reply expresses; a reply without a tool call ends the task.

    Args:
        reply: the provider's reply, as converted by `completion_with`.
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
    """Return an action that involves no place."""
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
        by_x, by_y = _wheel(call)
        return ScrollAt(action="scroll_at", x=place.x, y=place.y, by_x=by_x, by_y=by_y)
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


def _wheel(call: Mapping[str, Any]) -> tuple[float, float]:
    if "scroll_direction" in call:
        across, down = _WAYS.get(str(call["scroll_direction"]), (0, 1))
        amount = call.get("scroll_amount")
        by = SCROLL_LINE_PX * (float(amount) if isinstance(amount, int | float) else 3.0)
        return across * by, down * by
    given = (call.get("scroll_x"), call.get("scroll_y"))
    by_x, by_y = (float(one) if isinstance(one, int | float) else 0.0 for one in given)
    return by_x, by_y
