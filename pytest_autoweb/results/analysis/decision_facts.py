"""A model's decisions, as far as verification shows whether they were right.

Verification alone decides here whether a decision was right: the text that came with the choice
fits the element, or it does not. `benchmarks/act.py` measures the errors of verification itself
against known truth.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import pairwise
from statistics import fmean

from pytest_autoweb.results.analysis.controls import is_control
from pytest_autoweb.results.records import CellResult, Record
from pytest_autoweb.results.records.attempt import ChosenMark, Decision

BINS = 10
"""The number of bins of equal width, as in the papers; empty ones are not listed."""


class ReliabilityBin(Record):
    """A bin of decisions with similar confidence."""

    low: float
    """Least confidence of the group."""
    high: float
    """The upper bound, which only the highest bin includes."""
    n: int
    """Choices in the group."""
    confidence: float
    """The mean confidence."""
    right: float
    """The share of right choices."""


class Reliability(Record):
    """How well a model's confidence predicts whether it is right."""

    n: int = 0
    """The number of decisions with a confidence whose choice could be verified."""
    brier: float | None = None
    """The mean squared difference between confidence and outcome; 0 is best, and a constant
    confidence of 0.5 gives 0.25."""
    ece: float | None = None
    """The expected calibration error: the mean difference between confidence and share of right
    choices over the bins, weighted by their size; 0 is best."""
    bins: tuple[ReliabilityBin, ...] = ()
    """Choices in groups of similar confidence."""


class KindFacts(Record):
    """The choices of one kind of element."""

    kind: str
    """The role or tag of the elements."""
    chosen: int
    """How often an element of this kind was chosen."""
    wrong: int
    """The number of mismatches and of numbers that the text overrode."""


class DecisionFacts(Record):
    """The decisions of one model."""

    model: str
    """Name of the model."""
    decisions: int
    """Decisions that the model took."""
    performed: int
    """Of these, the ones that were carried out."""
    refused: int
    """The number of decisions that verification stopped; circles and giving up do not count."""
    failed: int
    """The number of decisions that the browser could not perform."""
    invalid: int
    """The number of replies that were not a decision."""
    circles: int = 0
    """The number of decisions that were not performed because they would have closed a circle."""
    gave_up: int = 0
    """The number of decisions for which a second look or the vision locator found nothing."""
    chosen: int
    """The number of elements chosen; a decision may choose several."""
    match: int
    """Choices whose text is that of the chosen element."""
    incomplete: int = 0
    """Choices whose text is only a part of that of the chosen element."""
    mismatch: int
    """Choices whose text is not that of the chosen element."""
    unverifiable: int
    """The number of choices without a text to compare, such as icons."""
    overridden: int
    """The number of wrong choices that were replaced by the only element with the given text."""
    second_looks: int
    """How often the model was asked again because several elements have the text."""
    retries: int
    """The number of decisions right after a refused one in the same attempt."""
    retries_performed: int
    """Of the decisions after a refused one, those that were carried out."""
    kinds: tuple[KindFacts, ...] = ()
    """The kinds of elements, those with the most mistakes first."""
    reliability: Reliability
    """The model's confidence against the verdicts."""


def decision_facts(cells: Iterable[CellResult]) -> tuple[DecisionFacts, ...]:
    """Return the statistics of every model that made decisions, in the order of the cells."""
    by_model: dict[str, list[Sequence[Decision]]] = {}
    for cell in cells:
        if is_control(cell.model):
            continue
        for attempt in cell.attempts:
            if attempt.decisions:
                by_model.setdefault(cell.model, []).append(attempt.decisions)
    return tuple(_decision_facts(model, attempts) for model, attempts in by_model.items())


def _decision_facts(model: str, attempts: Sequence[Sequence[Decision]]) -> DecisionFacts:
    decisions = [decision for attempt in attempts for decision in attempt]
    chosen = [mark for decision in decisions for mark in decision.chosen]
    status = Counter(decision.status for decision in decisions)
    cause = Counter(decision.refused_for for decision in decisions)
    verdict = Counter(mark.verdict for mark in chosen)
    retries = [
        after
        for attempt in attempts
        for before, after in pairwise(attempt)
        if stopped_by_verification(before)
    ]
    return DecisionFacts(
        model=model,
        decisions=len(decisions),
        performed=status["performed"],
        refused=sum(map(stopped_by_verification, decisions)),
        failed=status["failed"],
        invalid=status["invalid"],
        circles=cause["circle"],
        gave_up=cause["gave_up"],
        chosen=len(chosen),
        match=verdict["match"],
        incomplete=verdict["incomplete"],
        mismatch=verdict["mismatch"],
        unverifiable=verdict["unverifiable"],
        overridden=sum(map(_overridden, chosen)),
        second_looks=sum(decision.second_look for decision in decisions),
        retries=len(retries),
        retries_performed=sum(decision.status == "performed" for decision in retries),
        kinds=_kinds(chosen),
        reliability=reliability(
            (decision.confidence, right)
            for decision in decisions
            if decision.confidence is not None and (right := chose_right(decision)) is not None
        ),
    )


def stopped_by_verification(decision: Decision) -> bool:
    """Return whether a decision was refused because of the element that it chose.

    Records of earlier versions lack the reason for a refusal, so all their refusals count.
    """
    return decision.status == "refused" and decision.refused_for in ("", "choice")


def chose_right(decision: Decision) -> bool | None:
    """Return whether the chosen numbers were right, as far as verification shows.

    Returns:
        None when no element was chosen, or one of them could not be verified in full.
    """
    open_verdicts = ("incomplete", "unverifiable")
    if not decision.chosen or any(mark.verdict in open_verdicts for mark in decision.chosen):
        return None
    return not any(map(is_wrong, decision.chosen))


def is_wrong(mark: ChosenMark) -> bool:
    """Return whether the element's text contradicts the chosen number."""
    return mark.verdict == "mismatch" or _overridden(mark)


def _overridden(mark: ChosenMark) -> bool:
    return mark.taken not in (None, mark.mark)


def _kinds(chosen: Iterable[ChosenMark]) -> tuple[KindFacts, ...]:
    kinds: dict[str, list[ChosenMark]] = {}
    for mark in chosen:
        kinds.setdefault(mark.kind, []).append(mark)
    facts = (
        KindFacts(kind=kind, chosen=len(marks), wrong=sum(map(is_wrong, marks)))
        for kind, marks in kinds.items()
        if kind
    )
    return tuple(sorted(facts, key=lambda each: (-each.wrong, each.kind)))


def reliability(pairs: Iterable[tuple[float, bool]]) -> Reliability:
    """Return the Brier score, the expected calibration error and the reliability diagram.

    Source: G. W. Brier, "Verification of forecasts expressed in terms of probability", Monthly
    Weather Review 78 (1950) 1-3, in its form for two outcomes; M. P. Naeini, G. F. Cooper and
    M. Hauskrecht, "Obtaining well calibrated probabilities using Bayesian binning", AAAI 2015.

    Args:
        pairs: the confidence from 0 to 1 of each decision, and whether its choice was right.
    """
    known = list(pairs)
    if not known:
        return Reliability()
    groups: dict[int, list[tuple[float, bool]]] = {}
    for confidence, right in known:
        # A confidence of exactly 1 belongs to the highest bin.
        groups.setdefault(min(BINS - 1, int(confidence * BINS)), []).append((confidence, right))
    bins = tuple(
        ReliabilityBin(
            low=at / BINS,
            high=(at + 1) / BINS,
            n=len(group),
            confidence=fmean(confidence for confidence, _ in group),
            right=fmean(right for _, right in group),
        )
        for at, group in sorted(groups.items())
    )
    return Reliability(
        n=len(known),
        brier=fmean((confidence - right) ** 2 for confidence, right in known),
        ece=sum(each.n * abs(each.confidence - each.right) for each in bins) / len(known),
        bins=bins,
    )
