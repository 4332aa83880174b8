"""The tables of what operators gave names to, and of what they did; with those of `sql.models`."""

from __future__ import annotations

from sqlalchemy import BigInteger, Column, DateTime, Identity, Index, PrimaryKeyConstraint, Table, Text, Uuid, func
from sqlalchemy.dialects.postgresql import JSONB

from sql.schema import job_column, metadata

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

# Who did what to a job's items or their names, and when: written with what it tells of, never changed.
operator_action = Table(
    "operator_action",
    metadata,
    Column("id", BigInteger, Identity(), primary_key=True),
    job_column(),
    Column("at", DateTime(timezone=True), nullable=False, server_default=func.now()),
    Column("who", Text, nullable=False),
    Column("action", Text, nullable=False),
    Column("details", JSONB, nullable=False),
    Index("ix_operator_action_job", "job"),
)
