"""Tasks say with which parsers they were done."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0020"
down_revision = "0019"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """A new table, empty, and one more column, which no row has to be written anew for; tasks of before have none."""
    op.create_table(
        "parser_set",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("told", postgresql.JSONB(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_parser_set")),
    )
    op.add_column("task", sa.Column("parsers", sa.Uuid(), nullable=True))
