"""Operator actions carry a hash over themselves and the one before."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0018"
down_revision = "0017"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """One more column; actions of before have none."""
    op.add_column("operator_action", sa.Column("chain", sa.LargeBinary(), nullable=True))
