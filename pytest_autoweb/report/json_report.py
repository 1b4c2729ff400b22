"""`report.json`: the whole run in one document with a published schema.

A run to compare or comment on may be named as such a document, a run folder or a saved run.
"""

import json
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any, Literal

from pydantic import Field, FiniteFloat, ValidationError, model_validator

from pytest_autoweb.base.errors import SettingsError
from pytest_autoweb.base.installation import asset_dir
from pytest_autoweb.base.variant_names import PERTURBATIONS
from pytest_autoweb.report.reported_agents import ReportedAgent, agents_of
from pytest_autoweb.report.summary import Summary, summarise
from pytest_autoweb.results.analysis.cell_numbers import CaseKey, RunRows, case_key, run_rows
from pytest_autoweb.results.analysis.comparison import (
    Comparison,
    compare_models,
    compare_modes,
    compare_runs,
)
from pytest_autoweb.results.analysis.correction_facts import CorrectionFacts, corrections_of
from pytest_autoweb.results.analysis.decision_facts import DecisionFacts, decision_facts
from pytest_autoweb.results.analysis.early_decision import PairDecision
from pytest_autoweb.results.analysis.execution_only import ExecutionOnly, execution_only
from pytest_autoweb.results.analysis.judge_agreement import (
    Agreement,
    PanelAgreement,
    panel_agreements,
)
from pytest_autoweb.results.analysis.past_runs import History
from pytest_autoweb.results.analysis.readiness import Readiness, readiness_of
from pytest_autoweb.results.analysis.resistance import ResistanceContrast, resistance_contrasts
from pytest_autoweb.results.analysis.robustness import Robustness, robustness_of
from pytest_autoweb.results.analysis.served import changes_of_run
from pytest_autoweb.results.analysis.stopped_early import with_early_verdicts
from pytest_autoweb.results.records import (
    CaptureModeName,
    CellResult,
    ModelDescription,
    Record,
    RunInfo,
)
from pytest_autoweb.results.runs.run_folder import RecordedRun
from pytest_autoweb.results.runs.saved_runs import load_saved_rows
from pytest_autoweb.results.runs.side_files import NO_SIDE_FILES, GateResult, Rejudging, SideFiles
from pytest_autoweb.results.runs.steering import Order

SCHEMA_VERSION = 2

Shortened = Literal["", "texts", "evidence", "same_cases", "attempts", "cells", "everything"]
"""The last reduction made to save space; each step includes the ones before it."""

MAX_ROWS = 1000
"""Rows of a panel's table that are kept."""

Scalar = str | bool | int | FiniteFloat | None
"""One value of a table or a list; None is shown as a dash."""


class PanelContent(Record):
    """What a panel shows, in this order; whatever is empty is left out."""

    note: str = ""
    """A sentence under the heading."""
    facts: dict[str, Scalar] = Field(default_factory=dict)
    """Names with their values, shown as a list."""
    columns: tuple[str, ...] = ()
    """Heads of the table."""
    rows: tuple[tuple[Scalar, ...], ...] = ()
    """Rows of the table; each has as many values as there are columns."""

    @model_validator(mode="after")
    def _rows_fit_the_columns(self) -> "PanelContent":
        for number, row in enumerate(self.rows, 1):
            if len(row) != len(self.columns):
                raise ValueError(
                    f"row {number} has {len(row)} values, but there are {len(self.columns)} columns"
                )
        return self


class ReportedPanel(PanelContent):
    """One panel of the user's own, as it stands in the report."""

    name: str
    """The name under which it was registered."""
    title: str
    """Its heading."""
    order: int
    """Its place among all panels: those with a lower number stand above it."""
    rows_left_out: int = 0
    """Rows beyond the first 1,000, which the report does not keep."""
    error: str = ""
    """Why there is nothing to show: the panel's function failed."""


class Analysis(Record):
    """What a local model said about the run."""

    prompt: str
    """The input that the model was given."""
    model: str
    text: str | None
    """The model's answer; None if it gave none."""
    error: str = ""
    """Why there is no answer."""


class CaseReport(Record):
    """A case and all its cells."""

    id: str
    """The id of the case."""
    case_path: str
    """Path of the case file, relative to the rootdir."""
    entry_url: str
    """The URL at which the task begins."""
    user_task: str
    """The task as the models were given it."""
    tags: tuple[str, ...] = ()
    """The case's tags."""
    must_pass: bool = False
    """Whether the case is pinned: each of its cells has to pass."""
    cells: tuple[CellResult, ...] = ()
    """All cells of the case, those of the controls included."""


class Report(Record):
    """The content of `report.json`."""

    format: Literal["pytest-autoweb/report"] = "pytest-autoweb/report"
    """Tells this document from other JSON files."""
    schema_version: int = SCHEMA_VERSION
    """Rises when a field changes its meaning or goes away."""
    ts: str
    """`yyyyMMdd_HHmmss_SSS`, local time."""
    started: datetime
    """When the run began."""
    duration_s: float = 0.0
    """Seconds the run took."""
    exit_status: int | None = None
    """pytest's exit code; None: the run did not come to its end."""
    interrupted: bool = False
    """Whether the run was stopped before its end."""
    workers: int = 0
    """xdist workers; 0 without xdist."""
    shard: tuple[int, int] | None = None
    """Number and count, when only a part of the cells was run."""
    selection: str = ""
    """What picked a part of the cells, such as `-k login`; empty in a whole run."""
    models: tuple[str, ...] = ()
    """The models of the run, controls included, in the order in which they were named."""
    capture_mode: CaptureModeName | None = None
    """The run's only capture mode; None with several."""
    capture_modes: tuple[CaptureModeName, ...] = ()
    """The capture modes of the run."""
    summary: Summary | None = None
    """The summary; None if it was left out to keep the report under its size limit."""
    cases: tuple[CaseReport, ...] = ()
    """The cases with their cells."""
    analysis_prompt: str = ""
    """What to ask a model that is given this file; after a local analysis, what it was asked."""
    local_analysis_model: str | None = None
    """The local model that was asked about the run; None: none was."""
    local_analysis: str | None = None
    """The local model's answer."""
    local_analysis_error: str = ""
    """Why there is no answer."""
    environment: dict[str, str] = Field(default_factory=dict)
    """Versions, the machine and the commit, by name."""
    settings: dict[str, Any] = Field(default_factory=dict)
    """Each setting with its value and where it came from."""
    model_settings: tuple[ModelDescription, ...] = ()
    """What each model is (limits, abilities, prices), and who says so."""
    agents: tuple[ReportedAgent, ...] = ()
    """The outside agents that drove cells: programs of somebody else, with what does not hold
    them."""
    readiness: Readiness | None = None
    """Several agents on the same tasks, and the elements at which they failed; None with one."""
    comparisons: tuple[Comparison, ...] = ()
    """All pairs of models of the run; then all pairs of capture modes of each model; then each
    model with itself in the baseline."""
    robustness: tuple[Robustness, ...] = ()
    """What each change of `--autoweb-perturb` costs each model."""
    resistance: tuple[ResistanceContrast, ...] = ()
    """How much more often attacks worked in one way than in another, and without fences."""
    decisions: tuple[PairDecision, ...] = ()
    """The pairs of models that were decided while the run went on, with `--autoweb-until`."""
    steered: tuple[Order, ...] = ()
    """What was ordered while the run went on, with `autoweb run ctl` or the page of the run."""
    execution: ExecutionOnly | None = None
    """What is known of cases without checks; None if there are none."""
    baseline: RunRows | None = None
    """The earlier run that was compared with."""
    gates: tuple[GateResult, ...] = ()
    """The decisions of the gates, which determine the exit status."""
    judges: tuple[Agreement, ...] = ()
    """How far the models of `judge` checks agree with people, from `--autoweb-judge-labels`."""
    judge_panels: tuple[PanelAgreement, ...] = ()
    """How far judges agree with each other, for each group that votes together."""
    decision_facts: tuple[DecisionFacts, ...] = ()
    """Statistics of the decisions of models that acted by sight."""
    corrections: tuple[CorrectionFacts, ...] = ()
    """Failure types of each model, and what corrections gained over the control arm."""
    history: History | None = None
    """What earlier runs of the storage folder say."""
    rejudging: Rejudging | None = None
    """Set when `autoweb run rejudge` gave the cells their verdicts."""
    panels: tuple[ReportedPanel, ...] = ()
    """The panels that the project added, with their content."""
    shortened: Shortened = ""
    """How far the report had to be shortened to fit its size limit."""
    notes: tuple[str, ...] = ()
    """What could not be read or had to be shortened."""


def build_report(
    run: RecordedRun, analysis: Analysis | None = None, beside: SideFiles = NO_SIDE_FILES
) -> Report:
    """Combine a run, its numbers, its side files and a local analysis into one document."""
    info = run.info
    modes = info.capture_modes
    comparisons, rows = _comparisons(run, beside), run_rows(info, run.cells)
    return Report(
        ts=info.ts,
        started=info.started,
        duration_s=info.duration_s,
        exit_status=info.exit_status,
        interrupted=info.interrupted,
        selection=info.selection,
        workers=info.workers,
        shard=info.shard,
        models=info.models,
        capture_mode=modes[0] if len(modes) == 1 else None,
        capture_modes=modes,
        summary=summarise(run, comparisons),
        cases=_cases(run.cells),
        analysis_prompt=analysis.prompt if analysis else _standing_prompt(),
        local_analysis_model=analysis.model if analysis else None,
        local_analysis=analysis.text if analysis else None,
        local_analysis_error=analysis.error if analysis else "",
        environment=info.environment,
        settings=info.settings,
        model_settings=info.model_settings,
        agents=agents_of(run.cells),
        readiness=readiness_of(run.cells),
        comparisons=comparisons,
        robustness=tuple(robustness_of(rows, PERTURBATIONS)),
        resistance=tuple(resistance_contrasts(rows.rows)),
        execution=execution_only(rows),
        decisions=beside.decisions,
        steered=beside.steered,
        baseline=beside.baseline,
        gates=beside.gates,
        judges=beside.judges,
        judge_panels=panel_agreements(run.cells),
        decision_facts=decision_facts(run.cells),
        corrections=corrections_of(run.cells),
        rejudging=beside.rejudging,
        history=beside.history,
        notes=(
            *run.notes,
            *beside.notes,
            *_changed_models(run, beside.baseline),
            *_once_for_all_modes(run),
        ),
    )


def _comparisons(run: RecordedRun, beside: SideFiles) -> tuple[Comparison, ...]:
    rows = run_rows(run.info, run.cells)
    since = compare_runs(beside.baseline, rows) if beside.baseline else ()
    models = with_early_verdicts(compare_models(rows), rows.rows, beside.decisions)
    return (*models, *compare_modes(rows), *since)


def _changed_models(run: RecordedRun, baseline: RunRows | None) -> Iterator[str]:
    changes = changes_of_run(run_rows(run.info, run.cells), baseline)
    for model, sentences in changes.items():
        yield from (f"{model}: {sentence}" for sentence in sentences)


def _once_for_all_modes(run: RecordedRun) -> Iterator[str]:
    """Yield a note on models that were run once for all capture modes, because they see none."""
    modes = run.info.capture_modes
    if len(modes) < 2:
        return
    once: dict[str, list[CellResult]] = {}
    for cell in run.cells:
        if cell.any_capture:
            once.setdefault(cell.model, []).append(cell)
    for model, cells in once.items():
        ways = dict.fromkeys(
            f"the dialect {cell.dialect}" if cell.strategy == "codegen" else f"`{cell.strategy}`"
            for cell in cells
        )
        yield (
            f"{model} was run once for all {len(modes)} capture modes (cells: {len(cells)}), "
            f"because {' and '.join(ways)} shows pages in a form of its own"
        )


def report_json_schema() -> dict[str, Any]:
    """Return the JSON Schema of `report.json`."""
    schema = Report.model_json_schema(mode="serialization")
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema}


def _cases(cells: tuple[CellResult, ...]) -> tuple[CaseReport, ...]:
    cases: dict[CaseKey, list[CellResult]] = {}
    for cell in cells:
        cases.setdefault(case_key(cell), []).append(cell)
    return tuple(
        CaseReport(
            id=case_id,
            case_path=path,
            entry_url=group[0].entry_url,
            user_task=group[0].user_task,
            tags=group[0].tags,
            must_pass=group[0].must_pass,
            cells=tuple(group),
        )
        for (path, case_id), group in cases.items()
    )


def _standing_prompt() -> str:
    path = asset_dir("templates") / "report" / "analysis_prompt.txt"
    return path.read_text(encoding="utf-8").strip()


_REPORT_FORMAT = Report.model_fields["format"].default


def load_any(
    spec: str, storage: Path, *, except_ts: str = "", notices: list[str] | None = None
) -> RunRows:
    """Return the run that `spec` names, as `load_saved_rows` does, or in a `report.json`.

    Args:
        spec: the user's text.
        storage: the storage folder.
        except_ts: the `ts` of a run to ignore, because it must not be compared with itself.
        notices: receives a sentence for every file that could not be read.

    Raises:
        RunNotFound: there is no such run.
        SettingsError: the path exists, but it is not a run.
    """
    path = Path(spec)
    if path.is_file() and _is_report(path):
        return _rows_of_report(path)
    return load_saved_rows(spec, storage, except_ts=except_ts, notices=notices)


def _is_report(path: Path) -> bool:
    try:
        document = json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError):
        return False
    return isinstance(document, dict) and document.get("format") == _REPORT_FORMAT


def _rows_of_report(path: Path) -> RunRows:
    try:
        report = Report.model_validate_json(path.read_bytes())
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        where = ".".join(map(str, first["loc"]))
        raise SettingsError(
            f"{path} is not a report of this version: {where}: {first['msg']}"
        ) from None
    if report.shortened in ("cells", "everything"):
        raise SettingsError(f"{path} was shortened and lacks cells; name its run folder instead")
    info = RunInfo(
        ts=report.ts,
        started=report.started,
        models=report.models,
        capture_modes=report.capture_modes,
        environment=report.environment,
        workers=report.workers,
        shard=report.shard,
        interrupted=report.interrupted,
        selection=report.selection,
    )
    return run_rows(info, (cell for case in report.cases for cell in case.cells))
