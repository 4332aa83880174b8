"""Which storage root a job writes under; and `failed` is no state of a job (docs/dev/decisions.md, 15)."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """NULL for jobs that are there already: nobody noted theirs. No job was ever `failed`."""
    op.add_column("job", sa.Column("storage", sa.LargeBinary(), nullable=True))
    op.drop_constraint(op.f("ck_job_state_known"), "job", type_="check")
    op.create_check_constraint(
        op.f("ck_job_state_known"),
        "job",
        "state IN ('running', 'pausing', 'paused', 'cancelling', 'cancelled', 'suspended', 'completed',"
        " 'completed_with_exceptions')",
    )
