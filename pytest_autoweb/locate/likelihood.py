"""How likely an answer is if a candidate is the target.

The noise model and its numbers were measured by simulation (docs/locator.md): a line counts as
crossing within some pixels of slack, some answers are plainly wrong, some targets are overlooked.
"""

import difflib
import math
from bisect import bisect_right
from collections.abc import Sequence
from typing import NamedTuple

from pytest_autoweb.locate.limits import Limits
from pytest_autoweb.values.text import normalise

Span = tuple[float, float]
"""Where a candidate begins and ends on one axis."""

Shares = tuple[float, float, float]
"""Probabilities of LOW, CROSSED, HIGH."""

LOW, CROSSED, HIGH = 0, 1, 2
"""The target lies left of (above) the line, is crossed by it, lies right of (below) it."""
OUTCOMES = {"left": LOW, "above": LOW, "crossed": CROSSED, "right": HIGH, "below": HIGH}

NONE_IF_OUTSIDE = 0.7
"""Probability of *none of these* when the target is not among the numbered boxes."""
ECHO_SAME, ECHO_OTHER = 0.85, 0.10
"""Likelihood of a text read on the target, for candidates of that name and for all others."""
ECHO_RATIO = 0.9
"""Texts count as equal from this similarity on."""


class LineModel(NamedTuple):
    """The outcomes of a line, by its class: where it stands relative to a candidate.

    Class 0: inside. Classes 1 to k: beyond the candidate's end, in growing distance; the k after
    them: before its beginning. All candidates in the same class to a line have the same outcome
    probabilities, which is what makes choosing lines cheap.
    """

    steps: tuple[float, ...]
    """Distances in CSS pixels at which one class ends and the next begins, from 0."""
    outcomes: tuple[Shares, ...]
    entropies: tuple[float, ...]
    """In bits."""
    pairs: tuple[tuple[float, ...], ...]
    """For every class of a vertical line with every class of a horizontal one, the probabilities of
    the nine answers about both."""

    def place(self, line: float, span: Span) -> int:
        """The class of a line for a candidate."""
        low, high = span
        if line >= high:
            return bisect_right(self.steps, line - high)
        if line <= low:
            return len(self.steps) + bisect_right(self.steps, low - line)
        return 0

    def likelihoods(self, line: float, spans: Sequence[Span], outcome: int) -> list[float]:
        """Of one outcome, for each candidate."""
        return [self.outcomes[self.place(line, span)][outcome] for span in spans]


def line_model(limits: Limits, scale: float) -> LineModel:
    """The model for a picture that shows `scale` pixels per CSS pixel."""
    slack = [(pixels / scale, weight) for pixels, weight in limits.slack]
    steps = (0.0, *sorted(pixels for pixels, _ in slack if pixels > 0))
    crossing = [sum(weight for pixels, weight in slack if pixels > step) for step in steps]
    sound: list[Shares] = [(0.0, 1.0, 0.0)]
    sound += [(1 - share, share, 0.0) for share in crossing]
    sound += [(0.0, share, 1 - share) for share in crossing]
    outcomes = tuple(_blur(shares, limits.misread) for shares in sound)
    pairs = tuple(tuple(left * top for left in x for top in y) for x in outcomes for y in outcomes)
    return LineModel(steps, outcomes, tuple(map(entropy, outcomes)), pairs)


def _blur(shares: Shares, misread: float) -> Shares:
    low, crossed, high = ((1 - misread) * share + misread / 3 for share in shares)
    return low, crossed, high


def pick_likelihoods(
    count: int, marked: Sequence[int | None], answer: int, limits: Limits
) -> list[float]:
    """Of the answer to a choice, for each of `count` candidates.

    Args:
        count: Candidates.
        marked: The candidate of each numbered box, number 1 first.
        answer: The number, 0: none of these.
        limits: The assumed mistakes.
    """
    boxes = len(marked)
    error = limits.pick_error(boxes)
    outside = NONE_IF_OUTSIDE if answer == 0 else (1 - NONE_IF_OUTSIDE) / boxes
    likelihoods = [outside] * count
    for number, candidate in enumerate(marked, 1):
        if candidate is not None:
            likelihoods[candidate] = 1 - error if number == answer else error / boxes
    return likelihoods


def echo_likelihoods(text: str, names: Sequence[str]) -> list[float] | None:
    """Of a text read on the target, for candidates of these names; None: no name is like it."""
    read = normalise(text).casefold()
    same = [bool(read) and _alike(read, normalise(name).casefold()) for name in names]
    return [ECHO_SAME if alike else ECHO_OTHER for alike in same] if any(same) else None


def _alike(read: str, name: str) -> bool:
    if not name or min(len(read), len(name)) < ECHO_RATIO * max(len(read), len(name)) * 0.8:
        return read == name
    matcher = difflib.SequenceMatcher(None, read, name, autojunk=False)
    return matcher.quick_ratio() >= ECHO_RATIO and matcher.ratio() >= ECHO_RATIO


def entropy(shares: Sequence[float]) -> float:
    """In bits, of probabilities that sum to 1."""
    return -sum(share * math.log2(share) for share in shares if share > 0)
