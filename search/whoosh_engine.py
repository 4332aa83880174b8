"""Index engine on Whoosh: the same fields, words, language and limits as `tantivy_engine`, its index in pure Python.

A writer makes one segment in one file that never changes. The meta file is JSON of ours, because Whoosh's own table of
contents is a pickle (see `whoosh_pickle`)."""

from __future__ import annotations

import heapq
import io
import itertools
import json
import pickle
import re
import struct
import uuid
import zlib
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from whoosh import analysis, columns, fields, formats, index, matching
from whoosh import query as wq
from whoosh.codec import whoosh3
from whoosh.filedb import structfile
from whoosh.filedb.filestore import FileStorage, StorageError
from whoosh.query import Query
from whoosh.reading import EmptyReader, IndexReader, MultiReader, SegmentReader
from whoosh.searching import Searcher
from whoosh.writing import IndexingError, SegmentWriter

from core.errors import StorageFault, UsageError
from search.engine import (
    META,
    QUERY_FIELDS,
    SEGMENTS,
    Best,
    Built,
    Found,
    Hit,
    IndexDocument,
    in_order,
    on_scratch,
)
from search.language import parse
from search.query import All, Between, Either, Fuzzy, Near, Node, Pattern, Row, Wild, Word, asks_ledger, sought
from search.snippets import snippet
from search.words import placed, readings, wild, within


def _latin1(text: str, encoding: str = "latin1") -> bytes:
    """Return the bytes of a text by which pickles of protocol 2 represent them."""
    if encoding != "latin1":
        raise pickle.UnpicklingError(f"bytes in {encoding!r}")
    return text.encode("latin1")


_HARMLESS: dict[tuple[str, str], Any] = {
    ("_codecs", "encode"): _latin1,
    ("__builtin__", "bytes"): bytes,
    ("builtins", "bytes"): bytes,
    ("__builtin__", "int"): int,
    ("builtins", "int"): int,
    ("collections", "defaultdict"): defaultdict,
    # Classes in the writer's own table of contents on scratch, which only hold data.
    ("whoosh.codec.whoosh3", "W3Segment"): whoosh3.W3Segment,
    ("whoosh.codec.whoosh3", "W3Codec"): whoosh3.W3Codec,
}


class _PlainUnpickler(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        try:
            return _HARMLESS[module, name]
        except KeyError:
            raise pickle.UnpicklingError(f"an index file refers to {module}.{name}, which is not allowed") from None


def plain_load(file: IO[bytes]) -> Any:
    """`pickle.load` of plain values; raises UnpicklingError for anything else."""
    return _PlainUnpickler(file).load()


def plain_loads(data: bytes) -> Any:
    """`pickle.loads` of plain values; raises UnpicklingError for anything else."""
    return _PlainUnpickler(io.BytesIO(data)).load()


def disarm() -> None:
    """Make Whoosh load only plain values in this process from now on."""
    for module in (whoosh3, columns, formats):
        module.loads = plain_loads
    structfile.load_pickle = plain_load


def whoosh_query(node: Node) -> Query:
    """The query object for a parsed query: exactly its documents, ordered by number and rarity of its words. Raises
    UsageError for a condition on the ledger."""
    exact = exact_query(node)
    words = [wq.Term(field, text) for field, text in dict.fromkeys(_scoring(node))]
    return wq.AndMaybe(exact, wq.Or(words)) if words else exact


def exact_query(node: Node) -> Query:
    """The query object for the same documents, in no order."""
    if asks_ledger(node):
        raise UsageError("size, dates, states and tags are not in an index shard; search the job")
    return _Exactly(node)


def _scoring(node: Node) -> Iterator[tuple[str, str]]:
    """Field and word of each term that counts for the order."""
    match node:
        case Row(fields, places):
            yield from ((field, each.text) for _, each in places if isinstance(each, Word) for field in fields)
        case All(wanted, _):
            yield from (pair for each in wanted for pair in _scoring(each))
        case Either(choices):
            yield from (pair for each in choices for pair in _scoring(each))


class _Exactly(Query):  # type: ignore[misc]
    """A parsed query as one list of documents. Whoosh's own matchers lose some documents where exclusions are nested,
    and keep a reader open for each word that a pattern matches."""

    def __init__(self, node: Node) -> None:
        self.node, self.boost = node, 1.0

    def __hash__(self) -> int:
        return hash(self.node)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Exactly) and self.node == other.node

    def estimate_size(self, ixreader: IndexReader) -> int:
        return int(ixreader.doc_count())  # an upper bound; a count would take a second search

    estimate_min_size = estimate_size

    def matcher(self, searcher: Searcher, context: Any = None) -> matching.Matcher:
        found = _documents(searcher.reader(), self.node)
        return matching.ListMatcher(sorted(found)) if found else matching.NullMatcher()


def _documents(reader: IndexReader, node: Node) -> set[int]:
    """Return the matching documents in this part of the index."""
    match node:
        case Row(fields):
            return set().union(*(_in_a_row(reader, field, node) for field in fields))
        case Near(rows):
            return set().union(*(_in_a_row(reader, field, row) for row in rows for field in row.fields))
        case Between(fields):
            return set().union(*(_any_of(reader, field, node) for field in fields))
        case Either(choices):
            return set().union(*(_documents(reader, each) for each in choices))
        case All(wanted, excluded):
            both = set.intersection(*(_documents(reader, each) for each in wanted))
            return both.difference(*(_documents(reader, each) for each in excluded))
    return set(reader.all_doc_ids())


def _any_of(reader: IndexReader, field: str, pattern: Pattern | Between) -> set[int]:
    terms = list(_terms(reader, field, pattern))
    return {document for term in terms for document in reader.postings(field, term).all_ids()}


def _in_a_row(reader: IndexReader, field: str, row: Row) -> set[int]:
    """Return the documents in which the words of a row are at their places."""
    if len(row.places) == 1:
        return _any_of(reader, field, row.places[0][1])
    begins: dict[int, set[int]] | None = None  # by document, places at which a row may begin
    for place, pattern in row.places:
        found: dict[int, set[int]] = {}
        for term in list(_terms(reader, field, pattern)):
            for document, positions in _positions(reader, field, term):
                if begins is None or document in begins:
                    found.setdefault(document, set()).update(position - place for position in positions)
        if begins is not None:
            found = {d: both for d, starts in found.items() if (both := starts & begins[d])}
        begins = found
    return set(begins or ())


def _positions(reader: IndexReader, field: str, term: bytes) -> Iterator[tuple[int, list[int]]]:
    postings = reader.postings(field, term)
    while postings.is_active():
        yield postings.id(), postings.value_as("positions")
        postings.next()


def _terms(reader: IndexReader, field: str, pattern: Pattern | Between) -> Iterator[bytes]:
    """Return the field's words in this part of the index that the pattern or range matches."""
    match pattern:
        case Word(text):
            if (field, text.encode()) in reader:
                yield text.encode()
        case Wild(text):
            like = wild(text)
            begin = re.split(r"[*?]", text, maxsplit=1)[0]
            yield from (term for term in reader.expand_prefix(field, begin) if like.fullmatch(term.decode()))
        case Fuzzy(text, edits):
            yield from (term for term in reader.lexicon(field) if within(text, term.decode(), edits))
        case Between():
            yield from _in_range(reader, field, pattern)


def _in_range(reader: IndexReader, field: str, range_: Between) -> Iterator[bytes]:
    low, high = ((end or "").encode() for end in (range_.low, range_.high))
    for name, term in reader.terms_from(field, low):
        if name != field or (range_.high is not None and (term > high or (term == high and not range_.with_high))):
            return
        if range_.with_low or term != low:
            yield term


POOL_MB = 24  # postings kept in memory before they are sorted to scratch
_GAP = 1_000  # positions between two readings, over which no phrase reaches
_FORMAT = "edbench-whoosh/1"
_BROKEN = (OSError, ValueError, KeyError, EOFError, TypeError, NameError, struct.error, zlib.error, StorageError)

disarm()


class _Words(analysis.Tokenizer):  # type: ignore[misc]
    """The words of each of the text's readings, at their places; sets only the attributes that indexing needs."""

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
    """The fields of every shard; only `body` is stored."""
    out = fields.Schema(item=fields.STORED, owner=fields.STORED)
    for name in QUERY_FIELDS:
        out.add(name, fields.TEXT(analyzer=_Words(), phrase=True, stored=name == "body"))
    return out


class WhooshWriter:
    """Writes into `directory` (local, new)."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        with on_scratch(self._directory, IndexingError):
            directory.mkdir(parents=True)
            self._index = index.create_in(str(directory), schema())
        self._writer: SegmentWriter | None = None  # open while documents are added and not finished

    def add(self, document: IndexDocument) -> None:
        values: dict[str, str] = {"item": document.item.hex, "owner": document.owner}
        for name in QUERY_FIELDS:
            value = getattr(document, name)
            if value:
                values[name] = value
        with on_scratch(self._directory, IndexingError):
            if self._writer is None:
                self._writer = SegmentWriter(self._index, limitmb=POOL_MB)
            self._writer.add_document(**{k: v.encode("utf-8", "replace").decode() for k, v in values.items()})

    def finish(self) -> Built:
        with on_scratch(self._directory, IndexingError):
            if self._writer is not None:
                self._writer.commit()
                self._writer = None
            segments = self._index._segments()
            meta = {"format": _FORMAT, SEGMENTS: [_described(s) for s in segments]}
            (self._directory / META).write_text(json.dumps(meta))
        files = tuple(segment.make_filename(segment.COMPOUND_EXT) for segment in segments)
        return Built(files=files, documents=sum(s.doc_count_all() for s in segments))

    def close(self) -> None:
        if self._writer is not None:
            with on_scratch(self._directory, IndexingError):
                self._writer.cancel()
            self._writer = None
        self._index.close()


class WhooshReader:
    """One published shard, read in its directory; nothing is written next to it, so `view` stays unused."""

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
            # With a limit, the engine skips documents of equal and of better score.
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
        )

    def found(self, query: Node) -> Found:
        from search.found import found_of  # numbers in rows, which no slot needs

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

    def damaged(self) -> list[str]:
        return []  # it writes no checksums

    def owners(self) -> Iterator[tuple[uuid.UUID, str]]:
        with self._on_filer():
            for _, stored in self._searcher.reader().iter_docs():
                yield uuid.UUID(stored["item"]), stored["owner"]


def _described(segment: whoosh3.W3Segment) -> dict[str, Any]:
    """The facts about a segment that a reader cannot find in the segment's file."""
    lengths = {name: int(total) for name, total in segment._fieldlengths.items()}
    return {"id": segment.segid, "documents": segment.doc_count_all(), "field_lengths": lengths}


def _reader(directory: Path, segments: list[dict[str, Any]]) -> IndexReader:
    """A reader of exactly the segments that the meta file names."""
    storage, known = FileStorage(str(directory), readonly=True), schema()
    readers = []
    for described in segments:
        name, documents = str(described["id"]), int(described["documents"])
        if not name.isalnum():
            raise ValueError(f"a segment cannot have the name {name!r}")
        segment = whoosh3.W3Segment(whoosh3.W3Codec(), index._DEF_INDEX_NAME, doccount=documents, segid=name)
        segment.compound = True
        segment._fieldlengths = dict(described["field_lengths"])
        readers.append(SegmentReader(storage, known, segment))
    if not readers:
        return EmptyReader(known)
    return readers[0] if len(readers) == 1 else MultiReader(readers)
