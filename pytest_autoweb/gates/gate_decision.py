"""Judges a run folder by its gates, beside the baseline and earlier runs, and saves the run.

A test run does this at its end, and `autoweb gate` does it for a finished or merged run.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from pytest_autoweb.analysis.cell_numbers import RunRows, run_rows
from pytest_autoweb.analysis.past_runs import history_of
from pytest_autoweb.analysis.verdict_validity import is_control
from pytest_autoweb.errors import RunNotFound
from pytest_autoweb.gates.gate_context import Spending, evaluate_gates, verdict_of
from pytest_autoweb.gates.gate_policy import GatePolicy
from pytest_autoweb.report.ci_formats import neutral
from pytest_autoweb.report.run_argument import load_any
from pytest_autoweb.report.wording import one_line
from pytest_autoweb.runs.run_folder import RecordedRun
from pytest_autoweb.runs.saving import json_text, write_text_atomic
from pytest_autoweb.runs.side_files import BASELINE_FILE, GATES_FILE, HISTORY_FILE, GateResult
from pytest_autoweb.runs.storage import save_run, saved_rows


@dataclass(frozen=True, slots=True)
class GateInputs:
    """The gates' policy and the baseline of a run.

    They are read before the run starts, so that nobody pays for a run with an invalid flag.
    """

    policy: GatePolicy
    storage: Path
    baseline: RunRows | None = None
    missing: str = ""
    """The reason why there is no baseline."""
    notices: list[str] = field(default_factory=list)
    """Sentences about files that could not be read."""


@dataclass(frozen=True, slots=True)
class GateDecision:
    """The rows of a run and the results of its gates."""

    rows: RunRows
    gates: tuple[GateResult, ...]

    @property
    def failed(self) -> bool:
        """Tell whether a gate fails the run."""
        return any(gate.failed for gate in self.gates)


def read_gate_inputs(policy: GatePolicy, storage: Path, *, except_ts: str = "") -> GateInputs:
    """Find the run to compare with.

    Args:
        policy: the policy, which names the run.
        storage: the folder of saved runs.
        except_ts: the `ts` of the run to be judged, which must not be compared with itself.

    Raises:
        SettingsError: the run to compare with exists but cannot be read.
    """
    inputs = GateInputs(policy, storage)
    if not policy.compare:
        return inputs
    try:
        baseline = load_any(policy.compare, storage, except_ts=except_ts, notices=inputs.notices)
    except RunNotFound as error:
        return GateInputs(policy, storage, None, str(error), inputs.notices)
    return GateInputs(policy, storage, baseline, "", inputs.notices)


def decide(run: RecordedRun, inputs: GateInputs, spending: Spending | None = None) -> GateDecision:
    """Judge a run, and write baseline, history and gates into its folder for the report.

    Args:
        run: the run as it was read from its folder.
        inputs: the policy and the baseline.
        spending: the cost of the session's live calls; None for a run of the past.

    Raises:
        OSError: the folder cannot be written.
    """
    folder, rows = run.folder, rows_of(run)
    earlier = saved_rows(inputs.storage, except_ts=rows.ts, notices=inputs.notices)
    history = history_of(earlier, rows) if earlier else None
    gates = evaluate_gates(
        rows,
        inputs.policy,
        baseline=inputs.baseline,
        missing=inputs.missing,
        history=history,
        spending=spending,
    )
    beside = {BASELINE_FILE: inputs.baseline, HISTORY_FILE: history, GATES_FILE: gates or None}
    for name, content in beside.items():
        if content is None:
            # The report must not show what an earlier decision left here.
            (folder / name).unlink(missing_ok=True)
        else:
            write_text_atomic(folder / name, json_text(content))
    return GateDecision(rows.model_copy(update={"gates": verdict_of(gates)}), gates)


def rows_of(run: RecordedRun) -> RunRows:
    """Return the rows of a run, which counts as interrupted if some of its cells never ran."""
    rows = run_rows(run.info, run.cells)
    return rows.model_copy(update={"interrupted": rows.interrupted or _is_partial(run)})


def keep(rows: RunRows, storage: Path, *, name: str, autosave: bool) -> tuple[Path | None, str]:
    """Save the run if that was requested; return its path, or why it was not saved.

    A part of a run (a shard, or an interrupted run) is only saved under a name.

    Raises:
        OSError: the folder cannot be written.
    """
    if not rows.rows:
        return None, "not saved, because there are no cells" if name or autosave else ""
    if name:
        return save_run(rows.model_copy(update={"name": name}), storage), ""
    if not autosave:
        return None, ""
    # Saved without a name, it would become the run with which the next one is compared.
    if rows.interrupted or rows.shard:
        part = "a shard" if rows.shard else "not run to its end"
        return None, f"not saved, because it is {part}; give it a name to save it anyway"
    return save_run(rows, storage), ""


def _is_partial(run: RecordedRun) -> bool:
    """Tell whether planned cells were never run, as after `-x`."""
    return any(cell.outcome == "skipped" and not is_control(cell.model) for cell in run.cells)


def gate_lines(gates: Sequence[GateResult]) -> list[tuple[str, dict[str, bool]]]:
    """Return the gates as lines for a terminal, each with its markup.

    The lines hold foreign text, so everything that a CI runner would obey as a command is defused.
    """
    lines: list[tuple[str, dict[str, bool]]] = []
    for gate in gates:
        word, colour = _WORDS[gate.passed]
        if gate.passed is False and gate.soft:
            word, colour = "soft gate failed", "yellow"
        first = one_line(f"{word}: {gate.title}: {gate.message}", _WIDEST)
        lines.append((neutral(first), {colour: True} if colour else {}))
        shown = gate.details if gate.passed is not True else ()
        lines += [(neutral(f"  {one_line(detail, _WIDEST)}"), {}) for detail in shown]
    return lines


_WIDEST = 400
_WORDS = {
    True: ("gate passed", "green"),
    False: ("gate FAILED", "red"),
    None: ("gate not decided", ""),
}
