"""Items, families, text, exceptions and results of searches."""

from __future__ import annotations

import uuid
from typing import Annotated, Any

from pydantic import AfterValidator, Field

from controller.custody import Action
from core.document import TEXT, Document
from readers.errors import ExceptionCode
from readers.records import Kind, TextState
from sql.browse import FailureCount, ItemFailure, Member, Search, Tag, Tagged
from sql.review import Equal, Message, Near
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
    name_b64: str | None = Field(
        None, description="The bytes of the name, where `name` does not represent them exactly."
    )


class ItemPage(Document):
    """Items in path order."""

    items: list[ItemRow]
    next: uuid.UUID | None = Field(description="Pass it as `after` to get the next page; null: this is the last.")


class ChildCounts(Document):
    """Children that a container announced, and their outcome."""

    announced: int | None
    emitted: int
    failed: int
    remainder_unknown: bool


class ItemDetails(ItemRow):
    """All fields of one item."""

    depth: int
    content_hash: str | None
    message_id_hash: str | None
    location: str | None = Field(description="Where it was written, relative to the storage root.")
    path: str | None = Field(description="Of a loose file, relative to the source.")
    mtime_ns: int | None
    metadata: dict[str, Any]
    children: ChildCounts | None
    failures: list[ItemFailure]
    tags: list[Tagged]


class Family(Document):
    """The family of an item; of a container outside any family its direct children."""

    item: uuid.UUID
    family: uuid.UUID | None
    ancestors: list[Member] = Field(description="The item's containers and parents, outermost first.")
    members: list[Member] = Field(description="In path order, each after its parent.")
    truncated: bool = Field(description="More members exist than are listed.")


class ItemText(Document):
    """The text that was indexed of an item."""

    item: uuid.UUID
    state: TextState | None
    text: str | None = Field(description="Null if the item is not indexed.")
    characters: int = Field(description="Of the whole text.")
    offset: int
    next: int | None = Field(description="Pass it as `offset` to get the next portion; null: this is the end.")
    matches: list[tuple[int, int]] = Field([], description="Words of `q` as start and end in `text`; at most 5,000.")
    next_match: int | None = Field(
        None, description="Position of the next word of `q` after this portion, within four million characters."
    )


class Neighbours(Document):
    """The previous and the next item in a list; null at its ends."""

    previous: uuid.UUID | None
    next: uuid.UUID | None


class Equals(Document):
    """An item and its duplicates; empty if it has none."""

    equals: list[Equal]


class NearOnes(Document):
    """An item and its near-duplicates; empty if it has none."""

    near: list[Near]


class Thread(Document):
    """The messages of a thread; empty if the item is no message."""

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
    hit: bool | None = Field(None, description="Whether the item itself matches, in a search with families.")
    snippet: list[Piece] = Field(description="Plain text around the match, in pieces; escape it before you show it.")


class SearchAnswer(Document):
    """The best hits, and counts of all matching items."""

    hits: list[SearchHit]
    items: int = Field(description="Items that match.")
    complete: bool = Field(description="False: types and custodians are counted over 20,000 items of a job.")
    types: list[CountByName]
    custodians: list[CountByName]


class ExceptionCounts(Document):
    """Exceptions counted, most frequent first."""

    by: str
    rows: list[FailureCount]


_MOST_TERMS, _MOST_LINES = 1_000, 10_000

Query = Annotated[str, Field(min_length=1, max_length=2_000, pattern=TEXT)]
Line = Annotated[str, Field(max_length=2_000, pattern=TEXT)]
Name = Annotated[str, Field(min_length=1, max_length=100, pattern=TEXT)]


def _bounded(lines: list[str]) -> list[str]:
    if sum(map(bool, map(str.strip, lines))) > _MOST_TERMS:
        raise ValueError(f"more than {_MOST_TERMS:,} terms; split the list")
    return lines


class TermsOrder(Document):
    """Search terms for a hit report."""

    terms: Annotated[list[Line], AfterValidator(_bounded)] = Field(
        min_length=1,
        max_length=_MOST_LINES,
        description="A query per line. Blank lines keep their number; at most 1,000 others.",
    )
    custodian: Annotated[str, Field(max_length=1_000, pattern=TEXT)] | None = Field(
        None, description="Only this custodian's items."
    )


class TagOrder(Document):
    """Items to tag."""

    tag: Name
    query: Query | None = Field(None, description="All hits of this query; give this or `items`.")
    items: list[uuid.UUID] | None = Field(None, min_length=1, max_length=1_000, description="These items.")
    families: bool = Field(False, description="With all items of their families.")
    remove: bool = Field(False, description="Remove the tag.")


class SearchOrder(Document):
    """A search to save."""

    name: Name
    query: Query


class Tags(Document):
    """The tags of a job, by name."""

    tags: list[Tag]


class Searches(Document):
    """The saved searches, by name."""

    searches: list[Search]


class Actions(Document):
    """Operator actions, oldest first."""

    actions: list[Action]
