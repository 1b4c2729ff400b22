"""A grammar of decisions for small models, and which action makes sense on which element."""

import json
from collections.abc import Collection, Sequence
from typing import NamedTuple

from pytest_autoweb.llm.replies import literal, string_rule
from pytest_autoweb.marks.marking import Mark

MAX_TEXT = 120
_STRING = string_rule(MAX_TEXT)
_TYPED = frozenset({"textbox", "searchbox", "spinbutton", "combobox", "slider"})

Banned = Collection[tuple[str, int]]
"""Pairs of an action and a mark that may not be decided on again."""


class OtherActions(NamedTuple):
    """The actions that are possible besides those on elements."""

    scroll: tuple[str, ...] = ("down", "up")
    enter: bool = True
    """Whether Enter may be pressed, which makes sense after typing."""
    done: bool = True
    answers: bool = False
    """Whether `done` carries an answer."""


def grammar(
    marks: Sequence[Mark],
    others: OtherActions,
    *,
    banned: Banned = (),
    alike: Collection[int] = (),
    again: bool = False,
) -> str:
    """Return a grammar of one line of JSON: an action on a mark that it fits, or without a mark.

    Args:
        marks: the marks of the picture.
        others: the actions that need no mark.
        banned: what was done or refused on this very picture.
        alike: numbers of marks that share their text, for which the reply may also name `near`.
        again: this is a second look, in which `near` must be named.
    """
    rules = []
    for action in ("click", "type", "select"):
        fitting = [m.number for m in marks if fits(action, m) and (action, m.number) not in banned]
        shared = [number for number in fitting if number in alike]
        if fitting and not again:
            rules.append(_on_element(action, fitting))
        if shared:
            rules.append(_on_element(action, shared, near=True))
    rules += [_without_mark({"action": "scroll", "direction": way}) for way in others.scroll]
    if others.enter:
        rules.append(_without_mark({"action": "press", "key": "Enter"}))
    # A grammar needs at least one way to go on.
    if others.done or not rules:
        rules.append(_done(others.answers))
    return f"root ::= {' | '.join(rules)}\n{_STRING}\n"


def fits(action: str, mark: Mark) -> bool:
    """Return whether an action makes sense on an element of this role."""
    if action == "select":
        return mark.tag == "select"
    if action == "upload":
        return mark.attributes.get("type") == "file" or mark.tag not in ("input", "select")
    if action in ("hover", "scroll_in", "drag"):
        return True
    if action == "type":
        return (mark.tag in ("input", "textarea") and _takes_text(mark)) or mark.role in _TYPED
    return action == "extract" or mark.tag != "select"


def _takes_text(mark: Mark) -> bool:
    return mark.role in _TYPED or not mark.role


def _on_element(action: str, numbers: Sequence[int], *, near: bool = False) -> str:
    choice = " | ".join(literal(str(number)) for number in numbers)
    parts = [literal(f'{{"action": "{action}", "expected_text": '), "str"]
    if near:
        parts += [literal(', "near": '), "str"]
    parts += [literal(', "mark_id": '), f"({choice})"]
    if more := {"type": "text", "select": "option"}.get(action):
        parts += [literal(f', "{more}": '), "str"]
    return " ".join([*parts, literal("}")])


def _done(answers: bool) -> str:
    if not answers:
        return _without_mark({"action": "done"})
    return " ".join([literal('{"action": "done", "answer": '), "str", literal("}")])


def _without_mark(fields: dict[str, str]) -> str:
    return literal(json.dumps(fields))
