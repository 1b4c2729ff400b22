"""Every number of the locator, in one place."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Limits:
    """Budget, thresholds, and what is assumed of a vision model's mistakes.

    The assumptions come from simulation on 243 pages, not from a real model; docs/locator.md has
    what each of them does to calls and success. Refit them when a real model's mistakes are known.
    """

    calls: int = 8
    """Model calls of one search, invalid answers included."""
    confidence: float = 0.97
    """`found` and `not_found` need at least this probability. At 0.97 one answer is never enough
    and two that agree are; at 0.95 one may be."""
    absent: float = 0.14
    """Probability, before any question, that the target is not in the picture."""
    erratic: float = 0.005
    """Probability, before any question, that the answers fit nothing, or something else."""
    combined_marks: int = 40
    """Up to so many numbered boxes are drawn together with the lines; 0: lines and boxes apart."""
    pick_marks: int = 20
    """Up to so many numbered boxes on a picture without lines."""
    misread: float = 0.12
    """Probability that the answer about one line is wrong."""
    missed: float = 0.03
    """Probability that a target in the picture is reported as not there."""
    noticed: float = 0.8
    """Probability that a target not in the picture is reported as not there."""
    slack: tuple[tuple[float, float], ...] = ((0, 0.15), (4, 0.20), (8, 0.45), (14, 0.20))
    """Distances in pixels within which a line counts as crossing, and how likely each is."""
    place_calls: int = 16
    """Of `calls`, for a place that is no element."""
    seed_calls: int = 16
    """Of `calls`, for the seed algorithm: fifteen probes and a choice."""
    seed_marks: int = 5
    """The seed algorithm asks for a number as soon as so few candidates are left."""
    seed_precision: float = 100
    """The seed algorithm takes an edge as known within so many pixels."""
    seed_tolerance: float = 8
    """Pixels by which the seed algorithm lets an edge lie beyond a line."""

    def pick_error(self, marks: int) -> float:
        """Probability that a number is misread, among `marks` numbered boxes."""
        return min(0.9, max(0.06, 0.035 + 0.003 * marks))
