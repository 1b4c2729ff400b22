"""Actions written in the step language, so that they are limited and recorded like scripts.

Pure text. The sandbox performs it: addresses, secrets, time limits and the record of tool calls are
the same as for generated code, and a call that fails makes the step fail.
"""

import json
from typing import Any

from pytest_autoweb.act.actions import (
    Action,
    Click,
    Done,
    Extract,
    GoBack,
    Navigate,
    OnElement,
    Press,
    Scroll,
    Select,
    Type,
    Wait,
)

TIMEOUT_MS = 5_000
"""Time limit of an action on an element; short, as a visible element can be acted on at once."""
SCROLL_SHARE = 0.7
"""Share of the viewport's height to scroll, so that what was at its edge is seen again."""
_HEIGHT = 720


def code_of(
    action: Action, mark: int | None = None, *, viewport: tuple[float, float] = (1280, _HEIGHT)
) -> str:
    """Return the action in the step language; empty if it does nothing on the page.

    Args:
        action: the action that was decided on.
        mark: the number of the verified element, for actions on one.
        viewport: width and height in CSS pixels.
    """
    match action:
        case Click() | Type() | Select() | Extract():
            found = f"page.get_by_mark({mark}, expected_text={text(action.expected_text)})"
            return f"{found}.{_call(action)}"
        case Press(key=key):
            return f"page.keyboard.press({text(key)})"
        case Scroll(direction=direction):
            return _scroll(direction, viewport)
        case Navigate(url=url):
            return f"page.goto({text(url)})"
        case Wait(timeout_ms=milliseconds):
            return f"page.wait_for_timeout({milliseconds})"
        case GoBack():
            return "page.go_back()"
        case Done(answer=answer) if answer is not None:
            return f"answer({answer!r})"
        case _:
            return ""


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
        case Click() | Extract():
            return f"{action.action} {_named(action)}"
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
