"""What the decisions of a model amount to: verdicts, retries, and how far its confidence holds.

Whether a choice was right is only known here as far as verification knows it: the text that came
with the choice fits the element, or another one. What verification itself gets wrong is measured
with known truth, by `benchmarks/act.py`.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import pairwise
from statistics import fmean

from pytest_autoweb.report.controls import is_control
from pytest_autoweb.results import CellResult, Record
from pytest_autoweb.results.decision import ChosenMark, Decision

BINS = 10
"""Of equal width, as in the papers; `Reliability.bins` lists those that hold a decision."""


class ReliabilityBin(Record):
    """Decisions of similar confidence."""

    low: float
    high: float
    """The highest bin includes its upper bound."""
    n: int
    confidence: float
    """Mean."""
    right: float
    """Share of right choices."""


class Reliability(Record):
    """How far a model's confidence says how often it is right."""

    n: int = 0
    """Decisions with a confidence whose choice verification could tell right or wrong."""
    brier: float | None = None
    """Mean squared difference of confidence and outcome; 0 is best, and always
    saying 0.5 gives 0.25."""
    ece: float | None = None
    """Expected calibration error: mean distance of confidence and share of right choices over the
    bins, weighed by their size; 0 is best."""
    bins: tuple[ReliabilityBin, ...] = ()


class KindFacts(Record):
    """Choices of one sort of element."""

    kind: str
    """Role or tag."""
    chosen: int
    wrong: int
    """Mismatches, and numbers that the text overrode."""


class DecisionFacts(Record):
    """The decisions of one model."""

    model: str
    decisions: int
    performed: int
    refused: int
    """Stopped by verification."""
    failed: int
    """The browser could not do it."""
    invalid: int
    """The reply was no decision."""
    chosen: int
    """Elements chosen; a decision may choose several."""
    match: int
    mismatch: int
    unverifiable: int
    """Nothing to compare, an icon for example."""
    overridden: int
    """Of the mismatches: only one element has the text, and that one was taken."""
    second_looks: int
    """Asked again, because several elements have the text."""
    retries: int
    """Decisions right after a refused one of the same attempt."""
    retries_performed: int
    kinds: tuple[KindFacts, ...] = ()
    """The most often mistaken first."""
    reliability: Reliability


def decision_facts(cells: Iterable[CellResult]) -> tuple[DecisionFacts, ...]:
    """Return the facts of every model that made decisions, in the order of the cells."""
    by_model: dict[str, list[Sequence[Decision]]] = {}
    for cell in cells:
        if is_control(cell.model):
            continue
        for attempt in cell.attempts:
            if attempt.decisions:
                by_model.setdefault(cell.model, []).append(attempt.decisions)
    return tuple(_facts(model, attempts) for model, attempts in by_model.items())


def _facts(model: str, attempts: Sequence[Sequence[Decision]]) -> DecisionFacts:
    decisions = [decision for attempt in attempts for decision in attempt]
    chosen = [mark for decision in decisions for mark in decision.chosen]
    status = Counter(decision.status for decision in decisions)
    verdict = Counter(mark.verdict for mark in chosen)
    retries = [
        after
        for attempt in attempts
        for before, after in pairwise(attempt)
        if before.status == "refused"
    ]
    return DecisionFacts(
        model=model,
        decisions=len(decisions),
        performed=status["performed"],
        refused=status["refused"],
        failed=status["failed"],
        invalid=status["invalid"],
        chosen=len(chosen),
        match=verdict["match"],
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


def chose_right(decision: Decision) -> bool | None:
    """Tell whether the numbers given were right, as far as verification can tell.

    Returns:
        None: no element was chosen, or one of them could not be verified.
    """
    if not decision.chosen or any(mark.verdict == "unverifiable" for mark in decision.chosen):
        return None
    return not any(map(_wrong, decision.chosen))


def _wrong(mark: ChosenMark) -> bool:
    return mark.verdict == "mismatch" or _overridden(mark)


def _overridden(mark: ChosenMark) -> bool:
    return mark.taken not in (None, mark.mark)


def _kinds(chosen: Iterable[ChosenMark]) -> tuple[KindFacts, ...]:
    kinds: dict[str, list[ChosenMark]] = {}
    for mark in chosen:
        kinds.setdefault(mark.kind, []).append(mark)
    facts = (
        KindFacts(kind=kind, chosen=len(marks), wrong=sum(map(_wrong, marks)))
        for kind, marks in kinds.items()
        if kind
    )
    return tuple(sorted(facts, key=lambda each: (-each.wrong, each.kind)))


def reliability(pairs: Iterable[tuple[float, bool]]) -> Reliability:
    """Brier score, expected calibration error and the reliability diagram.

    Source: G. W. Brier, "Verification of forecasts expressed in terms of probability", Monthly
    Weather Review 78 (1950) 1-3, in its form for two outcomes; M. P. Naeini, G. F. Cooper and
    M. Hauskrecht, "Obtaining well calibrated probabilities using Bayesian binning", AAAI 2015.

    Args:
        pairs: confidence from 0 to 1, and whether the choice was right.
    """
    known = list(pairs)
    if not known:
        return Reliability()
    groups: dict[int, list[tuple[float, bool]]] = {}
    for confidence, right in known:
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
