"""The outcome of a search and the record of its questions."""

from dataclasses import dataclass

from pytest_autoweb.locate.question import PictureAnswer, PictureQuestion
from pytest_autoweb.results.location import LocatorStatus


@dataclass(frozen=True, slots=True)
class Turn:
    """One question, its answer, and what was known afterwards."""

    question: PictureQuestion
    answer: PictureAnswer | None
    """The answer; None when the reply could not be parsed."""
    surviving: tuple[int, ...]
    """The candidates that still have a relevant probability."""
    leader: int | None
    """The likeliest candidate."""
    probability: float
    """The probability of the leader."""
    absent: float
    """Probability that the target is not in the picture."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """The end of a search.

    Only `found` is a success. `chosen` is None unless it is `found`; `guess` is the likeliest
    candidate, for the report.
    """

    status: LocatorStatus
    chosen: int | None
    guess: int | None
    confidence: float
    """The probability of what the status claims, or of the guess if it claims nothing."""
    posterior: tuple[float, ...]
    """The probability of each candidate; together with `absent` and `erratic` they sum to 1."""
    absent: float
    erratic: float
    """Probability that the answers fit neither a candidate nor a missing target."""
    turns: tuple[Turn, ...]
    calls: int
    reason: str
    """One sentence that explains the status."""


def nothing_to_ask() -> Outcome:
    """Return the outcome of a search without candidates."""
    reason = "There is nothing clickable in the picture."
    return Outcome("not_found", None, None, 1.0, (), 1.0, 0.0, (), 0, reason)
