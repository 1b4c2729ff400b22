"""Partial credit: the mean share of points, and the difference of two sides; pure.

Only cases whose checks carry points count here. A pass still takes every check.
"""

from collections.abc import Callable, Collection, Iterable, Sequence
from statistics import fmean
from typing import Literal

from pytest_autoweb.results.analysis.cell_numbers import (
    CaseKey,
    CellSummary,
    case_key,
    cell_row,
    is_graded,
)
from pytest_autoweb.results.analysis.statistics import (
    Interval,
    difference_interval,
    score_interval,
)
from pytest_autoweb.results.records import CellResult, Record

Moment = Literal["first_attempt", "after_repair"]
"""Which attempt's score counts: that of the first, or that of the last."""


class MeanScore(Record):
    """A mean score over cases, for which repeats and capture modes of a case are averaged first."""

    value: float
    """The mean share of all points that was earned."""
    interval: Interval
    """Its 95% interval over cases (`statistics.score_interval`)."""
    trials: int
    """The number of cells behind the mean."""
    cases: int
    """The number of cases, which are the units of the interval."""


class ModelScores(Record):
    """The scores of a model in the cases whose checks carry points, with both denominators."""

    first_attempt: MeanScore
    """Over all cells that were run; one without a verdict earns nothing."""
    first_attempt_graded: MeanScore | None
    """Over graded cells only; None if there are none."""
    after_repair: MeanScore
    """As `first_attempt`, for the last attempt of each cell."""
    after_repair_graded: MeanScore | None
    """As `first_attempt_graded`, for the last attempt of each cell."""


class ScoreDifference(Record):
    """How much more of the points side b earns than side a, on the same cases."""

    cases: int
    """The number of compared cases whose checks carry points."""
    a: float
    """The mean score of side a."""
    b: float
    """The mean score of side b."""
    difference: float
    """The mean of b minus that of a."""
    interval: Interval
    """The 95% interval of the difference over cases (`statistics.difference_interval`)."""


def model_scores(
    cells: Iterable[CellResult], doubtful: Collection[CaseKey] = ()
) -> ModelScores | None:
    """Return the scores of a model; None if no cell of a case with points was run.

    Args:
        cells: the cells of the model.
        doubtful: cases whose controls are broken; the graded scores leave them out.
    """
    rows = [cell_row(c) for c in cells if c.with_points and c.outcome != "skipped"]
    graded = [row for row in rows if is_graded(row) and case_key(row) not in doubtful]
    first, after = mean_score(rows, "first_attempt"), mean_score(rows, "after_repair")
    if first is None or after is None:
        return None
    return ModelScores(
        first_attempt=first,
        first_attempt_graded=mean_score(graded, "first_attempt"),
        after_repair=after,
        after_repair_graded=mean_score(graded, "after_repair"),
    )


def mean_score(
    rows: Iterable[CellSummary], moment: Moment, confidence: float = 0.95
) -> MeanScore | None:
    """Return the mean over the cells of cases with points; None if there are none.

    A cell without a score, because it broke or could not be judged, earns nothing.
    """
    own = [row for row in rows if row.with_points]
    cases: dict[CaseKey, list[CellSummary]] = {}
    for row in own:
        cases.setdefault(case_key(row), []).append(row)
    means = [_case_score(group, moment) for group in cases.values()]
    interval = score_interval(means, confidence)
    if interval is None:
        return None
    return MeanScore(value=fmean(means), interval=interval, trials=len(own), cases=len(means))


def score_difference(
    pairs: Iterable[tuple[Sequence[CellSummary], Sequence[CellSummary]]], moment: Moment
) -> ScoreDifference | None:
    """Return the difference over the cases with points; None if there are none.

    The interval is the one of pass rates, which takes any difference from -1 to 1. A bootstrap over
    cases and Student's t are too narrow for few cases, or have no width where all cases agree.

    Args:
        pairs: the graded cells of both sides, for each compared case.
        moment: which attempt's score counts.
    """
    scores = [
        (_case_score(a, moment), _case_score(b, moment))
        for a, b in pairs
        if all(row.with_points for row in (*a, *b))
    ]
    differences = [b - a for a, b in scores]
    interval = difference_interval(differences)
    if interval is None:
        return None
    return ScoreDifference(
        cases=len(scores),
        a=fmean(a for a, _ in scores),
        b=fmean(b for _, b in scores),
        difference=fmean(differences),
        interval=interval,
    )


def _case_score(rows: Sequence[CellSummary], moment: Moment) -> float:
    """Return the mean over the repeats in each capture mode, then over these."""
    of: Callable[[CellSummary], float | None] = _SCORES[moment]
    modes: dict[str, list[float]] = {}
    for row in rows:
        modes.setdefault(row.capture_mode, []).append(of(row) or 0.0)
    return fmean(map(fmean, modes.values()))


_SCORES: dict[Moment, Callable[[CellSummary], float | None]] = {
    "first_attempt": lambda row: row.first_score,
    "after_repair": lambda row: row.score,
}
