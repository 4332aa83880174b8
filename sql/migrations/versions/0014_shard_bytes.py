"""What the files of a shard come to."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0014"
down_revision = "0013"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """NULL: of a shard from before, whose files were merged and removed at times."""
    op.add_column("shard", sa.Column("bytes", sa.BigInteger(), nullable=True))
