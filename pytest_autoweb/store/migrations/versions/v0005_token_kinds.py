"""Columns of cells for tokens that came from a service's cache, and for reasoning tokens.

Only run folders have them; `autoweb db sync` writes an older run again. Until then they are
null, which means unknown.
"""

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"


def upgrade() -> None:
    """Add the columns, which are empty for older rows."""
    for name in ("cached_tokens", "reasoning_tokens"):
        op.add_column("cells", sa.Column(name, sa.BigInteger(), nullable=True))


def downgrade() -> None:
    op.drop_column("cells", "reasoning_tokens")
    op.drop_column("cells", "cached_tokens")
