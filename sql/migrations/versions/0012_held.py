"""A job can be held at a barrier (`JobOptions.hold_before`)."""

from __future__ import annotations

from alembic import op

revision = "0012"
down_revision = "0011"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """One more value wherever a job's state is checked."""
    for table in ("job", "job_pause"):
        name = op.f(f"ck_{table}_state_known")
        op.drop_constraint(name, table, type_="check")
        op.create_check_constraint(
            name,
            table,
            "state IN ('running', 'pausing', 'paused', 'held', 'cancelling', 'cancelled', 'suspended', 'completed',"
            " 'completed_with_exceptions', 'deleting')",
        )
