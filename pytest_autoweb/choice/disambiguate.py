"""Telling apart elements that read alike, by a second fact about the one that is meant. Pure.

A number alone is not reliable, and a text that several elements share does not decide either. So
the choice must also name what surrounds the element (its row, card or heading) or, where that is
the same too, its place among them. See docs/act.md, "Elements that read alike".
"""

from collections.abc import Sequence

from pytest_autoweb.choice.expected_text import SHORT, compare, excerpt
from pytest_autoweb.choice.mark_listing import label_of
from pytest_autoweb.choice.text_folding import fold, is_border, without_decoration
from pytest_autoweb.choice.verify_choice import (
    CANDIDATES,
    Choice,
    Resolution,
    compare_mark,
    resolve,
)
from pytest_autoweb.marks.marking import Mark


def resolve_apart(choice: Choice, marks: Sequence[Mark], *, again: bool = False) -> Resolution:
    """Return the mark that a choice means, as `resolve` finds it, if no other fits as well.

    Where others fit the text as well, `choice.near` decides: if it fits only one of them, that one
    is taken. Links to the same address need not be told apart. Otherwise none is taken, and the
    remaining ones are candidates for a second look.

    Args:
        choice: number, expected text, and what is near the element.
        marks: the marks of the picture that the choice was made on.
        again: this is the picture of a second look, for which the texts near all marks were read.
    """
    first = resolve(choice, marks)
    rivals = _rivals(first, choice, marks)
    lost = first.status in ("text_not_found", "no_such_mark")
    if lost and (field := _nameless_field(choice, marks)):
        what = f"a field without a name; '{excerpt(choice.expected_text)}' is what tells it apart"
        return _taken(first, choice, field, what, verdict="match")
    if len(rivals) < 2:
        return first
    what = f"{len(rivals)} elements fit '{excerpt(choice.expected_text)}'"
    if _same_target(rivals):
        own = [mark for mark in rivals if mark.number == choice.number]
        return _taken(first, choice, (own or rivals)[0], f"{what}; all lead to one address")
    left = nearest(choice.near, rivals) or nearest(_near_only(choice), rivals)
    # The texts near a mark are read only if it shares its text with another mark. If these marks do
    # not, `near` cannot be compared before a second look.
    known = again or all(m.near for m in rivals) or fold(choice.near) in _places(rivals)
    if len(left) == 1 and known:
        return _taken(first, choice, left[0], f"{what}; this one is near '{excerpt(choice.near)}'")
    count = "one" if len(left) == 1 else "several" if left else "none"
    near = f"'{excerpt(choice.near)}' is near {count} of them"
    reason = f"{what}; {near if fold(choice.near) else 'nothing near it was named'}"
    chosen = first.chosen.model_copy(update={"verdict": "unverifiable", "reason": reason})
    # If there are too many, those whose numbers are close to the chosen one are shown.
    about = sorted(
        left if known and left else rivals, key=lambda mark: abs(mark.number - (choice.number or 0))
    )
    numbers = sorted(mark.number for mark in about[:CANDIDATES])
    return Resolution("text_ambiguous", chosen, None, tuple(numbers))


def ambiguous(marks: Sequence[Mark]) -> dict[int, str]:
    """Return, for each mark that shares its text with another one, a text that tells it apart.

    This is the nearest text around it that none of the others has or, if there is none, its place
    among them, such as `2 of 4`. Links to the same address are left out.

    Returns:
        The texts by the number of the mark.
    """
    groups: dict[str, list[Mark]] = {}
    for mark in marks:
        groups.setdefault(fold(label_of(mark)), []).append(mark)
    return {
        mark.number: distinguishing_text(mark, group)
        for group in groups.values()
        if len(group) > 1 and not _same_target(group)
        for mark in group
    }


def distinguishing_text(mark: Mark, group: Sequence[Mark]) -> str:
    """Return what tells one mark of a group apart: a text near it, or its place."""
    others = {fold(piece) for other in group if other is not mark for piece in other.near}
    found = next((piece for piece in mark.near if fold(piece) not in others), None)
    return found or place(mark, group)


def place(mark: Mark, group: Sequence[Mark]) -> str:
    """Return the place of a mark in its group, from the top and the left, e.g. `2 of 4`."""
    numbers = sorted(other.number for other in group)
    return f"{numbers.index(mark.number) + 1} of {len(numbers)}"


def _places(group: Sequence[Mark]) -> set[str]:
    return {place(mark, group) for mark in group}


def nearest(near: str, group: Sequence[Mark]) -> list[Mark]:
    """Return the marks of a group that a text is near to, or rather those that it fits best.

    A whole text around the mark counts more than a cut form or a part of it in whole words.
    """
    if not fold(near):
        return []
    degrees = {mark.number: _degree(near, mark, group) for mark in group}
    best = max(degrees.values())
    return [mark for mark in group if degrees[mark.number] == best] if best else []


def _near_only(choice: Choice) -> str:
    """Return `near` without the element's own text, which models repeat when they name its row."""
    own, near = fold(choice.expected_text), fold(choice.near)
    left = without_decoration(fold(near.replace(own, " ", 1))) if own else near
    return left if any(map(str.isalnum, left)) else ""


def _degree(near: str, mark: Mark, group: Sequence[Mark]) -> int:
    known = (*mark.near, place(mark, group))
    found = [compare(near, piece) for piece in known]
    if any(comparison.sure for comparison in found):
        return 2
    alike = any(comparison.verdict == "match" for comparison in found)
    return int(alike or any(_within(near, text) for text in (*mark.near, " ".join(mark.near))))


def _within(part: str, whole: str) -> bool:
    """Return whether one text contains the other in whole words, as when a row is named in part."""
    shorter, longer = sorted((fold(part), fold(whole)), key=len)
    if len(shorter) <= SHORT:
        return False
    at = longer.find(shorter)
    while at >= 0:
        if is_border(longer, at) and is_border(longer, at + len(shorter)):
            return True
        at = longer.find(shorter, at + 1)
    return False


def _nameless_field(choice: Choice, marks: Sequence[Mark]) -> Mark | None:
    """Return the only nameless field that the expected text is beside, or whose place it is."""
    fields = [mark for mark in marks if mark.is_nameless_field]
    named = [
        mark
        for mark in fields
        if any(compare(choice.expected_text, one).sure for one in (*mark.near, place(mark, fields)))
    ]
    return named[0] if len(named) == 1 else None


def _rivals(first: Resolution, choice: Choice, marks: Sequence[Mark]) -> list[Mark]:
    """Return the marks that fit the text as well as the one that was taken, or the candidates."""
    if first.mark is None:
        return [mark for mark in marks if mark.number in first.candidates]
    if first.status not in ("number_match", "number_only"):
        return [first.mark]
    own = compare_mark(choice.expected_text, first.mark)
    fits = [(mark, compare_mark(choice.expected_text, mark)) for mark in marks]
    return [
        mark
        for mark, fit in fits
        if fit.allowed and (fit.verdict, fit.sure) == (own.verdict, own.sure)
    ]


def _same_target(group: Sequence[Mark]) -> bool:
    """Return whether all are links to one address."""
    # An address that ends in `#` is that of a button in disguise, so it says nothing.
    urls = {mark.url for mark in group}
    return len(urls) == 1 and not urls & {""} and not next(iter(urls)).endswith("#")


def _taken(
    first: Resolution, choice: Choice, mark: Mark, reason: str, **more: object
) -> Resolution:
    taken = mark.number if mark.number != choice.number else None
    update = {"taken": taken, "reason": reason, "box": tuple(mark.box), **more}
    return Resolution("near_unique", first.chosen.model_copy(update=update), mark)
