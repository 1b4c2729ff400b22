"""A leaderboard over several runs, in which every number names its cells. Pure."""

from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from datetime import datetime
from hashlib import sha256
from typing import Literal

from msgspec import Struct
from pydantic import Field

from pytest_autoweb.report.summary import ModelSummary, Summary, summarise
from pytest_autoweb.results.analysis.cell_numbers import (
    CaseKey,
    PassRate,
    RunRows,
    case_key,
    cell_row,
    is_graded,
    run_rows,
)
from pytest_autoweb.results.analysis.comparison import Comparison, compare_models
from pytest_autoweb.results.analysis.controls import broken_controls, is_control, proves_change
from pytest_autoweb.results.analysis.fair_changes import fair_cells
from pytest_autoweb.results.analysis.pairing import QUESTION
from pytest_autoweb.results.analysis.served import changes_of_run
from pytest_autoweb.results.analysis.statistics import Interval
from pytest_autoweb.results.records import (
    CellResult,
    ModelDescription,
    Outcome,
    Record,
    RunInfo,
    ServedModel,
)
from pytest_autoweb.results.runs.run_folder import RecordedRun

SCHEMA_VERSION = 1


class PublishedCase(Record):
    """One case, in one of its versions."""

    case_path: str
    """Path of the case file, relative to the rootdir of its runs."""
    id: str
    """Its id; where runs have different versions of it, with that of its version."""
    user_task: str
    """The task, as the models were given it."""
    entry_url: str
    """The page it begins on."""
    tags: tuple[str, ...] = ()
    """Its tags."""
    must_pass: bool = False
    """Whether it is pinned: each of its cells has to pass."""


class PublishedCell(Record):
    """One cell, with the page that shows what happened in it."""

    run: str
    """The name of its run."""
    entry: str
    """The entry of the leaderboard it belongs to; for controls the name of the control."""
    case_path: str
    """Path of the case file, relative to the rootdir of its run."""
    case_id: str
    """The id of the case; where runs have different versions of it, with that of its version."""
    model: str
    """The model, as its run names it."""
    capture_mode: str
    """How the page was shown to the model."""
    repeat: int
    """Number of the repeat, from 1."""
    outcome: Outcome
    """What became of it."""
    reason: str
    """Why the outcome is not `passed`."""
    slow: bool
    """Passed, but only after a step was continued with a larger time limit."""
    duration_ms: float
    """Milliseconds it took."""
    served: tuple[ServedModel, ...] = ()
    """The models that answered, as the provider tells."""
    checksums: dict[str, str]
    """What it rests on, such as its case, its checks and its versions."""
    folder: str
    """Its folder, relative to the leaderboard."""
    page: str
    """The page that shows it, relative to the leaderboard."""


class PublishedRun(Record):
    """One run, and what its cells have in common."""

    name: str
    """The name under which it was published."""
    ts: str
    """The start of the run in local time, as `yyyyMMdd_HHmmss_SSS`."""
    started: datetime
    """When it began."""
    page: str
    """Its report."""
    models: tuple[str, ...]
    """Its models, controls included."""
    cells: int
    """How many cells it has."""
    workers: int
    """The number of xdist workers; with different numbers, times are not comparable."""
    environment: dict[str, str]
    """Versions and the machine, by name."""
    model_settings: tuple[ModelDescription, ...] = ()
    """What each model is, and who says so."""
    cases_sum: str
    """A checksum of all its cases and checks: with the same one, the same was asked."""
    results_sum: str
    """The checksum over the results of all its cells, as they were saved."""
    notes: tuple[str, ...] = ()
    """What could not be read, was unsafe, or is missing."""


class CellSet(Record):
    """The cells behind a number."""

    name: str
    """What it is called in `numbers`."""
    says: str
    """What belongs to it."""
    cells: tuple[int, ...]
    """The places of its cells in the leaderboard's `cells`."""


class SourcedNumber(Record):
    """One number of the leaderboard, and how it was computed from which cells."""

    entry: str
    """Whose number it is."""
    name: str
    """What it is."""
    value: float | None
    """Its value; None: unknown."""
    interval: Interval | None = None
    """Its 95% interval."""
    method: str
    """How it is computed from the cells."""
    of: str
    """The name of the set of cells it rests on."""


class Excluded(Record):
    """What some number leaves out, and why."""

    what: Literal["cell", "case", "run"]
    """What is left out."""
    name: str
    """A cell, a case, or a run, in words."""
    entry: str = ""
    """Whose numbers leave it out; empty: those of all."""
    reason: str
    """Why."""
    cell: int | None = None
    """The place of the cell in `cells`."""


class Leaderboard(Record):
    """The content of `leaderboard.json`."""

    format: Literal["pytest-autoweb/leaderboard"] = "pytest-autoweb/leaderboard"
    """Tells this document from other JSON files."""
    schema_version: int = SCHEMA_VERSION
    """Rises when a field changes its meaning or goes away."""
    title: str
    """What is compared, in its publisher's words."""
    made_with: str
    """The version of pytest-autoweb that computed it."""
    runs: tuple[PublishedRun, ...]
    """The runs."""
    summary: Summary
    """The entries with their numbers, best first, and the controls; entries are its `models`."""
    comparisons: tuple[Comparison, ...]
    """All pairs of entries on the cases they have in common."""
    sets: tuple[CellSet, ...]
    """Sets of cells that numbers rest on."""
    numbers: tuple[SourcedNumber, ...]
    """The numbers of the leaderboard with the cells behind each."""
    excluded: tuple[Excluded, ...]
    """What is left out of numbers, and why."""
    cases: tuple[PublishedCase, ...]
    """All cases, in the order of the runs."""
    cells: tuple[PublishedCell, ...] = Field(repr=False)
    """All cells of all runs, controls included."""


class NamedRun(Struct, frozen=True):
    """A run with the name under which it is published."""

    name: str
    run: RecordedRun
    results_sum: str

    @property
    def folder(self) -> str:
        """Return its folder in the published site."""
        return f"runs/{self.name}"


def leaderboard_of(runs: Sequence[NamedRun], title: str, made_with: str) -> Leaderboard:
    """Put several runs side by side.

    A model in two runs has two entries. Cases count as the same only if file, id, task and checks
    are equal: a case that changed between the runs counts as two.

    Args:
        runs: the runs; of their cells, no evidence is needed.
        title: the subject of the comparison.
        made_with: the version of this package.
    """
    entries = _entry_names(runs)
    originals = [(named, cell) for named in runs for cell in named.run.cells]
    versions = _versions([cell for _, cell in originals])
    moved = [_moved(named, cell, entries, versions) for named, cell in originals]
    comparisons = _comparisons(runs, originals, moved)
    whole = RecordedRun(runs[0].run.folder, _common_info(runs, moved), tuple(moved))
    summary = summarise(whole, comparisons)
    cells = tuple(_published(*pair) for pair in zip(originals, moved, strict=True))
    sets = tuple(_sets(moved, summary))
    return Leaderboard(
        title=title,
        made_with=made_with,
        runs=tuple(map(_published_run, runs)),
        summary=summary,
        comparisons=comparisons,
        sets=sets,
        numbers=tuple(number for row in summary.models for number in _numbers(row)),
        excluded=tuple(_excluded(runs, moved, summary, versions)),
        cases=tuple(_cases(moved)),
        cells=cells,
    )


def _cases(cells: Sequence[CellResult]) -> Iterator[PublishedCase]:
    first: dict[CaseKey, CellResult] = {}
    for cell in cells:
        first.setdefault(case_key(cell), cell)
    for (path, case_id), cell in first.items():
        yield PublishedCase(
            case_path=path,
            id=case_id,
            user_task=cell.user_task,
            entry_url=cell.entry_url,
            tags=cell.tags,
            must_pass=cell.must_pass,
        )


def _entry_names(runs: Sequence[NamedRun]) -> dict[tuple[str, str], str]:
    """Return the entry name of each run and model: the model, plus the run if several have it."""
    models = [
        (named.name, model)
        for named in runs
        for model in dict.fromkeys(cell.model for cell in named.run.cells)
    ]
    often = Counter(model for _, model in models)
    return {
        (run, model): model if often[model] == 1 or is_control(model) else f"{model} in {run}"
        for run, model in models
    }


def _question(cell: CellResult) -> tuple[str, ...]:
    return tuple(cell.checksums.get(name, "") for name in QUESTION)


def _versions(cells: Sequence[CellResult]) -> dict[CaseKey, list[tuple[str, ...]]]:
    """Return the versions of each case, in the order in which runs have them."""
    found: dict[CaseKey, dict[tuple[str, ...], None]] = {}
    for cell in cells:
        own = found.setdefault(case_key(cell), {})
        # A cell that never ran has no checksums.
        if cell.checksums:
            own[_question(cell)] = None
    return {key: list(own) for key, own in found.items()}


def _moved(
    named: NamedRun,
    cell: CellResult,
    entries: dict[tuple[str, str], str],
    versions: dict[CaseKey, list[tuple[str, ...]]],
) -> CellResult:
    """Return a cell as a leaderboard cell, with its entry, version and new folder."""
    own, case_id = versions[case_key(cell)], cell.case_id
    if len(own) > 1:
        question = _question(cell) if cell.checksums else own[0]
        case_id = f"{case_id} [{sha256('/'.join(question).encode()).hexdigest()[:6]}]"
    return cell.model_copy(
        update={
            "model": entries[named.name, cell.model],
            "case_id": case_id,
            "folder": f"{named.folder}/{cell.folder}",
        }
    )


def _common_info(runs: Sequence[NamedRun], cells: Sequence[CellResult]) -> RunInfo:
    first = min((named.run.info for named in runs), key=lambda info: info.started.timestamp())
    return RunInfo(
        ts=first.ts,
        started=first.started,
        models=tuple(dict.fromkeys(cell.model for cell in cells)),
        capture_modes=tuple(dict.fromkeys(cell.capture_mode for cell in cells)),
    )


def _comparisons(
    runs: Sequence[NamedRun],
    originals: Sequence[tuple[NamedRun, CellResult]],
    moved: Sequence[CellResult],
) -> tuple[Comparison, ...]:
    """Compare all pairs of entries by the cases' own ids, so that changes are reported as such."""
    info = _common_info(runs, moved)
    doubtful: set[CaseKey] = set()
    for named in runs:
        doubtful |= _doubtful_of(named.run)
    contestants = [
        cell_row(cell.model_copy(update={"case_id": original.case_id}))
        for (_, original), cell in zip(originals, moved, strict=True)
        # What proves that a change is fair decides on what is compared.
        if not is_control(cell.model) or proves_change(cell.model)
    ]
    rows = RunRows(
        ts=info.ts,
        started=info.started,
        models=tuple(model for model in info.models if not is_control(model)),
        environment={},
        rows=tuple(contestants),
    )
    return compare_models(rows, left_out=doubtful)


def _doubtful_of(run: RecordedRun) -> frozenset[CaseKey]:
    return broken_controls(summarise(run).controls)


def _published(original: tuple[NamedRun, CellResult], moved: CellResult) -> PublishedCell:
    named, cell = original
    key = cell.folder.removeprefix("cells/")
    return PublishedCell(
        run=named.name,
        entry=moved.model,
        case_path=cell.case_path,
        case_id=moved.case_id,
        model=cell.model,
        capture_mode=cell.capture_mode,
        repeat=cell.repeat,
        outcome=cell.outcome,
        reason=cell.reason,
        slow=cell.slow,
        duration_ms=cell.duration_ms,
        served=cell.served,
        checksums=cell.checksums,
        folder=moved.folder,
        page=f"{named.folder}/index.html#{key}",
    )


def _published_run(named: NamedRun) -> PublishedRun:
    info, cells = named.run.info, named.run.cells
    asked = sorted({(*case_key(cell), *_question(cell)) for cell in cells})
    notes = list(named.run.notes)
    for model, changes in changes_of_run(run_rows(info, cells)).items():
        notes += (f"{model}: {change}" for change in changes)
    if info.interrupted:
        notes.append("it was interrupted: cells that never started count as skipped")
    if info.shard:
        notes.append(f"it is shard {info.shard[0]} of {info.shard[1]}")
    return PublishedRun(
        name=named.name,
        ts=info.ts,
        started=info.started,
        page=f"{named.folder}/index.html",
        models=tuple(dict.fromkeys(cell.model for cell in cells)),
        cells=len(cells),
        workers=info.workers,
        environment=info.environment,
        model_settings=info.model_settings,
        cases_sum=sha256(repr(asked).encode()).hexdigest(),
        results_sum=named.results_sum,
        notes=tuple(notes),
    )


_SETS = {
    "ran": "all cells that were run",
    "graded": "graded cells: without broken and ungraded ones, and without doubtful cases",
    "common": "cells of the cases common to all entries",
    "timed": "cells that took time",
    "ran, with points": "all cells that were run of cases whose checks carry points",
    "graded, with points": "the graded ones of these",
}


def _sets(cells: Sequence[CellResult], summary: Summary) -> Iterator[CellSet]:
    doubtful = broken_controls(summary.controls)
    fair = {id(cell) for cell in fair_cells(cells)}
    counted = [(at, cell) for at, cell in enumerate(cells) if id(cell) in fair]
    for row in summary.models:
        own = [(at, cell) for at, cell in counted if cell.model == row.model]
        ran = [(at, cell) for at, cell in own if cell.outcome != "skipped"]
        chosen = {
            "ran": ran,
            "graded": [e for e in ran if is_graded(e[1]) and case_key(e[1]) not in doubtful],
            "timed": [e for e in own if e[1].duration_ms > 0],
        }
        if row.scores:
            for name in ("ran", "graded"):
                chosen[f"{name}, with points"] = [e for e in chosen[name] if e[1].with_points]
        if row.on_common:
            common = _common_cases(cells, [each.model for each in summary.models])
            chosen["common"] = [e for e in ran if case_key(e[1]) in common]
        for name, members in chosen.items():
            yield CellSet(
                name=f"{name}: {row.model}",
                says=_SETS[name],
                cells=tuple(at for at, _ in members),
            )


def _common_cases(cells: Sequence[CellResult], models: Sequence[str]) -> Collection[CaseKey]:
    ran = {
        model: {case_key(c) for c in cells if c.model == model and c.outcome != "skipped"}
        for model in models
    }
    # An entry that was not run at all has no rate to compare, as in the summary.
    own = [keys for keys in ran.values() if keys]
    return set.intersection(*own) if own else set()


_RATE = "mean over cases of the share of {good} cells (repeats first, then capture modes)"
_FIRST = _RATE.format(good="passed")
_AFTER = _RATE.format(good="passed and healed")


def _numbers(row: ModelSummary) -> Iterator[SourcedNumber]:
    numbers, entry = row.numbers, row.model

    def rate(name: str, rate: PassRate, method: str, of: str) -> SourcedNumber:
        return SourcedNumber(
            entry=entry,
            name=name,
            value=rate.value,
            interval=rate.interval,
            method=method,
            of=f"{of}: {entry}",
        )

    yield rate("first attempt", numbers.first_attempt.all_trials, _FIRST, "ran")
    yield rate("first attempt, graded", numbers.first_attempt.graded, _FIRST, "graded")
    yield rate("after repair", numbers.after_repair.all_trials, _AFTER, "ran")
    yield rate("after repair, graded", numbers.after_repair.graded, _AFTER, "graded")
    if common := row.on_common:
        named = "first attempt, cases common to all"
        yield rate(named, common.first_attempt.all_trials, _FIRST, "common")
        named = "after repair, cases common to all"
        yield rate(named, common.after_repair.all_trials, _AFTER, "common")
    yield from _score_numbers(row)
    yield SourcedNumber(
        entry=entry,
        name="median seconds",
        value=numbers.median_s,
        interval=numbers.median_interval,
        method="median over cells that took time",
        of=f"timed: {entry}",
    )
    cost = numbers.cost
    for name, value, method, of in (
        (
            "cost in US dollars",
            cost.usd,
            "sum over cells"
            if cost.complete
            else "sum over cells with a known price; the rest is unknown, so this is a lower bound",
            "ran",
        ),
        ("tokens in", numbers.input_tokens, "sum over cells", "ran"),
        ("tokens out", numbers.output_tokens, "sum over cells", "ran"),
        ("95th percentile of seconds", numbers.p95_s, "over cells that took time", "timed"),
    ):
        yield SourcedNumber(entry=entry, name=name, value=value, method=method, of=f"{of}: {entry}")


_SCORE = (
    "mean over cases with points of the share of the points (repeats first, then capture modes)"
)


def _score_numbers(row: ModelSummary) -> Iterator[SourcedNumber]:
    if row.scores is None:
        return
    scores = row.scores
    for name, found, of in (
        ("score", scores.first_attempt, "ran"),
        ("score, graded", scores.first_attempt_graded, "graded"),
        ("score after repair", scores.after_repair, "ran"),
        ("score after repair, graded", scores.after_repair_graded, "graded"),
    ):
        yield SourcedNumber(
            entry=row.model,
            name=name,
            value=found.value if found else None,
            interval=found.interval if found else None,
            method=_SCORE,
            of=f"{of}, with points: {row.model}",
        )


def _excluded(
    runs: Sequence[NamedRun],
    cells: Sequence[CellResult],
    summary: Summary,
    versions: dict[CaseKey, list[tuple[str, ...]]],
) -> Iterator[Excluded]:
    for named in runs:
        for note in _published_run(named).notes:
            yield Excluded(what="run", name=named.name, reason=note)
    for (path, case_id), own in versions.items():
        if len(own) > 1:
            yield Excluded(
                what="case",
                name=f"{path}, {case_id}",
                reason=f"it is not the same case in all runs ({len(own)} versions by their "
                "checksums), so pairs that differ in it are not compared on it",
            )
    for row in summary.models:
        for name in row.not_run:
            reason = "it was not run here: the rates on common cases leave it out"
            yield Excluded(what="case", name=name, entry=row.model, reason=reason)
    doubts = {(row.case_path, row.case_id): row.reason for row in summary.controls}
    doubtful = broken_controls(summary.controls)
    fair = {id(cell) for cell in fair_cells(cells)}
    for at, cell in enumerate(cells):
        if is_control(cell.model):
            continue
        name = f"{cell.case_id}, repeat {cell.repeat}"
        if cell.outcome == "skipped":
            reason = f"skipped, in no rate: {cell.reason}"
        elif id(cell) not in fair:
            reason = "the change never struck, or its case cannot provably be done under it"
        elif not is_graded(cell):
            reason = f"{cell.outcome}, not in the graded rates: {cell.reason}"
        elif case_key(cell) in doubtful:
            reason = f"its controls are broken, not in the graded rates: {doubts[case_key(cell)]}"
        else:
            continue
        yield Excluded(what="cell", name=name, entry=cell.model, reason=reason, cell=at)
