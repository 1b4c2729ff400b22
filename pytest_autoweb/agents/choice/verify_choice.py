"""Decides by text which element a choice refers to, or that none may be acted on. Pure.

The text decides and the number is only a hint, because models read texts well and numbers badly.
See docs/act.md, "How a choice is verified".
"""

from collections import Counter
from collections.abc import Sequence
from typing import Literal, NamedTuple

from pytest_autoweb.agents.choice.expected_text import (
    TextComparison,
    compare,
    compare_element,
    excerpt,
    is_field,
    names_icon,
    names_kind_only,
    of_other_kind,
    roles_of,
    types_of,
)
from pytest_autoweb.agents.choice.partial_text import (
    PartPlace,
    TextPart,
    holds_line,
    is_within,
    other_holders,
    part_of,
)
from pytest_autoweb.browser.marks.marking import Mark
from pytest_autoweb.results.records import ChosenMark

Status = Literal[
    "number_match",  # the text of the mark is the expected one
    "number_only",  # an icon: there is no text on either side to compare
    "text_unique",  # only one other mark has the expected text
    "text_prefix_unique",  # only one other mark has a cut form of it
    "text_ambiguous",  # several others have it
    "text_prefix_ambiguous",
    "number_part",  # the text is a part of the mark's text, and no other mark holds it as well
    "part_ambiguous",  # others hold it as well
    "kind_only",  # it only names the mark's kind, although the mark shows a text
    "near_unique",  # several have it; only one is near the named text (disambiguate.py)
    "text_not_found",  # no mark has it
    "no_expected_text",  # the choice came without a text although its mark has one
    "no_such_mark",  # neither the number nor the text is in the picture
    "chosen_twice",  # the number was chosen for two texts at once
    "not_confirmed",  # the model was not sure, and did not choose it again
    "text_changed",  # the page changed the element after the picture
    "element_gone",  # the page removed it after the picture
]

_ONLY_NAME = "which is its name and not shown"
FIELDS = frozenset({"input", "textarea", "select"})
"""Tags of fields, whose names are painted next to them."""

_FIELD_PX = 80
"""Width from which an element without text may be drawn as a field rather than as an icon."""
CANDIDATES = 20
"""Limit on the marks in a second look."""


class Choice(NamedTuple):
    """One element as a model chose it."""

    number: int | None
    expected_text: str
    near: str = ""
    """The element's surroundings, if its text does not distinguish it from others."""


class Resolution(NamedTuple):
    """The element that a choice refers to, or the reason why there is none."""

    status: Status
    chosen: ChosenMark
    """The choice as kept in the record of the decision."""
    mark: Mark | None
    """The mark to act on; None if there is none."""
    candidates: tuple[int, ...] = ()
    """Numbers of the marks for a second look: several that the text fits, or the only one that it
    is a part of, if that has to be confirmed."""


def compare_mark(expected_text: str, mark: Mark) -> TextComparison:
    """Compare with the painted text of a marked element, and with its accessible name.

    A match names which of the two it was.
    """
    # A label that represents its hidden checkbox may show a picture.
    role = "" if mark.tag == "label" and names_icon(expected_text) else mark.role
    if mark.unseen and role in ("button", "link") and _looks_like_field(mark):
        # Its name is not shown, and many a search box opens only when it is pressed.
        role = next(iter(roles_of(expected_text) & {"textbox", "combobox"}), role)
    texts = (*mark.texts, mark.name)
    found = compare_element(expected_text, texts, visible=visible_text(mark), role=role)
    if found.verdict != "match":
        return found
    painted = [compare(expected_text, text) for text in painted_texts(mark)]
    if any(one.verdict == "match" and one.sure >= found.sure for one in painted):
        return found._replace(matched="text")
    return found._replace(matched="name", reason=f"{found.reason}, {_ONLY_NAME}")


def _looks_like_field(mark: Mark) -> bool:
    return mark.box.width >= max(_FIELD_PX, 3 * mark.box.height)


def compare_marks(expected_text: str, marks: Sequence[Mark]) -> dict[int, TextComparison]:
    """Compare with each mark, by number.

    Among fields without text, `password field` refers to one of that kind if there is one.
    """
    found = {mark.number: compare_mark(expected_text, mark) for mark in marks}
    there = {mark.attributes.get("type", "") for mark in marks}
    meant = types_of(expected_text) & there if roles_of(expected_text) else frozenset()
    for mark in marks if meant else ():
        kind, shows_nothing = mark.attributes.get("type", "text"), found[mark.number].code == "icon"
        if shows_nothing and is_field(mark.role) and kind not in meant:
            found[mark.number] = of_other_kind(expected_text, kind)
    return found


def painted_texts(mark: Mark) -> tuple[str, ...]:
    """Return the texts that a picture shows of the element; the label of a field is one of them."""
    if mark.painted is not None:
        return mark.painted
    if mark.unseen:
        return ()
    unseen = {mark.attributes.get(name) for name in ("aria-label", "title", "alt")}
    named = (mark.name,) if mark.tag in FIELDS else ()
    return tuple(text for text in (*mark.texts, *named) if text and text not in unseen)


def visible_text(mark: Mark) -> str:
    """Return the text that a picture shows of the element; empty for an icon with only a name."""
    if mark.unseen:
        return ""
    if mark.painted is not None:
        return mark.painted[0] if mark.painted else ""
    first = mark.texts[0] if mark.texts else ""
    return first if first in painted_texts(mark) else ""


def resolve(choice: Choice, marks: Sequence[Mark], *, again: bool = False) -> Resolution:
    """Return the mark that a choice refers to.

    The chosen mark is taken if its text surely matches. Otherwise the only other mark whose text
    surely matches replaces it; if there are several, they are candidates for a second look. A mark
    that matches roughly (a cut text) is taken if no other one does, and so is the chosen mark if
    the text is a part of its text.

    Args:
        choice: number and expected text.
        marks: the marks of the picture that the choice was made on.
        again: this is a second look, which confirms what must not happen by mistake.
    """
    # The order of the rules matters: a sure match on another mark beats a rough one on this mark.
    fits = compare_marks(choice.expected_text, marks)
    by_number = {mark.number: mark for mark in marks}
    own = fits.get(choice.number) if choice.number is not None else None
    if own and own.sure and own.verdict == "match":
        return _taken("number_match", choice, own, by_number)
    others = {n: fit for n, fit in fits.items() if n != choice.number and fit.verdict == "match"}
    sure = [n for n, fit in others.items() if fit.sure]
    if sure and (titled := _titled(choice, by_number, sure)):
        return _refused("text_ambiguous", choice, own, by_number, [titled.number, *sure])
    if len(sure) == 1:
        return _taken("text_unique", choice, own, by_number, instead=(sure[0], others[sure[0]]))
    if len(sure) > 1:
        return _refused("text_ambiguous", choice, own, by_number, sure)
    if own and own.verdict == "match":
        return _take_rough_match(
            choice, own, by_number, [n for n, fit in others.items() if fit.cut]
        )
    if own and own.allowed:
        return _taken("number_only", choice, own, by_number)
    if own and own.code == "no_expected":
        return _refused("no_expected_text", choice, own, by_number)
    cut = [n for n, fit in others.items() if fit.cut]
    if found := _by_part(choice, fits, by_number, cut, again=again):
        return found
    if len(cut) == 1 and (own is None or own.verdict == "mismatch"):
        return _taken(
            "text_prefix_unique", choice, own, by_number, instead=(cut[0], others[cut[0]])
        )
    if len(cut) > 1:
        return _refused("text_prefix_ambiguous", choice, own, by_number, cut)
    if own and own.verdict == "mismatch" and _names_kind(choice, by_number):
        reason = f"'{excerpt(choice.expected_text)}' only says what kind of element it is"
        kind = own._replace(verdict="incomplete", reason=reason)
        return _refused("kind_only", choice, kind, by_number)
    return _refused("text_not_found" if own else "no_such_mark", choice, own, by_number)


def resolve_all(choices: Sequence[Choice], marks: Sequence[Mark]) -> tuple[Resolution, ...]:
    """Resolve each choice by its own number, never by its place in the list.

    Choices of one number for different texts are all refused; repeated choices are dropped.
    """
    once = list(dict.fromkeys(choices))
    # Two texts for one number cannot both be right, and nothing shows which one is.
    times = Counter(choice.number for choice in once if choice.number is not None)
    by_number = {mark.number: mark for mark in marks}
    return tuple(
        resolve(choice, marks)
        if choice.number is None or times[choice.number] == 1
        else _refused("chosen_twice", choice, None, by_number)
        for choice in once
    )


def _titled(choice: Choice, by_number: dict[int, Mark], sure: Sequence[int]) -> Mark | None:
    """Return the chosen mark if the text is one of its lines, while other marks read like it.

    A card's title fits as well as a link elsewhere with the same text. A mark within the card is
    the better fit.
    """
    mark = by_number.get(choice.number or 0)
    if mark is None or not holds_line(choice.expected_text, mark):
        return None
    return None if any(is_within(by_number[number], mark) for number in sure) else mark


def _by_part(
    choice: Choice,
    fits: dict[int, TextComparison],
    by_number: dict[int, Mark],
    cut: Sequence[int],
    *,
    again: bool,
) -> Resolution | None:
    """Take the chosen mark if the text is a part of its text and no other mark fits as well.

    Returns:
        None if the text is not part of it, or if another mark clearly fits better.
    """
    mark = by_number.get(choice.number or 0)
    part = part_of(choice.expected_text, mark) if mark else None
    if mark is None or part is None:
        return None
    own = _compared_part(choice, part, mark)
    if cut:
        better = part.place is PartPlace.WORDS
        numbers = [mark.number, *cut]
        return None if better else _refused("text_ambiguous", choice, own, by_number, numbers)
    rough = [by_number[n] for n, fit in fits.items() if n != mark.number and fit.allowed]
    holders = other_holders(choice.expected_text, mark, part, [*by_number.values()])
    if rivals := dict.fromkeys(other.number for other in (*rough, *holders)):
        if part.place is PartPlace.LINE and not rough:
            return _refused("text_ambiguous", choice, own, by_number, [mark.number, *rivals])
        count = "another element holds" if len(rivals) == 1 else f"{len(rivals)} others hold"
        own = own._replace(verdict="incomplete", reason=f"{own.reason}; {count} it as well")
        return _refused("part_ambiguous", choice, own, by_number)
    if part.needs_confirmation and not again:
        own = own._replace(verdict="incomplete")
        return _refused("number_part", choice, own, by_number, [mark.number])
    return _taken("number_part", choice, own, by_number)


def _compared_part(choice: Choice, part: TextPart, mark: Mark) -> TextComparison:
    found = part.compared(choice.expected_text)
    if part.whole in painted_texts(mark):
        return found._replace(matched="text")
    return found._replace(matched="name", reason=f"{found.reason}, {_ONLY_NAME}")


def _names_kind(choice: Choice, by_number: dict[int, Mark]) -> bool:
    """Return whether the text only names the kind of the chosen mark, and no other kind."""
    mark = by_number.get(choice.number or 0)
    if mark is None:
        return False
    kind = mark.attributes.get("type", "text")
    meant = types_of(choice.expected_text)
    return names_kind_only(choice.expected_text, mark.role, kind) and (not meant or kind in meant)


def _take_rough_match(
    choice: Choice, own: TextComparison, by_number: dict[int, Mark], rivals: list[int]
) -> Resolution:
    """Take a mark that matches roughly, or refuse if others match as well."""
    if rivals and choice.number is not None:
        return _refused("text_prefix_ambiguous", choice, own, by_number, [choice.number, *rivals])
    return _taken("number_match", choice, own, by_number)


def _taken(
    status: Status,
    choice: Choice,
    own: TextComparison | None,
    by_number: dict[int, Mark],
    *,
    instead: tuple[int, TextComparison] | None = None,
) -> Resolution:
    chosen = _chosen(choice, own, by_number)
    if instead is None:
        return Resolution(status, chosen, by_number[chosen.mark or 0])
    number, fit = instead
    mark = by_number[number]
    alone, read = ("is named", mark.name) if fit.matched == "name" else ("reads", _text_of(mark))
    note = f"{chosen.reason}; mark {number} alone {alone} '{excerpt(read)}'"
    box = tuple(mark.box)
    update = {"taken": number, "reason": note, "box": box, "matched": fit.matched}
    return Resolution(status, chosen.model_copy(update=update), mark)


def _refused(
    status: Status,
    choice: Choice,
    own: TextComparison | None,
    by_number: dict[int, Mark],
    candidates: Sequence[int] = (),
) -> Resolution:
    chosen = _chosen(choice, own, by_number)
    if status == "chosen_twice":
        reason = f"mark {choice.number} was chosen for several texts"
        chosen = chosen.model_copy(update={"reason": reason})
    elif len(candidates) > 1:
        reason = f"{chosen.reason}; {len(candidates)} marks may be meant"
        chosen = chosen.model_copy(update={"reason": reason})
    return Resolution(status, chosen, None, tuple(sorted(candidates)))


def _chosen(choice: Choice, own: TextComparison | None, by_number: dict[int, Mark]) -> ChosenMark:
    mark = by_number.get(choice.number) if choice.number is not None else None
    if mark is None or own is None:
        missing = "no mark was named" if choice.number is None else "there is no such mark"
        if mark is not None:
            missing = "not compared"
        return ChosenMark(
            mark=choice.number,
            expected_text=choice.expected_text,
            actual_text=_text_of(mark) if mark else "",
            verdict="mismatch",
            reason=missing,
            kind=_kind_of(mark) if mark else "",
            box=mark.box if mark else None,
        )
    return ChosenMark(
        mark=mark.number,
        expected_text=choice.expected_text,
        actual_text=_text_of(mark),
        verdict=own.verdict,
        reason=own.reason,
        matched=own.matched,
        kind=_kind_of(mark),
        box=mark.box,
    )


def _text_of(mark: Mark) -> str:
    return mark.text


def _kind_of(mark: Mark) -> str:
    return mark.role or mark.tag
