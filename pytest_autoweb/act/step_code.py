"""Actions written in the step language, so that they are limited and recorded like scripts.

Pure text. The sandbox performs it: addresses, secrets, time limits and the record of tool calls are
the same as for generated code, and a call that fails makes the step fail.
"""

import json
from typing import Any, NamedTuple

from pytest_autoweb.act.actions import (
    Action,
    Click,
    ClickAt,
    Done,
    DoubleClick,
    Drag,
    DragAt,
    Extract,
    GoBack,
    Hover,
    Navigate,
    OnElement,
    Press,
    PressAt,
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

TIMEOUT_MS = 5_000
"""Time limit of an action on an element; short, as a visible element can be acted on at once."""
WAIT_FOR_MS = 10_000
SCROLL_SHARE = 0.7
"""Share of the viewport's height to scroll, so that what was at its edge is seen again."""
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


class Details(NamedTuple):
    """What the code of an action needs besides the action and its element."""

    target: int | None = None
    """The number of the verified element to drop on."""
    viewport: tuple[float, float] = (1280, _HEIGHT)
    """Width and height in CSS pixels."""
    scale: float = 1.0
    """Pixels of the picture for each CSS pixel."""
    file_field: bool = True
    """Whether the element takes a file itself; otherwise it opens a chooser."""


_NO_DETAILS = Details()


def code_of(action: Action, mark: int | None = None, details: Details = _NO_DETAILS) -> str:
    """Return the action in the step language; empty if it does nothing on the page.

    Args:
        action: the action that was decided on.
        mark: the number of the verified element, for actions on one.
        details: what else is known of elements and picture.
    """
    if isinstance(action, OnElement):
        return _on_element(action, mark, details)
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
        case ClickAt() | DragAt() | ScrollAt():
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


def _at_a_place(action: ClickAt | DragAt | ScrollAt, scale: float) -> str:
    start = f"{action.x / scale:.0f}, {action.y / scale:.0f}"
    if isinstance(action, ScrollAt):
        wheel = f"\npage.mouse.wheel({action.by_x:.0f}, {action.by_y:.0f})"
        return f"page.mouse.move({start})" + (wheel if action.by_x or action.by_y else "")
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
    # The plus itself is a key, alone or at the end of a chord.
    *held, last = keys.replace(" ", "").removesuffix("+").split("+") if "+" in keys else [keys]
    last = last or "+"
    named = [_MODIFIERS.get(key.casefold(), key) for key in held]
    return "+".join([*named, _KEYS.get(last.casefold(), last)])


def may_be_found_by_sight(action: Action) -> bool:
    """Tell whether the vision locator may look for the element; it finds one place, not two."""
    return not isinstance(action, Drag | ScrollIn | Upload)


def code_by_sight(action: OnElement) -> str:
    """Return the same action on what the vision locator finds, if it has the expected text."""
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
    # The wheel scrolls what is under the mouse, which may be any part of the page.
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
        case SwitchTab():
            return f"go to tab {action.tab}"
        case ClickAt():
            return f"click at {action.x:.0f}, {action.y:.0f}"
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
            return action.action


def _named(action: OnElement) -> str:
    near = f" near {text(action.near)}" if action.near else ""
    return f"{text(action.expected_text)}{near}"


def text(value: Any) -> str:
    """Return a value as a string literal of both Python and JSON."""
    return json.dumps(str(value), ensure_ascii=False)
