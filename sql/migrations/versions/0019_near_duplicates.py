"""Groups of items whose texts are nearly the same."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0019"
down_revision = "0018"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """A new table, empty."""
    op.create_table(
        "near_duplicate",
        sa.Column("job", sa.Uuid(), nullable=False),
        sa.Column("item", sa.Uuid(), nullable=False),
        sa.Column("principal", sa.Uuid(), nullable=False),
        sa.Column("principal_job", sa.Uuid(), nullable=False),
        sa.Column("similarity", sa.Double(), nullable=False),
        sa.Column("members", sa.BigInteger()),
        sa.ForeignKeyConstraint(["job"], ["job.id"], name=op.f("fk_near_duplicate_job"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("item", name=op.f("pk_near_duplicate")),
    )
    op.create_index("ix_near_duplicate_job", "near_duplicate", ["job"])
