"""Decisions made by sight, and the searches of the vision locator."""

from typing import Any, Literal

from pytest_autoweb.results.record import Record

Verdict = Literal["match", "mismatch", "unverifiable"]
"""Of comparing a chosen element's text with the `expected_text` that came with the choice."""

DecisionStatus = Literal["performed", "refused", "failed", "invalid"]
"""`refused`: verification stopped it; `failed`: the browser could not do it; `invalid`: the reply
was no decision."""


class ChosenMark(Record):
    """One element that a decision picked, with what was found there."""

    mark: int | None
    """The number that the model gave."""
    taken: int | None = None
    """The mark acted on, when a unique text overrode the number."""
    expected_text: str = ""
    actual_text: str = ""
    verdict: Verdict
    reason: str
    """A plain sentence."""
    kind: str = ""
    """The role of the element, or its tag: what sort of element is mistaken most?"""
    box: tuple[float, float, float, float] | None = None
    """x, y, width, height in the picture, in viewport CSS pixels, of the element that was taken,
    or else of the one that the number names."""


class Decision(Record):
    """One turn: what the model saw, what it chose, what became of it."""

    index: int
    """From 1, within the attempt."""
    phase: str = "act"
    """`act`, or a phase of the collector: `navigate`, `explore`, `paginate`, `collect`."""
    url: str = ""
    picture: str | None = None
    """The marked screenshot, below the cell's folder."""
    viewport: tuple[int, int] | None = None
    """Width and height that the picture shows, in CSS pixels."""
    marks: int = 0
    """Marks drawn."""
    failed_marks: tuple[int, ...] = ()
    """Marks refused in the cycle before, drawn differently."""
    feedback: tuple[str, ...] = ()
    """The error lines in the prompt."""
    action: dict[str, Any] | None = None
    """As the model gave it, validated and redacted; None: no decision could be read."""
    thinking: str = ""
    confidence: float | None = None
    """0 to 1, as the model says."""
    chosen: tuple[ChosenMark, ...] = ()
    second_look: bool = False
    """Asked again with only the candidates of an ambiguous text marked."""
    status: DecisionStatus
    error: str = ""
    location: int | None = None
    """Index into the attempt's `locations`, when the vision locator found the element."""
    calls: int = 1
    """Model calls spent."""
    duration_ms: float = 0.0


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
