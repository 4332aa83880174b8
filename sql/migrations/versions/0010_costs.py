"""What loose files cost: deaths by phase, loose file and parent, and seconds."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0010"
down_revision = "0009"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """More columns for deaths, and one table."""
    op.add_column("death", sa.Column("phase", sa.Text(), nullable=False, server_default="expand"))
    op.alter_column("death", "phase", server_default=None)
    op.alter_column("death", "item", nullable=True)
    op.add_column("death", sa.Column("parent", sa.Uuid(), nullable=True))
    op.add_column("death", sa.Column("loose", sa.Uuid(), nullable=True))
    for name, kind in (("seconds", sa.Double()), ("taken", sa.BigInteger())):
        op.add_column("death", sa.Column(name, kind, nullable=False, server_default="0"))
        op.alter_column("death", name, server_default=None)
    op.create_table(
        "loose_cost",
        sa.Column("job", sa.Uuid(), nullable=False),
        sa.Column("phase", sa.Text(), nullable=False),
        sa.Column("loose", sa.Uuid(), nullable=False),
        sa.Column("seconds", sa.Double(), nullable=False),
        sa.ForeignKeyConstraint(["job"], ["job.id"], name=op.f("fk_loose_cost_job"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("job", "phase", "loose", name=op.f("pk_loose_cost")),
    )
