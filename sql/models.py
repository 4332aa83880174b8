"""The tables, as SQLAlchemy Core; `sql.migrate` creates them.

A job is in one database. Times are the database's clock (`timestamptz`)."""

from __future__ import annotations

from typing import Any

from sqlalchemy import (
    ARRAY,
    BigInteger,
    Boolean,
    CheckConstraint,
    Column,
    DateTime,
    Double,
    ForeignKey,
    Identity,
    Index,
    Integer,
    LargeBinary,
    MetaData,
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
from sqlalchemy.schema import SchemaItem
from sqlalchemy.types import TypeEngine

from core.job_types import FileKind
from core.records import ExceptionLevel, GroupKind, JobState, Phase, TaskState
from readers.records import Kind, TextState

metadata = MetaData(
    naming_convention={
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "ck": "ck_%(table_name)s_%(constraint_name)s",
        "fk": "fk_%(table_name)s_%(column_0_N_name)s",
        "pk": "pk_%(table_name)s",
    }
)


def _table(name: str, *parts: SchemaItem) -> Table:
    """A table of the ledger."""
    return Table(name, metadata, *parts)


def _filled(kind: type[TypeEngine[Any]], *names: str) -> list[Column[Any]]:
    """Columns of one type that are never NULL."""
    return [Column(name, kind, nullable=False) for name in names]


def _one_of(column: str, values: type) -> CheckConstraint:
    """A check that the column has a value of an enumeration."""
    listed = ", ".join(f"'{v.value}'" for v in values)  # type: ignore[attr-defined]
    return CheckConstraint(f"{column} IN ({listed})", name=f"{column}_known")


def _job() -> Column[object]:
    """The job of a row; deleting it deletes the row."""
    return Column("job", Uuid, ForeignKey("job.id", ondelete="CASCADE"), nullable=False)


def fenced_job_column() -> Column[object]:
    """The job of a row in a table of very many rows, which are written only in the transaction that creates the job or
    after the fence of one of its tasks, whose row is locked: a foreign key would look up the job again for each row.
    Deleting the job deletes them (sql.deletion)."""
    return Column("job", Uuid, nullable=False)


def _time(name: str, *, nullable: bool = True) -> Column[object]:
    """A moment by the database's clock."""
    return Column(name, DateTime(timezone=True), nullable=nullable)


# Tags. No foreign key to the item: one that is processed again (requeue) has the same id and stays tagged.
item_tag = _table(
    "item_tag",
    _job(),
    Column("tag", Text, nullable=False),
    Column("item", Uuid, nullable=False),
    Column("tagged_at", DateTime(timezone=True), nullable=False, server_default=func.now()),
    Column("tagged_by", Text, nullable=False),
    PrimaryKeyConstraint("job", "tag", "item"),
    Index("ix_item_tag_item", "item"),
)

saved_search = _table(
    "saved_search",
    _job(),
    Column("name", Text, nullable=False),
    Column("query", Text, nullable=False),
    Column("saved_at", DateTime(timezone=True), nullable=False, server_default=func.now()),
    Column("saved_by", Text, nullable=False),
    PrimaryKeyConstraint("job", "name"),
)

# Who did what to a job, its items or their names, and when: written together with the action, never changed.
operator_action = _table(
    "operator_action",
    Column("id", BigInteger, Identity(), primary_key=True),
    _job(),
    Column("at", DateTime(timezone=True), nullable=False, server_default=func.now()),
    Column("who", Text, nullable=False),
    Column("action", Text, nullable=False),
    Column("details", JSONB, nullable=False),
    # sha256 over the row and the chain of the job's previous action; for the first one, over the job's id
    Column("chain", LargeBinary, nullable=False),
    Index("ix_operator_action_job", "job"),
)

# The latest review of each kind (review.kinds) of a job's items, made after it was over. Jobs that
# were reviewed together have rows with one token; if a row has another one, or is missing, the review was interrupted.
review = _table(
    "review",
    _job(),
    Column("kind", Text, nullable=False),
    Column("token", Uuid, nullable=False),
    Column("options", JSONB, nullable=False),  # the request, and the jobs it is about
    Column("figures", JSONB, nullable=False),  # counts, over all of these jobs
    Column("created_at", DateTime(timezone=True), nullable=False, server_default=func.now()),
    PrimaryKeyConstraint("job", "kind"),
)

# Members of groups of equal items, or of equal families: each names its group's original, which names itself.
duplicate = _table(
    "duplicate",
    _job(),
    Column("item", Uuid, primary_key=True),
    Column("original", Uuid, nullable=False),  # by family: the topmost item of the original family
    Column("original_job", Uuid, nullable=False),  # may be in another database, so no foreign key
    Column(
        "copy", Boolean, nullable=False
    ),  # a duplicate, or of a duplicate family; false: the original, or of its family
    Column("custodians", ARRAY(Text)),  # of the original: all that have it, its own among them; of others NULL
    Column("copies", BigInteger),  # of the original: duplicates in its group; of others NULL
    Index("ix_duplicate_job", "job"),
)

# Members of groups of items whose texts are nearly the same: each names its group's principal, which names itself.
near_duplicate = _table(
    "near_duplicate",
    _job(),
    Column("item", Uuid, primary_key=True),
    Column("principal", Uuid, nullable=False),
    Column("principal_job", Uuid, nullable=False),  # may be in another database, so no foreign key
    Column("similarity", Double, nullable=False),  # of the two texts' sets of shingles; of the principal 1
    Column("members", BigInteger),  # of the principal: items in its group besides itself; of others NULL
    Index("ix_near_duplicate_job", "job"),
)

# Items whose hash is on a list of known software files.
system_file = _table(
    "system_file",
    _job(),
    Column("item", Uuid, primary_key=True),
    Column("list", SmallInteger, nullable=False),  # the first list that has it, by its place in the order
    Index("ix_system_file_job", "job"),
)

# MD5 and SHA-1 of an item's bytes, read again because a list of known software files has no sha256.
item_digest = _table(
    "item_digest",
    _job(),
    Column("item", Uuid, primary_key=True),
    Column("sha256", LargeBinary, nullable=False),  # of these bytes: a requeued item may have others
    Column("md5", LargeBinary, nullable=False),
    Column("sha1", LargeBinary, nullable=False),
    Index("ix_item_digest_job", "job"),
)

# A message's place in its thread.
thread_message = _table(
    "thread_message",
    _job(),
    Column("item", Uuid, primary_key=True),
    Column("thread", Uuid, nullable=False),  # follows from the ids in it: the same in every job
    Column("parent", Uuid),  # the message that it answers, if that is an item of these jobs
    Column("depth", Integer, nullable=False),  # 0: nothing is above it
    Column("by", Text, nullable=False),  # the reason for its place (review.threads.linking.By)
    Column("sent_at", DateTime(timezone=True)),
    Index("ix_thread_message_job", "job", "thread"),
)

# The items that a producing job takes, numbered when it was created: the files of each item and their names are fixed before
# any task of it is dispatched. No foreign key to the item: its job may be deleted before this one.
production_item = _table(
    "production_item",
    fenced_job_column(),
    Column("number", BigInteger, nullable=False),
    Column("item", Uuid, nullable=False),
    Column("source_job", Uuid, nullable=False),
    Column("family_first", BigInteger, nullable=False),  # numbers of the family: its own where it has none
    Column("family_last", BigInteger, nullable=False),
    Column("parent", BigInteger),  # the number of its parent; NULL: the parent was not taken
    Column("volume", Integer, nullable=False),
    Column("folder", Integer, nullable=False),
    Column("suffix", Text, nullable=False),  # of its native file, with the dot
    Column("bytes", BigInteger, nullable=False),
    Column("shard", Uuid),  # of its text; NULL: it has no text
    Column("pages", Integer),  # made from it; NULL: none
    Column("first_page", BigInteger),  # the number of the first of them; NULL: pages have no numbers
    PrimaryKeyConstraint("job", "number"),
    Index("ix_production_item_item", "job", "item"),
    Index("ix_production_item_shard", "job", "shard", "number"),
    Index("ix_production_item_folder", "job", "volume", "folder"),
)

# Written files with their hashes; the latest claim to finish is valid, and each writes the same.
production_file = _table(
    "production_file",
    fenced_job_column(),
    Column("number", BigInteger, nullable=False),  # of the item; 0: of the job as a whole
    Column("kind", Text, nullable=False),
    Column("page", Integer, nullable=False),
    Column("path", Text, nullable=False),  # relative to the output directory
    Column("bytes", BigInteger, nullable=False),
    Column("sha256", LargeBinary, nullable=False),
    Column("md5", LargeBinary, nullable=False),
    PrimaryKeyConstraint("job", "number", "kind", "page"),
    _one_of("kind", FileKind),
)


# A group of ordinary jobs, one per database, started together; its row is in the first database.
job_group = _table(
    "job_group",
    Column("id", Uuid, primary_key=True),
    Column("name", Text, nullable=False),
    Column("members", JSONB, nullable=False),  # [{"database": …, "job": …}]
    Column("created_at", DateTime(timezone=True), nullable=False, server_default=func.now()),
    Column("kind", Text, nullable=False),
    Column("source", LargeBinary, nullable=False),  # absolute path of the given source, even if the jobs read copies
    Column("source_copies", Integer, nullable=False),  # 1: all jobs read the source itself
    _one_of("kind", GroupKind),
)

job = _table(
    "job",
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
    Column("storage", LargeBinary, nullable=False),  # absolute path of the storage root
    Column("options", JSONB, nullable=False),
    Column("workers_planned", Integer, nullable=False, server_default="0"),
    Column("slots_planned", Integer, nullable=False, server_default="0"),
    Column("created_at", DateTime(timezone=True), nullable=False, server_default=func.now()),
    _time("first_claim_at"),
    _time("finished_at"),
    _time("stopped_at"),  # when it was last paused or suspended; NULL while it runs
    Column(
        "stopped_seconds", Double, nullable=False, server_default="0"
    ),  # pauses so far, taken off elapsed; no suspensions
    Column("surroundings", JSONB, nullable=False),  # controller.labels.rules.Surroundings
    Column("labels", JSONB),  # labels of its result; NULL: not over, or not computed yet
    _one_of("state", JobState),
    _one_of("phase", Phase),
    Index("ix_job_active", "state", postgresql_where=text("state IN ('running', 'pausing', 'cancelling')")),
)

# One row for each phase a job has entered: first claim in it, and the barrier's commit.
job_phase = _table(
    "job_phase",
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
job_pause = _table(
    "job_pause",
    _job(),
    Column("state", Text, nullable=False),
    Column("reason", Text),  # why it was suspended
    _time("started_at", nullable=False),
    _time("finished_at"),  # NULL until a requeued job continues
    PrimaryKeyConstraint("job", "started_at"),
    _one_of("state", JobState),
)

# The storage that the controller of a system in containers has; workers compare theirs with it (core.services.shared_storage).
storage_root = _table(
    "storage_root",
    Column("path", Text, primary_key=True),
    *_filled(Text, "kind", "source", "token"),
)

# Times in which the queue manager could not reach this database, as far as it noticed.
outage = _table(
    "outage",
    Column("ended_at", DateTime(timezone=True), primary_key=True),
    Column("seconds", Double, nullable=False),
)

custodian = _table(
    "custodian",
    _job(),
    Column("number", Integer, nullable=False),
    Column("name", LargeBinary, nullable=False),
    Column("display", Text, nullable=False),
    PrimaryKeyConstraint("job", "number"),
)

task = _table(
    "task",
    Column("id", Uuid, primary_key=True, server_default=text("gen_random_uuid()")),  # never reused (decision 0041)
    _job(),
    Column("phase", Text, nullable=False),
    Column("state", Text, nullable=False, server_default=TaskState.PENDING.value),
    Column("weight", BigInteger, nullable=False),
    Column("payload", JSONB, nullable=False),
    Column("token", Uuid),  # the token of the present or latest claim
    Column("origin", Uuid),  # the task that made it, NULL: none did …
    Column("origin_token", Uuid),  # … and under which claim; NULL: several tasks with one parser set did (sql.states)
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
    Column("parsers", Uuid),  # parser set of the latest claim; NULL: it was never claimed
    _one_of("phase", Phase),
    _one_of("state", TaskState),
    # One index, and no partial one for pending tasks: without statistics of the table, the planner takes either of two, and then
    # reads all tasks that are done to find one that is pending, or sorts all that are.
    Index("ix_task_job", "job", "phase", "state", text("weight DESC"), "id"),
    Index("ix_task_out", "job", "phase", "state", postgresql_where=text("state IN ('dispatched', 'running')")),
)

# Parser sets of slots, each stored once (readers.parsers). They stay when jobs are deleted: there are as many as installations.
parser_set = _table(
    "parser_set",
    Column("id", Uuid, primary_key=True),  # derived from `contents`
    Column("contents", JSONB, nullable=False),
)

item = _table(
    "item",
    Column("id", Uuid, primary_key=True),
    fenced_job_column(),
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

item_text = _table(
    "item_text",
    Column("item", Uuid, ForeignKey("item.id", ondelete="CASCADE"), primary_key=True),
    fenced_job_column(),
    Column("state", Text, nullable=False),
    Column("characters", BigInteger, nullable=False),
    Column("pages", Integer, nullable=False),
    Column("metadata", JSONB, nullable=False),
    _one_of("state", TextState),
    Index("ix_item_text_job", "job"),
)

shard = _table(
    "shard",
    Column("id", Uuid, primary_key=True),
    _job(),
    Column("engine", Text, nullable=False),
    Column("location", LargeBinary, nullable=False),
    Column("documents", BigInteger, nullable=False),
    Column("bytes", BigInteger, nullable=False),  # of its published files now
    Index("ix_shard_job", "job"),
)

# The only valid index document of an item is the one in this shard that carries this owner.
item_index = _table(
    "item_index",
    Column("item", Uuid, ForeignKey("item.id", ondelete="CASCADE"), primary_key=True),
    fenced_job_column(),
    Column("shard", Uuid, nullable=False),
    Column("owner", Text, nullable=False),  # the writer's claim token in hex
    Index("ix_item_index_job", "job"),
)

container_count = _table(
    "container_count",
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

exception = _table(
    "exception",
    Column("id", BigInteger, Identity(), primary_key=True),
    _job(),
    Column("item", Uuid, nullable=False),
    *_filled(Text, "code", "level", "phase", "detail"),
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
death = _table(
    "death",
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
loose_cost = _table(
    "loose_cost",
    _job(),
    Column("phase", Text, nullable=False),
    Column("loose", Uuid, nullable=False),
    Column("seconds", Double, nullable=False),
    PrimaryKeyConstraint("job", "phase", "loose"),
)

worker = _table(
    "worker",
    Column("incarnation", Uuid, primary_key=True),
    Column("name", Text, nullable=False),
    Column("host", Text, nullable=False),
    Column("pid", Integer, nullable=False),
    Column("boot_id", Text, nullable=False, server_default=""),
    Column("slots", Integer, nullable=False),
    Column("version", Text, nullable=False),
    Column(
        "box", Text, nullable=False, server_default=""
    ),  # features that its sandbox lacks (worker.sandbox); empty: none
    Column("started_at", DateTime(timezone=True), nullable=False, server_default=func.now()),
    _time("seen_at", nullable=False),
    _time("stopped_at"),  # set when it left in good order
    Column("waiting", JSONB, nullable=False, server_default="[]"),  # long operations of its slots
    Column("frames_through", Double, nullable=False, server_default="0"),  # its clock: frames up to here are stored
    Column("frames_sequence", BigInteger, nullable=False, server_default="0"),  # number of its latest stored frame …
    Column("frames_second", BigInteger, nullable=False, server_default="0"),  # … and its second
    Column("frames_lost", BigInteger, nullable=False, server_default="0"),  # numbers that were skipped
)

# Calls by second, from the workers' live recorders; every rate and percentile is derived from these.
call_second = _table(
    "call_second",
    _job(),
    Column("incarnation", Uuid, nullable=False),
    Column("second", BigInteger, nullable=False),  # the worker's clock
    Column("phase", Text, nullable=False),
    Column("op", SmallInteger, nullable=False),  # core.operations.Op
    *_filled(BigInteger, "calls", "bytes", "errors", "total_ns", "max_ns"),
    Column("histogram", LargeBinary, nullable=False),  # core.histogram, sparse
    PrimaryKeyConstraint("job", "incarnation", "second", "phase", "op"),
)

# The same calls, of all workers and phases, by steps of time of several lengths (monitoring.aggregate): with a
# step's histogram its percentiles, so that a long run is drawn without merging anything.
call_step = _table(
    "call_step",
    _job(),
    Column("step", Integer, nullable=False),  # seconds
    Column("second", BigInteger, nullable=False),  # its first one, a multiple of the step
    Column("op", SmallInteger, nullable=False),
    *_filled(BigInteger, "calls", "bytes", "errors", "total_ns", "max_ns", "p50_ns", "p95_ns", "p99_ns"),
    Column("histogram", LargeBinary, nullable=False),
    PrimaryKeyConstraint("job", "step", "second", "op"),
)

# Other observations of a second, by kind and source (monitoring.observations); counters are cumulative.
observation = _table(
    "observation",
    Column("second", BigInteger, nullable=False),  # the database's clock where it was taken there, else the host's
    Column("kind", Text, nullable=False),
    Column("source", Text, nullable=False),
    Column("job", Uuid, ForeignKey("job.id", ondelete="CASCADE")),  # NULL: of a database, worker, host or filer
    Column("values", JSONB, nullable=False),
    UniqueConstraint("job", "kind", "second", "source", postgresql_nulls_not_distinct=True),
)
