"""Counts of runs, which the dashboard adds up in place of reading all cells and calls."""

from typing import Any

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"

_TABLES = ("model_results", "outcome_counts", "call_counts")


def upgrade() -> None:
    """Add the tables; the next migration counts the runs that are there."""
    _model_results()
    _outcome_counts()
    _call_counts()


def downgrade() -> None:
    for name in _TABLES:
        op.drop_table(name)


def _of_run() -> list[sa.Column[Any]]:
    run = sa.ForeignKey("runs.id", ondelete="CASCADE")
    return [
        sa.Column("id", sa.String(32), primary_key=True),
        sa.Column("run_id", sa.String(32), run, nullable=False, index=True),
    ]


def _needed(kind: sa.types.TypeEngine[Any], *names: str) -> list[sa.Column[Any]]:
    return [sa.Column(name, kind, nullable=False) for name in names]


def _optional(kind: sa.types.TypeEngine[Any], *names: str) -> list[sa.Column[Any]]:
    return [sa.Column(name, kind, nullable=True) for name in names]


def _model_results() -> None:
    op.create_table(
        "model_results",
        *_of_run(),
        *_needed(sa.Text(), "model"),
        *_needed(sa.Integer(), "cells", "cases"),
        *_optional(sa.Double(), "pass_rate", "pass_low", "pass_high", "after_repair_rate"),
        *_optional(sa.Double(), "cost_usd"),
        *_needed(sa.Boolean(), "cost_complete"),
    )


def _outcome_counts() -> None:
    op.create_table(
        "outcome_counts",
        *_of_run(),
        *_needed(sa.Text(), "model", "outcome"),
        *_needed(sa.Boolean(), "control"),
        *_optional(sa.Text(), "failure_type", "web_kind"),
        *_needed(sa.Integer(), "cells"),
    )


def _call_counts() -> None:
    op.create_table(
        "call_counts",
        *_of_run(),
        sa.Column("date", sa.Date(), nullable=False, index=True),
        sa.Column("tool_name", sa.String(200), nullable=False, index=True),
        *_needed(sa.Boolean(), "failed"),
        *_optional(sa.Text(), "failure_type", "web_kind"),
        *_needed(sa.Integer(), "calls", "duplicates", "corrections", "solved"),
        *_needed(sa.BigInteger(), "time_ms"),
        *_needed(sa.DateTime(timezone=True), "latest_at"),
    )
