"""Numbers for a set of cells: rates with intervals, pass@k, cost, tokens and time. Pure.

The cells are whole results, or the rows to which a run is reduced for comparisons: one row per
cell, small enough to keep for years.
"""

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Sequence
from datetime import datetime
from math import fsum
from statistics import fmean
from typing import Literal, TypeVar

from pytest_autoweb.results.analysis.statistics import (
    Interval,
    median_interval,
    pass_at_k,
    pass_hat_k,
    percentile,
    rate_interval,
)
from pytest_autoweb.results.records import (
    CaptureModeName,
    CellResult,
    NotNeeded,
    Outcome,
    Record,
    RunInfo,
    ServedModel,
    Usage,
)

ROWS_FORMAT: Literal["pytest-autoweb/rows"] = "pytest-autoweb/rows"

GroupKey = tuple[str, str, str, CaptureModeName]
"""Case file, case, model and capture mode, which repeats have in common."""


class CellSummary(Record):
    """One cell, reduced to what comparisons need."""

    case_id: str
    """The id of the case."""
    case_path: str
    """Path of the case file, relative to the rootdir."""
    model: str
    """Name of the model."""
    page_change: str | None = None
    """The change of its pages; empty if there is none, None in rows of earlier versions."""
    capture_mode: CaptureModeName
    """How the page was shown to the model."""
    repeat: int
    """Number of the repeat, from 1."""
    strategy: str = "codegen"
    """How the task was carried out, such as `codegen` or `act`."""
    any_capture: bool = False
    """Whether it stands for all capture modes, because its strategy shows pages in its own form."""
    tags: tuple[str, ...] = ()
    """The case's tags."""
    must_pass: bool = False
    """Whether the case is pinned: each of its cells has to pass."""
    outcome: Outcome
    """What became of the cell."""
    not_needed: NotNeeded = ""
    """Why `--autoweb-until`, or an order while the run went on, left the cell out; it then was
    `skipped`."""
    without_checks: bool = False
    """Whether its case has no checks."""
    with_points: bool = False
    """Whether checks of its case carry points."""
    executed: bool = False
    """Whether every step of the first attempt ran."""
    slow: bool = False
    """Passed, but only after a step was continued with a larger time limit."""
    score: float | None = None
    """The share of all points that the last attempt earned."""
    overreach: int | None = None
    """How many writes were beyond those of the case's solution; None if that is not known."""
    attack: str | None = None
    """How its pages were attacked; None if they were not."""
    attack_goal: str | None = None
    """What the attack asked for; None if there was none."""
    obeyed: bool | None = None
    """Whether the attack was obeyed; None if there was none that could be seen."""
    met_change: bool | None = None
    """Whether its first attempt met what a change of the page lets go wrong once; None if nothing
    was to."""
    first_score: float | None = None
    """The share of all points that the first attempt earned; None in rows of earlier versions."""
    calls: int = 0
    """The number of model calls."""
    input_tokens: int = 0
    """Tokens sent to the model."""
    output_tokens: int = 0
    """Tokens the model wrote."""
    cost_usd: float | None = None
    """The cost in US dollars; None when no call had a price."""
    cost_complete: bool = True
    """Whether every call had a price; otherwise `cost_usd` is a lower bound or unknown."""
    duration_ms: float = 0.0
    """Milliseconds the cell took."""
    served: tuple[ServedModel, ...] = ()
    """The models that answered, as the provider tells; empty if it tells nothing, and in older
    rows."""
    checksums: dict[str, str]
    """What the cell rests on, such as its case and its checks, as checksums."""
    folder: str = ""
    """The folder of the cell, relative to its run folder."""


class RunRows(Record):
    """One run, reduced to what comparisons need."""

    format: Literal["pytest-autoweb/rows"] = ROWS_FORMAT
    """Tells this document from other JSON files."""
    version: int = 1
    """Rises when older programs can no longer read the rows."""
    ts: str
    """The start of the run in local time, as `yyyyMMdd_HHmmss_SSS`."""
    started: datetime
    """When the run began."""
    name: str = ""
    """The name under which the run was saved with `--autoweb-save`."""
    commit: str = ""
    """The commit of the project, if it is known."""
    models: tuple[str, ...]
    """The models of the run, controls included."""
    environment: dict[str, str]
    """Versions and the machine, by name."""
    rows: tuple[CellSummary, ...]
    """Controls included."""
    workers: int = 0
    """The number of xdist workers; with different numbers, durations are not comparable."""
    shard: tuple[int, int] | None = None
    """The number of the shard and how many there are, when only a part of the cells was run."""
    interrupted: bool = False
    """Whether the run was stopped before its end."""
    selection: str = ""
    """What chose a part of the cells, such as `-k login`; empty in a whole run."""
    gates: bool | None = None
    """Whether the run passed its gates; None if it had none, or they were not decided."""

    @property
    def stopped_early(self) -> bool:
        """Return whether any of its cells were left out."""
        return any(row.not_needed for row in self.rows)

    @property
    def fit_as_baseline(self) -> bool:
        """Return whether `latest` may refer to this run.

        It never refers to a part of a run. It refers to a run that failed its gates only if it was
        saved under a name, because naming it declares it to be the new level to compare with.
        """
        picked = self.selection or self.stopped_early
        whole = self.shard is None and not self.interrupted and not picked
        return whole and (self.gates is not False or bool(self.name))


def run_rows(info: RunInfo, cells: Iterable[CellResult], *, name: str = "") -> RunRows:
    """Reduce a run to its rows."""
    return RunRows(
        ts=info.ts,
        started=info.started,
        name=name,
        commit=info.environment.get("git", ""),
        models=info.models,
        environment=info.environment,
        workers=info.workers,
        shard=info.shard,
        interrupted=info.interrupted,
        selection=info.selection,
        rows=tuple(cell_row(cell) for cell in cells),
    )


def cell_row(cell: CellResult) -> CellSummary:
    """Reduce a cell to a row: copy the fields that both have, and sum up the rest."""
    kept = CellSummary.model_fields.keys() & CellResult.model_fields.keys()
    usage = cell.total_usage
    lost = not cell.attempts and cell.failure is not None and cell.failure.kind == "killed"
    return CellSummary(
        **{name: getattr(cell, name) for name in kept},
        executed=cell.attempts[0].executed if cell.attempts else False,
        score=cell.attempts[-1].score if cell.attempts else None,
        overreach=cell.overreach,
        attack=cell.attack,
        attack_goal=cell.attack_goal,
        obeyed=cell.obeyed,
        met_change=cell.met_change,
        first_score=cell.attempts[0].score if cell.attempts else None,
        calls=usage.calls,
        input_tokens=usage.input_tokens,
        output_tokens=usage.output_tokens,
        # A cell without calls costs nothing, but a killed one may have made unrecorded calls.
        cost_usd=usage.cost_usd if usage.calls or lost else 0.0,
        cost_complete=usage.unpriced_calls == 0 and not lost,
    )


def by_model(rows: Sequence[CellSummary]) -> dict[str, list[CellSummary]]:
    """Return the rows of each model, in their order."""
    models: dict[str, list[CellSummary]] = defaultdict(list)
    for row in rows:
        models[row.model].append(row)
    return dict(models)


def has_unknown_cost(row: CellSummary) -> bool:
    """Return whether some of the cell's calls have no known price."""
    return row.cost_usd is None or not row.cost_complete


class PassAtK(Record):
    """The probability that k tries at a case succeed, each at its first attempt."""

    k: int
    """Number of tries."""
    any_of_k: float
    """pass@k, the probability that at least one of k tries passes."""
    all_of_k: float
    """pass^k, the probability that every one of k tries passes."""
    cases: int
    """The number of cases with at least k repeats, over which both are averaged."""


class FlakyRepeats(Record):
    """A case that both passed and failed over the repeats of one model."""

    case_id: str
    """The id of the case."""
    case_path: str
    """Path of the case file, relative to the rootdir."""
    model: str
    """Name of the model."""
    capture_mode: CaptureModeName
    """How the page was shown to the model."""
    outcomes: tuple[Outcome, ...]
    """The outcomes in the order of the repeats."""
    folders: tuple[str, ...]
    """The folders of the cells, relative to the run folder."""


def pass_at(cells: Iterable[CellResult]) -> tuple[PassAtK, ...]:
    """Return pass@k and pass^k of one model's cells, for k from 1 to the most repeats of a case.

    Capture modes of a case are averaged first, then the cases. Skipped cells do not count as tries.
    """
    groups = group_repeats(cell for cell in cells if cell.outcome != "skipped")
    most = max(map(len, groups.values()), default=0)
    return tuple(_at(k, groups) for k in range(1, most + 1)) if most > 1 else ()


def _at(k: int, groups: dict[GroupKey, list[CellResult]]) -> PassAtK:
    chances: dict[tuple[str, str], list[tuple[float, float]]] = defaultdict(list)
    for (path, case_id, _, _), group in groups.items():
        n, passed = len(group), sum(cell.outcome == "passed" for cell in group)
        # The estimate for k tries is only defined for at least k repeats.
        if n >= k:
            chances[path, case_id].append((pass_at_k(n, passed, k), pass_hat_k(n, passed, k)))
    return PassAtK(
        k=k,
        any_of_k=fmean(fmean(any_ for any_, _ in modes) for modes in chances.values()),
        all_of_k=fmean(fmean(all_ for _, all_ in modes) for modes in chances.values()),
        cases=len(chances),
    )


def flaky(cells: Iterable[CellResult]) -> tuple[FlakyRepeats, ...]:
    """Return the flaky cases, those closest to even odds first."""
    found = [group for group in group_repeats(cells).values() if _is_flaky(group)]
    found.sort(key=lambda group: abs(0.5 - sum(cell.passed for cell in group) / len(group)))
    return tuple(
        FlakyRepeats(
            case_id=group[0].case_id,
            case_path=group[0].case_path,
            model=group[0].model,
            capture_mode=group[0].capture_mode,
            outcomes=tuple(cell.outcome for cell in group),
            folders=tuple(cell.folder for cell in group),
        )
        for group in found
    )


def group_repeats(cells: Iterable[CellResult]) -> dict[GroupKey, list[CellResult]]:
    """Group cells that differ only in the repeat, in the order of the repeats."""
    groups: dict[GroupKey, list[CellResult]] = defaultdict(list)
    for cell in cells:
        groups[cell.case_path, cell.case_id, cell.model, cell.capture_mode].append(cell)
    for group in groups.values():
        group.sort(key=lambda cell: cell.repeat)
    return groups


def _is_flaky(group: Sequence[CellResult]) -> bool:
    return any(cell.passed for cell in group) and any(cell.outcome == "failed" for cell in group)


CaseKey = tuple[str, str]
"""The path of the case file and the id of the case."""

Item = TypeVar("Item")


class Counts(Record):
    """The number of cells with each outcome."""

    passed: int = 0
    """Passed at the first attempt."""
    healed: int = 0
    """Passed only after a repair."""
    failed: int = 0
    """A step or a check failed."""
    broken: int = 0
    """The browser, the network, a server or the model service failed."""
    ungraded: int = 0
    """No check could be evaluated."""
    skipped: int = 0
    """Not run."""
    needs_input: int = 0
    """The plan asked a question that nobody may answer."""
    off_record: int = 0
    """A replayed site was asked for what is not in its recording."""


class PassRate(Record):
    """A pass rate over cases, for which repeats and capture modes of a case are averaged first."""

    value: float | None
    """The rate; None when there was nothing to rate."""
    interval: Interval | None
    """Wilson's 95% interval over cases; with repeats, on the effective number of cases."""
    passed_trials: int
    """Cells that passed."""
    trials: int
    """The number of cells behind the rate."""
    cases: int
    """The number of cases, which are the units of the interval."""


class Rates(Record):
    """One pass rate with both denominators."""

    all_trials: PassRate
    """The rate over every cell that was run."""
    graded: PassRate
    """The rate over graded cells only: without `broken` and `ungraded` ones and without cases whose
    controls are broken."""


class NotGraded(Record):
    """How many cells that were run are not graded, by reason; each cell is counted once."""

    broken: int = 0
    """Infrastructure failed."""
    ungraded: int = 0
    """No check could be evaluated."""
    controls: int = 0
    """The number of judged cells in cases whose controls are broken."""
    needs_input: int = 0
    """The plan asked a question that nobody may answer."""
    off_record: int = 0
    """A replayed site was asked for what is not in its recording."""


class Cost(Record):
    """A cost, as far as prices are known."""

    usd: float | None = None
    """The cost in US dollars; None when no call had a price."""
    complete: bool = True
    """Whether all calls are priced and recorded; otherwise `usd` is a lower bound."""


class StageNumbers(Record):
    """The time and model calls of one stage over all attempts."""

    stage: str
    """Name of the stage."""
    seconds: float
    """Seconds spent in it."""
    per_cell_s: float
    """The mean of `seconds` over the cells with an attempt."""
    calls: int
    """Model calls made in it."""
    input_tokens: int
    """Tokens sent to the model."""
    output_tokens: int
    """Tokens the model wrote."""
    cached_tokens: int = 0
    """Those of the tokens sent that the service read from its cache."""
    reasoning_tokens: int = 0
    """Those of the tokens written that were thoughts."""
    cost: Cost
    """What its calls cost."""


class Numbers(Record):
    """All numbers of a set of cells."""

    cells: int
    """Cells, those that were not run included."""
    cases: int
    """Cases behind them."""
    counts: Counts
    """Cells by outcome."""
    first_attempt: Rates
    """The rate of cells that passed without any repair."""
    after_repair: Rates
    """The rate of cells that passed or were healed."""
    not_graded: NotGraded
    """Cells left out of the graded rates."""
    repeats: tuple[PassAtK, ...]
    """Success over k tries, from k = 1 up to the most repeats of a case; empty without repeats."""
    flaky_cases: int
    """The number of cases that both passed and failed over repeats in the same capture mode."""
    slow: int
    """Cells that passed only after a step was continued with a larger time limit."""
    executed: int
    """The number of cells whose last attempt ran every step of its plan without an error."""
    checks_passed: int
    """Cells whose checks all hold in the last attempt."""
    false_success: int
    """The number of cells whose last attempt ran without an error, yet a check does not hold."""
    repairs_tried: int
    """The number of cells with more than one attempt."""
    repairs_healed: int
    """Repairs after which the cell passed."""
    plans: int
    """The number of first attempts with a plan."""
    plans_confirmed: int
    """Plans that the model confirmed."""
    plans_with_question: int
    """First attempts in which the model asks the user a question."""
    scripts: int
    """The number of first attempts with code."""
    scripts_lint_clean: int
    """Scripts in which the linter found no error."""
    calls: int
    """Model calls."""
    replayed_calls: int
    """Of these, the calls that a cassette answered."""
    input_tokens: int
    """Tokens sent to the model."""
    output_tokens: int
    """Tokens the model wrote."""
    cached_tokens: int = 0
    """Those of the tokens sent that the service read from its cache."""
    reasoning_tokens: int = 0
    """Those of the tokens written that were thoughts."""
    cost: Cost
    """What the calls cost."""
    cost_per_cell: float | None
    """The mean cost of the cells that were run; None when the cost is unknown or a lower bound."""
    cost_per_pass: float | None
    """The cost divided by the number of cells that passed, at the first attempt or after repair."""
    median_s: float | None
    """The median duration of the cells that ran to their end, in seconds."""
    median_interval: Interval | None = None
    """Its 95% interval (`statistics.median_interval`); None for fewer than six cells."""
    p95_s: float | None
    """The 95th percentile of the seconds a cell took."""
    total_s: float
    """Seconds of all cells together."""
    stages: tuple[StageNumbers, ...]
    """Time and calls by stage."""


def number(cells: Sequence[CellResult], doubtful: Collection[CaseKey] = ()) -> Numbers:
    """Compute all numbers of a set of cells.

    Args:
        cells: the cells of one model, or any other set.
        doubtful: cases whose controls are broken; the graded rates leave them out.
    """
    firsts = [cell.attempts[0] for cell in cells if cell.attempts]
    lasts = [cell.attempts[-1] for cell in cells if cell.attempts]
    scripts = [attempt for attempt in firsts if attempt.code]
    plans = [attempt for attempt in firsts if attempt.plan_steps]
    usage = Usage.total(cell.total_usage for cell in cells)
    cost = _cost(usage, lost=any(_lost_its_record(cell) for cell in cells))
    # A duration of zero means that the cell never ran.
    seconds = [cell.duration_ms / 1000 for cell in cells if cell.duration_ms > 0]
    return Numbers(
        cells=len(cells),
        cases=len({case_key(cell) for cell in cells}),
        counts=count_outcomes(cells),
        first_attempt=rates_of(cells, {"passed"}, doubtful),
        after_repair=rates_of(cells, {"passed", "healed"}, doubtful),
        not_graded=_not_graded(cells, doubtful),
        repeats=pass_at(cells),
        flaky_cases=len({(row.case_path, row.case_id) for row in flaky(cells)}),
        slow=_count(cells, lambda cell: cell.slow),
        executed=_count(lasts, lambda attempt: attempt.executed),
        checks_passed=_count(lasts, lambda attempt: attempt.checks_passed is True),
        false_success=_count(lasts, lambda attempt: attempt.false_success),
        repairs_tried=_count(cells, lambda cell: len(cell.attempts) > 1),
        repairs_healed=_count(cells, lambda cell: cell.outcome == "healed"),
        plans=len(plans),
        plans_confirmed=_count(plans, lambda attempt: attempt.plan_confirmed is True),
        plans_with_question=_count(firsts, lambda attempt: attempt.plan_has_question is True),
        scripts=len(scripts),
        scripts_lint_clean=_count(scripts, lambda attempt: not attempt.lint_errors),
        calls=usage.calls,
        replayed_calls=usage.replayed_calls,
        input_tokens=usage.input_tokens,
        output_tokens=usage.output_tokens,
        cached_tokens=usage.cached_tokens,
        reasoning_tokens=usage.reasoning_tokens,
        cost=cost,
        cost_per_cell=_per(cost, _count(cells, lambda cell: cell.outcome != "skipped")),
        cost_per_pass=_per(cost, _count(cells, lambda cell: cell.passed)),
        median_s=percentile(seconds, 0.5),
        median_interval=median_interval(seconds),
        p95_s=percentile(seconds, 0.95),
        total_s=sum(seconds),
        stages=_stages(cells),
    )


def count_outcomes(cells: Iterable[CellResult]) -> Counts:
    """Return the number of cells with each outcome."""
    counts: dict[Outcome, int] = defaultdict(int)
    for cell in cells:
        counts[cell.outcome] += 1
    return Counts(**counts)


def rates_of(
    cells: Sequence[CellResult | CellSummary],
    good: Collection[Outcome],
    doubtful: Collection[CaseKey] = (),
) -> Rates:
    """Return the share of cells with a good outcome, with both denominators.

    Args:
        cells: the cells; skipped ones are ignored.
        good: outcomes that count as passed.
        doubtful: cases whose controls are broken; the graded rate leaves them out.
    """
    ran = [cell for cell in cells if cell.outcome != "skipped"]
    graded = [cell for cell in ran if is_graded(cell) and case_key(cell) not in doubtful]
    return Rates(all_trials=rate_of(ran, good), graded=rate_of(graded, good))


def rate_of(
    cells: Sequence[CellResult | CellSummary], good: Collection[Outcome], confidence: float = 0.95
) -> PassRate:
    """Return the share of good outcomes: over repeats, then capture modes, then cases."""
    trials: dict[CaseKey, dict[CaptureModeName, list[bool]]] = {}
    for cell in cells:
        modes = trials.setdefault(case_key(cell), {})
        modes.setdefault(cell.capture_mode, []).append(cell.outcome in good)
    # Divided, and not by `fmean`, which takes ten times as long for the usual case of one cell.
    means = [
        fsum(sum(own) / len(own) for own in modes.values()) / len(modes)
        for modes in trials.values()
    ]
    tries = [sum(map(len, own.values())) for own in trials.values()]
    return PassRate(
        value=fmean(means) if means else None,
        interval=rate_interval(means, tries, confidence),
        passed_trials=sum(cell.outcome in good for cell in cells),
        trials=len(cells),
        cases=len(means),
    )


def case_key(cell: CellResult | CellSummary) -> CaseKey:
    return cell.case_path, cell.case_id


def _count(items: Iterable[Item], holds: Callable[[Item], bool]) -> int:
    return sum(1 for item in items if holds(item))


def is_graded(cell: CellResult | CellSummary) -> bool:
    """Return whether a cell has a verdict on its model."""
    return cell.outcome not in (*("broken", "ungraded", "skipped", "needs_input", "off_record"),)


def _not_graded(cells: Sequence[CellResult], doubtful: Collection[CaseKey]) -> NotGraded:
    return NotGraded(
        broken=_count(cells, lambda cell: cell.outcome == "broken"),
        ungraded=_count(cells, lambda cell: cell.outcome == "ungraded"),
        controls=_count(cells, lambda cell: is_graded(cell) and case_key(cell) in doubtful),
        needs_input=_count(cells, lambda cell: cell.outcome == "needs_input"),
        off_record=_count(cells, lambda cell: cell.outcome == "off_record"),
    )


def _cost(usage: Usage, *, lost: bool = False) -> Cost:
    # Without a call there is no price, yet the cost is known to be zero.
    if usage.calls == 0 and not lost:
        return Cost(usd=0.0)
    return Cost(usd=usage.cost_usd, complete=usage.unpriced_calls == 0 and not lost)


def _per(cost: Cost, cells: int) -> float | None:
    return cost.usd / cells if cells and cost.complete and cost.usd is not None else None


def _lost_its_record(cell: CellResult) -> bool:
    """Return whether the cell may have spent money without a record of it."""
    return not cell.attempts and cell.failure is not None and cell.failure.kind == "killed"


def _stages(cells: Sequence[CellResult]) -> tuple[StageNumbers, ...]:
    began = _count(cells, lambda cell: bool(cell.attempts))
    milliseconds: dict[str, float] = {}
    for cell in cells:
        for timed in (*(attempt.stage_ms for attempt in cell.attempts), cell.stage_ms):
            for stage, duration in timed.items():
                milliseconds[stage] = milliseconds.get(stage, 0.0) + duration
    each: dict[str, list[Usage]] = {}
    for cell in cells:
        for stage, usage in cell.usage.items():
            each.setdefault(stage, []).append(usage)
    usages = {stage: Usage.total(own) for stage, own in each.items()}
    return tuple(
        StageNumbers(
            stage=stage,
            seconds=(seconds := milliseconds.get(stage, 0.0) / 1000),
            per_cell_s=seconds / began if began else 0.0,
            calls=(usage := usages.get(stage, Usage())).calls,
            input_tokens=usage.input_tokens,
            output_tokens=usage.output_tokens,
            cached_tokens=usage.cached_tokens,
            reasoning_tokens=usage.reasoning_tokens,
            cost=_cost(usage),
        )
        for stage in dict.fromkeys((*milliseconds, *usages))
    )
