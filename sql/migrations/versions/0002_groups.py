"""What a group of jobs is: its kind, its source, and how many copies of that its jobs read."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """No version before this one made groups, so the table is empty and new columns need no default."""
    op.add_column("job_group", sa.Column("kind", sa.Text(), nullable=False))
    op.add_column("job_group", sa.Column("source", sa.LargeBinary(), nullable=False))
    op.add_column("job_group", sa.Column("source_copies", sa.Integer(), nullable=False))
    op.create_check_constraint(op.f("ck_job_group_kind_known"), "job_group", "kind IN ('simultaneous', 'sharded')")
