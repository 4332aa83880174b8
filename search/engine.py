"""The common interface of the index engines.

An engine builds in a local directory; `search.publisher` copies the files that `finish` names to the filer, so that
these writes are recorded calls. Published files are immutable and stay; the meta file is published last."""

from __future__ import annotations

import hashlib
import importlib
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from core.errors import StorageFault, UsageError
from search.query import Node

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexDocument:
    """One item as it is indexed."""

    item: uuid.UUID
    owner: str  # claim token of the writer; only the owner the database names counts
    body: str
    custodian: str = ""
    type: str = ""  # media type
    kind: str = ""
    name: str = ""  # without the location that `path` includes
    path: str = ""  # container path, " / " between the elements
    subject: str = ""
    sender: str = ""
    recipients: str = ""
    title: str = ""
    author: str = ""


# Of every engine: a JSON object that names the files of a shard's state, and is published last. The lists under
# SEGMENTS of several writers of one engine may be joined in one: then it names the files of all of them.
META = "meta.json"
SEGMENTS = "segments"


@contextmanager
def on_scratch(directory: Path, error: type[Exception]) -> Iterator[None]:
    """Raise StorageFault for errors of the scratch disk, for which an engine also has error types of its own."""
    try:
        yield
    except (OSError, error) as e:
        why = " ".join(str(e).split())
        raise StorageFault(
            f"the index in {directory} cannot be written: {why}; check that scratch has space, then resume"
        ) from e


# Fields that a query may name, and the fields of the index that they search.
QUERY_FIELDS = [one.name for one in fields(IndexDocument) if one.name not in ("item", "owner")]


@dataclass(frozen=True, slots=True, kw_only=True)
class Built:
    """The files that a writer left in its directory, in addition to the meta file."""

    files: tuple[str, ...]  # every file a reader needs, meta file excluded
    documents: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Hit:
    """One matching document of one shard; the caller checks its owner against the database."""

    item: uuid.UUID
    owner: str
    score: float
    snippet: str = ""  # plain text around the match; matches between \x02 and \x03


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """Matching documents of one shard in no order, a row each; owners as `owner_mark`s."""

    items: npt.NDArray[np.uint64]  # (n, 2): the halves of each item's id
    owners: npt.NDArray[np.int64]


# Score, item, and the engine's reference to the document for `IndexReader.hits`.
Best = tuple[float, uuid.UUID, Any]


def in_order(best: Best) -> tuple[float, uuid.UUID]:
    """The order of hits, over any number of shards."""
    return -best[0], best[1]


SIGN = 1 << 63


def owner_mark(owner: str) -> int:
    """A signed hash of 64 bits that distinguishes owners: short enough for a column of numbers."""
    digest = hashlib.blake2b(owner.encode("utf-8", "replace"), digest_size=8).digest()
    return int.from_bytes(digest, "big", signed=True)


class IndexWriter(Protocol):
    """Writes the documents of one task into a local directory of its own."""

    def add(self, document: IndexDocument) -> None:
        """Add one more document."""

    def finish(self) -> Built:
        """Write everything that was added, with a meta file; the directory does not change afterwards."""

    def close(self) -> None:
        """Stop the engine's threads; documents that were added and not finished are dropped."""


class IndexReader(Protocol):
    """Reads one published shard."""

    def search(self, query: str | Node, limit: int, *, snippets: bool = True) -> list[Hit]:
        """Return the best hits, best first. The query is in the language of `search.language`. Raises UsageError with a
        clear line if it cannot be parsed, or has a condition that only the ledger can answer."""

    def best(self, query: Node, limit: int) -> tuple[int, list[Best]]:
        """Return the number of matching documents, ghosts included, and the best ones, best first, those of equal score
        by item. So the first of many are the same as the first of few."""

    def hits(self, query: Node, best: Sequence[Best], *, snippets: bool = True) -> list[Hit]:
        """Return the hits of these documents, in their order."""

    def found(self, query: Node) -> Found:
        """Every matching document, ghosts included."""

    @property
    def documents(self) -> int:
        """Number of documents in the shard, ghosts included."""

    def body(self, item: uuid.UUID, owner: str) -> str | None:
        """The text of an item that this owner indexed; None if the shard has no such document."""

    def bodies(self, wanted: Mapping[uuid.UUID, str]) -> Iterator[tuple[uuid.UUID, str]]:
        """The texts of these items that these owners indexed, in no order, as far as the shard has them."""

    def owners(self) -> Iterator[tuple[uuid.UUID, str]]:
        """(item, owner) of every document in the shard."""

    def damaged(self) -> list[str]:
        """The files whose bytes are not those that were written, by the engine's checksums, if it has any: each file is
        read whole. Other calls may give wrong documents then, or fail in any way."""


_TRIES = 20  # a slot publishes a few times a second at most
# Module, writer and reader. An engine is imported when it is used.
_ENGINES = {
    "tantivy": ("search.tantivy_engine", "TantivyWriter", "TantivyReader"),
    "whoosh": ("search.whoosh_engine", "WhooshWriter", "WhooshReader"),
}
# Engines with thread-safe readers; a reader of Whoosh moves the cursors of its files.
SHAREABLE = frozenset(("tantivy",))


def _engine(name: str) -> tuple[Callable[[Path], IndexWriter], Callable[[Path, Path], IndexReader]]:
    try:
        where, writer, reader = _ENGINES[name]
    except KeyError:
        raise UsageError(f"there is no index engine {name!r}; use one of {', '.join(_ENGINES)}") from None
    module = importlib.import_module(where)
    return getattr(module, writer), getattr(module, reader)


def load_engine(name: str) -> None:
    """Import the engine now, for instance before forking."""
    _engine(name)


def new_writer(engine: str, directory: Path) -> IndexWriter:
    """A writer into a local directory that does not exist yet."""
    return _engine(engine)[0](directory)


def open_reader(engine: str, directory: Path, view: Path) -> IndexReader:
    """A reader of the shard published in `directory`; `view` is a private local directory it may fill.

    A slot may publish the shard again at the same time (the job runs, or the slot does not know yet that it was taken
    over). The files of the state before stay, but another host may see a directory or a meta file as it was, so what
    cannot be opened is opened again if the meta file has changed. Raises StorageFault."""
    make = _engine(engine)[1]
    meta = directory / META
    for attempt in range(_TRIES):
        before = _state(meta)
        try:
            return make(directory, view / str(attempt))
        except StorageFault:
            if _state(meta) == before:
                raise
    return make(directory, view / str(_TRIES))


def _state(meta: Path) -> bytes:
    try:
        return meta.read_bytes()
    except OSError:
        return b""
