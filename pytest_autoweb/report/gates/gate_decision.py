"""The definition of a gate, a run's gates, and their decision on a run folder.

A gate may inspect the baseline and earlier runs, and the run is saved for later ones. A test run
decides its gates at its end, and `autoweb gate` decides them for a finished or merged run.
"""

import tomllib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, NamedTuple, Protocol, get_args

from pydantic import ConfigDict, Field, ValidationError

from pytest_autoweb.base.errors import RunNotFound, SettingsError, near_miss
from pytest_autoweb.base.specs import Written
from pytest_autoweb.base.variants import Variants
from pytest_autoweb.report.github_actions import neutral
from pytest_autoweb.report.json_report import load_any
from pytest_autoweb.report.wording import count_of, one_line
from pytest_autoweb.results.analysis.cell_numbers import CellSummary, RunRows, run_rows
from pytest_autoweb.results.analysis.comparison import Comparison, compare_runs
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
from pytest_autoweb.settings.options import percent, share_problem
from pytest_autoweb.settings.run_settings import Settings

TABLE = "tool.autoweb.groups"

AFTER_THE_BUILT_IN_ONES = 10_000
"""The default order of a gate."""


class GroupMember(Protocol):
    """A cell or its row, with the fields that groups need."""

    @property
    def case_id(self) -> str:
        """Return the case's id."""
        ...

    @property
    def tags(self) -> tuple[str, ...]:
        """Return the case's tags."""
        ...


class CaseGroup(Written):
    """One group: the cases that belong to it, and what its gates demand of them."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    name: str
    tags: list[str] = Field(default_factory=list)
    """A case with one of these tags belongs to the group."""
    cases: list[str] = Field(default_factory=list)
    """A case whose id fits one of these patterns (`*`, `?`, `[ab]`) belongs to it as well."""
    min_pass_rate: float | None = Field(default=None, ge=0, le=100)
    """The least pass rate of first attempts, in percent."""
    must_pass: bool = False
    """Whether every cell has to pass."""
    soft: bool = False
    """Failures are reported but do not fail the run, and other gates leave these cases out."""

    def has(self, member: GroupMember) -> bool:
        """Return whether a case belongs to the group."""
        return bool(set(self.tags) & set(member.tags)) or any(
            fnmatchcase(member.case_id, pattern) for pattern in self.cases
        )


def read_groups(pyproject: Path) -> tuple[CaseGroup, ...]:
    """Return the groups in the file's order; none if the file is missing.

    Raises:
        SettingsError: the file is not valid TOML, or a table has an invalid key or value.
    """
    try:
        data: Any = tomllib.loads(pyproject.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return ()
    except OSError as error:
        raise SettingsError(f"{pyproject}: {error.strerror or error}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise SettingsError(f"{pyproject}: not valid TOML: {error}") from None
    for key in TABLE.split("."):
        data = data.get(key, {}) if isinstance(data, dict) else {}
    if not isinstance(data, dict):
        raise SettingsError(f"{pyproject}: [{TABLE}] has to hold one table per group")
    return tuple(_group(name, table, pyproject) for name, table in data.items())


def _group(name: str, table: Any, pyproject: Path) -> CaseGroup:
    where = f"{pyproject}: [{TABLE}.{name}]"
    if not isinstance(table, Mapping):
        raise SettingsError(f"{where}: has to be a table of {_listed_keys()}")
    for key in table:
        # Checked here because pydantic's message about an unknown key cannot suggest the nearest
        # valid one.
        if key not in _KEYS:
            raise SettingsError(f"{where}: unknown key {key!r}{near_miss(key, _KEYS)}")
    try:
        least = _least_rate(table.get("min_pass_rate"))
    except ValueError as error:
        raise SettingsError(f"{where}: min_pass_rate: {error}") from None
    try:
        group = CaseGroup.model_validate({**table, "name": name, "min_pass_rate": least})
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        field = ".".join(map(str, first["loc"]))
        raise SettingsError(f"{where}: {field}: {first['msg']}") from None
    if not (group.tags or group.cases):
        raise SettingsError(f"{where}: no case can belong to it; give `tags` or `cases`")
    if group.min_pass_rate is None and not (group.must_pass or group.soft):
        raise SettingsError(
            f"{where}: asks for nothing; give `min_pass_rate`, `must_pass` or `soft`"
        )
    return group


def _least_rate(given: Any) -> Any:
    """Return the rate of a table, which may also be a text such as `90%`."""
    if isinstance(given, str):
        return percent(given)
    if isinstance(given, int | float) and (problem := share_problem(given)):
        raise ValueError(f"{problem}, in quotes")
    return given


def _listed_keys() -> str:
    return ", ".join(f"`{key}`" for key in _KEYS)


def empty_group_warning(group: CaseGroup, members: Iterable[GroupMember]) -> str:
    """Return a warning that the group is empty, with the nearest existing tag as a suggestion."""
    known = sorted({tag for member in members for tag in member.tags})
    unknown = [tag for tag in group.tags if tag not in known]
    guess = near_miss(unknown[0], known) if unknown and known else ""
    return f"no case of this run belongs to the group{guess}"


_KEYS = tuple(field for field in CaseGroup.model_fields if field != "name")


Metric = Literal["pass_rate", "cost", "duration"]
METRICS: tuple[Metric, ...] = get_args(Metric)


class Pinnable(GroupMember, Protocol):
    """A cell or its row."""

    @property
    def must_pass(self) -> bool:
        """Return whether its case is pinned."""
        ...


@dataclass(frozen=True, slots=True)
class GatePolicy:
    """The requirements on a run."""

    min_pass_rate: float | None = None
    """The least pass rate of first attempts, in percent."""
    groups: tuple[CaseGroup, ...] = ()
    limits: Mapping[Metric, float] = field(default_factory=dict)
    """The allowed deterioration of each metric in percent: percentage points for the pass rate, a
    relative change for the others."""
    compare: str = ""
    """The run to compare with; empty when there is none."""
    baseline_days: int = 90
    max_cost: float | None = None
    allow_unpriced: bool = False

    @property
    def asks_anything(self) -> bool:
        """Return whether a flag or a table sets any requirement beyond each cell passing."""
        return self.min_pass_rate is not None or bool(self.groups or self.limits)

    def groups_of(self, member: GroupMember) -> tuple[CaseGroup, ...]:
        """Return the groups that the case belongs to."""
        return tuple(group for group in self.groups if group.has(member))

    def is_pinned(self, member: Pinnable) -> bool:
        """Return whether each of the case's cells has to pass."""
        return member.must_pass or any(
            group.must_pass and not group.soft for group in self.groups_of(member)
        )

    def is_soft(self, member: Pinnable) -> bool:
        """Return whether the case is only reported, because all its groups are soft."""
        groups = self.groups_of(member)
        return bool(groups) and not member.must_pass and all(group.soft for group in groups)

    def decides_on(self, member: Pinnable) -> bool:
        """Return whether a gate, not the cell alone, decides what a failure means."""
        if self.is_pinned(member):
            return False
        if self.min_pass_rate is not None or "pass_rate" in self.limits:
            return True
        groups = self.groups_of(member)
        return any(group.soft or group.min_pass_rate is not None for group in groups)


def read_policy(settings: Settings) -> GatePolicy:
    """Read the gates of a test run.

    Raises:
        SettingsError: a flag or a group's table is wrong.
    """
    return GatePolicy(
        min_pass_rate=settings.min_pass_rate,
        groups=read_groups(settings.rootdir / "pyproject.toml"),
        limits=read_limits(settings.compare_fail, "--autoweb-compare-fail"),
        # A limit on changes needs a run to compare with; without one it would never decide.
        compare=settings.compare or ("latest" if settings.compare_fail else ""),
        baseline_days=settings.baseline_days,
        max_cost=settings.max_cost,
        allow_unpriced=settings.allow_unpriced,
    )


def read_limits(text: str, flag: str) -> Mapping[Metric, float]:
    """Read limits such as `pass_rate:5%,cost:20%` as percent per metric.

    Raises:
        SettingsError: a part is invalid; the message names it and the allowed values.
    """
    limits: dict[Metric, float] = {}
    for part in filter(None, (part.strip() for part in text.split(","))):
        name, colon, amount = (piece.strip() for piece in part.partition(":"))
        if name not in METRICS:
            guess = near_miss(name, METRICS)
            if not colon and _number(name) is not None:
                guess = f"; name the metric, as in 'pass_rate:{_as_percent(name)}'{guess}"
            raise SettingsError(f"{flag}: {name!r} cannot be compared{guess}")
        if name in limits:
            raise SettingsError(f"{flag}: {name!r} is given twice")
        limits[name] = _limit(name, amount, f"{flag}: {part!r}")
    return limits


def _limit(metric: str, text: str, where: str) -> float:
    value = _number(text)
    if value is not None and text.endswith("%"):
        return value
    example = "pass_rate:5%,cost:20%" if value is None else f"{metric}:{_as_percent(text)}"
    raise SettingsError(f"{where}: needs a percentage, as in '{example}'")


def _number(text: str) -> float | None:
    """Return the number before an optional percent sign, or None."""
    try:
        value = float(text.removesuffix("%"))
    except ValueError:
        return None
    return value if 0 <= value < 1e6 else None


def _as_percent(text: str) -> str:
    """Return a number as a percentage: one without a sign and below 1 is meant as a share."""
    value = _number(text) or 0.0
    return f"{value * 100:g}%" if value < 1 and not text.endswith("%") else f"{value:g}%"


def groups_file(path: Path) -> tuple[CaseGroup, ...]:
    """Read the groups of an explicitly named file, which must exist.

    Raises:
        SettingsError: it does not exist, or is invalid.
    """
    if not path.is_file():
        raise SettingsError(f"there is no file {path} to read groups from")
    return read_groups(path)


class Spending(NamedTuple):
    """The cost of a session's live calls."""

    usd: float
    refused: int
    """Calls that were not made because of the cap."""


@dataclass(frozen=True)
class GateContext:
    """Everything that a gate may base its decision on; immutable."""

    run: RunRows
    """The whole run, controls included."""
    policy: GatePolicy
    """The requirements from flags and groups."""
    baseline: RunRows | None = None
    """The run to compare with."""
    missing: str = ""
    """Why there is no baseline."""
    history: History | None = None
    """Findings from earlier runs in the storage folder."""
    spending: Spending | None = None
    """The cost of the session's live calls; None for a past run."""

    @cached_property
    def contestants(self) -> tuple[CellSummary, ...]:
        """Return the run's rows without those of the controls."""
        return tuple(row for row in self.run.rows if not is_control(row.model))

    @cached_property
    def hard(self) -> tuple[CellSummary, ...]:
        """Return the contestants' rows without cases that belong only to soft groups."""
        return tuple(row for row in self.contestants if not self.policy.is_soft(row))

    @cached_property
    def compared(self) -> RunRows:
        """Return the run for comparison with the baseline: without the cases of soft groups."""
        # The controls stay, because the comparison leaves out cases whose controls are broken.
        controls = tuple(row for row in self.run.rows if is_control(row.model))
        return self.run.model_copy(update={"rows": (*self.hard, *controls)})

    @cached_property
    def pairs(self) -> tuple[Comparison, ...]:
        """Return each model compared with itself in the baseline; empty without a baseline."""
        return () if self.baseline is None else tuple(compare_runs(self.baseline, self.compared))


@dataclass(frozen=True, slots=True)
class Gate:
    """One rule that a run has to satisfy.

    `evaluate` returns a result for each decision, such as one for each model, and nothing where
    the rule does not apply.
    """

    name: str
    summary: str
    evaluate: Callable[[GateContext], Iterable[GateResult]]
    order: int = AFTER_THE_BUILT_IN_ONES
    """Gates with a lower number come first in the report."""


GATES: Variants[Gate] = Variants("gate")


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


@dataclass(frozen=True, slots=True)
class GateInputs:
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


@dataclass(frozen=True, slots=True)
class GateDecision:
    """The rows of a run and the results of its gates."""

    rows: RunRows
    gates: tuple[GateResult, ...]

    @property
    def failed(self) -> bool:
        """Return whether a gate fails the run."""
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


_WIDEST = 400
_WORDS = {
    True: ("gate passed", "green"),
    False: ("gate FAILED", "red"),
    None: ("gate not decided", ""),
}
