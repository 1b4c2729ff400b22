"""How first attempts of a model failed, and what each way of correcting them gained.

A gain is claimed only against the control arm, which makes as many retries of the same first
attempts but gets no feedback. The unit is the case, so repeats of a case are averaged first.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from statistics import fmean
from typing import NamedTuple

from pytest_autoweb.base.variant_names import ARM_NAMES
from pytest_autoweb.results.analysis.cell_numbers import CaseKey, case_key
from pytest_autoweb.results.analysis.controls import is_control
from pytest_autoweb.results.analysis.statistics import (
    Interval,
    difference_interval,
    mcnemar,
    wilson,
)
from pytest_autoweb.results.records import CellResult, CorrectionArmName, Record, Usage, total_usage
from pytest_autoweb.results.records.record import FailureType


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
