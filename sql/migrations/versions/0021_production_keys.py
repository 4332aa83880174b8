"""Items and files of productions refer to their job without a foreign key."""

from __future__ import annotations

from alembic import op

revision = "0021"
down_revision = "0020"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """A row is written behind the fence of a task of its job: nothing was found by looking for the job again with each."""
    for table in ("production_item", "production_file"):
        op.execute(f"ALTER TABLE {table} DROP CONSTRAINT IF EXISTS fk_{table}_job")  # the names are ours
