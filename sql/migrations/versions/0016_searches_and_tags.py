"""Tags of items, searches that are kept, and who did what and when."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0016"
down_revision = "0015"
branch_labels = None
depends_on = None

_NOW = sa.text("now()")


def _of_a_job(table: str) -> tuple[sa.Column[object], sa.ForeignKeyConstraint]:
    key = sa.ForeignKeyConstraint(["job"], ["job.id"], name=op.f(f"fk_{table}_job"), ondelete="CASCADE")
    return sa.Column("job", sa.Uuid(), nullable=False), key


def upgrade() -> None:
    """Three tables, empty."""
    job, key = _of_a_job("item_tag")
    op.create_table(
        "item_tag",
        job,
        sa.Column("tag", sa.Text(), nullable=False),
        sa.Column("item", sa.Uuid(), nullable=False),
        sa.Column("tagged_at", sa.DateTime(timezone=True), server_default=_NOW, nullable=False),
        sa.Column("tagged_by", sa.Text(), nullable=False),
        key,
        sa.PrimaryKeyConstraint("job", "tag", "item", name=op.f("pk_item_tag")),
    )
    op.create_index("ix_item_tag_item", "item_tag", ["item"])
    job, key = _of_a_job("saved_search")
    op.create_table(
        "saved_search",
        job,
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("query", sa.Text(), nullable=False),
        sa.Column("saved_at", sa.DateTime(timezone=True), server_default=_NOW, nullable=False),
        sa.Column("saved_by", sa.Text(), nullable=False),
        key,
        sa.PrimaryKeyConstraint("job", "name", name=op.f("pk_saved_search")),
    )
    job, key = _of_a_job("operator_action")
    op.create_table(
        "operator_action",
        sa.Column("id", sa.BigInteger(), sa.Identity(), nullable=False),
        job,
        sa.Column("at", sa.DateTime(timezone=True), server_default=_NOW, nullable=False),
        sa.Column("who", sa.Text(), nullable=False),
        sa.Column("action", sa.Text(), nullable=False),
        sa.Column("details", postgresql.JSONB(), nullable=False),
        key,
        sa.PrimaryKeyConstraint("id", name=op.f("pk_operator_action")),
    )
    op.create_index("ix_operator_action_job", "operator_action", ["job"])
