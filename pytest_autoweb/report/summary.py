"""The run at a glance: a row per model, best first, controls, the matrix, the slow cells. Pure."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence

from pytest_autoweb.results.analysis.cell_numbers import (
    CaseKey,
    Counts,
    FlakyRepeats,
    Numbers,
    PassRate,
    Rates,
    case_key,
    count_outcomes,
    flaky,
    number,
    rates_of,
)
from pytest_autoweb.results.analysis.chance import (
    AboveChance,
    Discrimination,
    above_chance,
    discrimination,
    floors,
)
from pytest_autoweb.results.analysis.comparison import Comparison
from pytest_autoweb.results.analysis.controls import (
    ControlRow,
    broken_controls,
    control_rows,
    is_control,
)
from pytest_autoweb.results.analysis.fair_changes import fair_cells
from pytest_autoweb.results.analysis.limits import LimitShare, limits_of
from pytest_autoweb.results.analysis.price import PriceOfPass, oracle_actions, price_of
from pytest_autoweb.results.analysis.resistance import (
    Resistance,
    resistance_of,
    unfair_attacks,
)
from pytest_autoweb.results.analysis.restraint import Restraint, restraint_of
from pytest_autoweb.results.analysis.scores import ModelScores, model_scores
from pytest_autoweb.results.analysis.served import served_of
from pytest_autoweb.results.analysis.statistics import percentile
from pytest_autoweb.results.records import (
    CaptureModeName,
    CellResult,
    Outcome,
    Record,
    ServedModel,
)
from pytest_autoweb.results.runs.run_folder import RecordedRun

LISTED = 20
"""Limit on listed cells with a continued step."""
LONGEST = 5
"""Number of the longest other cells to list."""


class SlowCell(Record):
    """One cell that took long."""

    case_id: str
    """The id of the case."""
    case_path: str
    """Path of the case file, relative to the rootdir."""
    model: str
    """Name of the model."""
    capture_mode: CaptureModeName
    """How the page was shown to the model."""
    repeat: int
    """Number of the repeat, from 1."""
    outcome: Outcome
    """What became of the cell."""
    continued: bool
    """Whether a step ran out of time once and was continued with a larger limit."""
    seconds: float
    """Seconds the cell took."""
    median_s: float
    """The median duration of the model's cells, in seconds."""
    folder: str
    """The folder of the cell, relative to the run folder."""


def slowest(cells: Sequence[CellResult]) -> tuple[SlowCell, ...]:
    """Return cells with a continued step, then the longest others, each group longest first."""
    times: dict[str, list[float]] = defaultdict(list)
    for cell in cells:
        if cell.duration_ms > 0:
            times[cell.model].append(cell.duration_ms / 1000)
    ordered = sorted(cells, key=lambda cell: -cell.duration_ms)
    continued = [cell for cell in ordered if cell.slow][:LISTED]
    longest = [cell for cell in ordered if not cell.slow and cell.duration_ms > 0][:LONGEST]
    return tuple(
        SlowCell(
            case_id=cell.case_id,
            case_path=cell.case_path,
            model=cell.model,
            capture_mode=cell.capture_mode,
            repeat=cell.repeat,
            outcome=cell.outcome,
            continued=cell.slow,
            seconds=cell.duration_ms / 1000,
            median_s=percentile(times.get(cell.model, []), 0.5) or 0.0,
            folder=cell.folder,
        )
        for cell in (*continued, *longest)
    )


class CaptureSummary(Record):
    """The numbers of a model in one of several capture modes."""

    capture_mode: CaptureModeName
    """How the page was shown to the model."""
    numbers: Numbers
    """The model's numbers in this capture mode."""


class CommonRates(Record):
    """The rates of a model on the cases that all models of the run were run on."""

    cases: int
    """The number of these cases; 0 if no case was run on all models."""
    first_attempt: Rates
    """The rate of cells that passed without any repair."""
    after_repair: Rates
    """The rate of cells that passed or were healed."""


class ModelSummary(Record):
    """One row of the leaderboard, with the numbers of a model."""

    model: str
    """Name of the model."""
    numbers: Numbers
    """The model's numbers over all its cells but those that say nothing of a change."""
    unfair: int = 0
    """The number of cells under a change of the page that say nothing of the model: it never struck
    them, or their cases cannot provably be done under it."""
    by_capture: tuple[CaptureSummary, ...] = ()
    """The numbers for each capture mode, if the run used several."""
    on_common: CommonRates | None = None
    """The rates on the cases common to all models, if the models were run on different ones."""
    above_chance: AboveChance | None = None
    """The model's rate beside that of random actions; None where these were not run."""
    served: tuple[ServedModel, ...] = ()
    """The models that answered to its name, as the provider tells."""
    price: PriceOfPass | None = None
    """What a passed cell took; None if none passed."""
    scores: ModelScores | None = None
    """What share of the points it earns; None where no case has checks with points."""
    restraint: Restraint | None = None
    """What it wrote beyond the solutions of its cases; None if that is not known of any."""
    resistance: Resistance | None = None
    """How it bore attacks by the page; None where there were none."""
    limits: LimitShare | None = None
    """How many attempts a limit ended; None if there were no attempts."""
    not_run: tuple[str, ...] = ()
    """The ids of cases that were run on another model and not on this one."""


class MatrixCell(Record):
    """One cell of the matrix."""

    model: str
    """Name of the model."""
    capture_mode: CaptureModeName
    """How the page was shown to the model."""
    repeat: int
    """Number of the repeat, from 1."""
    outcome: Outcome
    """What became of the cell."""
    without_checks: bool = False
    """Whether its case has no checks: if it is ungraded, every step ran."""
    slow: bool
    """Passed, but only after a step was continued with a larger time limit."""
    folder: str
    """The cell's folder, below the run folder."""


class MatrixRow(Record):
    """One case and its cells, without controls."""

    case_id: str
    """The id of the case."""
    case_path: str
    """Path of the case file, relative to the rootdir."""
    tags: tuple[str, ...]
    """The case's tags."""
    must_pass: bool
    """Whether the case is pinned: each of its cells has to pass."""
    cells: tuple[MatrixCell, ...]
    """The case's cells, without those of the controls."""


class Summary(Record):
    """The content of the report's first page."""

    counts: Counts
    """The outcomes of all cells without controls."""
    models: tuple[ModelSummary, ...]
    """The models, best first-attempt rate first."""
    verdict: str
    """The verdict on the comparison of the two leading models, in one sentence."""
    decisive: bool | None
    """Whether that comparison is decisive; None if there is nothing to compare."""
    controls: tuple[ControlRow, ...]
    """The controls of each case, broken ones first."""
    discrimination: Discrimination | None = None
    """Which cases tell the models apart; None with a single model."""
    flaky: tuple[FlakyRepeats, ...] = ()
    """Cases that are flaky over the repeats of this run, those closest to even odds first."""
    slow: tuple[SlowCell, ...] = ()
    """The cells that needed a larger time limit, then the longest others."""
    matrix: tuple[MatrixRow, ...]
    """One row for each case."""


def summarise(run: RecordedRun, comparisons: Sequence[Comparison] = ()) -> Summary:
    """Compute the summary of a run.

    Args:
        run: the run.
        comparisons: the comparisons of the report; the one of the leading models gives the verdict.
    """
    contestants = [cell for cell in run.cells if not is_control(cell.model)]
    controls = control_rows(run.cells)
    doubtful = broken_controls(controls)
    every = _models(run, contestants, doubtful, floors(controls))
    rows = _on_common_cases(every, contestants, doubtful)
    models = tuple(sorted(rows, key=_rank))
    decisive, verdict = _verdict(models, comparisons)
    return Summary(
        counts=count_outcomes(contestants),
        models=models,
        verdict=verdict,
        decisive=decisive,
        controls=controls,
        discrimination=discrimination(contestants),
        flaky=flaky(contestants),
        slow=slowest(contestants),
        matrix=tuple(_matrix(contestants)),
    )


def _models(
    run: RecordedRun,
    cells: Sequence[CellResult],
    doubtful: Collection[CaseKey],
    floor: Mapping[CaseKey, float],
) -> Iterable[ModelSummary]:
    named = [model for model in run.info.models if not is_control(model)]
    several = len({cell.capture_mode for cell in cells}) > 1
    oracle = oracle_actions(run.cells)
    unfair = unfair_attacks(run.cells)
    fair = {id(cell) for cell in fair_cells(run.cells)}
    for model in dict.fromkeys((*named, *(cell.model for cell in cells))):
        every = [cell for cell in cells if cell.model == model]
        own = [cell for cell in every if id(cell) in fair]
        modes = dict.fromkeys(cell.capture_mode for cell in own)
        yield ModelSummary(
            model=model,
            numbers=number(own, doubtful),
            unfair=len(every) - len(own),
            above_chance=above_chance(own, floor, doubtful),
            served=served_of(own),
            price=price_of(own, oracle),
            scores=model_scores(own, doubtful),
            restraint=restraint_of(own),
            resistance=resistance_of(own, unfair),
            limits=limits_of(own),
            by_capture=tuple(
                CaptureSummary(
                    capture_mode=mode,
                    numbers=number([c for c in own if c.capture_mode == mode], doubtful),
                )
                for mode in modes
                if several
            ),
        )


def _on_common_cases(
    rows: Iterable[ModelSummary], cells: Sequence[CellResult], doubtful: Collection[CaseKey]
) -> list[ModelSummary]:
    """Add the rates on common cases, if the models were run on different ones."""
    models = list(rows)
    ran = [cell for cell in cells if cell.outcome != "skipped"]
    cases = {row.model: {case_key(c) for c in ran if c.model == row.model} for row in models}
    every = dict.fromkeys(case_key(cell) for cell in ran)
    # A model that was not run at all has no rate to compare.
    common = set(every).intersection(*(own for own in cases.values() if own))
    if len(common) == len(every):
        return models
    return [
        row.model_copy(
            update={
                "on_common": _common_rates(
                    [c for c in ran if c.model == row.model], common, doubtful
                ),
                "not_run": tuple(key[1] for key in every if key not in cases[row.model]),
            }
        )
        for row in models
    ]


def _common_rates(
    cells: Sequence[CellResult], common: Collection[CaseKey], doubtful: Collection[CaseKey]
) -> CommonRates:
    own = [cell for cell in cells if case_key(cell) in common]
    return CommonRates(
        cases=len(common),
        first_attempt=rates_of(own, {"passed"}, doubtful),
        after_repair=rates_of(own, {"passed", "healed"}, doubtful),
    )


def _rank(row: ModelSummary) -> tuple[float, float, str]:
    first, after = row.numbers.first_attempt.all_trials, row.numbers.after_repair.all_trials
    return -_or_lowest(first), -_or_lowest(after), row.model


def _or_lowest(rate: PassRate) -> float:
    return -1.0 if rate.value is None else rate.value


def _verdict(
    models: Sequence[ModelSummary], comparisons: Sequence[Comparison]
) -> tuple[bool | None, str]:
    leaders = {row.model for row in models[:2]}
    if len(models) == 1:
        # With a single model, its two modes are what the run compares.
        modes = [pair for pair in comparisons if pair.kind == "modes"]
        if len(modes) != 1:
            return None, ""
        return modes[0].decisive, _with_sides(modes[0], modes[0].a.label, modes[0].b.label)
    for pair in comparisons:
        if pair.kind == "models" and {pair.a.model, pair.b.model} == leaders:
            return pair.decisive, _with_sides(pair, models[0].model, models[1].model)
    return None, ""


def _with_sides(pair: Comparison, first: str, second: str) -> str:
    """Return the verdict with the two sides in front, unless a decisive one already names them."""
    return pair.verdict if pair.decisive else f"{first} against {second}: {pair.verdict}"


def _matrix(cells: Sequence[CellResult]) -> Iterable[MatrixRow]:
    cases: dict[CaseKey, list[CellResult]] = {}
    for cell in cells:
        cases.setdefault(case_key(cell), []).append(cell)
    for (path, case_id), group in cases.items():
        yield MatrixRow(
            case_id=case_id,
            case_path=path,
            tags=group[0].tags,
            must_pass=group[0].must_pass,
            cells=tuple(
                MatrixCell(
                    model=cell.model,
                    capture_mode=cell.capture_mode,
                    repeat=cell.repeat,
                    outcome=cell.outcome,
                    without_checks=cell.without_checks,
                    slow=cell.slow,
                    folder=cell.folder,
                )
                for cell in group
            ),
        )
