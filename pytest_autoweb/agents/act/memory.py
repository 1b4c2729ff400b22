"""The memory that an attempt acting by sight carries from one decision to the next.

A model that goes round in circles is recognised by a decision made 3 times within 8, by repeated
patterns of 1, 2 or 3 decisions, or by more than 5 scrolls in a row. Decisions are compared with the
state of the page, so that pressing `Next` on page after page is not a circle.
"""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple
from urllib.parse import urlsplit

from msgspec import Struct, field
from playwright.sync_api import Page

from pytest_autoweb.agents.act.actions import Action, FillForm, Steps
from pytest_autoweb.agents.attempt.read_download import ReadFile
from pytest_autoweb.agents.choice.feedback import Feedback, Problem, often_mistaken
from pytest_autoweb.browser.marks.marking import Mark

HISTORY = 15
"""Number of past actions shown to a small model."""
LONG_HISTORY = 60
"""Number of past actions shown to any other model."""
KEPT_FILES = 2
"""Number of files that the model read which later prompts still show."""
MAX_CIRCLES = 2
"""Number of circles after which an attempt ends."""
MAX_FAILURES_IN_A_ROW = 4
"""Number of fruitless decisions in a row after which an attempt ends."""
WINDOW = 8
THRESHOLD = 3
MAX_SCROLLS = 5

Banned = Collection[tuple[str, int]]
"""Pairs of action and mark that may not be chosen again."""


class Fingerprint(Struct, frozen=True):
    """The features that two decisions share if they count as the same."""

    action: str
    path: str
    """Path and query of the URL."""
    mark: int | None
    text: str
    page: str
    """Digest of what the page showed at the time."""

    @classmethod
    def of(cls, action: str, url: str, mark: int | None, text: str, page: str) -> "Fingerprint":
        """Return the fingerprint of an action on a page.

        Args:
            action: the action's name.
            url: the page's URL.
            mark: the number of the element, or None if the action has none.
            text: the text that is expected or typed.
            page: a digest of what the page shows.
        """
        parts = urlsplit(url)
        return cls(action, f"{parts.path}?{parts.query}", mark, text, page)


class LoopDetector(Struct):
    """An attempt's last decisions, checked for circles."""

    recent: list[Fingerprint] = field(default_factory=list)
    scrolls: int = 0

    def add(self, fingerprint: Fingerprint) -> str:
        """Add a decision.

        Returns:
            A sentence about the circle that the decision closes; empty if it closes none.
        """
        self.recent = [*self.recent, fingerprint][-(WINDOW + 1) :]
        self.scrolls = self.scrolls + 1 if fingerprint.action == "scroll" else 0
        if self.scrolls > MAX_SCROLLS:
            return f"{self.scrolls} scrolls in a row"
        if length := _cycle(self.recent):
            steps = "step" if length == 1 else f"{length} steps"
            return f"the same {steps} again and again on an unchanged page"
        if Counter(self.recent[-WINDOW:])[fingerprint] >= THRESHOLD:
            return f"the same step {THRESHOLD} times within {WINDOW} on an unchanged page"
        return ""


def _cycle(recent: Sequence[Fingerprint]) -> int:
    """Return the length of the pattern that the last decisions repeat, or 0 if there is none.

    The patterns are AAA, ABAB and ABCABC.
    """
    for length, times in ((1, 3), (2, 2), (3, 2)):
        last = list(recent[-length * times :])
        if len(last) == length * times and last == last[:length] * times:
            return length
    return 0


class QueuedAction(NamedTuple):
    """A further action of a reply that holds several."""

    action: Action
    identities: Mapping[str, tuple[object, ...]]
    """For each field that holds a mark's number, the features by which to recognise the element
    under another number."""
    url: str
    """The page that it was decided on."""


def _is_elsewhere(mark: Mark | None, near: str) -> bool:
    """Return whether a mark is near other texts than the one by which it was chosen.

    Where a list was scrolled or sorted, another row is at the same place.
    """
    if mark is None or not mark.near or not near:
        return False
    told = " ".join(near.casefold().split())
    return not any(told in " ".join(text.casefold().split()) for text in mark.near)


class ActMemory(Struct):
    """One attempt's memory: the only value that its turns mutate.

    It is changed in place, because a dialog may open at any moment of a turn. The loop owns it and
    hands it to each step.
    """

    feedback: Feedback
    loops: LoopDetector = field(default_factory=LoopDetector)
    done: list[str] = field(default_factory=list)
    """What was done, in one line per action."""
    failed: tuple[Mark, ...] = ()
    """Marks that were refused in the previous turn."""
    extracted: list[str] = field(default_factory=list)
    """Texts that the model asked to read."""
    tried: set[tuple[str, str, int]] = field(default_factory=set)
    """Page digest, action and mark of everything done; in vain if the page still looks the same."""
    refused: tuple[str, str, int] | None = None
    """Page digest, action and mark of the last decision, if that was refused for its element. The
    number may be right with another text, so it is forbidden for one decision only."""
    queued: tuple[QueuedAction, ...] = ()
    """The outstanding actions of a reply that holds several."""
    tabs: int = 1
    """Number of open tabs at the last look."""
    tab: Page | None = None
    """The tab that the model switched to; None for the most recently opened one."""
    circles: int = 0
    """How often the model has gone round in a circle."""
    failures_in_a_row: int = 0
    """Number of fruitless decisions in a row."""
    asked: int = 0
    """Number of model calls so far."""
    left_over: str = ""
    """What of the last reply was not done, as a sentence for the model."""
    last_action: str = ""
    """Name of the last action that was performed."""
    mistaken: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    """For each kind of element, the model's wrong choices and total choices in earlier runs."""
    of_reply: int = 1
    """How many actions the last reply held."""
    used_of_reply: int = 0
    """How many of these have been performed."""
    dialog_text: str | None = None
    """What to type into the next dialog that asks for a text."""
    dismisses: bool = False
    """Whether the next dialog is to be dismissed."""
    downloads: int = 0
    """Number of downloads that the model knows of."""
    read_files: tuple[ReadFile, ...] = ()
    """The downloaded files that the model asked to read."""
    refusals: dict[str, int] = field(default_factory=dict)
    """How often each expected text was refused since the last performed action."""

    def add_problem(self, index: int, mark: Mark | None, reason: str) -> None:
        """Add a problem for the next prompt to report.

        Args:
            index: the index of the decision.
            mark: the element that the decision was about, if any.
            reason: a sentence without secrets.
        """
        number = mark.number if mark else None
        self.feedback.add(Problem("act", index, number, "", "", None, reason))

    def withdraw(self, problem: Problem) -> None:
        """Forget a problem and its crossed-out mark, because the right element was found after all.

        Args:
            problem: the problem.
        """
        self.feedback.withdraw(problem)
        self.failed = ()
        self.refused = None

    def note_success(self, line: str, before: int | None = None) -> None:
        """Add a line, without secrets, about a performed action.

        Args:
            line: what was done.
            before: how many lines there were before it was done; those since, such as on a dialog,
                tell what came of it.
        """
        self.failures_in_a_row = 0
        self.refusals.clear()
        self.used_of_reply += 1
        self.done.insert(len(self.done) if before is None else before, line)

    def reply_to(self, kind: str) -> str | None:
        """Return the text to accept a dialog with, or None to dismiss it.

        What the model chose for the next dialog is used up.

        Args:
            kind: Playwright's type of the dialog, such as `prompt`.
        """
        if self.dismisses and kind != "beforeunload":
            self.dismisses = False
            return None
        if kind != "prompt" or self.dialog_text is None:
            return ""
        text, self.dialog_text = self.dialog_text, None
        return text

    def keep_file(self, read: ReadFile) -> None:
        """Keep a file that was read; of equal ones and of many, the newest remain."""
        others = [file for file in self.read_files if file != read]
        self.read_files = (*others, read)[-KEPT_FILES:]

    def count_refusal(self, text: str) -> int:
        """Count a refusal of an element for this text and return their number."""
        self.refusals[text] = self.refusals.get(text, 0) + 1
        return self.refusals[text]

    def note_tried(self, digest: str, action: str, mark: int | None) -> None:
        """Remember an action about to be performed on a page."""
        if mark is not None:
            self.tried.add((digest, action, mark))

    def history(self, *, small: bool) -> Sequence[str]:
        """Return the lines about the last actions, and say how many earlier ones there were."""
        left_over = [f"({self.left_over})"] if self.left_over else []
        if small:
            return [*self.done[-HISTORY:], *left_over]
        left_out = len(self.done) - LONG_HISTORY
        note = [f"({left_out} earlier actions, not listed)"] if left_out > 0 else []
        return [*note, *self.done[-LONG_HISTORY:], *left_over]

    def begin_reply(self, actions: int = 1) -> None:
        """Count the actions of a new reply, none of which has been performed."""
        self.of_reply, self.used_of_reply = actions, 0

    def begin_several(self, several: FillForm | Steps, marks: Sequence[Mark], url: str) -> Action:
        """Queue the actions of a reply and return the first one."""
        first, *others = several.actions(marks)
        self.begin_reply(1 + len(others))
        identities = {mark.number: mark.identity for mark in marks}
        self.queued = tuple(
            QueuedAction(
                action,
                {
                    name: identities.get(number, ())
                    for name in ("mark_id", "to_mark_id")
                    if (number := getattr(action, name, None)) is not None
                },
                url,
            )
            for action in others
        )
        return first

    def next_queued(self, marks: Sequence[Mark], url: str) -> Action | None:
        """Return the next queued action, with its mark numbers in this picture.

        A missing element or a different page empties the queue, and the model decides afresh.
        """
        if not self.queued:
            return None
        (action, identities, of_page), *others = self.queued
        known = {mark.identity: mark for mark in reversed(marks)}
        found = {name: known.get(identity) for name, identity in identities.items()}
        numbers = {name: mark and mark.number for name, mark in found.items()}
        moved = _is_elsewhere(found.get("mark_id"), getattr(action, "near", ""))
        if None in numbers.values() or url != of_page or moved:
            self.queued = ()
            return None
        self.queued = tuple(others)
        return action.model_copy(update=numbers)

    def often_mistaken(self) -> tuple[str, ...]:
        """Return the kinds of elements that the model often mistakes; empty in the control arm."""
        if not self.feedback.enabled:
            return ()
        return often_mistaken(self.mistaken, self.feedback.per_kind())

    def banned(self, digest: str) -> Banned:
        """Return the actions tried in vain on this same page; empty in the control arm."""
        if not self.feedback.enabled:
            return frozenset()
        tried = self.tried | ({self.refused} if self.refused else set())
        return frozenset((action, mark) for page, action, mark in tried if page == digest)
