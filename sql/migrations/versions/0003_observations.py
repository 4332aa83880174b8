"""What else is seen each second beside the calls, and the calls summed over steps of time for drawing them."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Two tables, empty: what ran before was not observed."""
    op.create_table(
        "observation",
        sa.Column("second", sa.BigInteger(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("source", sa.Text(), nullable=False),
        sa.Column("job", sa.Uuid(), nullable=True),
        sa.Column("values", postgresql.JSONB(), nullable=False),
        sa.ForeignKeyConstraint(["job"], ["job.id"], name=op.f("fk_observation_job"), ondelete="CASCADE"),
        sa.UniqueConstraint(
            "job",
            "kind",
            "second",
            "source",
            name=op.f("uq_observation_job_kind_second_source"),
            postgresql_nulls_not_distinct=True,
        ),
    )
    op.create_table(
        "call_step",
        sa.Column("job", sa.Uuid(), nullable=False),
        sa.Column("step", sa.Integer(), nullable=False),
        sa.Column("second", sa.BigInteger(), nullable=False),
        sa.Column("op", sa.SmallInteger(), nullable=False),
        sa.Column("calls", sa.BigInteger(), nullable=False),
        sa.Column("bytes", sa.BigInteger(), nullable=False),
        sa.Column("errors", sa.BigInteger(), nullable=False),
        sa.Column("total_ns", sa.BigInteger(), nullable=False),
        sa.Column("max_ns", sa.BigInteger(), nullable=False),
        sa.Column("p50_ns", sa.BigInteger(), nullable=False),
        sa.Column("p95_ns", sa.BigInteger(), nullable=False),
        sa.Column("p99_ns", sa.BigInteger(), nullable=False),
        sa.Column("histogram", sa.LargeBinary(), nullable=False),
        sa.ForeignKeyConstraint(["job"], ["job.id"], name=op.f("fk_call_step_job"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("job", "step", "second", "op", name=op.f("pk_call_step")),
    )
