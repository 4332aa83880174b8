"""The tables of jobs that write files out of other jobs' items; with those of `sql.models`."""

from __future__ import annotations

from sqlalchemy import BigInteger, Column, Index, Integer, LargeBinary, PrimaryKeyConstraint, Table, Text, Uuid

from core.production import FileKind
from sql.schema import job_column, metadata, one_of

# The items that such a job takes, numbered when it was created: what is written of which, and where, is settled before
# any task of it is dispatched. No foreign key to the item: its job may be deleted before this one.
production_item = Table(
    "production_item",
    metadata,
    job_column(),
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
    job_column(),
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
