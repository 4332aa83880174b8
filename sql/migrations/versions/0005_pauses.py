"""When a job stood still: so far only the sum of its pauses was known."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """One table. Of earlier pauses nobody noted when they were; one that lasts is known by the job's own row."""
    op.create_table(
        "job_pause",
        sa.Column("job", sa.Uuid(), nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("reason", sa.Text(), nullable=True),
        sa.Column("started_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("finished_at", sa.DateTime(timezone=True), nullable=True),
        sa.CheckConstraint(
            "state IN ('running', 'pausing', 'paused', 'cancelling', 'cancelled', 'suspended', 'completed',"
            " 'completed_with_exceptions')",
            name=op.f("ck_job_pause_state_known"),
        ),
        sa.ForeignKeyConstraint(["job"], ["job.id"], name=op.f("fk_job_pause_job"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("job", "started_at", name=op.f("pk_job_pause")),
    )
