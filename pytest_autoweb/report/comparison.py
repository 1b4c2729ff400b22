"""Two sides compared on the same cases: two models of a run, or a model in two runs; pure.

The unit is the case. Repeats are averaged inside a case and capture mode first, then the capture
modes inside the case, so a case counts once however often it was run.
"""

from collections.abc import Collection, Sequence
from typing import Literal

from pytest_autoweb.report.numbers import CaseKey, Cost, Rate, Rates
from pytest_autoweb.report.rows import RunRows
from pytest_autoweb.report.statistics import Interval
from pytest_autoweb.results import CaptureMode, Outcome, Record

Metric = Literal["first_attempt", "after_repair"]
"""What counts as a pass: `passed` alone, or `passed` and `healed`."""

Which = Literal["a", "b", "both"]
"""A side of a comparison."""

LeftOutReason = Literal["missing", "not_run", "broken", "ungraded", "changed", "controls"]
"""Why a case has no part in a comparison.

`missing`: the other side has no such cell. `not_run`: skipped. `broken`, `ungraded`: no repeat came
to a verdict. `changed`: the case or its checks are not the same on both sides. `controls`: the
case's controls are broken, so its verdicts prove nothing.
"""


class Change(Record):
    """How much more (or less) side b used than side a, over the compared cells."""

    relative: float | None
    """0.2: a fifth more. None: unknown, or side a used nothing."""
    interval: Interval | None = None
    """95%, BCa bootstrap over cases. None with fewer than two cases."""


class Side(Record):
    """One side of a comparison."""

    label: str
    """The model within a run; the run's name or time between runs."""
    model: str
    run: str
    """The run's `ts`."""
    first_attempt: Rates
    """Of every case of this side, compared or not, with both denominators."""
    after_repair: Rates
    compared: Rate
    """In the comparison's metric, over the compared cases and their graded cells only: the
    difference is between these two."""
    compared_all: Rate
    """The same cases with `broken` and `ungraded` cells counted as not passed."""
    total_cost: Cost
    """Of every cell of this side."""
    cost: Cost
    """Of the compared cells only."""
    cost_per_cell: float | None
    """US dollars a compared cell, averaged inside cases first. None: unknown or a lower bound."""
    seconds_per_cell: float | None
    """Wall seconds a compared cell, averaged inside cases first."""


class CasePair(Record):
    """A compared case."""

    case_id: str
    case_path: str
    mean_a: float
    """Share of passed cells, averaged over repeats, then over capture modes."""
    mean_b: float
    flip: Literal["gained", "lost", "same"]
    """Whether b passes it more often than a, less often, or as often."""
    outcomes_a: tuple[Outcome, ...]
    """Of the graded cells behind the mean, by capture mode and repeat."""
    outcomes_b: tuple[Outcome, ...]
    folders_a: tuple[str, ...] = ()
    """The cells' folders, as `outcomes_a`."""
    folders_b: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()
    """Checksums (`prompts`, `capture` and, where allowed, `case`, `checks`) that differ."""


class LeftOut(Record):
    """A case, or one capture mode of a case, that has no part in the comparison."""

    case_id: str
    case_path: str
    capture_mode: CaptureMode | None
    """None: all of the case."""
    reason: LeftOutReason
    side: Which
    """Where the reason lies."""
    changed: tuple[str, ...] = ()
    """With the reason `changed`: which checksums, of `case` and `checks`."""
    message: str
    """The reason in words."""


class Comparison(Record):
    """Two sides on the same cases. Differences are b minus a: positive means b is better."""

    kind: Literal["models", "runs"]
    metric: Metric
    a: Side
    b: Side
    cases: tuple[CasePair, ...]
    """Every compared case; flips first, lost before gained."""
    left_out: tuple[LeftOut, ...]
    gained: int
    """Compared cases that b passes more often than a."""
    lost: int
    same: int
    test: Literal["exact McNemar", "exact sign-flip", "Monte Carlo sign-flip"]
    """McNemar with one cell a case on both sides, else sign-flip over the cases' differences."""
    p: float | None
    """Two-sided. None: no case could be compared."""
    p_holm: float | None
    """After Holm's correction over the comparisons made together."""
    family: int
    """How many comparisons were made together."""
    difference: float | None
    """Of the compared rates: b minus a."""
    interval: Interval | None
    """95% interval of the difference, by MOVER from the two sides' own intervals."""
    detectable: float | None
    """Smallest difference that a comparison of this size would have shown in 80% of runs. None:
    not even the largest one."""
    decisive: bool | None
    """Whether `p_holm` is at most 0.05. None: no case could be compared."""
    verdict: str
    """One sentence that says no more than the numbers do."""
    cost_change: Change
    time_change: Change
    changed: tuple[str, ...] = ()
    """Checksums that differ in at least one compared case: then that may be what is compared."""
    notes: tuple[str, ...] = ()
    """What a reader must know to trust the comparison, in sentences."""


def compare_models(
    rows: RunRows,
    *,
    left_out: Collection[CaseKey] = (),
    metric: Metric = "first_attempt",
    models: Sequence[str] | None = None,
) -> tuple[Comparison, ...]:
    """All pairs of models of a run, in the run's order, with Holm's correction over the pairs.

    Args:
        rows: the run; its control cells are looked at too.
        left_out: further cases to keep out, because their controls are broken.
        metric: what counts as a pass.
        models: only these; all contestants by default.
    """
    raise NotImplementedError


def compare_runs(
    before: RunRows,
    after: RunRows,
    *,
    left_out: Collection[CaseKey] = (),
    metric: Metric = "first_attempt",
    models: Sequence[tuple[str, str]] | None = None,
    allow_changed: bool = False,
) -> tuple[Comparison, ...]:
    """Each model that both runs have, with Holm's correction over the models.

    Args:
        before: side a.
        after: side b.
        left_out: further cases to keep out, because their controls are broken.
        metric: what counts as a pass.
        models: pairs of a model of `before` and one of `after`; common models by default.
        allow_changed: compare cases whose `case` or `checks` checksum changed too, marked.
    """
    raise NotImplementedError
