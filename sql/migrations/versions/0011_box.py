"""Workers say what the boxes of their parsers lack."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0011"
down_revision = "0010"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """One more column."""
    op.add_column("worker", sa.Column("box", sa.Text(), server_default="", nullable=False))
