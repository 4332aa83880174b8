"""Items, families, text, exceptions and what a search finds."""

from __future__ import annotations

import uuid
from datetime import datetime
from typing import Any

from pydantic import Field

from core.document import Document
from core.errors import ExceptionCode
from core.records import ExceptionLevel, Kind, Phase, TextState
from review.one_item import Equal, Message, Near
from web.api.models.common import CountByName


class ItemRow(Document):
    """One item."""

    id: uuid.UUID
    job: uuid.UUID
    parent: uuid.UUID | None
    family: uuid.UUID | None
    custodian: str
    container_path: list[str] = Field(description="From the loose file's relative path down to this item's name.")
    kind: Kind
    container: bool
    media_type: str
    bytes: int
    sha256: str | None
    text_state: TextState | None
    characters: int | None
    pages: int | None
    shard: uuid.UUID | None
    exceptions: list[ExceptionCode]
    name: str
    name_b64: str | None = Field(None, description="The name's bytes, where `name` does not show them faithfully.")


class ItemPage(Document):
    """Items in path order."""

    items: list[ItemRow]
    next: uuid.UUID | None = Field(description="Give it as `after` to get the page after this one; null: the last.")


class ChildCounts(Document):
    """What a container announced and what came of it."""

    announced: int | None
    emitted: int
    failed: int
    remainder_unknown: bool


class Failure(Document):
    """One exception of an item."""

    code: ExceptionCode
    level: ExceptionLevel
    phase: Phase
    detail: str
    missing: int | None


class ItemTag(Document):
    """A tag of an item, and who gave it."""

    tag: str
    tagged_at: datetime
    tagged_by: str


class ItemDetails(ItemRow):
    """Everything that is known of one item."""

    depth: int
    content_hash: str | None
    message_id_hash: str | None
    location: str | None = Field(description="Where it was written, relative to the storage root.")
    path: str | None = Field(description="Of a loose file, relative to the source.")
    mtime_ns: int | None
    metadata: dict[str, Any]
    children: ChildCounts | None
    failures: list[Failure]
    tags: list[ItemTag]


class FamilyMember(Document):
    """One item of a tree; its place is given by `parent`."""

    id: uuid.UUID
    parent: uuid.UUID | None
    depth: int
    name: str
    kind: Kind
    container: bool
    media_type: str
    bytes: int
    failed: bool = Field(description="It has exceptions.")


class Family(Document):
    """The family of an item; of a container outside any family its direct children."""

    item: uuid.UUID
    family: uuid.UUID | None
    ancestors: list[FamilyMember] = Field(description="What the item lies in, outermost first.")
    members: list[FamilyMember] = Field(description="In path order; each stands after its parent.")
    truncated: bool = Field(description="There are more members than are given.")


class ItemText(Document):
    """The text that was indexed of an item."""

    item: uuid.UUID
    state: TextState | None
    text: str | None = Field(description="Null while the item has no index document.")
    characters: int = Field(description="Of the whole text.")
    offset: int
    next: int | None = Field(description="Give it as `offset` to get what follows; null: this is the end.")
    matches: list[tuple[int, int]] = Field(
        [], description="Words of `q`: first character in `text` and the one behind the last; 5,000 at most."
    )
    next_match: int | None = Field(
        None, description="Where a word of `q` stands behind this portion, within four million characters."
    )


class Beside(Document):
    """What stands before and behind an item in a list; null: nothing."""

    before: uuid.UUID | None
    after: uuid.UUID | None


class Equals(Document):
    """An item and its equals; empty of one that has none."""

    equals: list[Equal]


class NearOnes(Document):
    """An item and its near-duplicates; empty of one that has none."""

    near: list[Near]


class Thread(Document):
    """Messages that answer each other; empty of what is no message."""

    messages: list[Message]


class Piece(Document):
    """A piece of a snippet."""

    text: str
    match: bool


class SearchHit(Document):
    """One item that matches."""

    item: uuid.UUID
    score: float
    container_path: list[str]
    custodian: str
    family: uuid.UUID | None
    kind: Kind
    media_type: str
    database: str | None = Field(None, description="Of its job, where the jobs of a group were searched.")
    job: uuid.UUID | None = Field(None, description="The same.")
    hit: bool | None = Field(None, description="Whether it matches itself, where families were asked for.")
    snippet: list[Piece] = Field(description="Plain text around the match, in pieces; escape it before you show it.")


class SearchAnswer(Document):
    """The best hits, and all that match counted."""

    hits: list[SearchHit]
    items: int = Field(description="Items that match.")
    complete: bool = Field(description="False: types and custodians are counted over 20,000 items of a job.")
    types: list[CountByName]
    custodians: list[CountByName]


class ExceptionTally(Document):
    """Exceptions that have a code, media type or custodian in common."""

    name: str
    exceptions: int
    items: int
    missing: int


class ExceptionCounts(Document):
    """Exceptions counted, most frequent first."""

    by: str
    rows: list[ExceptionTally]
