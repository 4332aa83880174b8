"""Replays: a phase of their own, and a row for each client."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0007"
down_revision = "0006"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """One more value wherever a phase is checked, and one table."""
    for table in ("job", "job_phase", "task"):
        name = op.f(f"ck_{table}_phase_known")
        op.drop_constraint(name, table, type_="check")
        op.create_check_constraint(name, table, "phase IN ('walk', 'expand', 'index', 'ocr', 'replay', 'finalise')")
    op.create_table(
        "replay_client",
        sa.Column("job", sa.Uuid(), nullable=False),
        sa.Column("client", sa.Integer(), nullable=False),
        sa.Column("host", sa.Text(), nullable=False),
        sa.Column("task", sa.BigInteger(), nullable=True),
        sa.Column("attempt", sa.Integer(), nullable=True),
        sa.Column("worker", sa.Text(), nullable=True),
        sa.Column("slot", sa.Integer(), nullable=True),
        sa.Column("taken_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("ready_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("finished_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("result", postgresql.JSONB(), nullable=True),
        sa.ForeignKeyConstraint(["job"], ["job.id"], name=op.f("fk_replay_client_job"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("job", "client", name=op.f("pk_replay_client")),
    )
