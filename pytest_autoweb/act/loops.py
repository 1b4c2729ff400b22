"""Notices a model that goes round in circles. Pure.

Rows 1.4.12 and 1.4.13 of the seed: a window of 8, the same thing 3 times, patterns of 1, 2 and 3
decisions, 5 scrolls in a row. What is compared includes the state of the page, so that pressing
`Next` on page after page is no circle.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from urllib.parse import urlsplit

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
class Loops:
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
