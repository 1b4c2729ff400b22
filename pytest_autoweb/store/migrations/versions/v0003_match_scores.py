"""Columns of checks for the verdict by name and for the match score.

Older rows cannot be filled from the database, because only the run folders have the scores;
`autoweb db sync` writes such a run again. Until then its scores are null, which means unknown.
Results of readings and the calls of corrections are new keys in JSON columns, so they need no
column of their own; older rows do not have them.
"""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    """Add the columns, which are empty for older rows."""
    finding = sa.Column("finding", sa.Text(), nullable=False, server_default="")
    op.add_column("checks", finding)
    op.add_column("checks", sa.Column("match_score", sa.Double(), nullable=True))


def downgrade() -> None:
    op.drop_column("checks", "match_score")
    op.drop_column("checks", "finding")
