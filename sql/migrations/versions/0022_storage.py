"""Jobs keep their surroundings and labels; the controller's storage and outages of the database are noted."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0022"
down_revision = "0021"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Two empty tables, and two columns that no row has to be rewritten for."""
    op.add_column("job", sa.Column("surroundings", postgresql.JSONB(), nullable=True))
    op.add_column("job", sa.Column("labels", postgresql.JSONB(), nullable=True))
    op.create_table(
        "storage_root",
        sa.Column("path", sa.Text(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("source", sa.Text(), nullable=False),
        sa.Column("token", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("path", name=op.f("pk_storage_root")),
    )
    op.create_table(
        "outage",
        sa.Column("ended_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("seconds", sa.Double(), nullable=False),
        sa.PrimaryKeyConstraint("ended_at", name=op.f("pk_outage")),
    )
