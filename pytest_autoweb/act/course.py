"""What an attempt that acts by sight remembers from one decision to the next."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from pytest_autoweb.act.feedback import Feedback, Problem
from pytest_autoweb.act.grammar import Banned
from pytest_autoweb.act.loops import Loops
from pytest_autoweb.browser.marks import Mark

HISTORY = 15
"""Lines of what was done that the model is shown."""
MAX_CIRCLES = 2
"""Circles after which an attempt ends."""
MAX_IN_VAIN = 4
"""Decisions in a row that nothing could be made of, after which an attempt ends."""


@dataclass(slots=True)
class Course:
    """The memory of one attempt: the only value that its turns change.

    It is changed in place, because a dialog of the page may speak at any moment of a turn. The
    loop owns it and hands it to each step.
    """

    feedback: Feedback
    loops: Loops = field(default_factory=Loops)
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
    in_vain: int = 0
    """Decisions in a row that nothing could be made of."""
    asked: int = 0
    """Model calls so far."""
    last_action: str = ""
    """The last one performed."""
    refusals: dict[str, int] = field(default_factory=dict)
    """Of each expected text, how often it was refused since something was done."""

    def note(self, index: int, mark: Mark | None, reason: str) -> None:
        """Note what the next prompt is to say about this decision.

        Args:
            index: of the decision.
            mark: the element that it was about, if any.
            reason: a sentence without secrets.
        """
        number = mark.number if mark else None
        self.feedback.add(Problem("act", index, number, "", "", None, reason))

    def went_well(self, line: str) -> None:
        """Note what was done, in one line without secrets."""
        self.in_vain = 0
        self.refusals.clear()
        self.done.append(line)

    def refused(self, text: str) -> int:
        """Count a refusal of an element for this text, and return how many there are by now."""
        self.refusals[text] = self.refusals.get(text, 0) + 1
        return self.refusals[text]

    def try_once(self, digest: str, action: str, mark: int | None) -> None:
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
