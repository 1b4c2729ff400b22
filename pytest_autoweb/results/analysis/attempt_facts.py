"""Statistics of a model's attempts: its failures, the gain of corrections, its decisions.

A gain is claimed only against the control arm, which makes as many retries of the same first
attempts but gets no feedback. The unit is the case, so repeats of a case are averaged first.

Verification alone decides here whether a decision was right: the text that came with the choice
fits the element, or it does not. `benchmarks/act.py` measures the errors of verification itself
against known truth.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import pairwise
from statistics import fmean
from typing import NamedTuple

from pytest_autoweb.base.variant_names import ARM_NAMES
from pytest_autoweb.results.analysis.cell_numbers import CaseKey, case_key
from pytest_autoweb.results.analysis.statistics import (
    Interval,
    difference_interval,
    mcnemar,
    wilson,
)
from pytest_autoweb.results.analysis.verdict_validity import is_control
from pytest_autoweb.results.records import CellResult, CorrectionArmName, Record, Usage, total_usage
from pytest_autoweb.results.records.attempt import ChosenMark, Decision
from pytest_autoweb.results.records.record import FailureType

BINS = 10
"""The number of bins of equal width, as in the papers; empty ones are not listed."""


class TypeCount(Record):
    """How often first attempts failed in one way."""

    type: FailureType
    """The type of failure."""
    count: int
    """Cells whose first attempt failed that way."""
    by_model: int = 0
    """How many of these types were named by `--autoweb-failure-model`, and not by a rule."""


class ArmFacts(Record):
    """The results of one way of correcting, on the cells whose first attempt failed."""

    arm: CorrectionArmName
    """The way to correct."""
    label: str = ""
    """What people read; empty in reports of older versions."""
    control: bool = False
    """Whether the gain of the other arms is measured against it."""
    cells: int
    """Cells whose first attempt failed and that were corrected this way."""
    recovered: int
    """Of these, the cells that passed in the end."""
    rate: float | None
    """The share of cells that recovered; None when no first attempt failed."""
    interval: Interval | None
    """Wilson's 95% interval of the rate, over cells."""
    retries: int
    """Attempts after the first ones."""
    calls: int
    """The number of model calls in the retries."""
    cost_usd: float | None
    """The cost of the retries in US dollars; None when no call had a price."""
    waited_s: float
    """The total of the pauses before retries, in seconds."""
    pairs: int = 0
    """Cases that the control arm was run on, too."""
    gain: float | None = None
    """The mean over cases of the share recovered minus that of plain; None without a plain arm."""
    gain_interval: Interval | None = None
    """The 95% interval of the gain."""
    only_this: int = 0
    """The number of cases that only this arm recovered, in more than half of their repeats."""
    only_plain: int = 0
    """Cases that only the control arm recovered."""
    p: float | None = None
    """The p value of McNemar's exact test on these two numbers."""
    calls_more: int | None = None
    """How many more model calls than plain this arm took on the same cells."""
    differs: str = ""
    """In what its budget or the ends of its retries differ from those of other arms; empty if in
    nothing, and if no other arm was run on these cells."""

    @property
    def sentence(self) -> str:
        """Return the result in one sentence."""
        told = f"{self.recovered} of {self.cells} recovered with {self.calls} calls"
        if self.control:
            return f"{told} (control arm)"
        if self.gain is None:
            return f"{told}; gain not measured (no plain arm was run)"
        at = self.gain_interval
        span = f" [{at.low:+.0%} to {at.high:+.0%}]" if at else ""
        return (
            f"{told}; gain over plain {self.gain:+.0%}{span}, p = {self.p:.3f} over "
            f"{self.pairs} cases, {self.calls_more:+d} calls"
        )


class CorrectionFacts(Record):
    """The corrections of one model."""

    model: str
    """Name of the model."""
    cells: int
    """Cells of the model."""
    failed_first: int
    """Of these, the cells whose first attempt failed."""
    types: tuple[TypeCount, ...] = ()
    """The failure types of first attempts, the most frequent first."""
    duplicates: int = 0
    """The number of calls that repeated an earlier one in the same state of the page."""
    cached: int = 0
    """The number of reading calls that were answered from the cache."""
    arms: tuple[ArmFacts, ...] = ()
    """Each way to correct that was used."""


class _Run(NamedTuple):
    key: CaseKey
    passed: bool
    retries: int
    usage: Usage
    waited_s: float


def corrections_of(cells: Iterable[CellResult]) -> tuple[CorrectionFacts, ...]:
    """Return the corrections of every model in the order of the cells, without controls.

    Cells that left a recording are excluded.
    """
    by_model: dict[str, list[CellResult]] = {}
    for cell in cells:
        # Leaving a recording is neither a failure of the model nor fixable by a retry.
        if cell.attempts and cell.outcome != "off_record" and not is_control(cell.model):
            by_model.setdefault(cell.model, []).append(cell)
    return tuple(_failure_facts(model, own) for model, own in by_model.items())


def arm_label(name: str) -> str:
    """Return an arm's label; its name if it is not registered, as in a merge."""
    arm = ARM_NAMES.get(name)
    return arm.label or name if arm else name


def _difference(name: str) -> str:
    arm = ARM_NAMES.get(name)
    return arm.differs if arm else ""


def _is_control_arm(name: str) -> bool:
    arm = ARM_NAMES.get(name)
    return arm is not None and arm.control


def _failure_facts(model: str, cells: Sequence[CellResult]) -> CorrectionFacts:
    firsts = [(cell, cell.attempts[0]) for cell in cells]
    failed = [cell for cell, first in firsts if first.failure and not first.checks_passed]
    found = [c.attempts[0].classification for c in failed]
    types = Counter(one.type for one in found if one)
    by_model = Counter(one.type for one in found if one and one.by == "model")
    calls = [call for cell in cells for attempt in cell.attempts for call in attempt.tool_calls]
    runs: dict[CorrectionArmName, list[_Run]] = {}
    for cell in failed:
        for arm, run in _runs(cell):
            runs.setdefault(arm, []).append(run)
    plain = next((own for arm, own in runs.items() if _is_control_arm(arm)), [])
    return CorrectionFacts(
        model=model,
        cells=len(cells),
        failed_first=len(failed),
        types=tuple(
            TypeCount(type=name, count=n, by_model=by_model[name])
            for name, n in types.most_common()
        ),
        duplicates=sum(call.duplicate for call in calls),
        cached=sum(call.cached for call in calls),
        arms=tuple(
            _arm(arm, own, plain).model_copy(
                update={"differs": _difference(arm) if len(runs) > 1 else ""}
            )
            for arm, own in runs.items()
        ),
    )


def _runs(cell: CellResult) -> Iterable[tuple[CorrectionArmName, _Run]]:
    ways = [(cell.correction, cell.attempts[1:], cell.passed)]
    ways += [(each.arm, each.attempts, each.passed) for each in cell.arms]
    for arm, retries, passed in ways:
        usage = sum(total_usage(retries).values(), Usage())
        waited = sum(a.correction.waited_s for a in retries if a.correction)
        yield arm, _Run(case_key(cell), passed, len(retries), usage, waited)


def _arm(arm: CorrectionArmName, runs: Sequence[_Run], plain: Sequence[_Run]) -> ArmFacts:
    recovered, usage = sum(run.passed for run in runs), sum((r.usage for r in runs), Usage())
    facts = ArmFacts(
        arm=arm,
        label=arm_label(arm),
        control=_is_control_arm(arm),
        cells=len(runs),
        recovered=recovered,
        rate=recovered / len(runs) if runs else None,
        interval=wilson(recovered, len(runs)),
        retries=sum(run.retries for run in runs),
        calls=usage.calls,
        cost_usd=usage.cost_usd,
        waited_s=sum(run.waited_s for run in runs),
    )
    if facts.control or not plain:
        return facts
    ours, theirs = _means(runs), _means(plain)
    both = [(ours[key], theirs[key]) for key in ours if key in theirs]
    differences = [a - b for a, b in both]
    only_this = sum(a > 0.5 >= b for a, b in both)
    only_plain = sum(b > 0.5 >= a for a, b in both)
    update = {
        "pairs": len(both),
        "gain": fmean(differences) if both else None,
        "gain_interval": difference_interval(differences),
        "only_this": only_this,
        "only_plain": only_plain,
        "p": mcnemar(only_this, only_plain),
        "calls_more": usage.calls - sum(run.usage.calls for run in plain),
    }
    return facts.model_copy(update=update)


def _means(runs: Sequence[_Run]) -> dict[CaseKey, float]:
    by_case: dict[CaseKey, list[float]] = {}
    for run in runs:
        by_case.setdefault(run.key, []).append(float(run.passed))
    return {key: fmean(values) for key, values in by_case.items()}


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
