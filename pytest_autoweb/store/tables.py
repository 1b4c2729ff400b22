"""The tables: runs with their cells, attempts and checks, five tables about tool calls, and counts.

The names and columns of those five (`tool_call_records` … `behavior_calibration_metrics`) are a
public contract, described in docs/store.md. Every id is made from the run's own files, so that
writing a run again writes the same rows. A change here needs a new file in `migrations/versions`.
"""

import datetime as dt
from typing import Any

from sqlalchemy import (
    JSON,
    BigInteger,
    DateTime,
    Dialect,
    Double,
    ForeignKey,
    Index,
    String,
    Text,
    TypeDecorator,
)
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column

Id = String(32)
"""The type of ids: 32 hexadecimal digits, made by `table_rows.row_id`."""


class UtcTime(TypeDecorator[dt.datetime]):
    """A moment that is always in UTC, even in a database that stores no time zone."""

    impl = DateTime(timezone=True)
    cache_ok = True

    def process_bind_param(self, value: dt.datetime | None, dialect: Dialect) -> Any:
        """Return the value as the database stores it."""
        if value is None:
            return None
        moment = value.astimezone(dt.UTC)
        return moment.replace(tzinfo=None) if dialect.name == "sqlite" else moment

    def process_result_value(self, value: Any, dialect: Dialect) -> dt.datetime | None:
        """Return the value as the program sees it."""
        if value is None:
            return None
        moment: dt.datetime = value if value.tzinfo else value.replace(tzinfo=dt.UTC)
        return moment.astimezone(dt.UTC)


class Base(DeclarativeBase):
    """The base class of all tables."""

    type_annotation_map = {  # noqa: RUF012
        dict[str, Any]: JSON,
        list[str]: JSON,
        dt.datetime: UtcTime,
        # The default of SQLAlchemy 2.1, which the migrations have always used.
        float: Double,
        str: Text,
    }


def _child_of(column: str) -> ForeignKey:
    return ForeignKey(column, ondelete="CASCADE")


class RunRow(Base):
    """One run, that is, one pytest session."""

    __tablename__ = "runs"

    id: Mapped[str] = mapped_column(Id, primary_key=True)
    ts: Mapped[str]
    started_at: Mapped[dt.datetime] = mapped_column(index=True)
    duration_s: Mapped[float]
    exit_status: Mapped[int | None]
    interrupted: Mapped[bool]
    commit: Mapped[str]
    models: Mapped[list[str]]
    environment: Mapped[dict[str, Any]]
    workers: Mapped[int]
    folder: Mapped[str]
    """The folder the run was read from, on the machine that wrote it."""


class CellRow(Base):
    """One cell of a run with its result."""

    __tablename__ = "cells"

    id: Mapped[str] = mapped_column(Id, primary_key=True)
    run_id: Mapped[str] = mapped_column(Id, _child_of("runs.id"), index=True)
    case_id: Mapped[str]
    case_path: Mapped[str]
    model: Mapped[str]
    capture_mode: Mapped[str]
    repeat: Mapped[int]
    strategy: Mapped[str]
    correction: Mapped[str]
    """The arm that corrected a failed first attempt; `off` is the ordinary repair."""
    control: Mapped[bool]
    """The cell is a control (the oracle or the do-nothing run), which no rate of models counts."""
    outcome: Mapped[str]
    slow: Mapped[bool]
    reason: Mapped[str]
    failure_type: Mapped[str | None]
    web_kind: Mapped[str | None]
    calls: Mapped[int]
    """The number of model calls."""
    input_tokens: Mapped[int] = mapped_column(BigInteger)
    output_tokens: Mapped[int] = mapped_column(BigInteger)
    cached_tokens: Mapped[int | None] = mapped_column(BigInteger)
    """The sent tokens that a service read from its cache; None in older rows."""
    reasoning_tokens: Mapped[int | None] = mapped_column(BigInteger)
    """The written tokens that were reasoning; None in older rows."""
    cost_usd: Mapped[float | None]
    """The cost in US dollars; None when no call had a price."""
    cost_complete: Mapped[bool]
    """Whether every call had a price; otherwise `cost_usd` is a lower bound or unknown."""
    duration_ms: Mapped[int] = mapped_column(BigInteger)
    started_at: Mapped[dt.datetime]
    folder: Mapped[str]
    """The cell's folder, relative to the run's."""


class AttemptRow(Base):
    """One try at a cell."""

    __tablename__ = "attempts"

    id: Mapped[str] = mapped_column(Id, primary_key=True)
    cell_id: Mapped[str] = mapped_column(Id, _child_of("cells.id"), index=True)
    attempt_index: Mapped[int]
    arm: Mapped[str]
    """The way of correcting behind it (`off`: the ordinary repair); empty for a first attempt."""
    beside: Mapped[bool]
    """The attempt was made only for comparison and does not affect the cell's outcome."""
    repair_attempt: Mapped[bool]
    executed: Mapped[bool]
    checks_passed: Mapped[bool | None]
    false_success: Mapped[bool]
    score: Mapped[float | None]
    failure_kind: Mapped[str | None]
    failure_type: Mapped[str | None]
    web_kind: Mapped[str | None]
    error: Mapped[str]
    calls: Mapped[int]
    cost_usd: Mapped[float | None]
    duration_ms: Mapped[int] = mapped_column(BigInteger)
    started_at: Mapped[dt.datetime]
    """An estimate: the start of the cell plus the duration of the attempts before this one."""


class ChoiceRecord(Base):
    """One element that a model chose by sight or from the marks, right or wrong."""

    __tablename__ = "choice_records"

    id: Mapped[str] = mapped_column(Id, primary_key=True)
    attempt_id: Mapped[str] = mapped_column(Id, _child_of("attempts.id"), index=True)
    decision_index: Mapped[int]
    phase: Mapped[str]
    """`act`, or a phase of the collector."""
    mark: Mapped[int | None]
    """The number that the model gave."""
    kind: Mapped[str]
    """The element's role or tag; empty if it is not known."""
    expected_text: Mapped[str]
    actual_text: Mapped[str]
    verdict: Mapped[str]
    is_wrong: Mapped[bool]
    """The text contradicts the number: a mismatch, or a number that a unique text overrode."""
    confidence: Mapped[float | None]
    created_at: Mapped[dt.datetime] = mapped_column(index=True)
    """The moment at which the attempt began."""


class CheckRow(Base):
    """The result of one check."""

    __tablename__ = "checks"

    id: Mapped[str] = mapped_column(Id, primary_key=True)
    attempt_id: Mapped[str] = mapped_column(Id, _child_of("attempts.id"), index=True)
    check_index: Mapped[int]
    type: Mapped[str]
    passed: Mapped[bool | None]
    """The verdict; None when the check could not be evaluated."""
    expected: Mapped[str]
    actual: Mapped[str]
    message: Mapped[str]
    finding: Mapped[str] = mapped_column(server_default="")
    """The verdict by name, such as `CONDITION_IGNORED` or `PARTIAL_MATCH`; empty for most."""
    match_score: Mapped[float | None]
    """The share of the requested items that was found, from 0 to 1; None for other checks."""
    weight: Mapped[float]
    advisory: Mapped[bool]


class ToolCallRecord(Base):
    """One call that a model's code made through the sandbox; calls of controls are left out."""

    __tablename__ = "tool_call_records"

    id: Mapped[str] = mapped_column(Id, primary_key=True)
    session_id: Mapped[str] = mapped_column(Id, _child_of("attempts.id"), index=True)
    """The id of the attempt, which is a session in one browser context."""
    tool_name: Mapped[str] = mapped_column(String(200))
    parameters: Mapped[dict[str, Any]]
    """The `target` and `arguments` of the call, redacted and cut at 2,000 characters each."""
    result: Mapped[dict[str, Any]]
    """The fields `ok`, `value` (what a reading gave, bounded), `error`, `failure_type`,
    `web_kind`."""
    execution_time_ms: Mapped[int] = mapped_column(BigInteger)
    is_duplicate: Mapped[bool]
    is_corrected: Mapped[bool]
    """The call failed, and a correction of it was tried."""
    validation_result: Mapped[str]
    """`VALID`: an `expect` that held; `INVALID`: a failed call; `UNVERIFIED`: any other call. The
    call that gave the answer has what the checks of the answer found, such as `PARTIAL_MATCH`."""
    created_at: Mapped[dt.datetime] = mapped_column(index=True)
    """An estimate that keeps calls in order: the attempt's start plus the time of calls before."""

    # Leads to the newest calls of a tool, and to the one at a moment.
    __table_args__ = (
        Index("ix_tool_call_records_tool_name_created_at", "tool_name", "created_at"),
    )


class ModelResults(Base):
    """The results of one model in one run, a roll-up of its cells without the skipped ones.

    Controls have none.
    """

    __tablename__ = "model_results"

    id: Mapped[str] = mapped_column(Id, primary_key=True)
    run_id: Mapped[str] = mapped_column(Id, _child_of("runs.id"), index=True)
    model: Mapped[str]
    cells: Mapped[int]
    cases: Mapped[int]
    """The number of cases, which are the units of the interval."""
    pass_rate: Mapped[float | None]
    """The share of cells that passed at the first attempt, from 0 to 1."""
    pass_low: Mapped[float | None]
    """The lower end of the 95% interval of the pass rate."""
    pass_high: Mapped[float | None]
    after_repair_rate: Mapped[float | None]
    cost_usd: Mapped[float | None]
    """The cost in US dollars; None when no call had a price."""
    cost_complete: Mapped[bool]


class OutcomeCount(Base):
    """How many cells of a model in a run ended in one way, a roll-up."""

    __tablename__ = "outcome_counts"

    id: Mapped[str] = mapped_column(Id, primary_key=True)
    run_id: Mapped[str] = mapped_column(Id, _child_of("runs.id"), index=True)
    model: Mapped[str]
    control: Mapped[bool]
    outcome: Mapped[str]
    failure_type: Mapped[str | None]
    web_kind: Mapped[str | None]
    cells: Mapped[int]


class CallCount(Base):
    """How many calls of a tool in a run ended in one way on one day (UTC), a roll-up."""

    __tablename__ = "call_counts"

    id: Mapped[str] = mapped_column(Id, primary_key=True)
    run_id: Mapped[str] = mapped_column(Id, _child_of("runs.id"), index=True)
    date: Mapped[dt.date] = mapped_column(index=True)
    tool_name: Mapped[str] = mapped_column(String(200), index=True)
    failed: Mapped[bool]
    failure_type: Mapped[str | None]
    web_kind: Mapped[str | None]
    calls: Mapped[int]
    duplicates: Mapped[int]
    time_ms: Mapped[int] = mapped_column(BigInteger)
    """The time of all these calls, in milliseconds."""
    latest_at: Mapped[dt.datetime]
    """The moment of the latest one."""
    corrections: Mapped[int]
    """How many corrections of these calls were tried."""
    solved: Mapped[int]
    """How many of them helped."""


class CorrectionCount(Base):
    """How often one way of correcting was tried in a run on one day (UTC), a roll-up."""

    __tablename__ = "correction_counts"

    id: Mapped[str] = mapped_column(Id, primary_key=True)
    run_id: Mapped[str] = mapped_column(Id, _child_of("runs.id"), index=True)
    date: Mapped[dt.date] = mapped_column(index=True)
    arm: Mapped[str]
    """The way of correcting; `off` is the ordinary repair."""
    tried: Mapped[int]
    solved: Mapped[int]
    """How many of these corrections helped."""
    time_ms: Mapped[int] = mapped_column(BigInteger)
    """The time of the attempts that corrected, in milliseconds."""
    calls: Mapped[int]
    """The model calls in these attempts."""
    latest_at: Mapped[dt.datetime]
    """The moment of the latest one."""


class CachedCall(Base):
    """One cached answer to a tool call, with the moment at which it expires."""

    __tablename__ = "tool_call_cache"

    id: Mapped[str] = mapped_column(Id, primary_key=True)
    call_hash: Mapped[str] = mapped_column(String(64), unique=True)
    cached_result: Mapped[str]
    created_at: Mapped[dt.datetime]
    expires_at: Mapped[dt.datetime] = mapped_column(index=True)


class ToolReliability(Base):
    """The reliability of one tool over all records (a roll-up)."""

    __tablename__ = "tool_reliability_stats"

    id: Mapped[str] = mapped_column(Id, primary_key=True)
    tool_name: Mapped[str] = mapped_column(String(200), unique=True)
    total_calls: Mapped[int]
    success_count: Mapped[int]
    failure_count: Mapped[int]
    avg_execution_time: Mapped[float | None]
    """The mean duration of a call in milliseconds."""
    correction_success_rate: Mapped[float | None]
    """The share of corrections that helped, from 0 to 1; None when none was tried."""
    last_failure_type: Mapped[str | None]
    updated_at: Mapped[dt.datetime]
    """The moment of the latest record that is counted."""


class CorrectionRecord(Base):
    """One try to correct a failed attempt; it has the id of the attempt that tried."""

    __tablename__ = "correction_records"

    id: Mapped[str] = mapped_column(Id, _child_of("attempts.id"), primary_key=True)
    tool_call_id: Mapped[str | None] = mapped_column(
        Id, _child_of("tool_call_records.id"), index=True
    )
    """The call that failed last; None when no call failed, for instance because a check did."""
    original_error: Mapped[str]
    failure_type: Mapped[str]
    recovery_prompt: Mapped[str]
    corrected_params: Mapped[dict[str, Any]]
    """The `calls` that the attempt before did not make, with their parameters; and the `code_diff`
    against it, or the whole `code` where there is no diff."""
    correction_result: Mapped[str]
    is_successful: Mapped[bool]
    retry_count: Mapped[int]
    """The number of this retry, counted from 1."""
    created_at: Mapped[dt.datetime] = mapped_column(index=True)


class DailyMetrics(Base):
    """The numbers of tool calls and corrections on one day (UTC), a roll-up of its records."""

    __tablename__ = "behavior_calibration_metrics"

    id: Mapped[str] = mapped_column(Id, primary_key=True)
    date: Mapped[dt.date] = mapped_column(unique=True)
    total_tool_calls: Mapped[int]
    duplicate_calls: Mapped[int]
    failed_calls: Mapped[int]
    corrected_calls: Mapped[int]
    """The number of corrections that were tried."""
    correction_success: Mapped[int]
    avg_correction_time: Mapped[float | None]
    """Mean duration in milliseconds of the attempts that corrected; None when there were none."""
    created_at: Mapped[dt.datetime]
    """The moment of the latest record that is counted."""
