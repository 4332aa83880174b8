"""Phase ocr, between index and finalise, for jobs that ask for it."""

from __future__ import annotations

from alembic import op

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """One more value wherever a phase is checked."""
    for table in ("job", "job_phase", "task"):
        name = op.f(f"ck_{table}_phase_known")
        op.drop_constraint(name, table, type_="check")
        op.create_check_constraint(name, table, "phase IN ('walk', 'expand', 'index', 'ocr', 'finalise')")
