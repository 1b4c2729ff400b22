"""Distinguishes elements that read alike by a second fact about the intended one. Pure.

A number alone is not reliable, and a text that several elements share does not decide either. So
the choice must also name the element's surroundings (its row, card or heading) or, where those are
the same too, its place among them. See docs/act.md, "Elements that read alike".
"""

import re
from collections.abc import Sequence
from itertools import combinations

from pytest_autoweb.agents.choice.expected_text import (
    SHORT,
    compare,
    describes_icon,
    excerpt,
    fold,
    is_border,
    is_field,
    names_kind_only,
    names_picture,
    without_decoration,
)
from pytest_autoweb.agents.choice.partial_text import is_irreversible
from pytest_autoweb.agents.choice.verify_choice import (
    CANDIDATES,
    FIELDS,
    Choice,
    Resolution,
    compare_mark,
    compare_marks,
    resolve,
    visible_text,
)
from pytest_autoweb.browser.marks.marking import Mark, label_of

LOW_CONFIDENCE = 0.5
"""Confidence below which a choice needs a second look before anything is performed."""
NO_TEXT = "(no text)"
"""The name for an empty expected text in a second look."""
_JOIN = ", "
_JOINED = 5
"""Number of nearest texts from which two may be joined to distinguish elements."""
_PLACE = re.compile(r"\d{1,4} of \d{1,4}")


def resolve_apart(
    choice: Choice,
    marks: Sequence[Mark],
    *,
    page_text: str = "",
    again: bool = False,
    into_field: bool = True,
) -> Resolution:
    """Return the mark that a choice means, as `resolve` finds it, if no other fits as well.

    Where others fit the text as well, `choice.near` decides: if it fits only one of them, that one
    is taken. A number that agrees with the text is never replaced: its mark is taken if `near`
    narrows the marks down and keeps it, and otherwise no mark is taken. Links to the same address
    need not be distinguished. If none is taken, the remaining ones are candidates for a second
    look. Among icons that fit equally well the number decides, unless `near` contradicts it or the
    action can hardly be undone.

    Args:
        choice: number, expected text, and the text near the element.
        marks: the marks of the picture that the choice was made on.
        page_text: the page's text. A text on the page itself, such as the `1 of 3` of a pager, is
            not taken as a place among the elements.
        again: this is a second look's picture, for which the texts near all marks were read.
        into_field: the action fills in or sets a field, so that a text may mean the field next to
            it. Otherwise it does so only if the number is that of the field, or if the text is the
            field's place, such as `2 of 3`.
    """
    first, expected = resolve(choice, marks, again=again), fold(choice.expected_text)
    lost = first.status in ("text_not_found", "no_such_mark")
    field = _nameless_field(choice, marks, page_text) if lost else None
    if field and (into_field or field.number == choice.number or _PLACE.fullmatch(expected)):
        what = f"a field without a name; '{excerpt(choice.expected_text)}' is what tells it apart"
        return _taken(first, choice, field, what, verdict="match", matched="text")
    rivals = _rivals(first, choice, marks)
    if len(rivals) < 2:
        return first
    if _same_target(rivals):
        own = [mark for mark in rivals if mark.number == choice.number]
        reason = f"{_fitting(choice, rivals)}; all lead to one address"
        return _taken(first, choice, (own or rivals)[0], reason)
    places = again or not _reads_as_place(page_text, choice.near)
    return _by_near(first, choice, rivals, again=again, places=places)


def _fitting(choice: Choice, rivals: Sequence[Mark]) -> str:
    return f"{len(rivals)} elements fit '{excerpt(choice.expected_text)}'"


def _by_near(
    first: Resolution, choice: Choice, rivals: Sequence[Mark], *, again: bool, places: bool
) -> Resolution:
    """Return the mark among several that `near` decides on, or the candidates for a second look."""
    what, named = _fitting(choice, rivals), fold(choice.near)
    left = nearest(choice.near, rivals, places=places) or nearest(
        _near_only(choice), rivals, places=places
    )
    # A text that is near none of them says where the model looked, and contradicts no number.
    agrees = first.mark in left or not left or not named
    if first.mark and agrees and _is_icon(choice, first.mark):
        reason = f"{what}; the number says which one"
        return first._replace(chosen=first.chosen.model_copy(update={"reason": reason}))
    # The texts near a mark are read only if it shares its text with another mark. If these marks
    # share none, `near` cannot be compared before a second look.
    placed = places and fold(choice.near) in _places(rivals)
    known = again or all(mark.near for mark in rivals) or placed
    if known and (meant := _meant(choice, first, left, rivals)):
        return _taken(first, choice, meant, f"{what}; this one is near '{excerpt(choice.near)}'")
    update = {
        "verdict": "unverifiable",
        "matched": "",
        "reason": f"{what}; {_why_not(choice, first.mark, left)}",
    }
    chosen = first.chosen.model_copy(update=update)
    shown = left if known and left else rivals
    if first.mark and first.mark not in shown:
        shown = [*shown, first.mark]
    # If there are too many, those whose numbers are close to the chosen one are shown.
    about = sorted(shown, key=lambda mark: abs(mark.number - (choice.number or 0)))
    numbers = sorted(mark.number for mark in about[:CANDIDATES])
    return Resolution("text_ambiguous", chosen, None, tuple(numbers))


def _is_icon(choice: Choice, mark: Mark) -> bool:
    """Return whether a text describes a mark as an icon, and its action can be undone."""
    shown = any(map(str.isalnum, fold(visible_text(mark))))
    if shown or is_field(mark.role) or mark.tag in FIELDS:
        return False
    expected = choice.expected_text
    described = describes_icon(expected) or names_kind_only(expected, mark.role)
    if not described and not names_picture(expected, mark.name):
        return False
    return not (is_irreversible(choice.expected_text) or is_irreversible(mark.name))


def _meant(
    choice: Choice, first: Resolution, left: Sequence[Mark], rivals: Sequence[Mark]
) -> Mark | None:
    """Return the mark that number, text and `near` agree on, or the only one that `near` leaves.

    Args:
        choice: the choice.
        first: the result without `near`, with the mark of a number that agrees with the text.
        left: the marks that `near` leaves.
        rivals: the marks that fit the text.
    """
    own = first.mark
    if own is None:
        only = left[0] if len(left) == 1 else None
        # A number whose mark is one of them is never replaced by another one of them.
        contradicted = choice.number in first.candidates and only and only.number != choice.number
        return None if contradicted else only
    # An icon has no text for its number to agree with, so `near` must fit it alone.
    if first.status == "number_only":
        return own if left == [own] else None
    # A text near all of them says nothing, so only the unreliable number would decide.
    return own if own in left and len(left) < len(rivals) else None


def _why_not(choice: Choice, own: Mark | None, left: Sequence[Mark]) -> str:
    if not fold(choice.near):
        return "nothing near it was named"
    count = "one" if len(left) == 1 else "several" if left else "none"
    but = f", but not mark {own.number}" if own and left and own not in left else ""
    return f"'{excerpt(choice.near)}' is near {count} of them{but}"


def _reads_as_place(page_text: str, near: str) -> bool:
    """Return whether a text that could name a place appears on the page itself, as in a pager."""
    wanted = fold(near)
    if not _PLACE.fullmatch(wanted):
        return False
    return any(_holds_words(fold(line), wanted) for line in page_text.splitlines())


def is_unsure(confidence: float | None, limit: float = LOW_CONFIDENCE) -> bool:
    """Return whether a model is too unsure of its choice to skip a second look."""
    return confidence is not None and confidence < limit


def look_again_at(
    first: Resolution,
    marks: Sequence[Mark],
    confidence: float | None,
    limit: float = LOW_CONFIDENCE,
) -> tuple[int, ...]:
    """Return the numbers of the marks for a second look; none if no second look is needed.

    Args:
        first: the result of the first look.
        marks: the marks that the action fits.
        confidence: the model's stated confidence.
        limit: the confidence below which a second look is needed.
    """
    if first.candidates or first.mark is None or not is_unsure(confidence, limit):
        return first.candidates
    chosen = first.mark.number
    about = sorted(marks, key=lambda mark: abs(mark.number - chosen))[:CANDIDATES]
    # With only one element there is nothing to choose from.
    return tuple(sorted(mark.number for mark in about)) if len(about) > 1 else ()


def combined(first: Resolution, second: Resolution, marks: Sequence[Mark]) -> Resolution:
    """Return the result of both looks, whose record keeps the numbers of the first picture.

    Args:
        first: the result of the first look.
        second: the result of the second look, with the numbers of its picture.
        marks: the marks of the first picture.

    Returns:
        The second result, without a mark if its element is not in the first picture: it may have
        been redrawn in the meantime.
    """
    same = next((m for m in marks if second.mark and m.identity == second.mark.identity), None)
    status = first.status if first.candidates else second.status
    if status == "no_such_mark":
        # The number belongs to the second picture and means nothing in the first one.
        status = "not_confirmed"
    update: dict[str, object] = {
        "verdict": second.chosen.verdict,
        "reason": second.chosen.reason,
        "matched": second.chosen.matched,
        "taken": None,
    }
    # Without candidates the choice was made afresh, with its own text.
    if not first.candidates:
        update |= {
            "expected_text": second.chosen.expected_text,
            "actual_text": second.chosen.actual_text,
        }
    if same is None:
        chosen = first.chosen.model_copy(update=update)
        left = first.candidates or second.candidates
        return first._replace(status=status, chosen=chosen, mark=None, candidates=left)
    if same.number != first.chosen.mark:
        update |= {"taken": same.number, "box": tuple(same.box)}
    return second._replace(chosen=first.chosen.model_copy(update=update))


def not_confirmed(first: Resolution, confidence: float | None) -> Resolution:
    """Return a first look's result without its mark, because the second did not confirm it."""
    if first.candidates:
        return first
    reason = f"the model was not sure ({confidence or 0:g}) and did not choose it again"
    update = {"reason": reason, "verdict": "unverifiable", "taken": None}
    chosen = first.chosen.model_copy(update=update)
    return first._replace(status="not_confirmed", chosen=chosen, mark=None)


def ambiguous(marks: Sequence[Mark]) -> dict[int, str]:
    """Return, for each mark that shares its text with another one, a text that distinguishes it.

    This is the nearest text around it that none of the others has or, if there is none, two texts,
    a text with a place, or its place among them all, such as `2 of 4`. Links to the same address
    are left out.

    Returns:
        The texts by the number of the mark.
    """
    groups: dict[str, list[Mark]] = {}
    for mark in marks:
        groups.setdefault(fold(label_of(mark)), []).append(mark)
    return {
        number: text
        for group in groups.values()
        if len(group) > 1 and not _same_target(group)
        for number, text in distinguishing_texts(group).items()
    }


def distinguishing_texts(group: Sequence[Mark]) -> dict[int, str]:
    """Return the text that distinguishes each mark of a group: texts near it, its place, or both.

    Two texts are joined if neither is unique but the pair is. Where several marks have the same
    texts near them, like the icons of a row, the text that the fewest share is followed by the
    place among these: `Ann, 2 of 3`.

    Returns:
        The texts by the number of the mark.
    """
    sharing: dict[str, set[int]] = {}
    for mark in group:
        for piece in mark.near:
            sharing.setdefault(fold(piece), set()).add(mark.number)
    return {mark.number: _distinguishing(mark, group, sharing) for mark in group}


def _distinguishing(mark: Mark, group: Sequence[Mark], sharing: dict[str, set[int]]) -> str:
    own = {fold(piece): piece for piece in mark.near}
    for key, piece in own.items():
        if len(sharing[key]) == 1:
            return piece
    for inner, outer in combinations(list(own)[:_JOINED], 2):
        if len(sharing[inner] & sharing[outer]) == 1:
            return f"{own[outer]}{_JOIN}{own[inner]}"
    fewest = min(own, key=lambda key: len(sharing[key]), default="")
    if not fewest or len(sharing[fewest]) == len(group):
        return place(mark, group)
    among = place(mark, [other for other in group if other.number in sharing[fewest]])
    return f"{own[fewest]}{_JOIN}{among}"


def place(mark: Mark, group: Sequence[Mark]) -> str:
    """Return the place of a mark in its group, from the top and the left, e.g. `2 of 4`."""
    numbers = sorted(other.number for other in group)
    return f"{numbers.index(mark.number) + 1} of {len(numbers)}"


def _places(group: Sequence[Mark]) -> set[str]:
    return {place(mark, group) for mark in group}


def nearest(near: str, group: Sequence[Mark], *, places: bool = True) -> list[Mark]:
    """Return the marks of a group that a text near them fits best.

    A whole text around the mark, or its full distinguishing text, ranks highest; then a text whose
    every word is around the mark; then a cut form or a part of it in whole words.

    Args:
        near: the text.
        group: the marks that read alike.
        places: whether the text may name a place in the group, such as `2 of 4`.
    """
    if not fold(near):
        return []
    told_apart = distinguishing_texts(group)
    own_places = {
        mark.number: (place(mark, group), told_apart[mark.number]) if places else ()
        for mark in group
    }
    degrees = {mark.number: _degree(near, mark, own_places[mark.number]) for mark in group}
    best = max(degrees.values())
    return [mark for mark in group if degrees[mark.number] == best] if best else []


def _near_only(choice: Choice) -> str:
    """Return `near` without the element's own text, which models repeat when they name its row."""
    own, near = fold(choice.expected_text), fold(choice.near)
    left = without_decoration(fold(near.replace(own, " ", 1))) if own else near
    return left if any(map(str.isalnum, left)) else ""


def _degree(near: str, mark: Mark, own_places: Sequence[str]) -> int:
    found = [compare(near, piece) for piece in (*mark.near, *own_places)]
    if any(comparison.sure for comparison in found):
        return 3
    parts = [part for one in own_places for part in (one, one.split(_JOIN)[-1])]
    if _is_made_of(near, (*mark.near, *parts)):
        return 2
    alike = any(comparison.verdict == "match" for comparison in found)
    return int(alike or any(_within(near, text) for text in (*mark.near, " ".join(mark.near))))


def _is_made_of(near: str, pieces: Sequence[str]) -> bool:
    """Return whether each word of a text belongs to one of several whole pieces."""
    left = fold(near)
    for piece in sorted(map(fold, pieces), key=len, reverse=True):
        at = left.find(piece) if piece else -1
        if at >= 0 and is_border(left, at) and is_border(left, at + len(piece)):
            left = f"{left[:at]} {left[at + len(piece) :]}"
    return left != fold(near) and not any(map(str.isalnum, left))


def _within(part: str, whole: str) -> bool:
    """Return whether one text contains the other in whole words, as when a row is named in part."""
    shorter, longer = sorted((fold(part), fold(whole)), key=len)
    return len(shorter) > SHORT and _holds_words(longer, shorter)


def _holds_words(longer: str, shorter: str) -> bool:
    at = longer.find(shorter)
    while at >= 0:
        if is_border(longer, at) and is_border(longer, at + len(shorter)):
            return True
        at = longer.find(shorter, at + 1)
    return False


def _nameless_field(choice: Choice, marks: Sequence[Mark], page_text: str) -> Mark | None:
    """Return the only nameless field that is next to the expected text, or whose place it names.

    A text between two fields is next to both. Then the number decides, if the text comes first
    among those next to its field, and for no other field.
    """
    fields = [mark for mark in marks if mark.is_nameless_field]
    by_place = not _reads_as_place(page_text, choice.expected_text)
    named = [
        mark
        for mark in fields
        for known in [(*mark.near, place(mark, fields) if by_place else "")]
        if any(compare(choice.expected_text, one).sure for one in known)
    ]
    if len(named) == 1:
        return named[0]
    closest = [
        mark for mark in named if mark.near and compare(choice.expected_text, mark.near[0]).sure
    ]
    alone = len(closest) == 1 and closest[0].number == choice.number
    return closest[0] if alone else None


def _rivals(first: Resolution, choice: Choice, marks: Sequence[Mark]) -> list[Mark]:
    """Return the marks that fit the text as well as the chosen one does, or the candidates."""
    if first.mark is None:
        return [mark for mark in marks if mark.number in first.candidates]
    if first.status not in ("number_match", "number_only"):
        return [first.mark]
    fits = compare_marks(choice.expected_text, marks)
    own = fits[first.mark.number]
    return [
        mark
        for mark in marks
        if (fit := fits[mark.number]).allowed and (fit.verdict, fit.sure) == (own.verdict, own.sure)
    ]


def _same_target(group: Sequence[Mark]) -> bool:
    """Return whether all are links to one address."""
    # A link that ends in `#` is a button in disguise, so its address says nothing.
    urls = {mark.url for mark in group}
    return len(urls) == 1 and not urls & {""} and not next(iter(urls)).endswith("#")


def _taken(
    first: Resolution, choice: Choice, mark: Mark, reason: str, **more: object
) -> Resolution:
    taken = mark.number if mark.number != choice.number else None
    matched = compare_mark(choice.expected_text, mark).matched
    box = tuple(mark.box)
    update = {"taken": taken, "reason": reason, "box": box, "matched": matched, **more}
    return Resolution("near_unique", first.chosen.model_copy(update=update), mark)
