"""Queries about runs, cells, tool calls and corrections, and the results of models over time.

Rates come with their counts.
"""

import datetime as dt
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import Annotated, Any

from pydantic import ConfigDict, Field
from pydantic.alias_generators import to_camel
from sqlalchemy import Connection, Label, Select, func, select
from sqlalchemy.orm import InstrumentedAttribute

from pytest_autoweb.base.specs import Count
from pytest_autoweb.results.analysis.cell_numbers import CellSummary as Reduced
from pytest_autoweb.results.analysis.cell_numbers import rates_of
from pytest_autoweb.results.analysis.comparison_sides import cost_of
from pytest_autoweb.results.analysis.counted_outcomes import GOOD
from pytest_autoweb.results.analysis.statistics import Interval, wilson
from pytest_autoweb.results.records import Record
from pytest_autoweb.store.same_calls import recorded_as
from pytest_autoweb.store.sync import count_if, ok, share
from pytest_autoweb.store.table_rows import clean
from pytest_autoweb.store.tables import (
    AttemptRow,
    CellRow,
    CheckRow,
    ChoiceRecord,
    CorrectionRecord,
    DailyMetrics,
    RunRow,
    ToolCallRecord,
    ToolReliability,
)

Row = dict[str, Any]
Fraction = Annotated[float, Field(ge=0, le=1)]


class Served(Record):
    """Base of what REST sends as it is, where the names of fields are in camelCase."""

    model_config = ConfigDict(
        alias_generator=to_camel,
        validate_by_name=True,
        validate_by_alias=True,
        # FastAPI requires fully built models.
        defer_build=False,
    )


class ModelInRun(Served):
    """The results of one model in one run, a point of its trend."""

    run_id: str
    started_at: dt.datetime
    commit: str
    model: str
    cells: Count
    cases: Count
    """The number of cases, which are the units of the interval."""
    pass_rate: Fraction | None
    """The share of cells that passed at the first attempt, among all cells that were run."""
    pass_interval: Interval | None
    after_repair_rate: Fraction | None
    cost_usd: float | None
    """The cost in US dollars; None when no call had a price."""
    cost_complete: bool
    failure_types: dict[str, int]
    """How many cells failed in each way."""


class RunSummary(Served):
    """One run with the counts of its cells."""

    id: str
    ts: str
    started_at: dt.datetime
    duration_s: float
    commit: str
    interrupted: bool
    models: tuple[str, ...]
    cells: Count
    """The number of cells, including controls."""
    passed: Count
    """The number of cells that passed, healed ones included, without controls."""
    failed: Count
    broken: Count
    failure_types: dict[str, int]
    """The causes of its failed cells with their numbers, without controls."""
    folder: str = Field(exclude=True)
    """Where the run was, a path of the machine that stored it."""


class CauseCount(Served):
    """How many cells failed for one cause."""

    failure_type: str
    web_kind: str
    count: Count
    share: Fraction
    """The share of these cells among all failed cells."""


_CAUSED = ~CellRow.control & (CellRow.outcome != "skipped") & CellRow.failure_type.is_not(None)
"""Cells with a cause of failure; overview, trends and runs all count these."""


def causes(connection: Connection, since: dt.date) -> tuple[CauseCount, ...]:
    """Return how many cells of runs since a day failed for each cause, the most frequent first.

    A cause is the type of the failure of the cell as a whole: if a click finds nothing because the
    server answered 500, that call failed as `DATA_NOT_FOUND` and the cell as `SERVICE_UNAVAILABLE`.
    """
    begin = dt.datetime.combine(since, dt.time(), dt.UTC)
    rows = connection.execute(
        select(CellRow.failure_type, CellRow.web_kind, func.count())
        .join(RunRow, RunRow.id == CellRow.run_id)
        .where(RunRow.started_at >= begin, _CAUSED)
        .group_by(CellRow.failure_type, CellRow.web_kind)
    ).all()
    total = sum(count for _, _, count in rows)
    return tuple(
        CauseCount(
            failure_type=str(name), web_kind=web_kind or "", count=count, share=count / total
        )
        for name, web_kind, count in sorted(rows, key=lambda row: (-row[2], row[0], row[1] or ""))
    )


def trends(connection: Connection, since: dt.date) -> tuple[ModelInRun, ...]:
    """Return the numbers of every model in every run, oldest run first, without controls."""
    begin = dt.datetime.combine(since, dt.time(), dt.UTC)
    rows = connection.execute(
        select(CellRow.__table__, RunRow.started_at.label("run_started"), RunRow.commit)
        .join(RunRow, RunRow.id == CellRow.run_id)
        .where(RunRow.started_at >= begin, ~CellRow.control, CellRow.outcome != "skipped")
        .order_by(RunRow.started_at, RunRow.id, CellRow.model, CellRow.id)
    ).mappings()
    return tuple(
        _point(list(cells)) for _, cells in groupby(rows, lambda row: (row["run_id"], row["model"]))
    )


def _point(cells: Sequence[Any]) -> ModelInRun:
    first = cells[0]
    reduced = [_reduced(cell) for cell in cells]
    cost = cost_of(reduced)
    rate = rates_of(reduced, GOOD["first_attempt"]).all_trials
    kinds = sorted(cell["failure_type"] for cell in cells if cell["failure_type"])
    return ModelInRun(
        run_id=first["run_id"],
        started_at=first["run_started"],
        commit=first["commit"],
        model=first["model"],
        cells=len(cells),
        cases=rate.cases,
        pass_rate=rate.value,
        pass_interval=rate.interval,
        after_repair_rate=rates_of(reduced, GOOD["after_repair"]).all_trials.value,
        cost_usd=cost.usd,
        cost_complete=cost.complete,
        failure_types={kind: len(list(own)) for kind, own in groupby(kinds)},
    )


def _reduced(cell: Any) -> Reduced:
    kept = {name: cell[name] for name in Reduced.model_fields if name in cell}
    # The store keeps no checksums, and no rate depends on them.
    return Reduced(**kept, checksums={})


def runs(
    connection: Connection, *, limit: int = 50, offset: int = 0, model: str = ""
) -> tuple[RunSummary, ...]:
    """Return runs, newest first.

    Args:
        connection: a connection to the store.
        limit: the maximum number of runs to return.
        offset: how many of the newest runs to skip.
        model: return only runs with cells of this model; empty means all runs.
    """
    # The id settles the order of runs that began at the same moment, so that no run appears on two
    # pages of the list or on none.
    wanted = select(RunRow.id).order_by(RunRow.started_at.desc(), RunRow.id)
    if model:
        wanted = wanted.where(RunRow.id.in_(select(CellRow.run_id).where(CellRow.model == model)))
    found = list(connection.execute(wanted.limit(limit).offset(offset)).scalars())
    summaries = {summary.id: summary for summary in _summaries(connection, found)}
    return tuple(summaries[identity] for identity in found)


def run(connection: Connection, identity: str) -> RunSummary | None:
    """Return one run, or None if the store does not have it."""
    return next(_summaries(connection, [identity]), None)


def _summaries(connection: Connection, identities: Sequence[str]) -> Iterator[RunSummary]:
    contestant = ~CellRow.control
    rows = connection.execute(
        select(
            RunRow.__table__,
            func.count(CellRow.id).label("cells"),
            count_if(contestant & CellRow.outcome.in_(("passed", "healed"))).label("passed"),
            count_if(contestant & (CellRow.outcome == "failed")).label("failed"),
            count_if(contestant & (CellRow.outcome == "broken")).label("broken"),
        )
        # An outer join, because a run that collected no cell would otherwise be missing.
        .outerjoin(CellRow, CellRow.run_id == RunRow.id)
        .where(RunRow.id.in_(identities))
        .group_by(RunRow.id)
    ).mappings()
    types: dict[str, dict[str, int]] = {}
    counted = connection.execute(
        select(CellRow.run_id, CellRow.failure_type, func.count())
        .where(CellRow.run_id.in_(identities), _CAUSED)
        .group_by(CellRow.run_id, CellRow.failure_type)
        .order_by(CellRow.failure_type)
    )
    for identity, name, count in counted:
        types.setdefault(identity, {})[str(name)] = count
    for row in rows.all():
        facts = {name: row[name] for name in RunSummary.model_fields if name in row}
        yield RunSummary(**facts, failure_types=types.get(row["id"], {}))


def cells(connection: Connection, run_id: str) -> list[Row]:
    """Return the cells of a run, contestants before controls."""
    rows = connection.execute(
        select(CellRow.__table__)
        .where(CellRow.run_id == run_id)
        .order_by(
            CellRow.control,
            CellRow.case_path,
            CellRow.case_id,
            CellRow.model,
            CellRow.capture_mode,
            CellRow.repeat,
        )
    )
    return [dict(row) for row in rows.mappings()]


def cell(connection: Connection, identity: str) -> Row | None:
    """Return a cell's row with its `attempts`, or None if the store does not have the cell.

    Each attempt has its `checks`, its `tool_calls` and its `correction`.
    """
    found = connection.execute(select(CellRow.__table__).where(CellRow.id == identity))
    row = found.mappings().one_or_none()
    if row is None:
        return None
    attempts = connection.execute(
        select(AttemptRow.__table__)
        .where(AttemptRow.cell_id == identity)
        .order_by(AttemptRow.beside, AttemptRow.arm, AttemptRow.attempt_index)
    ).mappings()
    return {**row, "attempts": [_attempt(connection, dict(one)) for one in attempts.all()]}


def _attempt(connection: Connection, attempt: Row) -> Row:
    checks = connection.execute(
        select(CheckRow.__table__)
        .where(CheckRow.attempt_id == attempt["id"])
        .order_by(CheckRow.check_index, CheckRow.id)
    )
    calls = connection.execute(
        select(ToolCallRecord.__table__)
        .where(ToolCallRecord.session_id == attempt["id"])
        .order_by(ToolCallRecord.created_at, ToolCallRecord.id)
    )
    correction = connection.execute(
        select(CorrectionRecord.__table__).where(CorrectionRecord.id == attempt["id"])
    )
    return {
        **attempt,
        "checks": [dict(row) for row in checks.mappings()],
        "tool_calls": [dict(row) for row in calls.mappings()],
        "correction": dict(one) if (one := correction.mappings().one_or_none()) else None,
    }


class ShareOfCalls(Record):
    """A part of a whole, as counts and as a share."""

    part: int
    n: int
    value: float | None
    """The share from 0 to 1; None when there is nothing to divide by."""
    interval: Interval | None
    """Wilson's 95% interval of the share."""


class Day(Record):
    """The numbers of one day, or the sums over several days."""

    date: dt.date | None = None
    calls: int
    duplicates: ShareOfCalls
    failures: ShareOfCalls
    corrections: ShareOfCalls
    """How many of the corrections that were tried helped."""


class FailureCount(Served):
    """How often calls failed in one way."""

    failure_type: str
    web_kind: str
    count: Count
    share: Fraction
    """The share of these calls among all failed calls."""


class ToolStats(Served):
    """The reliability of one tool."""

    tool_name: str
    total_calls: Count
    success_rate: Fraction | None
    success_interval: Interval | None
    avg_execution_time: Annotated[float, Field(ge=0)] | None
    """The mean duration of a call in milliseconds."""
    correction_success_rate: Fraction | None
    corrections: Count
    """The number of corrections tried, which `correctionSuccessRate` refers to."""
    last_failure_type: str | None


class ArmNumbers(Record):
    """How often one way of correcting helped."""

    arm: str
    solved: ShareOfCalls
    avg_ms: float | None
    """The mean duration of the attempts that corrected."""
    calls: int
    """The number of model calls in these attempts."""


def share_of(part: int, n: int) -> ShareOfCalls:
    """Return a share with its interval."""
    return ShareOfCalls(part=part, n=n, value=share(part, n), interval=wilson(part, n))


def days(connection: Connection, since: dt.date) -> tuple[Day, ...]:
    """Return the days that have records, oldest first."""
    rows = connection.execute(
        select(DailyMetrics.__table__).where(DailyMetrics.date >= since).order_by(DailyMetrics.date)
    )
    return tuple(
        _day(
            row.total_tool_calls,
            row.duplicate_calls,
            row.failed_calls,
            row.corrected_calls,
            row.correction_success,
            date=row.date,
        )
        for row in rows
    )


def together(days: Sequence[Day]) -> Day:
    """Return the sums over several days."""
    return _day(
        sum(day.calls for day in days),
        sum(day.duplicates.part for day in days),
        sum(day.failures.part for day in days),
        sum(day.corrections.n for day in days),
        sum(day.corrections.part for day in days),
    )


def _day(
    calls: int, twice: int, failed: int, tried: int, solved: int, date: dt.date | None = None
) -> Day:
    return Day(
        date=date,
        calls=calls,
        duplicates=share_of(twice, calls),
        failures=share_of(failed, calls),
        corrections=share_of(solved, tried),
    )


def failure_counts(connection: Connection, since: dt.date) -> tuple[FailureCount, ...]:
    """Return how often calls failed in each way, the most frequent way first."""
    kind = ToolCallRecord.result["failure_type"].as_string()
    web = ToolCallRecord.result["web_kind"].as_string()
    rows = connection.execute(
        select(kind, web, func.count())
        .where(~ok, ToolCallRecord.created_at >= _begin(since))
        .group_by(kind, web)
    ).all()
    total = sum(count for _, _, count in rows)
    return tuple(
        FailureCount(failure_type=name, web_kind=web_kind, count=count, share=count / total)
        for name, web_kind, count in sorted(rows, key=lambda row: (-row[2], row[0], row[1]))
    )


def ranking(connection: Connection) -> tuple[ToolStats, ...]:
    """Return all tools, the most reliable first.

    They are ranked by the lower end of the interval, so that a tool with a single success does not
    outrank one with a thousand.
    """
    tools = _tools(connection, select(ToolReliability.__table__))
    return tuple(sorted(tools, key=lambda tool: (-_certain(tool), tool.tool_name)))


def tool(connection: Connection, name: str) -> ToolStats | None:
    """Return one tool, or None if it was never called."""
    wanted = select(ToolReliability.__table__).where(ToolReliability.tool_name == clean(name))
    return next(iter(_tools(connection, wanted)), None)


def _certain(tool: ToolStats) -> float:
    return tool.success_interval.low if tool.success_interval else 0.0


def _tools(connection: Connection, wanted: Select[Any]) -> list[ToolStats]:
    counted = connection.execute(
        select(ToolCallRecord.tool_name, func.count(), count_if(CorrectionRecord.is_successful))
        .join(CorrectionRecord, CorrectionRecord.tool_call_id == ToolCallRecord.id)
        .group_by(ToolCallRecord.tool_name)
    )
    corrections = {name: (solved, tried) for name, tried, solved in counted}
    return [
        _tool(row, *corrections.get(row.tool_name, (0, 0))) for row in connection.execute(wanted)
    ]


def _tool(row: Any, solved: int, tried: int) -> ToolStats:
    return ToolStats(
        tool_name=row.tool_name,
        total_calls=row.total_calls,
        success_rate=share(row.success_count, row.total_calls),
        success_interval=wilson(row.success_count, row.total_calls),
        avg_execution_time=row.avg_execution_time,
        correction_success_rate=share(solved, tried),
        corrections=tried,
        last_failure_type=row.last_failure_type,
    )


def arms(connection: Connection, since: dt.date) -> tuple[ArmNumbers, ...]:
    """Return how often each way of correcting helped (`off` is the ordinary repair).

    Ways that were run only for comparison count too, like those that decided an outcome.
    """
    rows = connection.execute(
        select(
            AttemptRow.arm,
            func.count(),
            count_if(CorrectionRecord.is_successful),
            func.sum(AttemptRow.duration_ms),
            func.sum(AttemptRow.calls),
        )
        .join(AttemptRow, AttemptRow.id == CorrectionRecord.id)
        .where(CorrectionRecord.created_at >= _begin(since))
        .group_by(AttemptRow.arm)
        .order_by(AttemptRow.arm)
    )
    return tuple(
        ArmNumbers(
            arm=arm, solved=share_of(solved, tried), avg_ms=share(time, tried), calls=int(calls)
        )
        for arm, tried, solved, time, calls in rows
    )


def past_corrections(
    connection: Connection, model: str, arm: str, last: int
) -> dict[str, tuple[int, int]]:
    """Return for each failure type how many of its latest corrections helped, and their number.

    Args:
        connection: a connection to the store.
        model: the model that corrected.
        arm: the way of correcting.
        last: limit on the corrections, the latest ones, that count for a type.
    """
    recent = (
        select(
            CorrectionRecord.failure_type.label("kind"),
            CorrectionRecord.is_successful.label("counted"),
            _latest_first(CorrectionRecord, CorrectionRecord.failure_type),
        )
        .join(AttemptRow, AttemptRow.id == CorrectionRecord.id)
        .join(CellRow, CellRow.id == AttemptRow.cell_id)
        .where(CellRow.model == clean(model), AttemptRow.arm == arm)
    )
    return _counts_by_kind(connection, recent, last)


def past_choices(connection: Connection, model: str, last: int) -> dict[str, tuple[int, int]]:
    """Return for each kind of element how many of the latest choices were wrong, and their number.

    Args:
        connection: a connection to the store.
        model: the model that chose.
        last: limit on the choices, the latest ones, that count for a kind.
    """
    recent = (
        select(
            ChoiceRecord.kind,
            ChoiceRecord.is_wrong.label("counted"),
            _latest_first(ChoiceRecord, ChoiceRecord.kind),
        )
        .join(AttemptRow, AttemptRow.id == ChoiceRecord.attempt_id)
        .join(CellRow, CellRow.id == AttemptRow.cell_id)
        .where(CellRow.model == clean(model), ChoiceRecord.kind != "")
    )
    return _counts_by_kind(connection, recent, last)


def _latest_first(
    record: type[CorrectionRecord | ChoiceRecord], kind: InstrumentedAttribute[str]
) -> Label[int]:
    """Return the column `place`: 1 for the latest record of its kind, 2 for the one before."""
    order = (record.created_at.desc(), record.id)
    return func.row_number().over(partition_by=kind, order_by=order).label("place")


def _counts_by_kind(
    connection: Connection, records: "Select[str, bool, int]", last: int
) -> dict[str, tuple[int, int]]:
    """Return for each `kind` how many of its `last` records are `counted`, and their number."""
    recent = records.subquery()
    rows = connection.execute(
        select(recent.c.kind, count_if(recent.c.counted), func.count())
        .where(recent.c.place <= last)
        .group_by(recent.c.kind)
    )
    return {kind: (int(counted), number) for kind, counted, number in rows}


def _begin(day: dt.date) -> dt.datetime:
    return dt.datetime.combine(day, dt.time(), dt.UTC)


class Precedent(Record):
    """What the records say about calls like the one in question."""

    same_call: ShareOfCalls
    """Successes of calls with the same tool and the same parameters."""
    same_tool: ShareOfCalls
    """Successes of all calls of the tool."""
    last_error: str | None
    """The latest error of the tool."""


def precedent(
    connection: Connection, tool: str, params: Mapping[str, Any], run_id: str = ""
) -> Precedent:
    """Return how earlier calls like this one ended.

    Args:
        connection: a connection to the store.
        tool: the name of the tool, as in `tool_call_records`.
        params: `target`, `arguments` or both; those given must mean the same.
        run_id: look only in this run; empty means in all runs.
    """
    # Texts were cleaned when they were stored, so values to look up must be cleaned in the same
    # way. Postgres would also refuse a NUL character in a query.
    of_tool = [ToolCallRecord.tool_name == clean(tool)]
    if run_id:
        of_run = (
            select(AttemptRow.id)
            .join(CellRow, CellRow.id == AttemptRow.cell_id)
            .where(CellRow.run_id == clean(run_id))
        )
        of_tool.append(ToolCallRecord.session_id.in_(of_run))
    written = [ToolCallRecord.parameters[name].as_string() for name in ("target", "arguments")]
    counted = connection.execute(
        select(*written, count_if(ok), func.count()).where(*of_tool).group_by(*written)
    ).all()
    fits = recorded_as(tool, params)
    alike = [row for row in counted if fits(row[0] or "", row[1] or "")]
    last = connection.execute(
        select(ToolCallRecord.result)
        .where(*of_tool, ~ok)
        .order_by(ToolCallRecord.created_at.desc(), ToolCallRecord.id.desc())
        .limit(1)
    ).scalar()
    return Precedent(
        same_call=share_of(sum(row[2] for row in alike), sum(row[3] for row in alike)),
        same_tool=share_of(sum(row[2] for row in counted), sum(row[3] for row in counted)),
        last_error=last["error"] if last else None,
    )
