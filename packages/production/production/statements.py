"""SQL statements of jobs that write files out of the items of other jobs, as functions with typed rows."""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

from sql.connection import Connection
from sql.interface import implemented, load_queries


class Chosen(NamedTuple):
    """A taken item, with its job's position among the sources."""

    source: int
    place: int
    id: uuid.UUID
    family_id: uuid.UUID | None
    parent: uuid.UUID | None
    bytes: int
    characters: int
    shard: uuid.UUID | None
    name: memoryview
    media_type: str


class Unfinished(NamedTuple):
    """A job that is not over."""

    id: uuid.UUID
    type: str
    state: str


class Evidence(NamedTuple):
    """A directory that a discovery reads, and a job that reads it."""

    source: memoryview
    id: uuid.UUID


class Called(NamedTuple):
    """An item as an example, and how many there are."""

    container_path: list[str]
    items: int


class Gap(NamedTuple):
    """Numbers that are omitted."""

    number: int
    pages: int | None
    first_page: int | None


class NumberedItem(NamedTuple):
    """One row of table `production_item`."""

    number: int
    item: uuid.UUID
    source_job: uuid.UUID
    family_first: int
    family_last: int
    parent: int | None
    volume: int
    folder: int
    suffix: str
    bytes: int
    shard: uuid.UUID | None
    pages: int | None = None
    first_page: int | None = None


class TextRow(NamedTuple):
    """An item whose text is in one shard."""

    number: int
    item: uuid.UUID
    volume: int
    folder: int
    first_page: int | None
    owner: str | None  # None: its document is not in this shard any more


class ShardRow(NamedTuple):
    """The location of an index shard."""

    job: uuid.UUID
    engine: str
    location: memoryview


class BatchRow(NamedTuple):
    """An item of one task."""

    number: int
    item: uuid.UUID
    source_job: uuid.UUID
    volume: int
    folder: int
    suffix: str
    pages: int | None
    first_page: int | None
    codes: list[str]  # of exceptions of the discovery


class NativeRow(NamedTuple):
    """An item of one task, and the location of its bytes."""

    number: int
    item: uuid.UUID
    source_job: uuid.UUID
    volume: int
    folder: int
    suffix: str
    first_page: int | None
    path: memoryview | None  # of a loose file, relative to its job's source
    location: memoryview | None  # of a child, relative to the storage root
    name: memoryview | None
    size: int | None  # None: the item has no row any more
    sha256: memoryview | None


class ImageRow(NamedTuple):
    """A page that another job made."""

    number: int
    page: int
    path: str
    sha256: memoryview


class Folder(NamedTuple):
    """A folder of a volume."""

    volume: int
    folder: int


class RecordRow(NamedTuple):
    """The values of an item in load files."""

    number: int
    family_first: int
    family_last: int
    parent: int | None
    volume: int
    pages: int | None
    first_page: int | None
    gone: bool  # the item no longer has a row, and nothing of it can be shown
    container_path: list[str]
    name: memoryview
    kind: str
    media_type: str
    bytes: int
    sha256: memoryview | None
    message_id_hash: memoryview | None
    mtime_ns: int | None
    custodian: str
    text_state: str | None
    found_pages: int | None
    metadata: Mapping[str, Any] | None
    custodians: list[str] | None
    codes: list[str] | None
    family_first_page: int | None
    family_last_page: int | None
    parent_page: int | None


class FileRow(NamedTuple):
    """A file that was written."""

    number: int
    kind: str
    page: int
    path: str
    bytes: int
    sha256: memoryview
    md5: memoryview


class Written(NamedTuple):
    """Files of one kind, counted."""

    kind: str
    files: int
    bytes: int


class Ended(NamedTuple):
    """The files that a job has written when it is over; without hashes if it was cancelled. `reports`: each report's
    sha256 by its path."""

    files: int
    bytes: int
    hashes: str | None
    reports: Mapping[str, str]


class PagesRow(NamedTuple):
    """Pages of the items of one type."""

    media_type: str
    items: int
    pages: int
    found_pages: int
    differing: int


class Sibling(NamedTuple):
    """A job that numbers items of the same discoveries."""

    id: uuid.UUID
    options: Mapping[str, Any]


class Range(NamedTuple):
    """The range of a job's numbers; empty for a job without items."""

    first: int | None
    last: int | None
    paged: bool


class _Production(Protocol):
    def production_tables(self, conn: Connection) -> None: ...
    def production_evidence(self, conn: Connection) -> list[Evidence]: ...
    def production_pick(self, conn: Connection, *, items: Sequence[uuid.UUID]) -> int: ...
    def production_withhold(
        self,
        conn: Connection,
        *,
        jobs: Sequence[uuid.UUID],
        tags: Sequence[str],
        alike: bool,
        empty: bytes,
        stated: bool,
    ) -> int: ...
    def production_tag_changes(self, conn: Connection, *, jobs: Sequence[uuid.UUID], tags: Sequence[str]) -> int: ...
    def production_sources_there(self, conn: Connection, *, jobs: Sequence[uuid.UUID]) -> int: ...
    def production_withheld(self, conn: Connection, *, everything: bool) -> int: ...
    def production_chosen(self, conn: Connection, *, jobs: Sequence[uuid.UUID], everything: bool) -> int: ...
    def production_containers(self, conn: Connection) -> int: ...
    def production_equal(
        self, conn: Connection, *, job: uuid.UUID, jobs: Sequence[uuid.UUID], tags: Sequence[str], empty: bytes
    ) -> int: ...
    def production_take(self, conn: Connection, *, source: int, job: uuid.UUID, everything: bool) -> int: ...
    def production_drop_system(self, conn: Connection, *, families: bool) -> int: ...
    def production_drop_copies(self, conn: Connection, *, families: bool) -> int: ...
    def production_without_original(self, conn: Connection, *, images: uuid.UUID, families: bool) -> list[Called]: ...
    def production_unfinished(self, conn: Connection, *, sources: Sequence[str], tag: str) -> list[Unfinished]: ...
    def production_returned(self, conn: Connection, *, items: Sequence[uuid.UUID]) -> list[Called]: ...
    def production_taken(self, conn: Connection, *, source: int, after: int, limit: int) -> list[Chosen]: ...
    def production_fallen(
        self, conn: Connection, *, job: uuid.UUID, everything: bool, returned: Sequence[uuid.UUID]
    ) -> list[Called]: ...
    def production_imaged_withheld(self, conn: Connection, *, job: uuid.UUID) -> int: ...
    def production_imaged(self, conn: Connection, *, job: uuid.UUID) -> Iterator[NumberedItem]: ...
    def production_holding(self, conn: Connection, *, job: uuid.UUID, everything: bool) -> list[int]: ...
    def production_gaps(
        self, conn: Connection, *, job: uuid.UUID, images: uuid.UUID, after: int, limit: int
    ) -> list[Gap]: ...
    def production_alone(self, conn: Connection) -> None: ...
    def number_production_pages(self, conn: Connection, *, job: uuid.UUID, first: int) -> int: ...
    def production_siblings(self, conn: Connection, *, job: uuid.UUID, sources: Sequence[str]) -> list[Sibling]: ...
    def production_range(self, conn: Connection, *, job: uuid.UUID) -> Range: ...
    def production_clash(
        self, conn: Connection, *, job: uuid.UUID, other: uuid.UUID, paged: bool, first: int, last: int
    ) -> bool: ...
    def production_texts(
        self, conn: Connection, *, job: uuid.UUID, shard: uuid.UUID, first: int, last: int
    ) -> list[TextRow]: ...
    def production_shard(self, conn: Connection, *, shard: uuid.UUID) -> ShardRow | None: ...
    def production_batch(self, conn: Connection, *, job: uuid.UUID, first: int, last: int) -> list[BatchRow]: ...
    def production_natives(self, conn: Connection, *, job: uuid.UUID, first: int, last: int) -> list[NativeRow]: ...
    def production_images(
        self, conn: Connection, *, job: uuid.UUID, images: uuid.UUID, first: int, last: int
    ) -> list[ImageRow]: ...
    def production_folders(self, conn: Connection, *, job: uuid.UUID) -> list[Folder]: ...
    def production_files_of(self, conn: Connection, *, job: uuid.UUID, volume: int, folder: int) -> list[str]: ...
    def production_records(
        self,
        conn: Connection,
        *,
        job: uuid.UUID,
        images: uuid.UUID | None,
        deduped: Sequence[uuid.UUID],
        first: int,
        last: int,
    ) -> list[RecordRow]: ...
    def production_files(self, conn: Connection, *, job: uuid.UUID, first: int, last: int) -> list[FileRow]: ...
    def production_written(self, conn: Connection, *, job: uuid.UUID) -> list[Written]: ...
    def production_ended(self, conn: Connection, *, job: uuid.UUID) -> Ended: ...
    def production_pages(self, conn: Connection, *, job: uuid.UUID) -> list[PagesRow]: ...
    def production_of(self, conn: Connection, *, job: str) -> list[uuid.UUID]: ...
    def production_requeued(self, conn: Connection, *, job: uuid.UUID) -> list[uuid.UUID]: ...
    def production_kin(self, conn: Connection, *, job: uuid.UUID) -> list[uuid.UUID]: ...


STATEMENTS = load_queries("production")
PRODUCTION: _Production = implemented(_Production, STATEMENTS)
