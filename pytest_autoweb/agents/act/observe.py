"""Look at the page: mark its interactive elements, take its picture, read its text.

This begins a turn: one decision of an attempt that acts by sight. `decide` adds the model's action,
`resolve` the element it refers to, and `perform` the result. The loop then records the turn and
begins the next one.
"""

import hashlib
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from msgspec import Struct
from msgspec.structs import replace
from playwright.sync_api import Error, Page

from pytest_autoweb.agents.act.actions import Action
from pytest_autoweb.agents.act.memory import LONG_HISTORY, ActMemory
from pytest_autoweb.agents.attempt.outcome_text import outcome_told
from pytest_autoweb.agents.attempt.retry_notes import retry_notes
from pytest_autoweb.agents.attempt.tools import Tools
from pytest_autoweb.agents.choice.feedback import Problem
from pytest_autoweb.agents.choice.verify_choice import Resolution
from pytest_autoweb.agents.correction.guidance import failure_text
from pytest_autoweb.agents.correction.task_parts import task_parts
from pytest_autoweb.base.whole_characters import whole_text
from pytest_autoweb.browser.marks.marking import Mark, MarkedPage, mark_page
from pytest_autoweb.browser.page.form_validation import refused_values
from pytest_autoweb.browser.page.frames import run_script
from pytest_autoweb.browser.page.quiet import wait_until_quiet
from pytest_autoweb.models.prompts import fence
from pytest_autoweb.results.records import Attempt, DecisionStatus, Failure, RefusalCause

_TEXT_MS = 3_000.0
_PAST_LINES = 10
_HEARD_MS = 50.0


class View(Struct, frozen=True):
    """One look at the page."""

    page: Page
    marked: MarkedPage
    text: str
    """Visible text, redacted."""
    digest: str
    """Digest that is equal whenever the page shows the same content."""
    url: str
    scroll: tuple[str, ...]
    """The directions, `down` or `up`, in which the page can be scrolled."""
    tabs: tuple[str, ...] = ()
    """The address of each open tab, redacted, with a note on the one that is shown."""
    refused: tuple[str, ...] = ()
    """What the browser says of values that it refuses, redacted; no picture shows it."""

    def read(self, number: int) -> str:
        """Return a marked element's current text; for a row heading, the text of the next cell."""
        mark = self.marked.mark(number)
        locator = self.marked.locator(number)
        if mark is not None and mark.tag == "th" and locator is not None:
            cell = locator.locator("xpath=following-sibling::td[1]")
            if cell.count() == 1:
                return whole_text(cell.inner_text())
        return self.marked.text_of(number) or ""

    @property
    def marks(self) -> tuple[Mark, ...]:
        """The numbered elements."""
        return self.marked.marks


class Situation(NamedTuple):
    """The input to the model's decision, apart from the attempt's memory."""

    view: View
    problems: tuple[Problem, ...] = ()
    """Problems of the previous turn."""
    second_look: str = ""
    """The expected text, if the view shows only candidate elements."""
    unsure: bool = False
    """Whether the model's own uncertainty caused the second look."""
    hint: str = ""
    """A note about the attempt that this one repairs."""
    before: View | None = None
    """The view of the previous turn."""


class Chosen(NamedTuple):
    """The element that an action refers to, as found by verification."""

    view: View
    """The view to which its number belongs: that of the second look, if there was one."""
    resolution: Resolution | None = None
    """None if the action involves no element."""
    second_look: bool = False
    given_up: bool = False
    """Whether the second look ended without a choice."""
    target: Resolution | None = None
    """The element to drop on, in the same view; None if the action has none."""

    @property
    def mark(self) -> Mark | None:
        """The element to act on."""
        return self.resolution.mark if self.resolution else None

    @property
    def told_apart(self) -> bool:
        """Whether the action refers to at most one element, not to several candidates."""
        found = [one for one in (self.resolution, self.target) if one is not None]
        return not (self.given_up or any(one.candidates for one in found))


class Turn(Struct, frozen=True):
    """One decision, from the look at the page to the result."""

    index: int
    """Number of the decision in the record, from 1."""
    attempt: Attempt
    tools: Tools
    """The attempt's tools, with the tab in front as their page."""
    began: float
    """When the turn began, by the attempt's clock."""
    picture: Path
    """The marked picture on disk."""
    situation: Situation
    calls: int = 0
    """Number of model calls."""
    action: Action | None = None
    """None before a decision, or if the reply could not be used."""
    problem: str = ""
    """Why the reply could not be used."""
    chosen: Chosen | None = None
    """The element that the action refers to, once resolved."""
    second_picture: Path | None = None
    """The marked picture of the second look, if there was one."""
    by_sight: bool = False
    """Whether the vision locator is to find the element."""
    doubt: Problem | None = None
    """The problem that hands the element over to the vision locator; void if the locator finds
    it."""
    status: DecisionStatus | None = None
    """The result of the decision; None until it is settled."""
    refused_for: RefusalCause = ""
    """The kind of refusal, if it was refused."""
    error: str = ""
    """The reason if the decision came to nothing."""
    location: int | None = None
    """Index of the vision locator's search that found the element."""
    lost: Failure | None = None
    """The failure that ends the attempt because the page no longer responds."""
    done: bool = False
    """Whether the model says that the task is done and its answer was accepted."""

    @property
    def view(self) -> View:
        """The look at the page that the decision was made on."""
        return self.situation.view

    @property
    def verified(self) -> Chosen:
        """The verified choice for the action; only available after `resolve`."""
        return self.chosen or Chosen(self.view)

    @property
    def failed(self) -> bool:
        """Whether the attempt has failed in the meantime and must stop."""
        return self.attempt.failure is not None

    def with_attempt(self, attempt: Attempt) -> "Turn":
        """Return the turn with another state of its attempt."""
        return replace(self, attempt=attempt)

    def ended(self, status: DecisionStatus, error: str = "") -> "Turn":
        return replace(self, status=status, error=error)

    def refused(self, cause: RefusalCause, error: str) -> "Turn":
        """Return the turn as refused."""
        return replace(self.ended("refused", error), refused_for=cause)


def observe(attempt: Attempt, tools: Tools, memory: ActMemory, last: Turn | None) -> Turn:
    """Begin a turn with a look at the tab in front.

    Args:
        attempt: the attempt so far.
        tools: the tools of the attempt.
        memory: the attempt's memory; the previous turn's problems are removed from it.
        last: the previous turn, or None if this is the first one.
    """
    began, waited = tools.clock.now(), tools.budget.waited()
    before = last.view.page if last else tools.page
    # A tab opened by the last action appears while the page that opened it settles.
    if last and not before.is_closed():
        wait_until_quiet(before)
    failed = memory.failed if memory.feedback.enabled else ()
    here, view = _look_in_front(before, tools, memory, failed)
    if len(view.tabs) > memory.tabs:
        # Another tab opened while the previous one was being observed.
        here, view = _look_in_front(before, tools, memory, failed)
    memory.failed = ()
    problems = memory.feedback.begin_cycle()
    index = last.index + 1 if last else 1
    picture = tools.folder / f"decision-{index}.png"
    picture.write_bytes(view.marked.picture)
    # Only waiting for the model is free; observing the page counts towards the attempt's time.
    spent = tools.clock.now() - began
    tools.budget.left -= spent - (tools.budget.waited() - waited)
    return Turn(
        index=index,
        attempt=attempt,
        tools=here,
        began=began,
        picture=picture,
        situation=Situation(
            view,
            problems,
            hint=past_attempt(attempt, tools, first=last is None),
            before=last.view if last else None,
        ),
    )


def _look_in_front(
    before: Page, tools: Tools, memory: ActMemory, failed: tuple[Mark, ...]
) -> tuple[Tools, View]:
    """Return the tools for the tab in front, and the look at it."""
    page = _front_page(before, tools, memory)
    here = tools if page is tools.page else replace(tools, page=page)
    return here, look(page, here, failed=failed)


def look(page: Page, tools: Tools, *, failed: tuple[Mark, ...] = ()) -> View:
    """Mark the page as it is now.

    Raises:
        Error: Playwright's, when the page does not respond.
    """
    # Pictures show the page's text.
    lines = not tools.spec.vision
    return _view(page, tools, mark_page(page, failed=failed, hide=tools.hidden, lines=lines))


def look_again(view: View, tools: Tools, candidates: tuple[int, ...]) -> View:
    """Mark the candidates alone, with new numbers."""
    only = [mark for mark in view.marks if mark.number in candidates]
    return _view(view.page, tools, mark_page(view.page, only=only, hide=tools.hidden))


def _view(page: Page, tools: Tools, marked: MarkedPage) -> View:
    text, room = "", {"down": True, "up": True}
    try:
        text = tools.redact(str(run_script(page, "visible_text", timeout_ms=_TEXT_MS)))
        room = run_script(page, "scroll_room", timeout_ms=_TEXT_MS)
    except Error as error:
        tools.log.write(f"the page's text could not be read: {error}")
    shown: list[object] = [(mark.tag, mark.texts, mark.name) for mark in marked.marks]
    if not tools.spec.brief:
        # A key that moves the focus, or a click that ticks a box, has changed the page. What small
        # models are offered depends on the digest, and so do their recorded replies.
        shown += [marked.focus, *(mark.states for mark in marked.marks)]
    state = f"{page.url}\n{shown}\n{text}".encode()
    scroll = tuple(way for way in ("down", "up") if room[way])
    tabs = tuple(
        tools.redact(tab.url) + (", shown here" if tab is page else "") for tab in _open_tabs(page)
    )
    refused = tuple(tools.redact(line) for line in refused_values(page))
    digest = hashlib.sha256(state).hexdigest()
    return View(page, marked, text, digest, page.url, scroll, tabs, refused)


def past_attempt(attempt: Attempt, tools: Tools, *, first: bool = True) -> str:
    """Describe the failed attempt that this one repairs; empty if there is none.

    Small models get a few lines; all others get the full outcome, as in the repair of a script.

    Args:
        attempt: the attempt so far.
        tools: its tools.
        first: whether this is its first decision, for which the page at the end is shown.
    """
    failed, small = tools.previous, tools.spec.small
    if failed is None:
        return ""
    why = failure_text(failed)
    most = _PAST_LINES if small else LONG_HISTORY
    lines = [result.description for result in failed.step_results]
    if not small and len(lines) > most:
        lines = [f"({len(lines) - most} actions, not listed)", *lines[-most:]]
    elif small:
        lines = lines[-most:]
    return "\n".join(
        [
            f"An earlier attempt, which is undone, failed: {' '.join(why.split())[:300]}",
            "It did, in this order:" if lines else "It did nothing.",
            *(f"- {line}" for line in lines),
            *([] if small else filter(None, _outcome(failed, tools, first=first))),
            "Do it better this time.",
            *([more] if (more := retry_notes(attempt, tools)) else []),
        ]
    )


def _outcome(failed: Attempt, tools: Tools, *, first: bool) -> Iterator[str]:
    """Yield what came of a failed attempt: its output, what it may have left out, its last page."""
    yield outcome_told(failed)
    parts = task_parts(tools.case.user_task)
    if failed.executed and failed.checks_passed is False and parts:
        yield "It ended as done. Compare the task's parts with what it did, and do what is missing:"
        lines = [f"{number}. {' '.join(part.split())}" for number, part in enumerate(parts, 1)]
        yield fence("\n".join(lines), "parts")
    if first and failed.scene and failed.scene.snapshot:
        yield "The page at its end was:"
        yield fence(f"URL: {failed.scene.url}\n{failed.scene.snapshot}", "page at the end")


def _open_tabs(page: Page) -> list[Page]:
    return [tab for tab in page.context.pages if not tab.is_closed()]


def more_tabs(page: Page, memory: ActMemory) -> bool:
    """Return whether a tab has opened since the last look."""
    try:
        # Playwright handles no events during a model call, and takes a moment to catch up.
        page.wait_for_timeout(_HEARD_MS)
    except Error:
        return False
    return len(_open_tabs(page)) > memory.tabs


def _front_page(page: Page, tools: Tools, memory: ActMemory) -> Page:
    """Return the tab that the model switched to, or else the most recently opened open tab."""
    tabs = _open_tabs(tools.page)
    if len(tabs) > memory.tabs:
        # A tab that has just opened is the result of the last action.
        memory.tab = None
    memory.tabs = len(tabs)
    if memory.tab in tabs:
        return memory.tab or page
    return tabs[-1] if tabs else page
