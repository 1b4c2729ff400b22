"""Decisions made by sight, and the searches of the vision locator."""

from typing import Any, Literal

from pytest_autoweb.results.record import Record

Verdict = Literal["match", "mismatch", "unverifiable"]
"""The result of comparing a chosen element's text with the `expected_text` of the choice."""

DecisionStatus = Literal["performed", "refused", "failed", "invalid"]
"""`refused` by verification, `failed` because the browser could not do it, or `invalid` because the
reply was no decision."""


MatchedText = Literal["", "text", "name"]
"""Which text of an element is the expected one: `text` is painted on the page, `name` is only its
accessible name; empty if none is, or if that is not known."""


RefusalCause = Literal["", "choice", "circle", "gave_up"]
"""Why a decision was refused: `choice` because verification stopped it, `circle` because it would
have closed a circle, `gave_up` because a second look or the vision locator settled on nothing;
empty if it was not refused, or in records of earlier versions."""


class ChosenMark(Record):
    """One element that a decision picked, with what was found there."""

    mark: int | None
    """The number that the model gave."""
    taken: int | None = None
    """The mark that was acted on, if a unique text overrode the number."""
    expected_text: str = ""
    """The text that the model expected on the element."""
    actual_text: str = ""
    """The text that the element really has."""
    verdict: Verdict
    """The result of comparing the two texts."""
    reason: str
    """A plain sentence that explains the verdict."""
    matched: MatchedText = ""
    """Whether what fits is painted on the page or only the element's accessible name."""
    kind: str = ""
    """The role of the element, or else its tag, so that mistakes can be counted by it."""
    box: tuple[float, float, float, float] | None = None
    """x, y, width, height in the picture, in viewport CSS pixels, of the element that was taken,
    or else of the one that the number names."""


class Decision(Record):
    """One turn: what the model saw, what it chose, what became of it."""

    index: int
    """The number of the decision within the attempt, from 1."""
    phase: str = "act"
    """`act`, or a phase of the collector: `navigate`, `explore`, `paginate`, `collect`."""
    url: str = ""
    """The page's URL when the picture was taken."""
    picture: str | None = None
    """The path of the marked screenshot, below the cell's folder."""
    viewport: tuple[int, int] | None = None
    """The width and height that the picture shows, in CSS pixels."""
    marks: int = 0
    """The number of marks drawn."""
    failed_marks: tuple[int, ...] = ()
    """Marks that were refused one decision earlier, and are therefore drawn differently."""
    feedback: tuple[str, ...] = ()
    """The lines of the prompt about what was wrong with the last choice."""
    action: dict[str, Any] | None = None
    """The action as the model gave it, validated and redacted; None if no decision could be
    read."""
    thinking: str = ""
    """The reasoning that the reply gave along with the action."""
    confidence: float | None = None
    """How sure the model says it is, from 0 to 1."""
    chosen: tuple[ChosenMark, ...] = ()
    """The elements that the decision picked."""
    second_look: bool = False
    """Whether the model was asked again with only the elements marked that may be meant, because
    several fit or because it was not sure."""
    second_picture: str | None = None
    """The path of the marked screenshot of the second look, below the cell's folder."""
    status: DecisionStatus
    """What became of the decision."""
    refused_for: RefusalCause = ""
    """Why the decision was refused, if it was."""
    error: str = ""
    """Why the decision was not performed."""
    location: int | None = None
    """Index into the attempt's `locations`, when the vision locator found the element."""
    calls: int = 1
    """The number of model calls that the decision took."""
    duration_ms: float = 0.0
    """The duration of the decision, in milliseconds."""


LocatorStatus = Literal["found", "ambiguous", "not_found", "inconsistent", "budget"]

LocatorAlgorithm = Literal["seed", "bayes"]


class Probe(Record):
    """One question on one picture."""

    index: int
    """The number of the question, from 1."""
    kind: str
    """What was asked: `vertical`, `horizontal`, `both`, `pick` or `confirm`."""
    picture: str | None = None
    """The path of the picture, below the cell's folder."""
    lines: tuple[tuple[str, float], ...] = ()
    """The lines drawn: the axis (`x` or `y`) and the viewport coordinate in CSS pixels."""
    answer: str = ""
    """The answer that was read from the reply; empty if it was invalid and so tells nothing."""
    reply: str = ""
    """The model's reply."""
    surviving: int = 0
    """The number of candidates that still hold a relevant part of the probability."""
    leader: str = ""
    """The most probable candidate after the answer."""
    leader_probability: float = 0.0
    """The probability of that candidate."""


class Location(Record):
    """One search for an element by its description."""

    description: str
    """The description of the element that was looked for."""
    algorithm: LocatorAlgorithm
    """The algorithm that searched."""
    status: LocatorStatus
    """How the search ended."""
    element: str = ""
    """The element that was found, as a person reads it."""
    expected_text: str = ""
    """The text that the element has to have; empty if none is known."""
    actual_text: str = ""
    """The text of the element that was found."""
    verdict: Verdict | None = None
    """The result of comparing both texts; None if no text was expected or nothing was found."""
    compared: str = ""
    """A plain sentence that explains the verdict."""
    box: tuple[float, float, float, float] | None = None
    """x, y, width, height in viewport CSS pixels."""
    viewport: tuple[float, float] | None = None
    """Width and height of the last picture in CSS pixels."""
    confidence: float = 0.0
    """The probability that the right element was found."""
    candidates: int = 0
    """The number of elements among which the search began."""
    probes: tuple[Probe, ...] = ()
    """The questions that were asked, in order."""
    calls: int = 0
    """The number of model calls, including those whose answers could not be read."""
    cached: bool = False
    """Whether the same question had been answered before on the same state of the page."""
    reason: str = ""
    """Why the search ended without an element."""
