"""The first schema: jobs, the task ledger, items and what is known of them, workers and their calls."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def _job() -> None:
    op.create_table(
        "job",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("group_id", sa.Uuid(), nullable=True),
        sa.Column("type", sa.Text(), server_default="discovery", nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("client", sa.Text(), server_default="", nullable=False),
        sa.Column("project", sa.Text(), server_default="", nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("phase", sa.Text(), nullable=False),
        sa.Column("reason", sa.Text(), nullable=True),
        sa.Column("source", sa.LargeBinary(), nullable=False),
        sa.Column("source_device", sa.BigInteger(), nullable=False),
        sa.Column("source_inode", sa.BigInteger(), nullable=False),
        sa.Column("options", postgresql.JSONB(), nullable=False),
        sa.Column("workers_planned", sa.Integer(), server_default="0", nullable=False),
        sa.Column("slots_planned", sa.Integer(), server_default="0", nullable=False),
        sa.Column("next_shard", sa.Integer(), server_default="0", nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.Column("first_claim_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("finished_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("stopped_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("stopped_seconds", sa.Double(), server_default="0", nullable=False),
        sa.CheckConstraint("phase IN ('walk', 'expand', 'index', 'finalise')", name=op.f("ck_job_phase_known")),
        sa.CheckConstraint(
            "state IN ('running', 'pausing', 'paused', 'cancelling', 'cancelled', 'suspended', 'completed', 'completed_with_exceptions', 'failed')",
            name=op.f("ck_job_state_known"),
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_job")),
    )
    op.create_index(
        "ix_job_active",
        "job",
        ["state"],
        unique=False,
        postgresql_where=sa.text("state IN ('running', 'pausing', 'cancelling')"),
    )


def _job_group() -> None:
    op.create_table(
        "job_group",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("members", postgresql.JSONB(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_job_group")),
    )


def _worker() -> None:
    op.create_table(
        "worker",
        sa.Column("incarnation", sa.Uuid(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("host", sa.Text(), nullable=False),
        sa.Column("pid", sa.Integer(), nullable=False),
        sa.Column("boot_id", sa.Text(), server_default="", nullable=False),
        sa.Column("slots", sa.Integer(), nullable=False),
        sa.Column("version", sa.Text(), nullable=False),
        sa.Column("started_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.Column("seen_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("stopped_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("cpu_seconds", sa.Double(), server_default="0", nullable=False),
        sa.Column("run_queue_seconds", sa.Double(), server_default="0", nullable=False),
        sa.Column("frames_through", sa.Double(), server_default="0", nullable=False),
        sa.Column("frames_sequence", sa.BigInteger(), server_default="0", nullable=False),
        sa.Column("frames_lost", sa.BigInteger(), server_default="0", nullable=False),
        sa.PrimaryKeyConstraint("incarnation", name=op.f("pk_worker")),
    )


def _call_second() -> None:
    op.create_table(
        "call_second",
        sa.Column("job", sa.Uuid(), nullable=False),
        sa.Column("incarnation", sa.Uuid(), nullable=False),
        sa.Column("second", sa.BigInteger(), nullable=False),
        sa.Column("phase", sa.Text(), nullable=False),
        sa.Column("op", sa.SmallInteger(), nullable=False),
        sa.Column("calls", sa.BigInteger(), nullable=False),
        sa.Column("bytes", sa.BigInteger(), nullable=False),
        sa.Column("errors", sa.BigInteger(), nullable=False),
        sa.Column("total_ns", sa.BigInteger(), nullable=False),
        sa.Column("max_ns", sa.BigInteger(), nullable=False),
        sa.Column("histogram", sa.LargeBinary(), nullable=False),
        sa.ForeignKeyConstraint(["job"], ["job.id"], name=op.f("fk_call_second_job"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("job", "incarnation", "second", "phase", "op", name=op.f("pk_call_second")),
    )


def _custodian() -> None:
    op.create_table(
        "custodian",
        sa.Column("job", sa.Uuid(), nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("name", sa.LargeBinary(), nullable=False),
        sa.Column("display", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(["job"], ["job.id"], name=op.f("fk_custodian_job"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("job", "number", name=op.f("pk_custodian")),
    )


def _death() -> None:
    op.create_table(
        "death",
        sa.Column("job", sa.Uuid(), nullable=False),
        sa.Column("task", sa.BigInteger(), nullable=False),
        sa.Column("attempt", sa.Integer(), nullable=False),
        sa.Column("item", sa.Uuid(), nullable=False),
        sa.Column("cause", sa.Text(), nullable=False),
        sa.Column("detail", sa.Text(), nullable=False),
        sa.Column("worker", sa.Text(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.ForeignKeyConstraint(["job"], ["job.id"], name=op.f("fk_death_job"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("task", "attempt", name=op.f("pk_death")),
    )
    op.create_index("ix_death_job_item", "death", ["job", "item"], unique=False)


def _exception() -> None:
    op.create_table(
        "exception",
        sa.Column("id", sa.BigInteger(), sa.Identity(always=False), nullable=False),
        sa.Column("job", sa.Uuid(), nullable=False),
        sa.Column("item", sa.Uuid(), nullable=False),
        sa.Column("code", sa.Text(), nullable=False),
        sa.Column("level", sa.Text(), nullable=False),
        sa.Column("phase", sa.Text(), nullable=False),
        sa.Column("detail", sa.Text(), nullable=False),
        sa.Column("missing", sa.BigInteger(), nullable=True),
        sa.Column("task", sa.BigInteger(), nullable=False),
        sa.Column("attempt", sa.Integer(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.CheckConstraint("level IN ('node', 'item')", name=op.f("ck_exception_level_known")),
        sa.ForeignKeyConstraint(["job"], ["job.id"], name=op.f("fk_exception_job"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_exception")),
    )
    op.create_index("ix_exception_item", "exception", ["item"], unique=False)
    op.create_index("ix_exception_job_code", "exception", ["job", "code"], unique=False)


def _item() -> None:
    op.create_table(
        "item",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("job", sa.Uuid(), nullable=False),
        sa.Column("parent", sa.Uuid(), nullable=True),
        sa.Column("family_id", sa.Uuid(), nullable=True),
        sa.Column("custodian", sa.Integer(), nullable=False),
        sa.Column("ordinal", sa.LargeBinary(), nullable=False),
        sa.Column("depth", sa.SmallInteger(), nullable=False),
        sa.Column("name", sa.LargeBinary(), nullable=False),
        sa.Column("display", sa.Text(), nullable=False),
        sa.Column("container_path", sa.ARRAY(sa.Text()), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("container", sa.Boolean(), nullable=False),
        sa.Column("media_type", sa.Text(), nullable=False),
        sa.Column("bytes", sa.BigInteger(), nullable=False),
        sa.Column("sha256", sa.LargeBinary(), nullable=True),
        sa.Column("content_hash", sa.LargeBinary(), nullable=True),
        sa.Column("message_id_hash", sa.LargeBinary(), nullable=True),
        sa.Column("location", sa.LargeBinary(), nullable=True),
        sa.Column("path", sa.LargeBinary(), nullable=True),
        sa.Column("mtime_ns", sa.BigInteger(), nullable=True),
        sa.CheckConstraint(
            "kind IN ('loose_file', 'message', 'attachment', 'embedded_object', 'archive_member')",
            name=op.f("ck_item_kind_known"),
        ),
        sa.ForeignKeyConstraint(["job"], ["job.id"], name=op.f("fk_item_job"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_item")),
    )
    op.create_index("ix_item_job", "item", ["job", "id"], unique=False)
    op.create_index("ix_item_parent", "item", ["parent"], unique=False, postgresql_where=sa.text("parent IS NOT NULL"))


def _job_phase() -> None:
    op.create_table(
        "job_phase",
        sa.Column("job", sa.Uuid(), nullable=False),
        sa.Column("phase", sa.Text(), nullable=False),
        sa.Column("started_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("finished_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("stopped_seconds", sa.Double(), server_default="0", nullable=False),
        sa.CheckConstraint("phase IN ('walk', 'expand', 'index', 'finalise')", name=op.f("ck_job_phase_phase_known")),
        sa.ForeignKeyConstraint(["job"], ["job.id"], name=op.f("fk_job_phase_job"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("job", "phase", name=op.f("pk_job_phase")),
    )


def _shard() -> None:
    op.create_table(
        "shard",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("job", sa.Uuid(), nullable=False),
        sa.Column("engine", sa.Text(), nullable=False),
        sa.Column("location", sa.LargeBinary(), nullable=False),
        sa.Column("documents", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(["job"], ["job.id"], name=op.f("fk_shard_job"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_shard")),
    )
    op.create_index("ix_shard_job", "shard", ["job"], unique=False)


def _task() -> None:
    op.create_table(
        "task",
        sa.Column("id", sa.BigInteger(), sa.Identity(always=False), nullable=False),
        sa.Column("job", sa.Uuid(), nullable=False),
        sa.Column("phase", sa.Text(), nullable=False),
        sa.Column("state", sa.Text(), server_default="pending", nullable=False),
        sa.Column("weight", sa.BigInteger(), nullable=False),
        sa.Column("payload", postgresql.JSONB(), nullable=False),
        sa.Column("attempt", sa.Integer(), server_default="0", nullable=False),
        sa.Column("failures", sa.Integer(), server_default="0", nullable=False),
        sa.Column("deadline", sa.DateTime(timezone=True), nullable=True),
        sa.Column("lease", sa.DateTime(timezone=True), nullable=True),
        sa.Column("dispatched_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("claimed_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("finished_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("worker", sa.Text(), nullable=True),
        sa.Column("slot", sa.Integer(), nullable=True),
        sa.Column("raw_bytes", sa.BigInteger(), server_default="0", nullable=False),
        sa.Column("extracted_bytes", sa.BigInteger(), server_default="0", nullable=False),
        sa.Column("index_bytes", sa.BigInteger(), server_default="0", nullable=False),
        sa.Column("items", sa.BigInteger(), server_default="0", nullable=False),
        sa.CheckConstraint("phase IN ('walk', 'expand', 'index', 'finalise')", name=op.f("ck_task_phase_known")),
        sa.CheckConstraint("state IN ('pending', 'dispatched', 'running', 'done')", name=op.f("ck_task_state_known")),
        sa.ForeignKeyConstraint(["job"], ["job.id"], name=op.f("fk_task_job"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_task")),
    )
    op.create_index("ix_task_job", "task", ["job", "phase"], unique=False)
    op.create_index(
        "ix_task_out",
        "task",
        ["job", "phase", "state"],
        unique=False,
        postgresql_where=sa.text("state IN ('dispatched', 'running')"),
    )
    op.create_index(
        "ix_task_pending",
        "task",
        ["job", "phase", sa.literal_column("weight DESC"), "id"],
        unique=False,
        postgresql_where=sa.text("state = 'pending'"),
    )


def _container_count() -> None:
    op.create_table(
        "container_count",
        sa.Column("item", sa.Uuid(), nullable=False),
        sa.Column("job", sa.Uuid(), nullable=False),
        sa.Column("announced", sa.BigInteger(), nullable=True),
        sa.Column("emitted", sa.BigInteger(), nullable=False),
        sa.Column("failed", sa.BigInteger(), nullable=False),
        sa.Column("remainder_unknown", sa.Boolean(), nullable=False),
        sa.ForeignKeyConstraint(
            ["item"],
            ["item.id"],
            name=op.f("fk_container_count_item"),
            ondelete="CASCADE",
            initially="DEFERRED",
            deferrable=True,
        ),
        sa.ForeignKeyConstraint(["job"], ["job.id"], name=op.f("fk_container_count_job"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("item", name=op.f("pk_container_count")),
    )
    op.create_index("ix_container_count_job", "container_count", ["job"], unique=False)


def _item_index() -> None:
    op.create_table(
        "item_index",
        sa.Column("item", sa.Uuid(), nullable=False),
        sa.Column("job", sa.Uuid(), nullable=False),
        sa.Column("shard", sa.Uuid(), nullable=False),
        sa.Column("task", sa.BigInteger(), nullable=False),
        sa.Column("attempt", sa.Integer(), nullable=False),
        sa.ForeignKeyConstraint(["item"], ["item.id"], name=op.f("fk_item_index_item"), ondelete="CASCADE"),
        sa.ForeignKeyConstraint(["job"], ["job.id"], name=op.f("fk_item_index_job"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("item", name=op.f("pk_item_index")),
    )
    op.create_index("ix_item_index_job", "item_index", ["job"], unique=False)


def _item_text() -> None:
    op.create_table(
        "item_text",
        sa.Column("item", sa.Uuid(), nullable=False),
        sa.Column("job", sa.Uuid(), nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("characters", sa.BigInteger(), nullable=False),
        sa.Column("pages", sa.Integer(), nullable=False),
        sa.Column("metadata", postgresql.JSONB(), nullable=False),
        sa.CheckConstraint(
            "state IN ('ok', 'empty', 'no_text_layer', 'encrypted', 'unsupported', 'failed', 'truncated_by_limit')",
            name=op.f("ck_item_text_state_known"),
        ),
        sa.ForeignKeyConstraint(["item"], ["item.id"], name=op.f("fk_item_text_item"), ondelete="CASCADE"),
        sa.ForeignKeyConstraint(["job"], ["job.id"], name=op.f("fk_item_text_job"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("item", name=op.f("pk_item_text")),
    )
    op.create_index("ix_item_text_job", "item_text", ["job"], unique=False)


def upgrade() -> None:
    """Create every table of `sql.models` as it was in this revision."""
    _job()
    _job_group()
    _worker()
    _call_second()
    _custodian()
    _death()
    _exception()
    _item()
    _job_phase()
    _shard()
    _task()
    _container_count()
    _item_index()
    _item_text()
