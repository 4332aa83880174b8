"""Jobs that extract, process and export: phases of their own, the items they take, the files they write."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0017"
down_revision = "0016"
branch_labels = None
depends_on = None

_PHASES = "'walk', 'expand', 'index', 'ocr', 'replay', 'extract', 'render', 'stamp', 'export', 'finalise'"


def _of_a_job(table: str) -> tuple[sa.Column[object], sa.ForeignKeyConstraint]:
    key = sa.ForeignKeyConstraint(["job"], ["job.id"], name=op.f(f"fk_{table}_job"), ondelete="CASCADE")
    return sa.Column("job", sa.Uuid(), nullable=False), key


def upgrade() -> None:
    """Four more values wherever a phase is checked, and two tables."""
    for table in ("job", "job_phase", "task"):
        name = op.f(f"ck_{table}_phase_known")
        op.drop_constraint(name, table, type_="check")
        op.create_check_constraint(name, table, f"phase IN ({_PHASES})")
    job, key = _of_a_job("production_item")
    op.create_table(
        "production_item",
        job,
        sa.Column("number", sa.BigInteger(), nullable=False),
        sa.Column("item", sa.Uuid(), nullable=False),
        sa.Column("source_job", sa.Uuid(), nullable=False),
        sa.Column("family_first", sa.BigInteger(), nullable=False),
        sa.Column("family_last", sa.BigInteger(), nullable=False),
        sa.Column("parent", sa.BigInteger(), nullable=True),
        sa.Column("volume", sa.Integer(), nullable=False),
        sa.Column("folder", sa.Integer(), nullable=False),
        sa.Column("suffix", sa.Text(), nullable=False),
        sa.Column("bytes", sa.BigInteger(), nullable=False),
        sa.Column("shard", sa.Uuid(), nullable=True),
        sa.Column("pages", sa.Integer(), nullable=True),
        sa.Column("first_page", sa.BigInteger(), nullable=True),
        key,
        sa.PrimaryKeyConstraint("job", "number", name=op.f("pk_production_item")),
    )
    op.create_index("ix_production_item_item", "production_item", ["job", "item"])
    op.create_index("ix_production_item_shard", "production_item", ["job", "shard", "number"])
    op.create_index("ix_production_item_folder", "production_item", ["job", "volume", "folder"])
    job, key = _of_a_job("production_file")
    op.create_table(
        "production_file",
        job,
        sa.Column("number", sa.BigInteger(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("page", sa.Integer(), nullable=False),
        sa.Column("path", sa.Text(), nullable=False),
        sa.Column("bytes", sa.BigInteger(), nullable=False),
        sa.Column("sha256", sa.LargeBinary(), nullable=False),
        sa.Column("md5", sa.LargeBinary(), nullable=False),
        key,
        sa.PrimaryKeyConstraint("job", "number", "kind", "page", name=op.f("pk_production_file")),
        sa.CheckConstraint("kind IN ('native', 'text', 'image', 'report')", name=op.f("ck_production_file_kind_known")),
    )
