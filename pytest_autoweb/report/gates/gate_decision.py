"""The decision of all gates on a run, read from its folder.

A gate may inspect the baseline and earlier runs, and the run is saved for later ones. A test run
decides its gates at its end, and `autoweb run gate` decides them for a finished or merged run.
"""

from collections.abc import Iterable, Sequence
from pathlib import Path

from msgspec import Struct, field

from pytest_autoweb.base.errors import RunNotFound
from pytest_autoweb.report.foreign_text import one_line
from pytest_autoweb.report.gates.built_in_gates import GATES
from pytest_autoweb.report.gates.gate_context import Gate, GateContext, Spending
from pytest_autoweb.report.gates.gate_policy import GatePolicy
from pytest_autoweb.report.github_actions import neutral
from pytest_autoweb.report.json_report import load_any
from pytest_autoweb.report.wording import count_of
from pytest_autoweb.results.analysis.cell_numbers import RunRows, run_rows
from pytest_autoweb.results.analysis.controls import is_control
from pytest_autoweb.results.analysis.past_runs import History, history_of
from pytest_autoweb.results.runs.run_folder import NOT_RUN, RecordedRun
from pytest_autoweb.results.runs.saved_runs import save_run, saved_rows
from pytest_autoweb.results.runs.saving import json_text, write_text_atomic
from pytest_autoweb.results.runs.side_files import (
    BASELINE_FILE,
    GATES_FILE,
    HISTORY_FILE,
    GateResult,
)

_WIDEST = 400
_WORDS = {
    True: ("gate passed", "green"),
    False: ("gate FAILED", "red"),
    None: ("gate not decided", ""),
}


def evaluate_gates(
    rows: RunRows,
    policy: GatePolicy,
    *,
    baseline: RunRows | None = None,
    missing: str = "",
    history: History | None = None,
    spending: Spending | None = None,
) -> tuple[GateResult, ...]:
    """Return the results of all gates, in reading order.

    Args:
        rows: the run, its controls included; the built-in gates never judge these.
        policy: the requirements.
        baseline: the run to compare with.
        missing: the reason why there is no baseline.
        history: the findings from earlier runs.
        spending: the cost of the session's live calls.
    """
    context = GateContext(rows, policy, baseline, missing, history, spending)
    gates = sorted(GATES.values(), key=lambda gate: gate.order)
    return tuple(result for gate in gates for result in _results(gate, context))


def verdict_of(results: Iterable[GateResult]) -> bool | None:
    """Return whether the run is good enough; None if no gate reached a decision."""
    decided = [result.passed for result in results if result.passed is not None and not result.soft]
    return all(decided) if decided else None


def _results(gate: Gate, context: GateContext) -> tuple[GateResult, ...]:
    """Return the gate's results; a gate that raises has failed, and the others still decide."""
    try:
        results = tuple(gate.evaluate(context))
        for result in results:
            if not isinstance(result, GateResult):
                raise TypeError(f"it returned {result!r}, which is not a GateResult")
    except Exception as error:
        message = f"the gate could not decide: {type(error).__name__}: {error}"
        return (GateResult(name=gate.name, passed=False, message=message),)
    return results


class GateInputs(Struct, frozen=True):
    """The gates' policy and the baseline of a run.

    They are read before the run starts, so that an invalid flag fails before the run costs money.
    """

    policy: GatePolicy
    storage: Path
    baseline: RunRows | None = None
    missing: str = ""
    """The reason why there is no baseline."""
    notices: list[str] = field(default_factory=list)
    """Sentences about files that could not be read."""


class GateDecision(Struct, frozen=True):
    """The rows of a run and the results of its gates."""

    rows: RunRows
    gates: tuple[GateResult, ...]

    @property
    def failed(self) -> bool:
        return any(gate.failed for gate in self.gates)


def read_gate_inputs(policy: GatePolicy, storage: Path, *, except_ts: str = "") -> GateInputs:
    """Find the run to compare with.

    Args:
        policy: the policy, which names the run.
        storage: the folder of saved runs.
        except_ts: the `ts` of the run being judged, which must not be compared with itself.

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
        run: the run as read from its folder.
        inputs: the policy and the baseline.
        spending: the cost of the session's live calls; None for a past run.

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
            # The report must not show leftovers of an earlier decision.
            (folder / name).unlink(missing_ok=True)
        else:
            write_text_atomic(folder / name, json_text(content))
    return GateDecision(rows.model_copy(update={"gates": verdict_of(gates)}), gates)


def rows_of(run: RecordedRun) -> RunRows:
    """Return a run's rows; it counts as interrupted if some of its cells never ran."""
    rows = run_rows(run.info, run.cells)
    return rows.model_copy(update={"interrupted": rows.interrupted or _is_partial(run)})


def why_unfinished(run: RecordedRun) -> str:
    """Return why a run may not be called good whatever its gates say, or "" if it ran to its end.

    Its session would not have been green either.
    """
    status, lost = run.info.exit_status, sum(cell.reason == NOT_RUN for cell in run.cells)
    if not run.cells:
        return "the run has no cells"
    if run.info.interrupted:
        return "the run was interrupted before its end"
    if status is None:
        return "the run did not come to its end: it was killed, or still goes on"
    if status not in (0, 1):
        return f"the run did not come to its end: pytest ended with exit code {status}"
    # What a green session left out, it was told to leave out.
    if status and lost:
        return f"the run did not come to its end: {count_of(lost, 'cell')} never ran"
    return ""


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
    """Return whether some planned cells never ran, as after `-x`."""
    return any(cell.outcome == "skipped" and not is_control(cell.model) for cell in run.cells)


def gate_lines(gates: Sequence[GateResult]) -> list[tuple[str, dict[str, bool]]]:
    """Return the gates as lines for a terminal, each with its markup.

    The lines contain foreign text, so anything that a CI runner would interpret as a command is
    escaped.
    """
    lines: list[tuple[str, dict[str, bool]]] = []
    for gate in gates:
        word, colour = _WORDS[gate.passed]
        if gate.passed is False and gate.soft:
            word, colour = "soft gate failed", "yellow"
        if gate.notice:
            word, colour = "note", ""
        first = one_line(f"{word}: {gate.title}: {gate.message}", _WIDEST)
        lines.append((neutral(first), {colour: True} if colour else {}))
        shown = gate.details if gate.passed is not True else ()
        lines += [(neutral(f"  {one_line(detail, _WIDEST)}"), {}) for detail in shown]
    return lines
