"""Index engine on Tantivy.

Limits: a token over 40 bytes is not indexed (the engine's default tokenizer); words are split at anything that is not a
letter or digit, and lower-cased. A writer makes a segment of what fits into HEAP_BYTES; eight of them are merged in its
own directory before anything is published. Other `readings` of a text are further values of a field, so far apart that
no phrase reaches from one into the next."""

from __future__ import annotations

import heapq
import json
import os
import shutil
import struct
import uuid
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, cast

import tantivy
from tantivy import Occur, Query

from core.errors import EdbenchError, StorageFault, UsageError
from search.engine import (
    META,
    QUERY_FIELDS,
    SEGMENTS,
    SIGN,
    Best,
    Built,
    Found,
    Hit,
    IndexDocument,
    in_order,
    on_scratch,
    owner_mark,
)
from search.language import MOST_APART, parse
from search.query import All, Asked, Between, Either, Everything, Fuzzy, Near, Node, Pattern, Row, Wild, Word
from search.words import apart, readings, together


def tantivy_query(node: Node, index: tantivy.Index) -> Query:
    """The query object for a parsed query. Raises UsageError for a condition on the ledger."""
    match node:
        case Everything():
            return Query.all_query()
        case Either(choices):
            return _either([tantivy_query(choice, index) for choice in choices])
        case Near(rows):
            return _either([_row(index.schema, field, row) for row in rows for field in row.fields])
        case All(wanted, excluded):
            must = [(Occur.Must, tantivy_query(each, index)) for each in wanted]
            return Query.boolean_query([*must, *((Occur.MustNot, tantivy_query(each, index)) for each in excluded)])
        case Row(fields):
            return _either([_row(index.schema, field, node) for field in fields])
        case Between(fields):
            return _either([_between(index, field, node) for field in fields])
        case Asked(field):
            raise UsageError(f"{field} is not in an index shard; search the job")


def _either(queries: list[Query]) -> Query:
    return queries[0] if len(queries) == 1 else Query.boolean_query([(Occur.Should, query) for query in queries])


def _row(schema: tantivy.Schema, field: str, row: Row) -> Query:
    first = row.places[0][0]
    match row.places:
        case ((_, Word(text)),):
            return Query.term_query(schema, field, text)
        case ((_, Wild(text)),):
            return Query.regex_query(schema, field, _regex(text))
        case ((_, Fuzzy(text, edits)),):
            return Query.fuzzy_term_query(schema, field, text, edits, transposition_cost_one=False)
    if all(isinstance(pattern, Word) for _, pattern in row.places):
        return Query.phrase_query(schema, field, [(place - first, pattern.text) for place, pattern in row.places])
    return Query.regex_phrase_query(schema, field, [(place - first, _of(pattern)) for place, pattern in row.places])


def _of(pattern: Pattern) -> str:
    return _regex(pattern.text) if isinstance(pattern, Wild) else pattern.text


def _regex(text: str) -> str:
    """A pattern as a regular expression. It has only letters, digits, `*` and `?`, so nothing needs an escape."""
    return text.replace("*", ".*").replace("?", ".")


def _between(index: tantivy.Index, field: str, node: Between) -> Query:
    """A range query, made by the engine's parser, which has no other way for ranges of words."""
    if node.low is node.high is None:
        return Query.regex_query(index.schema, field, ".+")
    low, high = ("*" if end is None else end for end in (node.low, node.high))  # words: without signs of the language
    text = f"{field}:{'[' if node.with_low else '{'}{low} TO {high}{']' if node.with_high else '}'}"
    try:
        return index.parse_query(text, [field])
    except ValueError as e:
        raise UsageError(f"the range {text} has a syntax error: {' '.join(str(e).split())}") from e


HEAP_BYTES = 24_000_000  # one indexing thread a slot; more would only make larger first segments
_SEGMENT_SUFFIXES = (".idx", ".pos", ".term", ".store", ".fast", ".fieldnorm")
# Empty values between two readings of a field: each is a place further, and no row of words is longer than that apart.
_GAP = [""] * MOST_APART
# Columns by which a document is known without its stored text: the item's id in two halves, the owner's mark.
_KNOWN_BY = ("item_high", "item_low", "owner_mark")
_BATCH = 5_000
_END = struct.Struct("<II")  # of a file: length of its footer, a magic number
_PIECE = 1 << 20
_MANY = 4
_MORE = 16  # times as many, if the first search was not enough


def schema() -> tantivy.Schema:
    """The fields of every shard; only `body` is stored."""
    builder = tantivy.SchemaBuilder()
    builder.add_text_field("item", stored=True, tokenizer_name="raw", index_option="basic")
    builder.add_text_field("owner", stored=True, tokenizer_name="raw", index_option="basic")
    for name in QUERY_FIELDS:
        builder.add_text_field(name, stored=name == "body", index_option="position")
    for name in _KNOWN_BY:
        builder.add_integer_field(name, fast=True)
    return builder.build()


class TantivyWriter:
    """Writes into `directory` (local, new)."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        with on_scratch(self._directory, ValueError):
            directory.mkdir(parents=True)
            self._writer = tantivy.Index(schema(), path=str(directory), reuse=False).writer(HEAP_BYTES, 1)
        self._documents = 0

    def add(self, document: IndexDocument) -> None:
        fields: dict[str, list[str]] = {"item": [document.item.hex], "owner": [document.owner]}
        for name in QUERY_FIELDS:
            value = getattr(document, name)
            if value:
                fields[name] = _apart(readings(value))
        high, low = divmod(document.item.int, 1 << 64)  # the engine's numbers are signed
        known = dict(zip(_KNOWN_BY, (high - SIGN, low - SIGN, owner_mark(document.owner)), strict=True))
        try:
            built = tantivy.Document(**fields, **known)
        except ValueError:  # lone surrogates; looking for them beforehand would cost every document
            built = tantivy.Document(**{k: list(map(_without_surrogates, v)) for k, v in fields.items()}, **known)
        with on_scratch(self._directory, ValueError):
            self._writer.add_document(built)
        self._documents += 1

    def finish(self) -> Built:
        with on_scratch(self._directory, ValueError):
            self._writer.commit()
            self._writer.wait_merging_threads()
            segments = json.loads((self._directory / META).read_bytes())[SEGMENTS]
        stems = [segment["segment_id"].replace("-", "") for segment in segments]
        files = tuple(stem + suffix for stem in stems for suffix in _SEGMENT_SUFFIXES)
        return Built(files=files, documents=self._documents)

    def close(self) -> None:
        del self._writer  # ends its threads


_EXCESS = "exceeded"  # in what the engine says of patterns in a row that match too many words


class TantivyReader:
    """One published shard. `view` is a local directory that gets links to the shard's files, because the engine creates
    lock files next to them and the filer is only read. It also gets a copy of the meta file, so that the reader keeps
    its present state."""

    def __init__(self, directory: Path, view: Path) -> None:
        view.mkdir(parents=True, exist_ok=True)
        self._directory, self._view = directory, view
        try:
            shutil.copyfile(directory / META, view / META)
            for name in os.listdir(directory):
                if not name.startswith(".") and name != META:
                    os.symlink(directory / name, view / name)
            self._index = tantivy.Index.open(str(view))
            self._searcher = self._index.searcher()
        except (OSError, ValueError) as e:
            raise StorageFault(f"the index shard {directory} cannot be opened: {e}; run the job again") from e

    @contextmanager
    def _on_filer(self) -> Iterator[None]:
        """Raise StorageFault for an error or a panic of the engine if it read bytes that were not written. To find out, the
        whole shard is read, so not for a query's excess."""
        try:
            yield
        except BaseException as error:  # a panic is no Exception
            panic = type(error).__name__ == "PanicException"
            own = isinstance(error, EdbenchError) or _EXCESS in str(error)
            if not panic and (own or not isinstance(error, Exception)):
                raise
            try:
                damaged = self.damaged()
            except OSError as why:
                raise StorageFault(f"the index shard {self._directory} cannot be read: {why}") from error
            if damaged:
                raise StorageFault(
                    f"the index shard {self._directory} is damaged ({', '.join(damaged)}); run the job again"
                ) from error
            raise

    def _query(self, query: str | Node) -> tantivy.Query:
        return tantivy_query(parse(query) if isinstance(query, str) else query, self._index)

    def _hits(self, query: tantivy.Query, limit: int, *, count: bool = False) -> tantivy.SearchResult:
        try:
            with self._on_filer():
                return self._searcher.search(query, limit, count=count)
        except ValueError as e:  # patterns in a row match too many words
            raise UsageError(
                f"the query matches too many words ({' '.join(str(e).split())}); give longer beginnings of words"
            ) from e

    def search(self, query: str | Node, limit: int, *, snippets: bool = True) -> list[Hit]:
        parsed = parse(query) if isinstance(query, str) else query
        return self.hits(parsed, self.best(parsed, limit)[1], snippets=snippets)

    def best(self, query: Node, limit: int) -> tuple[int, list[Best]]:
        asked, wanted = self._query(query), max(1, limit)
        found, most = self._hits(asked, wanted + 1, count=True), wanted + 1
        # Among documents of equal score, the engine returns those written first: all of the lowest score must be read.
        while len(found.hits) == most and found.hits[-1][0] == found.hits[wanted - 1][0]:
            most = min(most * _MORE, self.documents + 1)
            found = self._hits(asked, most, count=True)
        items = self._items([address for _, address in found.hits])
        best = ((score, item, address) for (score, address), item in zip(found.hits, items, strict=True))
        return int(getattr(found, "count", 0) or 0), heapq.nsmallest(wanted, best, key=in_order)

    def _items(self, addresses: list[tantivy.DocAddress]) -> list[uuid.UUID]:
        with self._on_filer():
            high, low = (cast(list[int], self._searcher.fast_field_values(name, addresses)) for name in _KNOWN_BY[:2])
            return [uuid.UUID(int=(a + SIGN << 64) | b + SIGN) for a, b in zip(high, low, strict=True)]

    def hits(self, query: Node, best: Sequence[Best], *, snippets: bool = True) -> list[Hit]:
        maker = None
        with self._on_filer():
            if snippets and best:
                maker = tantivy.SnippetGenerator.create(self._searcher, self._query(query), self._index.schema, "body")
            return [self._hit(score, address, maker) for score, _, address in best]

    def _hit(self, score: Any, address: tantivy.DocAddress, maker: tantivy.SnippetGenerator | None) -> Hit:
        document = self._searcher.doc(address)
        snippet = ""
        if maker is not None:
            snippet = _snippet(maker, document.get_all("body"))
        return Hit(
            item=uuid.UUID(document["item"][0]),
            owner=str(document["owner"][0]),
            score=float(score),
            snippet=snippet,
        )

    def found(self, query: Node) -> Found:
        from search.found import found_in_columns  # numbers in rows, which no slot needs

        hits = self._hits(tantivy.Query.const_score_query(self._query(query), 1.0), max(1, self.documents)).hits
        addresses = [address for _, address in hits]
        with self._on_filer():
            return found_in_columns(*(self._searcher.fast_field_values(name, addresses) for name in _KNOWN_BY))

    @property
    def documents(self) -> int:
        return int(self._searcher.num_docs)

    def body(self, item: uuid.UUID, owner: str) -> str | None:
        query = tantivy.Query.term_query(self._index.schema, "item", item.hex)
        with self._on_filer():
            for _, address in self._searcher.search(query, _BATCH, count=False).hits:
                document = self._searcher.doc(address)
                if document["owner"][0] == owner:
                    return together(str(document.get_first("body") or ""))
        return None

    def bodies(self, wanted: Mapping[uuid.UUID, str]) -> Iterator[tuple[uuid.UUID, str]]:
        # To fetch a single document takes as long as several in a row.
        if len(wanted) * _MANY > self.documents:
            with self._on_filer():
                for addresses in self._addresses():
                    for item, address in zip(self._items(addresses), addresses, strict=True):
                        if (owner := wanted.get(item)) is not None:
                            document = self._searcher.doc(address)
                            if owner == document["owner"][0]:
                                yield item, together(str(document.get_first("body") or ""))
            return
        for item, owner in wanted.items():
            if (body := self.body(item, owner)) is not None:
                yield item, body

    def owners(self) -> Iterator[tuple[uuid.UUID, str]]:
        with self._on_filer():
            for document in self._documents():
                yield uuid.UUID(document["item"][0]), str(document["owner"][0])

    def damaged(self) -> list[str]:
        files = sorted(name for name in os.listdir(self._view) if name.endswith(_SEGMENT_SUFFIXES))
        return [name for name in files if not _sound(self._view / name)]

    def _documents(self) -> Iterator[tantivy.Document]:
        return (self._searcher.doc(address) for addresses in self._addresses() for address in addresses)

    def _addresses(self) -> Iterator[list[tantivy.DocAddress]]:
        everything = tantivy.Query.all_query()
        for offset in range(0, self._searcher.num_docs, _BATCH):
            hits = self._searcher.search(everything, _BATCH, count=False, offset=offset).hits
            yield [address for _, address in hits]


def _sound(file: Path) -> bool:
    """Whether a file has the CRC-32 that is stated at its end, before the length of that statement."""
    with file.open("rb") as f:
        try:
            left = f.seek(max(0, os.fstat(f.fileno()).st_size - _END.size))
            length, _ = _END.unpack(f.read())
            left = f.seek(max(0, left - length))
            stated: int = json.loads(f.read(length))["crc"]
        except (ValueError, KeyError, TypeError, struct.error):
            return False
        f.seek(0)
        crc = 0
        while piece := f.read(min(left, _PIECE)):
            crc, left = zlib.crc32(piece, crc), left - len(piece)
    return crc == stated


def _apart(values: list[str]) -> list[str]:
    """The readings of a field as its values."""
    first, *others = map(apart, values)
    return [first, *(each for reading in others for each in (*_GAP, reading))]


def _without_surrogates(text: str) -> str:
    return text.encode("utf-8", "replace").decode()


def _snippet(maker: tantivy.SnippetGenerator, values: list[str]) -> str:
    """Snippet of the text; if nothing in it matches, of the parts that are read otherwise; else its beginning."""
    for some in (values[:1], values[1:]):
        snippet = maker.snippet_from_doc(tantivy.Document(body=some)) if some else None
        if snippet is not None and snippet.highlighted():
            return together(_marked(snippet))
    return together("".join(values[:1])[:150])


def _marked(snippet: tantivy.Snippet) -> str:
    """The fragment with \\x02 and \\x03 around each match; the engine's ranges are UTF-8 bytes."""
    raw = snippet.fragment().encode("utf-8")
    out, done = [], 0
    for part in sorted(snippet.highlighted(), key=lambda p: p.start):
        if part.start >= done:
            out += [raw[done : part.start], b"\x02", raw[part.start : part.end], b"\x03"]
            done = part.end
    out.append(raw[done:])
    return b"".join(out).decode("utf-8", "replace")
