"""The form of a model's reply in each phase of collecting: examples, JSON schema and grammar."""

import json
from collections.abc import Sequence
from typing import Any, Literal

from pytest_autoweb.act.grammar import MAX_TEXT, fits
from pytest_autoweb.browser.marks import Mark
from pytest_autoweb.llm.gbnf import literal, string_rule

Phase = Literal["navigate", "explore", "paginate", "collect"]

PICKS = 3
"""The most entries that a small model may name at once."""

_NAMES_MARKS = {"mark_id", "mark_id_text_map"}
_ON_ONE = ("expected_text", "mark_id")
_FORMS: dict[Phase, dict[str, tuple[str, ...]]] = {
    "navigate": {
        "click": _ON_ONE,
        "type": (*_ON_ONE, "text"),
        "select": (*_ON_ONE, "option"),
        "press": ("key",),
        "done": (),
    },
    "explore": {
        "select_detail_links": ("mark_id_text_map",),
        "click_to_enter": _ON_ONE,
        "current_is_detail": (),
        "scroll_down": (),
    },
    "paginate": {"next_page": _ON_ONE, "none": ()},
    "collect": {"select_detail_links": ("mark_id_text_map",), "scroll_down": (), "done": ()},
}
_EXAMPLES: dict[str, Any] = {
    "expected_text": "…",
    "mark_id": 5,
    "text": "…",
    "option": "…",
    "key": "Enter",
    "mark_id_text_map": {"5": "…", "8": "…"},
}
_TEXT = {"type": "string"}


def actions_of(phase: Phase) -> tuple[str, ...]:
    """Return the actions of a phase."""
    return tuple(_FORMS[phase])


def forms_text(phase: Phase, *, brief: bool = False) -> str:
    """Return the forms as examples for the prompt, one on each line."""
    lines = []
    for action, fields in _FORMS[phase].items():
        form = {"action": action, **{name: _EXAMPLES[name] for name in fields}}
        if not brief:
            form = {"thinking": "…", **form, "confidence": 0.9}
        lines.append(json.dumps(form, ensure_ascii=False))
    return "\n".join(lines)


def schema(phase: Phase, numbers: Sequence[int]) -> dict[str, Any]:
    """Return the JSON schema of a reply on a picture with these marks."""
    forms = [
        _form_schema(action, fields, numbers)
        for action, fields in _FORMS[phase].items()
        if numbers or not _NAMES_MARKS & set(fields)
    ]
    return {
        "type": "object",
        "properties": {"decision": {"anyOf": forms}},
        "required": ["decision"],
        "additionalProperties": False,
    }


def _form_schema(action: str, fields: tuple[str, ...], numbers: Sequence[int]) -> dict[str, Any]:
    known: dict[str, Any] = {
        "mark_id": {"enum": list(numbers)},
        "mark_id_text_map": {
            "type": "object",
            "properties": {str(number): _TEXT for number in numbers},
            "additionalProperties": False,
        },
    }
    properties = {
        "thinking": _TEXT,
        "action": {"const": action},
        **{name: known.get(name, _TEXT) for name in fields},
        "confidence": {"type": "number", "minimum": 0, "maximum": 1},
    }
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def grammar(phase: Phase, marks: Sequence[Mark]) -> str:
    """Return a GBNF grammar for one line of JSON: an action of the phase on a suitable mark."""
    rules, lines = [], []
    for action, fields in _FORMS[phase].items():
        choice = _choice([mark.number for mark in marks if fits(action, mark)])
        if action == "current_is_detail" or (_NAMES_MARKS & set(fields) and not choice):
            continue
        rules.append(_rule(action, fields, choice))
        if "mark_id_text_map" in fields:
            picks = f'pick (", " pick){{0,{PICKS - 1}}}'
            lines += [f'picks ::= "{{" {picks} "}}"', f'pick ::= "\\"" {choice} "\\": " str']
    lines.append(string_rule(MAX_TEXT))
    return "\n".join([f"root ::= {' | '.join(rules)}", *lines]) + "\n"


def _choice(numbers: Sequence[int]) -> str:
    """Return the grammar for any one of these numbers; empty without numbers."""
    return f"({' | '.join(literal(str(number)) for number in numbers)})" if numbers else ""


def _rule(action: str, fields: tuple[str, ...], choice: str) -> str:
    parts = [literal(f'{{"action": "{action}"')]
    kinds = {"mark_id": choice, "mark_id_text_map": "picks"}
    for name in fields:
        parts += [literal(f', "{name}": '), kinds.get(name, "str")]
    return " ".join([*parts, literal("}")])
