"""How a search ends, and what it leaves behind."""

from dataclasses import dataclass

from pytest_autoweb.locate.question import Answer, Question
from pytest_autoweb.results.location import LocatorStatus


@dataclass(frozen=True, slots=True)
class Turn:
    """One question, its answer, and what was known afterwards."""

    question: Question
    answer: Answer | None
    """None: nothing could be read."""
    surviving: tuple[int, ...]
    """Candidates that still hold a relevant part of the probability."""
    leader: int | None
    """The likeliest candidate."""
    probability: float
    """Of the leader."""
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
    """Probability of what the status says: of the chosen, of *not there*, else of the guess."""
    posterior: tuple[float, ...]
    """Of each candidate; with `absent` and `erratic` it sums to 1."""
    absent: float
    erratic: float
    """Probability that the answers fit neither a candidate nor a missing target."""
    turns: tuple[Turn, ...]
    calls: int
    reason: str
    """A plain sentence."""


def nothing_to_ask() -> Outcome:
    """The ending of a search among no candidates."""
    reason = "There is nothing clickable in the picture."
    return Outcome("not_found", None, None, 1.0, (), 1.0, 0.0, (), 0, reason)
