"""The first tables: runs, cells, attempts, checks, and five about tool calls."""

from typing import Any

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None

_Kind = sa.types.TypeEngine[Any]
_TIME = sa.DateTime(timezone=True)


def upgrade() -> None:
    _runs()
    _cells()
    _attempts()
    _tool_calls()
    _corrections()
    _rollups()


def downgrade() -> None:
    for table in (
        "behavior_calibration_metrics",
        "tool_reliability_stats",
        "tool_call_cache",
        "correction_records",
        "tool_call_records",
        "checks",
        "attempts",
        "cells",
        "runs",
    ):
        op.drop_table(table)


def _id() -> sa.Column[str]:
    return sa.Column("id", sa.String(32), primary_key=True)


def _parent(name: str, target: str, *, nullable: bool = False) -> sa.Column[str]:
    key = sa.ForeignKey(target, ondelete="CASCADE")
    return sa.Column(name, sa.String(32), key, nullable=nullable, index=True)


def _needed(kind: _Kind, *names: str) -> list[sa.Column[Any]]:
    return [sa.Column(name, kind, nullable=False) for name in names]


def _optional(kind: _Kind, *names: str) -> list[sa.Column[Any]]:
    return [sa.Column(name, kind, nullable=True) for name in names]


def _moment(name: str) -> sa.Column[Any]:
    return sa.Column(name, _TIME, nullable=False, index=True)


def _runs() -> None:
    op.create_table(
        "runs",
        _id(),
        *_needed(sa.Text(), "ts", "commit", "folder"),
        _moment("started_at"),
        *_needed(sa.Double(), "duration_s"),
        *_optional(sa.Integer(), "exit_status"),
        *_needed(sa.Integer(), "workers"),
        *_needed(sa.Boolean(), "interrupted"),
        *_needed(sa.JSON(), "models", "environment"),
    )


def _cells() -> None:
    op.create_table(
        "cells",
        _id(),
        _parent("run_id", "runs.id"),
        *_needed(sa.Text(), "case_id", "case_path", "model", "capture_mode", "strategy"),
        *_needed(sa.Text(), "correction", "outcome", "reason", "folder"),
        *_optional(sa.Text(), "failure_type", "web_kind"),
        *_needed(sa.Integer(), "repeat", "calls"),
        *_needed(sa.BigInteger(), "input_tokens", "output_tokens", "duration_ms"),
        *_needed(sa.Boolean(), "control", "slow", "cost_complete"),
        *_optional(sa.Double(), "cost_usd"),
        *_needed(_TIME, "started_at"),
    )


def _attempts() -> None:
    op.create_table(
        "attempts",
        _id(),
        _parent("cell_id", "cells.id"),
        *_needed(sa.Integer(), "attempt_index", "calls"),
        *_needed(sa.Boolean(), "repair_attempt", "executed", "false_success"),
        *_optional(sa.Boolean(), "checks_passed"),
        *_optional(sa.Double(), "score", "cost_usd"),
        *_optional(sa.Text(), "failure_kind", "failure_type", "web_kind"),
        *_needed(sa.Text(), "error"),
        *_needed(sa.BigInteger(), "duration_ms"),
        *_needed(_TIME, "started_at"),
    )
    op.create_table(
        "checks",
        _id(),
        _parent("attempt_id", "attempts.id"),
        *_needed(sa.Integer(), "check_index"),
        *_needed(sa.Text(), "type", "expected", "actual", "message"),
        *_optional(sa.Boolean(), "passed"),
        *_needed(sa.Double(), "weight"),
        *_needed(sa.Boolean(), "advisory"),
    )


def _tool_calls() -> None:
    op.create_table(
        "tool_call_records",
        _id(),
        _parent("session_id", "attempts.id"),
        sa.Column("tool_name", sa.String(200), nullable=False, index=True),
        *_needed(sa.JSON(), "parameters", "result"),
        *_needed(sa.BigInteger(), "execution_time_ms"),
        *_needed(sa.Boolean(), "is_duplicate", "is_corrected"),
        *_needed(sa.Text(), "validation_result"),
        _moment("created_at"),
    )
    op.create_table(
        "tool_call_cache",
        _id(),
        sa.Column("call_hash", sa.String(64), nullable=False, unique=True),
        *_needed(sa.Text(), "cached_result"),
        *_needed(_TIME, "created_at"),
        _moment("expires_at"),
    )


def _corrections() -> None:
    op.create_table(
        "correction_records",
        sa.Column(
            "id", sa.String(32), sa.ForeignKey("attempts.id", ondelete="CASCADE"), primary_key=True
        ),
        _parent("tool_call_id", "tool_call_records.id", nullable=True),
        *_needed(sa.Text(), "original_error", "failure_type", "recovery_prompt"),
        *_needed(sa.JSON(), "corrected_params"),
        *_needed(sa.Text(), "correction_result"),
        *_needed(sa.Boolean(), "is_successful"),
        *_needed(sa.Integer(), "retry_count"),
        _moment("created_at"),
    )


def _rollups() -> None:
    op.create_table(
        "tool_reliability_stats",
        _id(),
        sa.Column("tool_name", sa.String(200), nullable=False, unique=True),
        *_needed(sa.Integer(), "total_calls", "success_count", "failure_count"),
        *_optional(sa.Double(), "avg_execution_time", "correction_success_rate"),
        *_optional(sa.Text(), "last_failure_type"),
        *_needed(_TIME, "updated_at"),
    )
    op.create_table(
        "behavior_calibration_metrics",
        _id(),
        sa.Column("date", sa.Date(), nullable=False, unique=True),
        *_needed(sa.Integer(), "total_tool_calls", "duplicate_calls", "failed_calls"),
        *_needed(sa.Integer(), "corrected_calls", "correction_success"),
        *_optional(sa.Double(), "avg_correction_time"),
        *_needed(_TIME, "created_at"),
    )
