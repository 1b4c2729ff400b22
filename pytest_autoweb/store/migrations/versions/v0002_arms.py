"""Columns of attempts for the correction arm, and for attempts made only for comparison."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    """Add the columns, and fill them for older rows, which had only the deciding arm."""
    op.add_column("attempts", sa.Column("arm", sa.Text(), nullable=False, server_default=""))
    op.add_column(
        "attempts", sa.Column("beside", sa.Boolean(), nullable=False, server_default=sa.false())
    )
    op.execute(
        "UPDATE attempts SET arm = (SELECT correction FROM cells WHERE cells.id = attempts.cell_id)"
        " WHERE attempt_index > 1"
    )


def downgrade() -> None:
    """Remove the columns, and the attempts that the older tables could not tell apart."""
    op.execute("DELETE FROM attempts WHERE beside")
    op.drop_column("attempts", "beside")
    op.drop_column("attempts", "arm")
