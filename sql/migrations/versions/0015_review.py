"""What is found out of a job's items once it is over: duplicates, system files, threads."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0015"
down_revision = "0014"
branch_labels = None
depends_on = None


def _of_items(name: str, *columns: sa.Column[object], index: tuple[str, ...] = ("job",)) -> None:
    op.create_table(
        name,
        sa.Column("job", sa.Uuid(), nullable=False),
        sa.Column("item", sa.Uuid(), nullable=False),
        *columns,
        sa.ForeignKeyConstraint(["job"], ["job.id"], name=op.f(f"fk_{name}_job"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("item", name=op.f(f"pk_{name}")),
    )
    op.create_index(f"ix_{name}_job", name, list(index))


def upgrade() -> None:
    """New tables, empty."""
    op.create_table(
        "review",
        sa.Column("job", sa.Uuid(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("token", sa.Uuid(), nullable=False),
        sa.Column("options", postgresql.JSONB(), nullable=False),
        sa.Column("figures", postgresql.JSONB(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.ForeignKeyConstraint(["job"], ["job.id"], name=op.f("fk_review_job"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("job", "kind", name=op.f("pk_review")),
    )
    _of_items(
        "duplicate",
        sa.Column("original", sa.Uuid(), nullable=False),
        sa.Column("original_job", sa.Uuid(), nullable=False),
        sa.Column("copy", sa.Boolean(), nullable=False),
        sa.Column("custodians", postgresql.ARRAY(sa.Text())),
        sa.Column("copies", sa.BigInteger()),
    )
    _of_items("system_file", sa.Column("list", sa.SmallInteger(), nullable=False))
    _of_items(
        "item_digest",
        sa.Column("sha256", sa.LargeBinary(), nullable=False),
        sa.Column("md5", sa.LargeBinary(), nullable=False),
        sa.Column("sha1", sa.LargeBinary(), nullable=False),
    )
    _of_items(
        "thread_message",
        sa.Column("thread", sa.Uuid(), nullable=False),
        sa.Column("parent", sa.Uuid()),
        sa.Column("depth", sa.Integer(), nullable=False),
        sa.Column("by", sa.Text(), nullable=False),
        sa.Column("sent_at", sa.DateTime(timezone=True)),
        index=("job", "thread"),
    )
