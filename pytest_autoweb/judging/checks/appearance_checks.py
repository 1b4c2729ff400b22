"""The check of texts that appeared during the attempt, even if they are gone at its end."""

import re
from collections.abc import Callable, Sequence
from typing import Literal, Self

from pydantic import model_validator

from pytest_autoweb.base.redaction import REDACTED
from pytest_autoweb.base.specs import Count, Pattern, Spec
from pytest_autoweb.base.values.normal_forms import normalise
from pytest_autoweb.judging.checks.answer_checks import url_fits
from pytest_autoweb.judging.checks.check_type import (
    CHECKS,
    CheckProbe,
    Evidence,
    NotEvaluated,
    Verdict,
)
from pytest_autoweb.judging.checks.page_checks import TabCheck, text_found, wanted_words
from pytest_autoweb.judging.checks.shown_passage import longest_literal, shown_near
from pytest_autoweb.judging.evidence.appearances import Appearance, Appearances

AnnouncedRole = Literal[
    "alert", "alertdialog", "dialog", "log", "marquee", "status", "timer", "tooltip"
]
_SHOWN = 3
_NUMBERS = re.compile(r"\d+")


class SeenQuery(Spec):
    """A text that appeared, and how it was announced."""

    text: str | Pattern | None = None
    """The text, or `{matches: regex}`; case counts, kinds of space do not."""
    role: AnnouncedRole | None = None
    """The role of the element that showed it; any element when not given. `status` and `alert` are
    also what `aria-live` announces, `dialog` also what the page says by `alert()` or `confirm()`"""
    count: Count | None = None
    """How often it must have appeared, exactly; at least once when not given."""

    @model_validator(mode="after")
    def _names_something(self) -> Self:
        if self.text is None and self.role is None:
            raise ValueError("needs `text`, `role` or both")
        return self


@CHECKS.add
class SeenCheck(TabCheck):
    """Text that appeared at any time during the attempt, even if it is gone at the end."""

    name = "seen"
    rests_on = "appearances"

    seen: SeenQuery

    def probe(self, evidence: Evidence) -> CheckProbe:
        """Search what appeared after the first step began, on all pages or on those of a tab."""
        query, appeared = self.seen, evidence.appeared
        if appeared is None:
            raise NotEvaluated("what appeared on the pages was not recorded")

        def look(seconds: float) -> Verdict:
            told = appeared()
            mine = [one for one in told.entries if self._is_of_tab(one)]
            fresh = [one for one in mine if not one.before]
            held = [one for one in fresh if _fits(query, one)]
            enough = len(held) >= 1 if query.count is None else len(held) == query.count
            if not (enough and query.count is None):
                _refuse_unclear(query, len(held), told)
                if evidence.stored:
                    _refuse_masked(query, fresh)
            if held:
                return _found(query, held, enough)
            if enough:
                return Verdict(True, "it did not appear")
            return Verdict(False, _missed(query, mine, evidence.redact))

        return CheckProbe(_wanted(query) + self.named_tab(), look)

    def _is_of_tab(self, one: Appearance) -> bool:
        if self.tab is None:
            return True
        return one.tab == self.tab if isinstance(self.tab, int) else url_fits(self.tab, one.url)


def _fits(query: SeenQuery, one: Appearance) -> bool:
    if query.role not in (None, one.role):
        return False
    return query.text is None or text_found(query.text, _lines(one)) is not None


def _lines(one: Appearance) -> Sequence[str]:
    return list(filter(None, map(normalise, one.lines)))


def _refuse_unclear(query: SeenQuery, held: int, told: Appearances) -> None:
    """Raise `NotEvaluated` when what was not kept could reverse the verdict."""
    if query.count is not None and held > query.count:
        return
    if any(_may_be(query, role, text) for role, text in told.lost):
        raise NotEvaluated("more appeared than could be kept, and it may have been among that")


def _refuse_masked(query: SeenQuery, fresh: Sequence[Appearance]) -> None:
    """Raise `NotEvaluated` when the stored texts lack something that the live ones contained."""
    same = (one for one in fresh if query.role in (None, one.role))
    if query.text is not None and any(REDACTED in line for one in same for line in one.lines):
        raise NotEvaluated("parts of what appeared are redacted")


def _may_be(query: SeenQuery, role: str, text: str) -> bool:
    if query.role not in (None, role):
        return False
    if not text or not isinstance(query.text, str):
        return True
    # Of texts that only differ in their numbers, so many were kept.
    return _form(query.text) in _form(text)


def _form(text: str) -> str:
    return _NUMBERS.sub("#", normalise(text))


def _found(query: SeenQuery, held: Sequence[Appearance], enough: bool) -> Verdict:
    last = held[-1]
    shown = "; ".join(f"{_said(query, one)} {one.told}" for one in held[-_SHOWN:])
    times = "" if query.count is None or len(held) == 1 else f"{len(held)} times; "
    return Verdict(enough, f"{times}{shown}", where=_place(last))


def _said(query: SeenQuery, one: Appearance) -> str:
    text = " ".join(one.lines)
    found = None if query.text is None else text_found(query.text, _lines(one))
    said = repr(found if found and len(text) > 100 else text[:100])
    return f"{one.role} {said}" if one.role else said


def _place(one: Appearance) -> str:
    tab = "" if one.tab == 1 else f"tab {one.tab} "
    return f"{tab}{one.url}" + (f" frame {one.frame}" if one.frame else "")


def _missed(query: SeenQuery, mine: Sequence[Appearance], redact: Callable[[str], str]) -> str:
    before = [one for one in mine if one.before and _fits(query, one)]
    if before:
        return "it was there before the first step, and did not appear again"
    fresh = [one for one in mine if not one.before]
    elsewhere = [one for one in fresh if _fits(query.model_copy(update={"role": None}), one)]
    if query.role and query.text is not None and elsewhere:
        role = elsewhere[-1].role
        return f"it appeared {f'with the role {role}' if role else 'without a role'}"
    same = [one for one in fresh if query.role in (None, one.role)]
    if not same:
        return "nothing like it appeared" if fresh else "no text appeared"
    texts = " / ".join(" ".join(one.lines) for one in same)
    wanted = query.text if isinstance(query.text, str) else ""
    if isinstance(query.text, Pattern):
        wanted = longest_literal(query.text.matches)
    return f"{len(same)} other texts appeared: {shown_near(wanted, texts, redact)}"


def _wanted(query: SeenQuery) -> str:
    what = query.role or "text"
    said = what if query.text is None else wanted_words(query.text, what)
    times = {None: "that appeared", 0: "that never appeared"}
    often = f"that appeared exactly {query.count} time{'s' * (query.count != 1)}"
    return f"{said} {times.get(query.count, often)}"
