"""One decision of an attempt that acts by sight, as a value that each step returns more of.

`observe` begins a turn, `decide` adds the model's action, `resolve` the element that it means, and
`perform` what became of it. The loop records the turn and begins the next one.
"""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from pytest_autoweb.act.actions import Action
from pytest_autoweb.attempt.tools import Tools
from pytest_autoweb.choice.feedback import Problem
from pytest_autoweb.choice.verify_choice import Resolution
from pytest_autoweb.marks.marking import Mark, MarkedPage
from pytest_autoweb.results import Attempt, DecisionStatus, Failure

if TYPE_CHECKING:
    from playwright.sync_api import Page


@dataclass(frozen=True, slots=True)
class View:
    """One look at the page."""

    page: "Page"
    marked: MarkedPage
    text: str
    """Visible text, redacted."""
    digest: str
    """The same when the page shows the same."""
    url: str
    scroll: tuple[str, ...]
    """Of `down` and `up`, where the page goes on."""

    def read(self, number: int) -> str:
        """Return what a marked element reads now; of a table's heading, the cell beside it."""
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
    """What the model is shown and told beside what the attempt remembers."""

    view: View
    problems: tuple[Problem, ...] = ()
    """Of the turn before."""
    second_look: str = ""
    """The text that all elements of the view have, when they are to be told apart."""
    hint: str = ""
    """About the attempt before."""
    before: View | None = None
    """The view of the turn before."""


class Chosen(NamedTuple):
    """What verification made of an action."""

    view: View
    """On which its number counts: that of the second look, if there was one."""
    resolution: Resolution | None = None
    """None: the action is about no element."""
    second_look: bool = False

    @property
    def mark(self) -> Mark | None:
        """The element to act on."""
        return self.resolution.mark if self.resolution else None

    @property
    def told_apart(self) -> bool:
        """Whether what was meant is one element, or none, but not several."""
        return self.resolution is None or not self.resolution.candidates


@dataclass(frozen=True, slots=True)
class Turn:
    """One decision, from the look at the page to what became of it."""

    index: int
    """From 1, as the record counts decisions."""
    attempt: Attempt
    tools: Tools
    """Of the tab in front."""
    began: float
    """When, by the attempt's clock."""
    picture: Path
    """The marked picture on disk."""
    situation: Situation
    calls: int = 0
    """How often the model was asked."""
    action: Action | None = None
    """None: not decided yet, or the reply could not be used."""
    problem: str = ""
    """Why the reply could not be used."""
    chosen: Chosen | None = None
    """The element that the action means, once that was resolved."""
    by_sight: bool = False
    """Whether the vision locator is to find the element."""
    status: DecisionStatus | None = None
    """What became of the decision; None: it is not settled yet."""
    error: str = ""
    """Why it came to nothing."""
    location: int | None = None
    """The search of the vision locator that found the element."""
    lost: Failure | None = None
    """Set when the page does not answer any more, which ends the attempt."""
    done: bool = False
    """The model says that the task is done, and its answer was taken."""

    @property
    def view(self) -> View:
        """The look at the page that the decision was made on."""
        return self.situation.view

    @property
    def verified(self) -> Chosen:
        """What verification made of the action; for the steps after `resolve`."""
        return self.chosen or Chosen(self.view)

    @property
    def failed(self) -> bool:
        """Whether the attempt failed meanwhile, so that nothing more is to be done in it."""
        return self.attempt.failure is not None

    def with_attempt(self, attempt: Attempt) -> "Turn":
        """Return the turn with more in its attempt."""
        return replace(self, attempt=attempt)

    def ended(self, status: DecisionStatus, error: str = "") -> "Turn":
        """Return the turn with what became of its decision."""
        return replace(self, status=status, error=error)
