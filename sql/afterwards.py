"""Tables about a job's items that are written once the job is over: people's tags and actions, results of analyses, and
what other jobs take from the items and write. They extend the tables of `sql.models`."""

from __future__ import annotations

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
    Uuid,
    func,
)
from sqlalchemy.dialects.postgresql import JSONB

from core.job_types import FileKind

metadata = MetaData(
    naming_convention={
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "ck": "ck_%(table_name)s_%(constraint_name)s",
        "fk": "fk_%(table_name)s_%(column_0_N_name)s",
        "pk": "pk_%(table_name)s",
    }
)


def one_of(column: str, values: type) -> CheckConstraint:
    """The column has one of an enumeration's values."""
    listed = ", ".join(f"'{v.value}'" for v in values)  # type: ignore[attr-defined]
    return CheckConstraint(f"{column} IN ({listed})", name=f"{column}_known")


def job_column() -> Column[object]:
    """Whose row it is; with the job it goes."""
    return Column("job", Uuid, ForeignKey("job.id", ondelete="CASCADE"), nullable=False)


def fenced_job_column() -> Column[object]:
    """The same of rows that come by the hundred thousand, and only in the transaction that makes the job or behind the fence of one of
    its tasks, whose row is held: a foreign key would look for the job once more with each. Deleting the job deletes them (sql.deletion)."""
    return Column("job", Uuid, nullable=False)


def time_column(name: str, *, nullable: bool = True) -> Column[object]:
    """A moment by the database's clock."""
    return Column(name, DateTime(timezone=True), nullable=nullable)


# What people call items. No foreign key to the item: one that is processed again (requeue) has the same id and stays tagged.
item_tag = Table(
    "item_tag",
    metadata,
    job_column(),
    Column("tag", Text, nullable=False),
    Column("item", Uuid, nullable=False),
    Column("tagged_at", DateTime(timezone=True), nullable=False, server_default=func.now()),
    Column("tagged_by", Text, nullable=False),
    PrimaryKeyConstraint("job", "tag", "item"),
    Index("ix_item_tag_item", "item"),
)

saved_search = Table(
    "saved_search",
    metadata,
    job_column(),
    Column("name", Text, nullable=False),
    Column("query", Text, nullable=False),
    Column("saved_at", DateTime(timezone=True), nullable=False, server_default=func.now()),
    Column("saved_by", Text, nullable=False),
    PrimaryKeyConstraint("job", "name"),
)

# Who did what to a job, its items or their names, and when: written together with the action, never changed.
operator_action = Table(
    "operator_action",
    metadata,
    Column("id", BigInteger, Identity(), primary_key=True),
    job_column(),
    Column("at", DateTime(timezone=True), nullable=False, server_default=func.now()),
    Column("who", Text, nullable=False),
    Column("action", Text, nullable=False),
    Column("details", JSONB, nullable=False),
    # sha256 over the row and the chain of the job's action before, of the first over the job's id; NULL: of before it was kept
    Column("chain", LargeBinary),
    Index("ix_operator_action_job", "job"),
)

# What was found out of a job's items after it was over, one row for each kind of it (review.kinds): the latest. Jobs that
# were looked at together have rows with one token; where a row has another, or none is there, the finding was broken off.
review = Table(
    "review",
    metadata,
    job_column(),
    Column("kind", Text, nullable=False),
    Column("token", Uuid, nullable=False),
    Column("options", JSONB, nullable=False),  # the request, and the jobs it is about
    Column("figures", JSONB, nullable=False),  # counts, over all of these jobs
    Column("created_at", DateTime(timezone=True), nullable=False, server_default=func.now()),
    PrimaryKeyConstraint("job", "kind"),
)

# Members of groups of equal items, or of equal families: each names its group's original, which names itself.
duplicate = Table(
    "duplicate",
    metadata,
    job_column(),
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
near_duplicate = Table(
    "near_duplicate",
    metadata,
    job_column(),
    Column("item", Uuid, primary_key=True),
    Column("principal", Uuid, nullable=False),
    Column("principal_job", Uuid, nullable=False),  # may be in another database, so no foreign key
    Column("similarity", Double, nullable=False),  # of the two texts' sets of shingles; of the principal 1
    Column("members", BigInteger),  # of the principal: items in its group besides itself; of others NULL
    Index("ix_near_duplicate_job", "job"),
)

# Items whose hash is on a list of known software files.
system_file = Table(
    "system_file",
    metadata,
    job_column(),
    Column("item", Uuid, primary_key=True),
    Column("list", SmallInteger, nullable=False),  # the first list that has it, by its place in the order
    Index("ix_system_file_job", "job"),
)

# MD5 and SHA-1 of an item's bytes, read again because a list of known software files has no sha256.
item_digest = Table(
    "item_digest",
    metadata,
    job_column(),
    Column("item", Uuid, primary_key=True),
    Column("sha256", LargeBinary, nullable=False),  # that these bytes had: a requeued item may have others
    Column("md5", LargeBinary, nullable=False),
    Column("sha1", LargeBinary, nullable=False),
    Index("ix_item_digest_job", "job"),
)

# A message's place in its thread.
thread_message = Table(
    "thread_message",
    metadata,
    job_column(),
    Column("item", Uuid, primary_key=True),
    Column("thread", Uuid, nullable=False),  # follows from the ids in it: the same in every job
    Column("parent", Uuid),  # the message that it answers, if that is an item of these jobs
    Column("depth", Integer, nullable=False),  # 0: nothing is above it
    Column("by", Text, nullable=False),  # what put it there (review.threads.linking.By)
    Column("sent_at", DateTime(timezone=True)),
    Index("ix_thread_message_job", "job", "thread"),
)

# The items that such a job takes, numbered when it was created: what is written of which, and where, is settled before
# any task of it is dispatched. No foreign key to the item: its job may be deleted before this one.
production_item = Table(
    "production_item",
    metadata,
    fenced_job_column(),
    Column("number", BigInteger, nullable=False),
    Column("item", Uuid, nullable=False),
    Column("source_job", Uuid, nullable=False),
    Column("family_first", BigInteger, nullable=False),  # numbers of the family: its own where it has none
    Column("family_last", BigInteger, nullable=False),
    Column("parent", BigInteger),  # the number of what it is attached to; NULL: of nothing that was taken
    Column("volume", Integer, nullable=False),
    Column("folder", Integer, nullable=False),
    Column("suffix", Text, nullable=False),  # of its native file, with the dot
    Column("bytes", BigInteger, nullable=False),
    Column("shard", Uuid),  # that has its text; NULL: none has
    Column("pages", Integer),  # that were made of it; NULL: none were
    Column("first_page", BigInteger),  # the number of the first of them; NULL: pages have no numbers
    PrimaryKeyConstraint("job", "number"),
    Index("ix_production_item_item", "job", "item"),
    Index("ix_production_item_shard", "job", "shard", "number"),
    Index("ix_production_item_folder", "job", "volume", "folder"),
)

# What was written, with its hashes; the latest claim to finish is right, and each writes the same.
production_file = Table(
    "production_file",
    metadata,
    fenced_job_column(),
    Column("number", BigInteger, nullable=False),  # of the item; 0: of the job as a whole
    Column("kind", Text, nullable=False),
    Column("page", Integer, nullable=False),
    Column("path", Text, nullable=False),  # relative to the output directory
    Column("bytes", BigInteger, nullable=False),
    Column("sha256", LargeBinary, nullable=False),
    Column("md5", LargeBinary, nullable=False),
    PrimaryKeyConstraint("job", "number", "kind", "page"),
    one_of("kind", FileKind),
)
