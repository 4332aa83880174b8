"""The tables, as SQLAlchemy Core; `sql/migrations` creates exactly these (a test compares).

A job lives wholly in one database. Times are the database's clock (`timestamptz`).
"""

from __future__ import annotations

from sqlalchemy import (
    ARRAY,
    BigInteger,
    Boolean,
    Column,
    DateTime,
    Double,
    ForeignKey,
    Identity,
    Index,
    Integer,
    LargeBinary,
    PrimaryKeyConstraint,
    SmallInteger,
    Table,
    Text,
    UniqueConstraint,
    Uuid,
    func,
    text,
)
from sqlalchemy.dialects.postgresql import JSONB

from core.records import ExceptionLevel, GroupKind, JobState, Phase, TaskState
from readers.records import Kind, TextState
from sql import afterwards as afterwards  # its tables are of the same metadata
from sql.afterwards import job_column as _job
from sql.afterwards import metadata as metadata
from sql.afterwards import one_of as _one_of
from sql.afterwards import time_column as _time

# A group of ordinary jobs, one per database, started together; its row is in the first database.
job_group = Table(
    "job_group",
    metadata,
    Column("id", Uuid, primary_key=True),
    Column("name", Text, nullable=False),
    Column("members", JSONB, nullable=False),  # [{"database": …, "job": …}]
    Column("created_at", DateTime(timezone=True), nullable=False, server_default=func.now()),
    Column("kind", Text, nullable=False),
    Column("source", LargeBinary, nullable=False),  # absolute path of what was given, also where the jobs read copies
    Column("source_copies", Integer, nullable=False),  # 1: all jobs read the source itself
    _one_of("kind", GroupKind),
)

job = Table(
    "job",
    metadata,
    Column("id", Uuid, primary_key=True),
    Column("group_id", Uuid),  # of job_group; may be in another database, so no foreign key
    Column("type", Text, nullable=False, server_default="discovery"),
    Column("name", Text, nullable=False),
    Column("client", Text, nullable=False, server_default=""),
    Column("project", Text, nullable=False, server_default=""),
    Column("state", Text, nullable=False),
    Column("phase", Text, nullable=False),
    Column("reason", Text),  # why it is suspended
    Column("source", LargeBinary, nullable=False),  # absolute path, bytes
    Column("source_device", BigInteger, nullable=False),
    Column("source_inode", BigInteger, nullable=False),
    Column("storage", LargeBinary),  # absolute path of the storage root; NULL: made before it was noted
    Column("options", JSONB, nullable=False),
    Column("workers_planned", Integer, nullable=False, server_default="0"),
    Column("slots_planned", Integer, nullable=False, server_default="0"),
    Column("next_shard", Integer, nullable=False, server_default="0"),
    Column("created_at", DateTime(timezone=True), nullable=False, server_default=func.now()),
    _time("first_claim_at"),
    _time("finished_at"),
    _time("stopped_at"),  # when it was last paused or suspended; NULL while it runs
    Column(
        "stopped_seconds", Double, nullable=False, server_default="0"
    ),  # pauses so far, taken off elapsed; no suspensions
    Column("surroundings", JSONB),  # core.records.Surroundings; NULL: created before they were noted
    Column("labels", JSONB),  # of its end, what a result of it is labelled; NULL: not over, or not computed yet
    _one_of("state", JobState),
    _one_of("phase", Phase),
    Index("ix_job_active", "state", postgresql_where=text("state IN ('running', 'pausing', 'cancelling')")),
)

# One row for each phase a job has entered: first claim in it, and the barrier's commit.
job_phase = Table(
    "job_phase",
    metadata,
    _job(),
    Column("phase", Text, nullable=False),
    _time("started_at", nullable=False),
    _time("finished_at"),
    Column("stopped_seconds", Double, nullable=False, server_default="0"),
    PrimaryKeyConstraint("job", "phase"),
    _one_of("phase", Phase),
)

# When a job was stopped after its first claim, and in which state: paused, suspended, or over until it was requeued. A
# row is added when the job continues (a requeued one's before that): until then the job's own row has the state.
job_pause = Table(
    "job_pause",
    metadata,
    _job(),
    Column("state", Text, nullable=False),
    Column("reason", Text),  # why it was suspended
    _time("started_at", nullable=False),
    _time("finished_at"),  # NULL until a requeued job continues
    PrimaryKeyConstraint("job", "started_at"),
    _one_of("state", JobState),
)

# The storage that the controller of a system in containers has; workers compare theirs with it (core.services.shared_storage).
storage_root = Table(
    "storage_root",
    metadata,
    Column("path", Text, primary_key=True),
    Column("kind", Text, nullable=False),
    Column("source", Text, nullable=False),
    Column("token", Text, nullable=False),
)

# When this database could not be reached by the queue manager, as far as that noticed it.
outage = Table(
    "outage",
    metadata,
    Column("ended_at", DateTime(timezone=True), primary_key=True),
    Column("seconds", Double, nullable=False),
)

custodian = Table(
    "custodian",
    metadata,
    _job(),
    Column("number", Integer, nullable=False),
    Column("name", LargeBinary, nullable=False),
    Column("display", Text, nullable=False),
    PrimaryKeyConstraint("job", "number"),
)

task = Table(
    "task",
    metadata,
    Column("id", Uuid, primary_key=True, server_default=text("gen_random_uuid()")),  # never comes again (decision 0041)
    _job(),
    Column("phase", Text, nullable=False),
    Column("state", Text, nullable=False, server_default=TaskState.PENDING.value),
    Column("weight", BigInteger, nullable=False),
    Column("payload", JSONB, nullable=False),
    Column("token", Uuid),  # the claim token: who has it, had it last, or did it
    Column("origin", Uuid),  # the task that made it, NULL: none did …
    Column("origin_token", Uuid),  # … and under which claim; NULL: several tasks with one parser set did (sql.recut)
    Column("attempt", Integer, nullable=False, server_default="0"),  # for people; nothing is decided by it
    Column("portions", Integer, nullable=False, server_default="0"),  # of findings written before it was done …
    Column("portion_tokens", ARRAY(Uuid)),  # … and under which claims (decision 0042)
    Column("failures", Integer, nullable=False, server_default="0"),  # claims that ended in an unforeseen error
    _time("deadline"),  # dispatched: pending again after this
    _time("lease"),  # running: pending again after this
    _time("dispatched_at"),
    _time("claimed_at"),
    _time("finished_at"),
    Column("worker", Text),  # of the latest claim
    Column("slot", Integer),
    Column("raw_bytes", BigInteger, nullable=False, server_default="0"),
    Column("extracted_bytes", BigInteger, nullable=False, server_default="0"),
    Column("index_bytes", BigInteger, nullable=False, server_default="0"),
    Column("items", BigInteger, nullable=False, server_default="0"),  # expand: rows emitted; index: documents
    Column("parsers", Uuid),  # parser set of the latest claim; NULL: of before that was noted
    _one_of("phase", Phase),
    _one_of("state", TaskState),
    Index("ix_task_pending", "job", "phase", text("weight DESC"), "id", postgresql_where=text("state = 'pending'")),
    Index("ix_task_out", "job", "phase", "state", postgresql_where=text("state IN ('dispatched', 'running')")),
    Index("ix_task_job", "job", "phase"),
)

# Parsers that slots have had, each set once (readers.parsers). They stay when jobs go: there are as many as installations.
parser_set = Table(
    "parser_set",
    metadata,
    Column("id", Uuid, primary_key=True),  # derived from `told`
    Column("told", JSONB, nullable=False),
)

item = Table(
    "item",
    metadata,
    Column("id", Uuid, primary_key=True),
    _job(),
    Column("parent", Uuid),
    Column("family_id", Uuid),
    Column("custodian", Integer, nullable=False),
    Column("ordinal", LargeBinary, nullable=False),
    Column("depth", SmallInteger, nullable=False),
    Column("name", LargeBinary, nullable=False),
    Column("display", Text, nullable=False),
    Column("container_path", ARRAY(Text), nullable=False),
    Column("kind", Text, nullable=False),
    Column("container", Boolean, nullable=False),
    Column("media_type", Text, nullable=False),
    Column("bytes", BigInteger, nullable=False),
    Column("sha256", LargeBinary),
    Column("content_hash", LargeBinary),
    Column("message_id_hash", LargeBinary),
    Column("location", LargeBinary),  # relative to the storage root; NULL for loose files
    Column("path", LargeBinary),  # loose files: relative to the source; NULL for children
    Column("mtime_ns", BigInteger),
    _one_of("kind", Kind),
    Index("ix_item_job", "job", "id"),
    Index("ix_item_parent", "parent", postgresql_where=text("parent IS NOT NULL")),
)

item_text = Table(
    "item_text",
    metadata,
    Column("item", Uuid, ForeignKey("item.id", ondelete="CASCADE"), primary_key=True),
    _job(),
    Column("state", Text, nullable=False),
    Column("characters", BigInteger, nullable=False),
    Column("pages", Integer, nullable=False),
    Column("metadata", JSONB, nullable=False),
    _one_of("state", TextState),
    Index("ix_item_text_job", "job"),
)

shard = Table(
    "shard",
    metadata,
    Column("id", Uuid, primary_key=True),
    _job(),
    Column("engine", Text, nullable=False),
    Column("location", LargeBinary, nullable=False),
    Column("documents", BigInteger, nullable=False),
    Column("bytes", BigInteger),  # of its published files now; NULL: from before that was noted
    Index("ix_shard_job", "job"),
)

# The only valid index document of an item is the one in this shard that carries this owner.
item_index = Table(
    "item_index",
    metadata,
    Column("item", Uuid, ForeignKey("item.id", ondelete="CASCADE"), primary_key=True),
    _job(),
    Column("shard", Uuid, nullable=False),
    Column("owner", Text, nullable=False),  # the writer's claim token in hex; of old jobs "task:attempt"
    Index("ix_item_index_job", "job"),
)

container_count = Table(
    "container_count",
    metadata,
    Column(
        "item", Uuid, ForeignKey("item.id", ondelete="CASCADE", deferrable=True, initially="DEFERRED"), primary_key=True
    ),
    _job(),
    Column("announced", BigInteger),
    Column("emitted", BigInteger, nullable=False),
    Column("failed", BigInteger, nullable=False),
    Column("remainder_unknown", Boolean, nullable=False),
    Index("ix_container_count_job", "job"),
)

exception = Table(
    "exception",
    metadata,
    Column("id", BigInteger, Identity(), primary_key=True),
    _job(),
    Column("item", Uuid, nullable=False),
    Column("code", Text, nullable=False),
    Column("level", Text, nullable=False),
    Column("phase", Text, nullable=False),
    Column("detail", Text, nullable=False),
    Column("missing", BigInteger),
    Column("task", Uuid, nullable=False),
    Column("token", Uuid, nullable=False),  # of the claim that found it
    Column("created_at", DateTime(timezone=True), nullable=False, server_default=func.now()),
    _one_of("level", ExceptionLevel),
    Index("ix_exception_job_code", "job", "code"),
    Index("ix_exception_item", "item"),
)

# A slot that died while it worked on a loose file. An item with two of these is skipped from then on; a container or
# loose file in which too many died is read no further.
death = Table(
    "death",
    metadata,
    _job(),
    Column("task", Uuid, nullable=False),
    Column("token", Uuid, nullable=False),
    Column("phase", Text, nullable=False),
    Column("item", Uuid),  # that it read; NULL: the loose file as a whole is charged
    Column("parent", Uuid),  # the item around it; NULL where the slot did not say
    Column("loose", Uuid),  # the loose file; NULL where the slot did not say
    Column("seconds", Double, nullable=False),  # spent on the loose file, or the item, by this claim
    Column("taken", BigInteger, nullable=False),  # items taken out of the loose file by this claim
    Column("cause", Text, nullable=False),  # an ExceptionCode: killed_parser, timeout or memory
    Column("detail", Text, nullable=False),
    Column("worker", Text, nullable=False),
    Column("created_at", DateTime(timezone=True), nullable=False, server_default=func.now()),
    PrimaryKeyConstraint("task", "token"),
    Index("ix_death_job_item", "job", "item"),
)

# Seconds spent on a loose file that several tasks work on, or that took long.
loose_cost = Table(
    "loose_cost",
    metadata,
    _job(),
    Column("phase", Text, nullable=False),
    Column("loose", Uuid, nullable=False),
    Column("seconds", Double, nullable=False),
    PrimaryKeyConstraint("job", "phase", "loose"),
)

worker = Table(
    "worker",
    metadata,
    Column("incarnation", Uuid, primary_key=True),
    Column("name", Text, nullable=False),
    Column("host", Text, nullable=False),
    Column("pid", Integer, nullable=False),
    Column("boot_id", Text, nullable=False, server_default=""),
    Column("slots", Integer, nullable=False),
    Column("version", Text, nullable=False),
    Column("box", Text, nullable=False, server_default=""),  # what its boxes lack (worker.box); empty: nothing
    Column("started_at", DateTime(timezone=True), nullable=False, server_default=func.now()),
    _time("seen_at", nullable=False),
    _time("stopped_at"),  # set when it left in good order
    Column("cpu_seconds", Double, nullable=False, server_default="0"),
    Column("run_queue_seconds", Double, nullable=False, server_default="0"),  # schedstat: waiting for a core
    Column("waiting", JSONB, nullable=False, server_default="[]"),  # what its slots have been doing for long
    Column("frames_through", Double, nullable=False, server_default="0"),  # its clock: frames up to here are stored
    Column("frames_sequence", BigInteger, nullable=False, server_default="0"),  # number of its latest stored frame
    Column("frames_lost", BigInteger, nullable=False, server_default="0"),  # numbers that were skipped
)

# Calls by second, from the workers' live recorders; every rate and percentile is derived from these.
call_second = Table(
    "call_second",
    metadata,
    _job(),
    Column("incarnation", Uuid, nullable=False),
    Column("second", BigInteger, nullable=False),  # the worker's clock
    Column("phase", Text, nullable=False),
    Column("op", SmallInteger, nullable=False),  # core.operations.Op
    Column("calls", BigInteger, nullable=False),
    Column("bytes", BigInteger, nullable=False),
    Column("errors", BigInteger, nullable=False),
    Column("total_ns", BigInteger, nullable=False),
    Column("max_ns", BigInteger, nullable=False),
    Column("histogram", LargeBinary, nullable=False),  # core.histogram, sparse
    PrimaryKeyConstraint("job", "incarnation", "second", "phase", "op"),
)

# The same calls, all workers and phases together, by steps of time of several lengths (monitoring.aggregate): with a
# step's histogram its percentiles, so that a long run is drawn without merging anything.
call_step = Table(
    "call_step",
    metadata,
    _job(),
    Column("step", Integer, nullable=False),  # seconds
    Column("second", BigInteger, nullable=False),  # its first one, a multiple of the step
    Column("op", SmallInteger, nullable=False),
    Column("calls", BigInteger, nullable=False),
    Column("bytes", BigInteger, nullable=False),
    Column("errors", BigInteger, nullable=False),
    Column("total_ns", BigInteger, nullable=False),
    Column("max_ns", BigInteger, nullable=False),
    Column("p50_ns", BigInteger, nullable=False),
    Column("p95_ns", BigInteger, nullable=False),
    Column("p99_ns", BigInteger, nullable=False),
    Column("histogram", LargeBinary, nullable=False),
    PrimaryKeyConstraint("job", "step", "second", "op"),
)

# What else was seen in a second, by kind and source (monitoring.observations); counters are cumulative.
observation = Table(
    "observation",
    metadata,
    Column("second", BigInteger, nullable=False),  # the database's clock where it was taken there, else the host's
    Column("kind", Text, nullable=False),
    Column("source", Text, nullable=False),
    Column("job", Uuid, ForeignKey("job.id", ondelete="CASCADE")),  # NULL: of a database, worker, host or filer
    Column("values", JSONB, nullable=False),
    UniqueConstraint("job", "kind", "second", "source", postgresql_nulls_not_distinct=True),
)
