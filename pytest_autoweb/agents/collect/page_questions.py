"""Asks a model about the current page, and accepts only replies that the page confirms."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from msgspec import Struct, field
from playwright.sync_api import Error, Page

from pytest_autoweb.agents.act.decide import fits
from pytest_autoweb.agents.choice.decision_json import (
    ReplyProblem,
    confidence_of,
    read_choices,
    read_object,
)
from pytest_autoweb.agents.choice.disambiguate import (
    NO_TEXT,
    ambiguous,
    combined,
    distinguishing_texts,
    look_again_at,
    not_confirmed,
    resolve_apart,
)
from pytest_autoweb.agents.choice.feedback import Feedback, Problem, overruled_line, problem_of
from pytest_autoweb.agents.choice.verify_choice import Choice, Resolution, resolve_all
from pytest_autoweb.agents.collect.addresses import joined
from pytest_autoweb.agents.collect.list_page import ListEntry, entries_of
from pytest_autoweb.agents.collect.phases import Phase, actions_of, is_on_one_element
from pytest_autoweb.browser.marks.marking import Mark, MarkedPage, mark_page
from pytest_autoweb.browser.page.frames import run_on_elements, run_script
from pytest_autoweb.results.records import Decision, DecisionStatus, RefusalCause

_TEXT_MS = 3_000.0
KNOWN_SHOWN = 5
"""Number of known addresses listed in a question, so that they are not chosen again."""


class GuideQuestion(NamedTuple):
    """A question to the model."""

    phase: Phase
    number: int
    """The number of the question over all phases, from 1."""
    page: Page
    marked: MarkedPage
    problems: tuple[Problem, ...]
    """The problem with the last decision."""
    known: tuple[str, ...]
    """The addresses that have already been found."""
    banned: frozenset[int]
    """The numbers of marks that must not be chosen again."""
    second_look: str = ""
    """The expected text, if only candidate elements are marked."""
    action: str = ""
    """The action of a second look."""
    unsure: bool = False
    """Whether the model's own uncertainty caused the second look."""

    @property
    def near(self) -> dict[int, str]:
        """Return texts that distinguish marks that read alike; in a second look, for all marks."""
        marks = self.marked.marks
        if self.second_look:
            return distinguishing_texts(marks)
        return ambiguous(marks)


class Picked(NamedTuple):
    """An element that the model chose and the page confirmed."""

    entry: ListEntry
    mark: Mark


class _Resolved(NamedTuple):
    """A reply's resolved elements."""

    found: tuple[Resolution, ...]
    marked: MarkedPage
    """The picture that the numbers of the found marks belong to."""
    fields: Mapping[str, Any]
    second_look: bool = False
    given_up: bool = False
    """The second look ended without a choice."""


class GuidedDecision(NamedTuple):
    """A reply after parsing and verification."""

    action: str
    """The action; empty when the reply was unusable."""
    picked: tuple[Picked, ...] = ()
    fields: Mapping[str, Any] = {}


class Guide(Struct):
    """The model of one collection and the course of its questions."""

    ask: Callable[[GuideQuestion], str | None]
    """Returns the reply, or None if the model cannot be reached, which ends all asking."""
    keep: Callable[[GuideQuestion, Decision], None]
    """Called with the record of each decision, which still lacks its picture."""
    hide: Callable[[str], str] | None = None
    """Removes the case's secrets from texts, if it has any."""
    feedback: Feedback = field(default_factory=Feedback)
    log: Callable[[str], None] = lambda line: None
    """Called with one line for each choice that was refused or put right."""
    asked: int = 0
    lost: bool = False
    """The model did not reply, so it is not asked again."""
    _failed: tuple[Mark, ...] = ()

    def decide(
        self,
        phase: Phase,
        page: Page,
        *,
        known: Sequence[str] = (),
        over: Callable[[Mark], bool] = lambda mark: False,
    ) -> GuidedDecision:
        """Ask one question about the current state of the page and verify the reply.

        Args:
            phase: the phase, which determines the question.
            page: the page that shows the list.
            known: the addresses that have already been found.
            over: returns whether a mark needs no further attention.
        """
        self.asked += 1
        marked = mark_page(page, failed=self._failed, hide=self.hide)
        self._failed = ()
        banned = frozenset(mark.number for mark in marked.marks if over(mark))
        problems = self.feedback.begin_cycle()
        question = GuideQuestion(
            phase, self.asked, page, marked, problems, tuple(known[-KNOWN_SHOWN:]), banned
        )
        reply = self.ask(question)
        if reply is None:
            self.lost = True
            return GuidedDecision("")
        try:
            fields = read_object(reply)
            action = _action_of(phase, fields)
            resolved = self._resolved(question, action, fields)
        except ReplyProblem as wrong:
            self.wrong(phase, str(wrong))
            self.log(f"unusable reply: {wrong}")
            self._record(question, None, _Resolved((), marked, {}), "invalid", str(wrong))
            return GuidedDecision("")
        return self._settled(question, action, resolved)

    def _settled(self, question: GuideQuestion, action: str, resolved: _Resolved) -> GuidedDecision:
        """Record a reply's resolved elements, and return those that the page confirms."""
        picked = tuple(
            self._picked(question.page, resolved.marked, found.mark)
            for found in resolved.found
            if found.mark
        )
        for found in resolved.found:
            if found.mark is None:
                self._refuse(question, found, used=len(picked), of=len(resolved.found))
            elif line := overruled_line(found):
                self.log(f"decision {question.number}: {line}")
        refused = bool(resolved.found) and not picked
        error = resolved.found[0].chosen.reason if refused else ""
        status: DecisionStatus = "refused" if refused else "performed"
        self._record(question, {**resolved.fields, "action": action}, resolved, status, error)
        return GuidedDecision("" if refused else action, picked, resolved.fields)

    def _resolved(
        self, question: GuideQuestion, action: str, fields: Mapping[str, Any]
    ) -> _Resolved:
        """Resolve the elements that the reply refers to.

        Among links to visit that read alike the number decides, because every visit is checked. An
        action needs one certain element, so the model may have to look again.
        """
        choices, marked = read_choices(fields), question.marked
        if len(choices) != 1 or not is_on_one_element(question.phase, action):
            return _Resolved(resolve_all(choices, marked.marks), marked, fields)
        [choice] = choices
        page_text = _text_of(question.page) if choice.near else ""
        first = resolve_apart(
            choice, marked.marks, page_text=page_text, into_field=action in ("type", "select")
        )
        fitting = [m for m in marked.marks if m.number == choice.number or fits(action, m)]
        numbers = look_again_at(first, fitting, confidence_of(fields.get("confidence")))
        if not numbers:
            return _Resolved((first,), marked, fields)
        return self._looked_again(question, action, _Look(choice, fields, first, numbers))

    def _looked_again(self, question: GuideQuestion, action: str, look: "_Look") -> _Resolved:
        """Ask once more, on a picture of the candidate elements only.

        Raises:
            ReplyProblem: the reply is not a decision.
        """
        self.asked += 1
        only = [mark for mark in question.marked.marks if mark.number in look.numbers]
        closer = mark_page(question.page, only=only, hide=self.hide)
        unsure = not look.first.candidates
        again = question._replace(
            number=self.asked,
            marked=closer,
            banned=frozenset(),
            second_look=look.choice.expected_text.strip() or NO_TEXT,
            action=action,
            unsure=unsure,
        )
        reply = self.ask(again)
        self.lost = reply is None
        fields = read_object(reply) if reply is not None else {}
        choices = read_choices(fields)
        if len(choices) != 1 or (fields and _action_of(question.phase, fields) != action):
            confidence = confidence_of(look.fields.get("confidence"))
            stopped = not_confirmed(look.first, confidence)
            return _Resolved((stopped,), question.marked, look.fields, True, True)
        chosen = choices[0]._replace(near=choices[0].near or look.choice.near)
        if not unsure:
            chosen = chosen._replace(expected_text=look.choice.expected_text)
        second = resolve_apart(chosen, closer.marks, again=True)
        both = combined(look.first, second, question.marked.marks)
        # The text to type or option to select comes from the first look.
        kept = {**look.fields, **(fields if unsure else {"near": chosen.near})}
        return _Resolved((both,), closer, {**kept, "mark_id": look.fields.get("mark_id")}, True)

    def wrong(self, phase: Phase, reason: str, mark: Mark | None = None) -> None:
        """Note the problem with a decision, for the next question."""
        number = mark.number if mark else None
        self.feedback.add(Problem(phase, self.asked, number, "", "", None, reason))

    def _refuse(self, question: GuideQuestion, found: Resolution, *, used: int, of: int) -> None:
        number = found.chosen.mark
        problem = problem_of(
            found,
            question.marked.marks,
            phase=question.phase,
            step=question.number,
            english=self.feedback.english,
            used=used,
            of=of,
        )
        wrong = question.marked.mark(number) if number is not None else None
        # An element that may be the right one is not crossed out.
        if wrong and problem.contradicted:
            self._failed = (*self._failed, wrong)
        self.feedback.add(problem)
        self.log(f"decision {question.number}: {problem.line}")

    def _picked(self, page: Page, marked: MarkedPage, mark: Mark) -> Picked:
        """Return the mark as an entry, with its place to learn a pattern from."""
        located = marked.locator(mark.number)
        found = list(entries_of(run_on_elements(located, "list_links", {}))) if located else []
        url = joined(page.url, mark.url)
        bare = ListEntry(url, mark.text, (), next(iter(mark.xpaths), ""))
        return Picked(found[0]._replace(text=mark.text) if found else bare, mark)

    def _record(
        self,
        question: GuideQuestion,
        action: dict[str, Any] | None,
        resolved: _Resolved,
        status: DecisionStatus,
        error: str,
    ) -> None:
        given = action or {}
        cause: RefusalCause = "gave_up" if resolved.given_up else "choice"
        width, height = question.marked.viewport
        self.keep(
            question,
            Decision(
                index=question.number,
                phase=question.phase,
                url=question.page.url,
                viewport=(round(width), round(height)),
                marks=len(question.marked.marks),
                failed_marks=tuple(m.number for m in question.marked.marks if m.failed),
                feedback=tuple(problem.line for problem in question.problems),
                action=action,
                thinking=str(given.get("thinking") or ""),
                confidence=confidence_of(given.get("confidence")),
                chosen=tuple(found.chosen for found in resolved.found),
                second_look=resolved.second_look,
                calls=1 + resolved.second_look,
                status=status,
                refused_for=cause if status == "refused" else "",
                error=error,
            ),
        )


class _Look(NamedTuple):
    """A first look that a second one has to settle."""

    choice: Choice
    fields: Mapping[str, Any]
    first: Resolution
    numbers: tuple[int, ...]
    """The marks for the second look."""


def _text_of(page: Page) -> str:
    try:
        return str(run_script(page, "visible_text", timeout_ms=_TEXT_MS))
    except Error:
        # The page is navigating.
        return ""


def _action_of(phase: Phase, fields: Mapping[str, Any]) -> str:
    """Return the action that a reply names, or the one that its fields imply.

    Raises:
        ReplyProblem: the phase has no such action.
    """
    named = str(fields.get("action") or "").strip().lower()
    named = {"scroll": "scroll_down", "next": "next_page"}.get(named, named)
    known = actions_of(phase)
    if named in known:
        return named
    if named in ("", "click", "select") and phase != "navigate":
        has_mark = fields.keys() & {"mark_id", "mark_ids", "mark_id_text_map"}
        if has_mark:
            return known[0]
        if phase == "paginate" and not named:
            return "none"
    raise ReplyProblem(f"{named or 'nothing'!r:.40} is no action here; allowed: {', '.join(known)}")
