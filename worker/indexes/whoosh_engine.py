"""Whoosh behind the index interface: the same fields, words, language and limits as `tantivy_engine`, its index in pure
Python.

One segment a writer, in one file that never changes. The meta file is JSON of ours, because Whoosh's own table of
contents is a pickle (see `whoosh_pickle`).
"""

from __future__ import annotations

import heapq
import itertools
import json
import pickle
import struct
import uuid
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from whoosh import analysis, fields, index
from whoosh.codec import whoosh3
from whoosh.filedb.filestore import FileStorage, StorageError
from whoosh.reading import EmptyReader, IndexReader, MultiReader, SegmentReader
from whoosh.searching import Searcher
from whoosh.writing import IndexingError, SegmentWriter

from core.errors import StorageFault
from worker.indexes.base import META, QUERY_FIELDS, SEGMENTS, Best, Built, Hit, IndexDocument, in_order
from worker.indexes.nodes import Node, Pattern, sought
from worker.indexes.query_language import parse
from worker.indexes.readings import readings
from worker.indexes.snippets import snippet
from worker.indexes.whoosh_pickle import disarm
from worker.indexes.whoosh_query import exact_query, whoosh_query
from worker.indexes.words import placed

if TYPE_CHECKING:
    from worker.indexes.found import Found

POOL_MB = 24  # postings kept in memory before they are sorted to scratch
_GAP = 1_000  # positions between two readings, over which no phrase reaches
_FORMAT = "edbench-whoosh/1"
_STORED = ("body", "subject", "title")
_BROKEN = (OSError, ValueError, KeyError, EOFError, TypeError, NameError, struct.error, zlib.error, StorageError)

disarm()


class _Words(analysis.Tokenizer):  # type: ignore[misc]
    """The words of each of the text's readings, at their places; only what indexing asks for."""

    def __call__(self, value: str, **kwargs: Any) -> Iterator[analysis.Token]:
        token = analysis.Token(positions=True, mode="index")
        token.boost, token.stopped = 1.0, False
        begin = last = 0
        for reading in readings(value):
            for place, word in placed(reading):
                token.text, token.pos = word, (last := begin + place)
                yield token
            begin = last + _GAP


def schema() -> fields.Schema:
    """The fields of every shard; `body` and what a hit shows are stored."""
    out = fields.Schema(item=fields.STORED, owner=fields.STORED)
    for name in QUERY_FIELDS:
        out.add(name, fields.TEXT(analyzer=_Words(), phrase=True, stored=name in _STORED))
    return out


class WhooshWriter:
    """Writes into `directory` (local, new)."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        with self._on_scratch():
            directory.mkdir(parents=True)
            self._index = index.create_in(str(directory), schema())
        self._writer: SegmentWriter | None = None  # while something is added and not finished

    def add(self, document: IndexDocument) -> None:
        values: dict[str, str] = {"item": document.item.hex, "owner": document.owner}
        for name in QUERY_FIELDS:
            value = getattr(document, name)
            if value:
                values[name] = value
        with self._on_scratch():
            if self._writer is None:
                self._writer = SegmentWriter(self._index, limitmb=POOL_MB)
            self._writer.add_document(**{k: v.encode("utf-8", "replace").decode() for k, v in values.items()})

    def finish(self) -> Built:
        with self._on_scratch():
            if self._writer is not None:
                self._writer.commit()
                self._writer = None
            segments = self._index._segments()
            meta = {"format": _FORMAT, SEGMENTS: [_described(s) for s in segments]}
            (self._directory / META).write_text(json.dumps(meta))
        files = tuple(segment.make_filename(segment.COMPOUND_EXT) for segment in segments)
        return Built(files=files, documents=sum(s.doc_count_all() for s in segments))

    @contextmanager
    def _on_scratch(self) -> Iterator[None]:
        try:
            yield
        except (OSError, IndexingError) as e:
            why = " ".join(str(e).split())
            raise StorageFault(
                f"the index in {self._directory} cannot be written: {why}; see that scratch has space, then resume"
            ) from e

    def close(self) -> None:
        if self._writer is not None:
            with self._on_scratch():
                self._writer.cancel()
            self._writer = None
        self._index.close()


class WhooshReader:
    """One published shard, read where it lies; nothing is written beside it, so `view` stays unused."""

    def __init__(self, directory: Path, view: Path) -> None:
        try:
            meta = json.loads((directory / META).read_bytes())
            if meta["format"] != _FORMAT:
                raise ValueError(f"its format is {meta['format']!r}")
            self._searcher = Searcher(_reader(directory, meta[SEGMENTS]))
        except (*_BROKEN, pickle.UnpicklingError) as e:
            raise StorageFault(f"the index shard {directory} cannot be opened: {e}; run the job again") from e
        self._directory = directory

    @contextmanager
    def _on_filer(self) -> Iterator[None]:
        try:
            yield
        except (*_BROKEN, pickle.UnpicklingError) as e:
            raise StorageFault(
                f"the index shard {self._directory} is damaged or incomplete: {e}; run the job again"
            ) from e

    def search(self, query: str | Node, limit: int, *, snippets: bool = True) -> list[Hit]:
        parsed = parse(query) if isinstance(query, str) else query
        return self.hits(parsed, self.best(parsed, limit)[1], snippets=snippets)

    def best(self, query: Node, limit: int) -> tuple[int, list[Best]]:
        with self._on_filer():
            # Told to find only some, the engine passes over documents as good as those, and better ones.
            every = self._searcher.search(whoosh_query(query), limit=None).top_n  # score and number, best first
            least = every[limit - 1][0] if len(every) > limit else 0.0
            worth = itertools.takewhile(lambda each: each[0] >= least, every)
            best = [(float(score), uuid.UUID(self._searcher.stored_fields(at)["item"]), at) for score, at in worth]
            return len(every), heapq.nsmallest(limit, best, key=in_order)

    def hits(self, query: Node, best: Sequence[Best], *, snippets: bool = True) -> list[Hit]:
        patterns = frozenset(sought(query)) if snippets else None
        with self._on_filer():
            return [self._hit(self._searcher.stored_fields(number), score, patterns) for score, _, number in best]

    def _hit(self, stored: dict[str, str], score: float, patterns: frozenset[Pattern] | None) -> Hit:
        around = "" if patterns is None else snippet(stored.get("body", ""), patterns)
        return Hit(
            item=uuid.UUID(stored["item"]),
            owner=stored["owner"],
            score=score,
            snippet=around,
            fields={k: stored[k] for k in ("subject", "title") if stored.get(k)},
        )

    def count(self, query: str | Node) -> int:
        parsed = exact_query(parse(query) if isinstance(query, str) else query)
        with self._on_filer():
            return sum(1 for _ in self._searcher.docs_for_query(parsed))

    def found(self, query: Node) -> Found:
        from worker.indexes.found import found_of  # numbers in rows, which no slot needs

        parsed = exact_query(query)
        with self._on_filer():
            stored = [self._searcher.stored_fields(number) for number in self._searcher.docs_for_query(parsed)]
        return found_of((uuid.UUID(each["item"]), each["owner"]) for each in stored)

    @property
    def documents(self) -> int:
        return int(self._searcher.doc_count_all())

    def body(self, item: uuid.UUID, owner: str) -> str | None:
        with self._on_filer():  # the item is stored and not indexed: look through all
            for _, stored in self._searcher.reader().iter_docs():
                if stored["item"] == item.hex and stored["owner"] == owner:
                    return str(stored.get("body", ""))
        return None

    def bodies(self, wanted: Mapping[uuid.UUID, str]) -> Iterator[tuple[uuid.UUID, str]]:
        with self._on_filer():
            for _, stored in self._searcher.reader().iter_docs():
                item = uuid.UUID(stored["item"])
                if wanted.get(item) == stored["owner"]:
                    yield item, str(stored.get("body", ""))

    def owners(self) -> Iterator[tuple[uuid.UUID, str]]:
        with self._on_filer():
            for _, stored in self._searcher.reader().iter_docs():
                yield uuid.UUID(stored["item"]), stored["owner"]


def _described(segment: whoosh3.W3Segment) -> dict[str, Any]:
    """What a reader cannot find in the segment's file."""
    lengths = {name: int(total) for name, total in segment._fieldlengths.items()}
    return {"id": segment.segid, "documents": segment.doc_count_all(), "field_lengths": lengths}


def _reader(directory: Path, segments: list[dict[str, Any]]) -> IndexReader:
    """A reader of exactly the segments that the meta file names."""
    storage, known = FileStorage(str(directory), readonly=True), schema()
    readers = []
    for described in segments:
        name, documents = str(described["id"]), int(described["documents"])
        if not name.isalnum():
            raise ValueError(f"a segment cannot be called {name!r}")
        segment = whoosh3.W3Segment(whoosh3.W3Codec(), index._DEF_INDEX_NAME, doccount=documents, segid=name)
        segment.compound = True
        segment._fieldlengths = dict(described["field_lengths"])
        readers.append(SegmentReader(storage, known, segment))
    if not readers:
        return EmptyReader(known)
    return readers[0] if len(readers) == 1 else MultiReader(readers)
