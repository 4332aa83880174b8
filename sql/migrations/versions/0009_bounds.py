"""A job that is being deleted says so, a worker what its slots wait for; findings are written in portions (0042)."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0009"
down_revision = "0008"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """One more value wherever a job's or a task's state is checked, and columns."""
    op.add_column("task", sa.Column("portions", sa.Integer(), server_default="0", nullable=False))
    op.add_column("task", sa.Column("portion_tokens", postgresql.ARRAY(sa.Uuid()), nullable=True))
    name = op.f("ck_task_state_known")
    op.drop_constraint(name, "task", type_="check")
    op.create_check_constraint(name, "task", "state IN ('held', 'pending', 'dispatched', 'running', 'done')")
    op.add_column("worker", sa.Column("waiting", postgresql.JSONB(), server_default="[]", nullable=False))
    for table in ("job", "job_pause"):
        name = op.f(f"ck_{table}_state_known")
        op.drop_constraint(name, table, type_="check")
        op.create_check_constraint(
            name,
            table,
            "state IN ('running', 'pausing', 'paused', 'cancelling', 'cancelled', 'suspended', 'completed',"
            " 'completed_with_exceptions', 'deleting')",
        )
