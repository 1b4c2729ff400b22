"""One decision of an attempt that acts by sight, as a value to which each step adds something.

`observe` begins a turn, `decide` adds the model's action, `resolve` the element that it means, and
`perform` the result. The loop records the turn and begins the next one.
"""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

from playwright.sync_api import Page

from pytest_autoweb.act.actions import Action
from pytest_autoweb.attempt.tools import Tools
from pytest_autoweb.choice.feedback import Problem
from pytest_autoweb.choice.verify_choice import Resolution
from pytest_autoweb.marks.marking import Mark, MarkedPage
from pytest_autoweb.results import Attempt, DecisionStatus, Failure, RefusalCause


@dataclass(frozen=True, slots=True)
class View:
    """One look at the page."""

    page: Page
    marked: MarkedPage
    text: str
    """Visible text, redacted."""
    digest: str
    """Digest that is equal whenever the page shows the same."""
    url: str
    scroll: tuple[str, ...]
    """Those of `down` and `up` in which the page can be scrolled."""
    tabs: tuple[str, ...] = ()
    """The address of each open tab, redacted, with a note on the one that is shown."""

    def read(self, number: int) -> str:
        """Return the current text of a marked element; for a row's heading, of the next cell."""
        mark = self.marked.mark(number)
        locator = self.marked.locator(number)
        if mark is not None and mark.tag == "th" and locator is not None:
            cell = locator.locator("xpath=following-sibling::td[1]")
            if cell.count() == 1:
                return str(cell.inner_text())
        return self.marked.text_of(number) or ""

    @property
    def marks(self) -> tuple[Mark, ...]:
        """The numbered elements."""
        return self.marked.marks


class Situation(NamedTuple):
    """What the model is shown and told, apart from what the attempt remembers."""

    view: View
    problems: tuple[Problem, ...] = ()
    """Problems of the previous turn."""
    second_look: str = ""
    """The expected text, if the view shows only the elements that may be meant."""
    unsure: bool = False
    """Whether the second look was taken because the model was not sure."""
    hint: str = ""
    """A note about the attempt that this one repairs."""
    before: View | None = None
    """The view of the previous turn."""


class Chosen(NamedTuple):
    """The element that an action means, as verification found it."""

    view: View
    """The view to which its number belongs: that of the second look, if there was one."""
    resolution: Resolution | None = None
    """None if the action is about no element."""
    second_look: bool = False
    given_up: bool = False
    """Whether the second look came to no choice."""
    target: Resolution | None = None
    """The element to drop on, in the same view; None if the action has none."""

    @property
    def mark(self) -> Mark | None:
        """The element to act on."""
        return self.resolution.mark if self.resolution else None

    @property
    def told_apart(self) -> bool:
        """Whether what was meant is one element, or none, but not several."""
        found = [one for one in (self.resolution, self.target) if one is not None]
        return not (self.given_up or any(one.candidates for one in found))


@dataclass(frozen=True, slots=True)
class Turn:
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
    """How often the model was asked."""
    action: Action | None = None
    """None if nothing is decided yet, or if the reply could not be used."""
    problem: str = ""
    """Why the reply could not be used."""
    chosen: Chosen | None = None
    """The element that the action means, once that was resolved."""
    second_picture: Path | None = None
    """The marked picture of the second look, if there was one."""
    by_sight: bool = False
    """Whether the vision locator is to find the element."""
    doubt: Problem | None = None
    """The problem that leaves the element to the vision locator, and is none if that finds it."""
    status: DecisionStatus | None = None
    """The result of the decision; None if it is not settled yet."""
    refused_for: RefusalCause = ""
    """The kind of reason if it was refused."""
    error: str = ""
    """The reason if the decision came to nothing."""
    location: int | None = None
    """Index of the vision locator's search that found the element."""
    lost: Failure | None = None
    """The failure if the page no longer answers, which ends the attempt."""
    done: bool = False
    """Whether the model says that the task is done and its answer was accepted."""

    @property
    def view(self) -> View:
        """The look at the page that the decision was made on."""
        return self.situation.view

    @property
    def verified(self) -> Chosen:
        """What verification found for the action; for the steps after `resolve`."""
        return self.chosen or Chosen(self.view)

    @property
    def failed(self) -> bool:
        """Whether the attempt has failed in the meantime, so that it must not go on."""
        return self.attempt.failure is not None

    def with_attempt(self, attempt: Attempt) -> "Turn":
        """Return the turn with another state of its attempt."""
        return replace(self, attempt=attempt)

    def ended(self, status: DecisionStatus, error: str = "") -> "Turn":
        """Return the turn with the result of its decision."""
        return replace(self, status=status, error=error)

    def refused(self, cause: RefusalCause, error: str) -> "Turn":
        """Return the turn as refused."""
        return replace(self.ended("refused", error), refused_for=cause)
