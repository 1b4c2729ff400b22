"""GBNF that holds a small model to one brief decision on the marks that exist. Pure."""

import json
from collections.abc import Collection, Sequence
from typing import NamedTuple

from pytest_autoweb.browser.marks import Mark
from pytest_autoweb.llm.gbnf import literal, string_rule

MAX_TEXT = 120
_STRING = string_rule(MAX_TEXT)
_TYPED = frozenset({"textbox", "searchbox", "spinbutton", "combobox", "slider"})

Banned = Collection[tuple[str, int]]
"""Action and mark that may not be decided on again."""


class Moves(NamedTuple):
    """What can be decided on beside actions on elements."""

    scroll: tuple[str, ...] = ("down", "up")
    enter: bool = True
    """Pressing Enter, which makes sense after typing."""
    done: bool = True
    answers: bool = False
    """Whether `done` brings data."""


def grammar(
    marks: Sequence[Mark],
    moves: Moves,
    *,
    banned: Banned = (),
    alike: Collection[int] = (),
    again: bool = False,
) -> str:
    """Allows one line of JSON: an action that fits an existing mark, or one without a mark.

    Args:
        marks: of the picture.
        moves: what else can be decided.
        banned: what was done or refused on this very picture.
        alike: marks that share their text: what is near them may be named.
        again: it must be named, because this is a second look.
    """
    rules = []
    for action in ("click", "type", "select"):
        fitting = [m.number for m in marks if fits(action, m) and (action, m.number) not in banned]
        shared = [number for number in fitting if number in alike]
        if fitting and not again:
            rules.append(_on_element(action, fitting))
        if shared:
            rules.append(_on_element(action, shared, near=True))
    rules += [_plain({"action": "scroll", "direction": way}) for way in moves.scroll]
    if moves.enter:
        rules.append(_plain({"action": "press", "key": "Enter"}))
    if moves.done or not rules:
        rules.append(_done(moves.answers))
    return f"root ::= {' | '.join(rules)}\n{_STRING}\n"


def fits(action: str, mark: Mark) -> bool:
    """Whether an action makes sense on an element of this role."""
    if action == "select":
        return mark.tag == "select"
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
        return _plain({"action": "done"})
    return " ".join([literal('{"action": "done", "answer": '), "str", literal("}")])


def _plain(fields: dict[str, str]) -> str:
    return literal(json.dumps(fields))
