"""The passage of a long text that a failed check shows."""

import difflib
import re
from collections.abc import Callable

_SHORT = 200
_SOUGHT, _LOOKED_AT = 200, 100_000
_AROUND, _LEAD = 20, 40
_ALIKE = 12
"""Number of consecutive characters in common that make two texts similar, whatever their length."""
# The non-literal parts of a regular expression, including its escapes and classes.
_NOT_LITERAL = re.compile(r"\\.|\[[^\]]*\]|\(\?[^)]*|\{[^}]*\}|[.^$*+?{}()|\[\]]")


def shown_near(wanted: str, text: str, redact: Callable[[str], str]) -> str:
    """Return the part to show of a text that lacks another: all of it, or the nearest passage.

    If a long text contains nothing similar, a note after its beginning says so.

    Args:
        wanted: the missing text.
        text: the text that was searched.
        redact: removes secrets; called before cutting, because half a secret is not recognised.
    """
    text = redact(text)
    if len(text) > _SHORT and (passage := _nearest_passage(redact(wanted), text)):
        return f"nearest: {passage!r}"
    return beginning_of(text)


def beginning_of(text: str) -> str:
    """Return a short text in full; a longer one's beginning, with a note that nothing is similar.

    Args:
        text: a text without secrets that contains nothing similar to the wanted one.
    """
    if len(text) <= _SHORT:
        return text
    return f"{text[:_SHORT]}… (nothing in these {len(text):,} characters is like it)"


def longest_literal(pattern: str) -> str:
    """Return a regular expression's longest literal part, determined heuristically."""
    return max(_NOT_LITERAL.split(pattern), key=len).strip()


def _nearest_passage(wanted: str, text: str) -> str:
    """Return the part of a text most similar to a wanted one; empty if none is similar.

    It surrounds the longest piece that both have in common, ignoring case.
    """
    # The comparison is quadratic, and pages may be very long.
    sought, seen = _lower(wanted[:_SOUGHT]), _lower(text[:_LOOKED_AT])
    matcher = difflib.SequenceMatcher(None, seen, sought, autojunk=False)
    place, within, size = matcher.find_longest_match()
    if size < max(3, min(len(sought) // 4, _ALIKE)):
        return ""
    # If only a few words match, only these are shown, not a passage of the wanted length.
    start = max(0, place - min(within, _LEAD))
    before = max(0, start - _AROUND)
    # A text may have no spaces at all, such as compact JSON.
    space = seen.rfind(" ", max(0, before - _AROUND), before + 1)
    first = before if space < 0 else space + 1
    end = min(len(text), max(place + size, start + min(len(sought), 2 * _LEAD)) + _AROUND)
    space = text.find(" ", end, end + _AROUND)
    last = end if space < 0 else space
    return f"{'…' if first else ''}{text[first:last]}{'…' if last < len(text) else ''}"


def _lower(text: str) -> str:
    """Return the text in lower case, if that does not shift any character."""
    lower = text.lower()
    return lower if len(lower) == len(text) else text
