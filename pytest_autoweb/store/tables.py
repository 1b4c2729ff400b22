"""The tables: runs with their cells, attempts and checks, and the five of the calibration.

The five (`tool_call_records` … `behavior_calibration_metrics`) have the names and columns that the
calibration's description gives them. Every id is made from the run's own files, so that writing a
run again writes the same rows. A change here needs a new file in `migrations/versions`.
"""

import datetime as dt
from typing import Any

from sqlalchemy import JSON, BigInteger, DateTime, Dialect, ForeignKey, String, Text, TypeDecorator
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column

Id = String(32)
"""Of what a row is about: 32 hexadecimal digits."""


class UtcTime(TypeDecorator[dt.datetime]):
    """A moment; always aware and in UTC, also where the database keeps no zone."""

    impl = DateTime(timezone=True)
    cache_ok = True

    def process_bind_param(self, value: dt.datetime | None, dialect: Dialect) -> Any:
        """What the database is given."""
        if value is None:
            return None
        moment = value.astimezone(dt.UTC)
        return moment.replace(tzinfo=None) if dialect.name == "sqlite" else moment

    def process_result_value(self, value: Any, dialect: Dialect) -> dt.datetime | None:
        """What the program is given."""
        if value is None:
            return None
        moment: dt.datetime = value if value.tzinfo else value.replace(tzinfo=dt.UTC)
        return moment.astimezone(dt.UTC)


class Base(DeclarativeBase):
    """Of all tables."""

    type_annotation_map = {dt.datetime: UtcTime, dict[str, Any]: JSON, list[str]: JSON, str: Text}  # noqa: RUF012


def _child_of(column: str) -> ForeignKey:
    return ForeignKey(column, ondelete="CASCADE")


class RunRow(Base):
    """One run."""

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
    """Where the run was read from, on the machine that wrote it."""


class CellRow(Base):
    """One cell of a run, as it ended."""

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
    """Oracle or do-nothing: no model, and in no number about models."""
    outcome: Mapped[str]
    slow: Mapped[bool]
    reason: Mapped[str]
    failure_type: Mapped[str | None]
    web_kind: Mapped[str | None]
    calls: Mapped[int]
    """Model calls."""
    input_tokens: Mapped[int] = mapped_column(BigInteger)
    output_tokens: Mapped[int] = mapped_column(BigInteger)
    cost_usd: Mapped[float | None]
    """None: no call had a price."""
    cost_complete: Mapped[bool]
    """False: `cost_usd` is a lower bound or unknown."""
    duration_ms: Mapped[int] = mapped_column(BigInteger)
    started_at: Mapped[dt.datetime]
    folder: Mapped[str]
    """Below the run's."""


class AttemptRow(Base):
    """One try at a cell."""

    __tablename__ = "attempts"

    id: Mapped[str] = mapped_column(Id, primary_key=True)
    cell_id: Mapped[str] = mapped_column(Id, _child_of("cells.id"), index=True)
    attempt_index: Mapped[int]
    arm: Mapped[str]
    """The way of correcting that made it (`off`: the ordinary repair); empty for a first one."""
    beside: Mapped[bool]
    """Made by a way that ran for comparison: the cell's outcome does not depend on it."""
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
    """The cell's start, and the time of the attempts before."""


class CheckRow(Base):
    """What one check saw."""

    __tablename__ = "checks"

    id: Mapped[str] = mapped_column(Id, primary_key=True)
    attempt_id: Mapped[str] = mapped_column(Id, _child_of("attempts.id"), index=True)
    check_index: Mapped[int]
    type: Mapped[str]
    passed: Mapped[bool | None]
    """None: it could not be evaluated."""
    expected: Mapped[str]
    actual: Mapped[str]
    message: Mapped[str]
    weight: Mapped[float]
    advisory: Mapped[bool]


class ToolCallRecord(Base):
    """One call of a model's code across the sandbox's border; the controls' calls are left out."""

    __tablename__ = "tool_call_records"

    id: Mapped[str] = mapped_column(Id, primary_key=True)
    session_id: Mapped[str] = mapped_column(Id, _child_of("attempts.id"), index=True)
    """The attempt: one page, one browser context."""
    tool_name: Mapped[str] = mapped_column(String(200), index=True)
    parameters: Mapped[dict[str, Any]]
    """`target` and `arguments`, as shown in the report."""
    result: Mapped[dict[str, Any]]
    """`ok`, `error`, `failure_type` and `web_kind`."""
    execution_time_ms: Mapped[int] = mapped_column(BigInteger)
    is_duplicate: Mapped[bool]
    is_corrected: Mapped[bool]
    """It failed, and a correction of it was tried."""
    validation_result: Mapped[str]
    """`VALID`: a claim that holds; `INVALID`: failed; `UNVERIFIED`: nothing looked at it alone."""
    created_at: Mapped[dt.datetime] = mapped_column(index=True)
    """When its attempt began, and the time of the calls before: an estimate that keeps order."""


class CachedCall(Base):
    """An answer kept for a while."""

    __tablename__ = "tool_call_cache"

    id: Mapped[str] = mapped_column(Id, primary_key=True)
    call_hash: Mapped[str] = mapped_column(String(64), unique=True)
    cached_result: Mapped[str]
    created_at: Mapped[dt.datetime]
    expires_at: Mapped[dt.datetime] = mapped_column(index=True)


class ToolReliability(Base):
    """How reliable one tool is, over all records."""

    __tablename__ = "tool_reliability_stats"

    id: Mapped[str] = mapped_column(Id, primary_key=True)
    tool_name: Mapped[str] = mapped_column(String(200), unique=True)
    total_calls: Mapped[int]
    success_count: Mapped[int]
    failure_count: Mapped[int]
    avg_execution_time: Mapped[float | None]
    """Milliseconds."""
    correction_success_rate: Mapped[float | None]
    """From 0 to 1; None: nothing was corrected."""
    last_failure_type: Mapped[str | None]
    updated_at: Mapped[dt.datetime]
    """Of the latest record."""


class CorrectionRecord(Base):
    """One try to correct a failed attempt; its id is that of the attempt that tried."""

    __tablename__ = "correction_records"

    id: Mapped[str] = mapped_column(Id, _child_of("attempts.id"), primary_key=True)
    tool_call_id: Mapped[str | None] = mapped_column(
        Id, _child_of("tool_call_records.id"), index=True
    )
    """The call that failed last; None: no call failed, such as when a check does not hold."""
    original_error: Mapped[str]
    failure_type: Mapped[str]
    recovery_prompt: Mapped[str]
    corrected_params: Mapped[dict[str, Any]]
    """`code_diff` against the attempt before, or the whole `code` where there is none."""
    correction_result: Mapped[str]
    is_successful: Mapped[bool]
    retry_count: Mapped[int]
    """From 1."""
    created_at: Mapped[dt.datetime] = mapped_column(index=True)


class DailyMetrics(Base):
    """The calibration's numbers of one day (UTC), made from that day's records."""

    __tablename__ = "behavior_calibration_metrics"

    id: Mapped[str] = mapped_column(Id, primary_key=True)
    date: Mapped[dt.date] = mapped_column(unique=True)
    total_tool_calls: Mapped[int]
    duplicate_calls: Mapped[int]
    failed_calls: Mapped[int]
    corrected_calls: Mapped[int]
    """Corrections tried."""
    correction_success: Mapped[int]
    avg_correction_time: Mapped[float | None]
    """Milliseconds of the attempts that corrected; None: there was none."""
    created_at: Mapped[dt.datetime]
    """Of the latest record."""
