"""A table of the elements that models chose, for statistics of mistakes over many runs.

Only run folders have the decisions; `autoweb db sync` writes an older run again, with them.
"""

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"


def upgrade() -> None:
    attempt = sa.ForeignKey("attempts.id", ondelete="CASCADE")
    op.create_table(
        "choice_records",
        sa.Column("id", sa.String(32), primary_key=True),
        sa.Column("attempt_id", sa.String(32), attempt, nullable=False),
        sa.Column("decision_index", sa.Integer(), nullable=False),
        sa.Column("phase", sa.Text(), nullable=False),
        sa.Column("mark", sa.Integer(), nullable=True),
        *(sa.Column(name, sa.Text(), nullable=False) for name in _TEXTS),
        sa.Column("is_wrong", sa.Boolean(), nullable=False),
        sa.Column("confidence", sa.Double(), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
    )
    for name in ("attempt_id", "created_at"):
        op.create_index(f"ix_choice_records_{name}", "choice_records", [name])


_TEXTS = ("kind", "expected_text", "actual_text", "verdict")


def downgrade() -> None:
    op.drop_table("choice_records")
