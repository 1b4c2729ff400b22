"""The elements whose names are most like the one that was looked for; pure."""

import re
import unicodedata
from collections.abc import Sequence
from difflib import SequenceMatcher
from typing import NamedTuple

from pytest_autoweb.browser.base import RefElement

LEAST = 0.45
"""Likeness below which an element is not worth naming."""
_SAME_ROLE = 0.15
_ALIKE_ROLES = (
    frozenset({"button", "link", "clickable", "menuitem", "tab"}),
    frozenset({"textbox", "searchbox", "combobox", "spinbutton"}),
    frozenset({"checkbox", "switch", "radio", "option"}),
)
_WORD = re.compile(r"[^\W_]+")


class Near(NamedTuple):
    """An element and how like it is, 0 to 1."""

    element: RefElement
    likeness: float


def likeness(one: str, other: str) -> float:
    """How alike two names are, from 0 to 1; equal names give 1, whichever comes first.

    Upper and lower case, width and punctuation do not count. A name that holds all words of the
    other is near it, since labels grow ("Save" and "Save changes").
    """
    a, b = _folded(one), _folded(other)
    if not a or not b:
        return 0.0
    if a == b:
        return 1.0
    ratio = max(SequenceMatcher(None, a, b).ratio(), SequenceMatcher(None, b, a).ratio())
    words_a, words_b = set(a.split()), set(b.split())
    shared = len(words_a & words_b) / min(len(words_a), len(words_b))
    return min(0.99, max(ratio, 0.9 * shared))


def nearest(
    elements: Sequence[RefElement], *, words: str, role: str, method: str, most: int = 5
) -> tuple[Near, ...]:
    """The elements most like what was looked for, the best first.

    Args:
        elements: on the page.
        words: name, label or text that was looked for.
        role: that was looked for, or empty.
        method: what was to be done; an element on which it cannot be done comes last.
        most: elements at most.
    """
    alike = [each for each in elements if _named_like(each, words) >= LEAST]
    found = [Near(each, _score(each, words, role, method)) for each in alike]
    return tuple(sorted(found, key=lambda near: -near.likeness)[:most])


def near_texts(texts: Sequence[str], wanted: str, *, most: int = 5) -> tuple[str, ...]:
    """The texts most like the wanted one, the best first, e.g. of a select box's options."""
    scored = sorted(((likeness(text, wanted), text) for text in texts), key=lambda pair: -pair[0])
    return tuple(text for score, text in scored[:most] if score >= LEAST)


def _named_like(element: RefElement, words: str) -> float:
    names = (element.name, element.hint.removeprefix("after ").strip('"'))
    return max(likeness(name, words) for name in names) if words else 0.5


def _score(element: RefElement, words: str, role: str, method: str) -> float:
    score = _named_like(element, words)
    if role and element.role == role:
        score += _SAME_ROLE
    elif role and not any({role, element.role} <= alike for alike in _ALIKE_ROLES):
        score -= _SAME_ROLE
    if method in _NEEDS and _NEEDS[method] not in element.actions:
        score -= 2 * _SAME_ROLE
    return max(0.0, min(1.0, score))


_NEEDS = {
    "fill": "fill",
    "type": "fill",
    "press_sequentially": "fill",
    "check": "check",
    "uncheck": "uncheck",
    "select_option": "select_option",
}


def _folded(text: str) -> str:
    plain = unicodedata.normalize("NFKC", text).casefold()
    return " ".join(_WORD.findall(plain)) or " ".join(plain.split())
