"""Claim tokens, and task ids that never come again, in place of counters that a crash takes back (decision 0041)."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Rows that are there get ids and tokens that follow from their old numbers, so that they still belong together."""
    _task()
    for table in ("exception", "death", "replay_client"):
        _name_the_claim(table)
    op.create_primary_key(op.f("pk_death"), "death", ["task", "token"])
    # Text, because the documents of old jobs carry "task:attempt" for ever.
    op.add_column("item_index", sa.Column("owner", sa.Text(), nullable=True))
    op.execute("UPDATE item_index SET owner = task || ':' || attempt")
    op.alter_column("item_index", "owner", nullable=False)
    op.drop_column("item_index", "task")
    op.drop_column("item_index", "attempt")


def _to_uuid(table: str, column: str) -> None:
    op.execute(f"ALTER TABLE {table} ALTER COLUMN {column} TYPE uuid USING md5('task ' || {column})::uuid")


def _task() -> None:
    """What was out is pending again: no slot that knows an old number can finish it."""
    op.execute(
        "UPDATE task SET state = 'pending', deadline = NULL, lease = NULL WHERE state IN ('dispatched', 'running')"
    )
    op.execute("ALTER TABLE task ALTER COLUMN id DROP IDENTITY")
    _to_uuid("task", "id")
    op.alter_column("task", "id", server_default=sa.text("gen_random_uuid()"))
    for name in ("token", "origin", "origin_token"):
        op.add_column("task", sa.Column(name, sa.Uuid(), nullable=True))


def _name_the_claim(table: str) -> None:
    """(task, attempt) becomes (task, token); dropping the attempt drops a primary key that it is part of."""
    op.add_column(table, sa.Column("token", sa.Uuid(), nullable=True))
    op.execute(f"UPDATE {table} SET token = md5('claim ' || task || ':' || attempt)::uuid WHERE task IS NOT NULL")
    op.drop_column(table, "attempt")
    _to_uuid(table, "task")
    if table != "replay_client":
        op.alter_column(table, "token", nullable=False)
