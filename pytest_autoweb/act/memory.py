"""What an attempt that acts by sight remembers from one decision to the next.

That a model goes round in circles is noticed as in rows 1.4.12 and 1.4.13 of the seed: a window of
8, the same thing 3 times, patterns of 1, 2 and 3 decisions, 5 scrolls in a row. What is compared
includes the state of the page, so that pressing `Next` on page after page is no circle.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from pytest_autoweb.act.actions import Banned
from pytest_autoweb.choice.feedback import Feedback, Problem
from pytest_autoweb.marks.marking import Mark

HISTORY = 15
"""Lines of what was done that the model is shown."""
MAX_CIRCLES = 2
"""Circles after which an attempt ends."""
MAX_FAILURES_IN_A_ROW = 4
"""Decisions in a row that nothing could be made of, after which an attempt ends."""
WINDOW = 8
THRESHOLD = 3
MAX_SCROLLS = 5
_TEXT_CHARS = 30


@dataclass(frozen=True, slots=True)
class Fingerprint:
    """What makes two decisions the same."""

    action: str
    path: str
    """Of the URL, query included."""
    mark: int | None
    text: str
    page: str
    """Digest of what the page showed."""

    @classmethod
    def of(cls, action: str, url: str, mark: int | None, text: str, page: str) -> "Fingerprint":
        """Of an action on a page.

        Args:
            action: its name.
            url: of the page.
            mark: the element; None: it has none.
            text: expected or typed; its beginning counts.
            page: digest of what the page shows.
        """
        parts = urlsplit(url)
        return cls(action, f"{parts.path}?{parts.query}", mark, text[:_TEXT_CHARS], page)


@dataclass(slots=True)
class LoopDetector:
    """The last decisions of an attempt."""

    recent: list[Fingerprint] = field(default_factory=list)
    scrolls: int = 0

    def add(self, fingerprint: Fingerprint) -> str:
        """Note a decision.

        Returns:
            A sentence about the circle it closes; empty: none.
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
    """Length of the pattern that the last decisions repeat: AAA, ABAB, ABCABC; 0: none."""
    for length, times in ((1, 3), (2, 2), (3, 2)):
        last = list(recent[-length * times :])
        if len(last) == length * times and last == last[:length] * times:
            return length
    return 0


@dataclass(slots=True)
class ActMemory:
    """The memory of one attempt: the only value that its turns change.

    It is changed in place, because a dialog of the page may speak at any moment of a turn. The
    loop owns it and hands it to each step.
    """

    feedback: Feedback
    loops: LoopDetector = field(default_factory=LoopDetector)
    done: list[str] = field(default_factory=list)
    """What was done, one line each."""
    failed: tuple[Mark, ...] = ()
    """Marks refused in the cycle before."""
    extracted: list[str] = field(default_factory=list)
    """Texts that the model asked to read."""
    tried: set[tuple[str, str, int]] = field(default_factory=set)
    """Page digest, action and mark of what was done or refused: in vain, if the page is the same
    still."""
    circles: int = 0
    """Times that the model went in a circle."""
    failures_in_a_row: int = 0
    """Decisions in a row that nothing could be made of."""
    asked: int = 0
    """Model calls so far."""
    last_action: str = ""
    """The last one performed."""
    refusals: dict[str, int] = field(default_factory=dict)
    """Of each expected text, how often it was refused since something was done."""

    def add_problem(self, index: int, mark: Mark | None, reason: str) -> None:
        """Note what the next prompt is to say about this decision.

        Args:
            index: of the decision.
            mark: the element that it was about, if any.
            reason: a sentence without secrets.
        """
        number = mark.number if mark else None
        self.feedback.add(Problem("act", index, number, "", "", None, reason))

    def note_success(self, line: str) -> None:
        """Note what was done, in one line without secrets."""
        self.failures_in_a_row = 0
        self.refusals.clear()
        self.done.append(line)

    def count_refusal(self, text: str) -> int:
        """Count a refusal of an element for this text, and return how many there are by now."""
        self.refusals[text] = self.refusals.get(text, 0) + 1
        return self.refusals[text]

    def note_tried(self, digest: str, action: str, mark: int | None) -> None:
        """Note what is about to be done on a page."""
        if mark is not None:
            self.tried.add((digest, action, mark))

    def history(self) -> Sequence[str]:
        """Return the last things done."""
        return self.done[-HISTORY:]

    def banned(self, digest: str) -> Banned:
        """Return what was in vain on just this page; nothing in the control arm."""
        if not self.feedback.enabled:
            return frozenset()
        return frozenset((action, mark) for page, action, mark in self.tried if page == digest)
