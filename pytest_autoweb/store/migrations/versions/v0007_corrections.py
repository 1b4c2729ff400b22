"""Counts of corrections, and an index that leads to the newest calls of a tool."""

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"

_CALLS = "tool_call_records"
_NEWEST = "ix_tool_call_records_tool_name_created_at"
_OF_TOOL = "ix_tool_call_records_tool_name"


def upgrade() -> None:
    """Add the table and the index, and count the runs that are there."""
    op.create_index(_NEWEST, _CALLS, ["tool_name", "created_at"])
    op.drop_index(_OF_TOOL, _CALLS)
    run = sa.ForeignKey("runs.id", ondelete="CASCADE")
    op.create_table(
        "correction_counts",
        sa.Column("id", sa.String(32), primary_key=True),
        sa.Column("run_id", sa.String(32), run, nullable=False, index=True),
        sa.Column("date", sa.Date(), nullable=False, index=True),
        sa.Column("arm", sa.Text(), nullable=False),
        *(sa.Column(name, sa.Integer(), nullable=False) for name in ("tried", "solved", "calls")),
        sa.Column("time_ms", sa.BigInteger(), nullable=False),
        sa.Column("latest_at", sa.DateTime(timezone=True), nullable=False),
    )
    # Late, because it imports the tables of the present version. Pass rates have intervals, which
    # no SQL computes. A later migration that changes these tables counts in place of this one.
    from pytest_autoweb.store.roll_ups import count_corrections, roll_up_all

    connection = op.get_bind()
    # The version before made these counts; a store that has none is older still.
    if connection.execute(sa.text("SELECT 1 FROM outcome_counts LIMIT 1")).first():
        count_corrections(connection)
    else:
        roll_up_all(connection)


def downgrade() -> None:
    op.drop_table("correction_counts")
    op.create_index(_OF_TOOL, _CALLS, ["tool_name"])
    op.drop_index(_NEWEST, _CALLS)
