"""What the vision locator asked and found: the frames of its film."""

from typing import Literal

from pytest_autoweb.results.record import Record

LocatorStatus = Literal["found", "ambiguous", "not_found", "inconsistent", "budget"]

LocatorAlgorithm = Literal["seed", "bayes"]


class Probe(Record):
    """One question on one picture."""

    index: int
    """From 1."""
    kind: str
    """`vertical`, `horizontal`, `both`, `pick` or `confirm`."""
    picture: str | None = None
    """Below the cell's folder."""
    lines: tuple[tuple[str, float], ...] = ()
    """Axis (`x` or `y`) and viewport coordinate in CSS pixels."""
    answer: str = ""
    """As read from the reply; empty: invalid, which is no information."""
    reply: str = ""
    surviving: int = 0
    """Candidates that still hold a relevant part of the probability."""
    leader: str = ""
    """The likeliest candidate after the answer."""
    leader_probability: float = 0.0


class Location(Record):
    """One search for an element by its description."""

    description: str
    algorithm: LocatorAlgorithm
    status: LocatorStatus
    element: str = ""
    """The element found, as a person reads it."""
    box: tuple[float, float, float, float] | None = None
    """x, y, width, height in viewport CSS pixels."""
    viewport: tuple[float, float] | None = None
    """Width and height of the last picture in CSS pixels."""
    confidence: float = 0.0
    candidates: int = 0
    probes: tuple[Probe, ...] = ()
    calls: int = 0
    """Model calls, answers that could not be read included."""
    cached: bool = False
    """The same question was answered on the same page state before."""
    reason: str = ""
