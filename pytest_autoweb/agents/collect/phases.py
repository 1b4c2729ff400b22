"""The phases of a collection, and what a model may reply in each."""

from collections.abc import Sequence
from typing import Any, Literal

from pytest_autoweb.agents.act.actions import FORMS
from pytest_autoweb.agents.act.decide import STRINGS, fits
from pytest_autoweb.browser.marks.marking import Mark
from pytest_autoweb.models.reply_forms import (
    Fixed,
    ReplyForm,
    TextsByNumber,
    examples_of,
    grammar_of,
    schema_of_any,
    untyped_words,
)

Phase = Literal["navigate", "explore", "paginate", "collect"]

PICKS = 3
"""Maximum number of entries that a small model may name at once."""


def _alone(action: str) -> ReplyForm:
    return ReplyForm({"action": Fixed(action)})


# The text comes before the number, because a small model that had to give the number first failed
# three of four tasks (docs/act.md, "Measured").
_ON_ONE = FORMS["click"]
_LINKS = ReplyForm(
    {"action": Fixed("select_detail_links"), "mark_id_text_map": TextsByNumber(most=PICKS)}
)
_FORMS: dict[Phase, dict[str, ReplyForm]] = {
    "navigate": {
        **{name: FORMS[name] for name in ("click", "type", "select")},
        "press": FORMS["press"],
        "done": _alone("done"),
    },
    "explore": {
        "select_detail_links": _LINKS,
        "click_to_enter": _ON_ONE.fixed(action="click_to_enter"),
        "current_is_detail": _alone("current_is_detail"),
        "scroll_down": _alone("scroll_down"),
    },
    "paginate": {"next_page": _ON_ONE.fixed(action="next_page"), "none": _alone("none")},
    "collect": {
        "select_detail_links": _LINKS,
        "scroll_down": _alone("scroll_down"),
        "done": _alone("done"),
    },
}


def actions_of(phase: Phase) -> tuple[str, ...]:
    return tuple(_FORMS[phase])


def is_on_one_element(phase: Phase, action: str) -> bool:
    """Return whether an action of a phase is performed on one element."""
    return "mark_id" in _FORMS[phase][action].fields


def _forms(phase: Phase, near: bool, only: str = "") -> dict[str, ReplyForm]:
    """Return the forms of the actions of a phase, or of one of them.

    Args:
        phase: the phase.
        near: whether an action on one element also names a text near it.
        only: the action; empty for all of them.
    """
    return {
        action: form if near else form.without("near")
        for action, form in _FORMS[phase].items()
        if only in ("", action)
    }


def forms_text(phase: Phase, *, brief: bool = False, near: bool = False, only: str = "") -> str:
    forms = _forms(phase, near, only).values()
    return examples_of(form if brief else form.reasoned() for form in forms)


def schema(phase: Phase, numbers: Sequence[int], *, near: bool = False) -> dict[str, Any]:
    """Return the JSON schema of a reply on a picture with these marks."""
    forms = [form.among(numbers) for form in _forms(phase, near).values()]
    asked = [form.reasoned() for form in forms if not form.is_open]
    return untyped_words(schema_of_any(asked))


def grammar(phase: Phase, marks: Sequence[Mark], *, near: bool = False, only: str = "") -> str:
    """Return a GBNF grammar for one line of JSON: an action of the phase on a suitable mark."""
    forms = [
        form.among(mark.number for mark in marks if fits(action, mark))
        for action, form in _forms(phase, near, only).items()
        if action != "current_is_detail"
    ]
    return grammar_of((form for form in forms if not form.is_open), STRINGS, apart=True)
