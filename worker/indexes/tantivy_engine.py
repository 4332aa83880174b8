"""Tantivy behind the index interface.

Limits: a token over 40 bytes is not indexed (the engine's default tokenizer); words are split at anything that
is not a letter or digit and lower-cased. A writer makes a segment of what fits into HEAP_BYTES; eight of them are merged
in its own directory, before anything is published. What is also read otherwise
(`readings`) are further values of a field: no phrase reaches from one into the next, "two words"~3 may.
"""

from __future__ import annotations

import json
import os
import re
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import tantivy

from core.errors import StorageFault, UsageError
from worker.indexes.base import META, QUERY_FIELDS, SEGMENTS, Built, Hit, IndexDocument
from worker.indexes.query_language import apart, together
from worker.indexes.readings import readings, usual

HEAP_BYTES = 24_000_000  # one indexing thread a slot; more would only make larger first segments
_SEGMENT_SUFFIXES = (".idx", ".pos", ".term", ".store", ".fast", ".fieldnorm")
_OUTER = re.compile(r'("(?:[^"\\]|\\.)*"|/(?:[^/\\]|\\.)*/)')
_PREFIX = re.compile(r"(?<![\w*])(?:(\w+):)?(\w+(?:[-.@'&/]+\w+)*)\*(?![\w*])")
_NOT_FIRST = re.compile(r"\(\s*NOT\s+")
_NOT = re.compile(r"(?<!\S)NOT\s+")
_PUNCTUATION = re.compile(r"[\W_]+")
_DEFAULT_FIELDS = ["body", "subject", "title", "name"]
_BATCH = 5_000


def schema() -> tantivy.Schema:
    """The fields of every shard; `body` and what a hit shows are stored."""
    builder = tantivy.SchemaBuilder()
    builder.add_text_field("item", stored=True, tokenizer_name="raw", index_option="basic")
    builder.add_text_field("owner", stored=True, tokenizer_name="raw", index_option="basic")
    for name in QUERY_FIELDS:
        builder.add_text_field(name, stored=name in ("body", "subject", "title"), index_option="position")
    return builder.build()


class TantivyWriter:
    """Writes into `directory` (local, new)."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        with self._on_scratch():
            directory.mkdir(parents=True)
            self._writer = tantivy.Index(schema(), path=str(directory), reuse=False).writer(HEAP_BYTES, 1)
        self._documents = 0

    def add(self, document: IndexDocument) -> None:
        fields: dict[str, list[str]] = {"item": [document.item.hex], "owner": [document.owner]}
        for name in QUERY_FIELDS:
            value = getattr(document, name)
            if value:
                fields[name] = list(map(apart, readings(value)))
        try:
            built = tantivy.Document(**fields)
        except ValueError:  # lone surrogates; looking for them beforehand would cost every document
            built = tantivy.Document(**{k: list(map(_without_surrogates, v)) for k, v in fields.items()})
        with self._on_scratch():
            self._writer.add_document(built)
        self._documents += 1

    def finish(self) -> Built:
        with self._on_scratch():
            self._writer.commit()
            self._writer.wait_merging_threads()
            segments = json.loads((self._directory / META).read_bytes())[SEGMENTS]
        stems = [segment["segment_id"].replace("-", "") for segment in segments]
        files = tuple(stem + suffix for stem in stems for suffix in _SEGMENT_SUFFIXES)
        return Built(files=files, documents=self._documents)

    @contextmanager
    def _on_scratch(self) -> Iterator[None]:
        """The engine tells what is wrong with its disk by ValueError."""
        try:
            yield
        except (OSError, ValueError) as e:
            why = " ".join(str(e).split())
            raise StorageFault(
                f"the index in {self._directory} cannot be written: {why}; see that scratch has space, then resume"
            ) from e

    def close(self) -> None:
        del self._writer  # ends its threads


class TantivyReader:
    """One published shard. `view` is a local directory that gets links to the shard's files, because the engine
    wants to put lock files beside them and the filer is only to be read; and the meta file itself, so that the reader
    stays with what it says now."""

    def __init__(self, directory: Path, view: Path) -> None:
        view.mkdir(parents=True, exist_ok=True)
        try:
            (view / META).write_bytes((directory / META).read_bytes())
            for name in os.listdir(directory):
                if not name.startswith(".") and name != META:
                    os.symlink(directory / name, view / name)
            self._index = tantivy.Index.open(str(view))
            self._searcher = self._index.searcher()
        except (OSError, ValueError) as e:
            raise StorageFault(f"the index shard {directory} cannot be opened: {e}; run the job again") from e

    def _parse(self, query: str) -> tantivy.Query:
        text = apart(translate(usual(query)))
        if not text.strip():
            raise UsageError("the query is empty; give at least one word, or * for everything")
        try:
            return self._index.parse_query(text, _DEFAULT_FIELDS, None, {}, True, True)
        except ValueError as e:
            message = " ".join(str(e).split())
            if "Only excluding terms" in message:
                raise UsageError("the query only excludes; say what to look for first, for example: * NOT word") from e
            if "Field does not exist" in message:
                raise UsageError(f"{message}; the fields are {', '.join(QUERY_FIELDS)}") from e
            raise UsageError(f"the query {query!r} cannot be read ({message}); close every quote and bracket") from e

    def search(self, query: str, limit: int, *, snippets: bool = True) -> list[Hit]:
        parsed = self._parse(query)
        hits = self._searcher.search(parsed, max(1, limit)).hits
        maker = None
        if snippets and hits:
            maker = tantivy.SnippetGenerator.create(self._searcher, parsed, self._index.schema, "body")
        return [self._hit(score, address, maker) for score, address in hits]

    def _hit(self, score: Any, address: tantivy.DocAddress, maker: tantivy.SnippetGenerator | None) -> Hit:
        document = self._searcher.doc(address)
        snippet = ""
        if maker is not None:
            snippet = _snippet(maker, document.get_all("body"))
        shown = {k: together(str(document.get_first(k) or "")) for k in ("subject", "title")}
        return Hit(
            item=uuid.UUID(document["item"][0]),
            owner=str(document["owner"][0]),
            score=float(score),
            snippet=snippet,
            fields={k: v for k, v in shown.items() if v},
        )

    def count(self, query: str) -> int:
        return int(getattr(self._searcher.search(self._parse(query), 1), "count", 0) or 0)

    def body(self, item: uuid.UUID, owner: str) -> str | None:
        query = tantivy.Query.term_query(self._index.schema, "item", item.hex)
        for _, address in self._searcher.search(query, _BATCH, count=False).hits:
            document = self._searcher.doc(address)
            if document["owner"][0] == owner:
                return together(str(document.get_first("body") or ""))
        return None

    def owners(self) -> Iterator[tuple[uuid.UUID, str]]:
        everything = tantivy.Query.all_query()
        for offset in range(0, self._searcher.num_docs, _BATCH):
            for _, address in self._searcher.search(everything, _BATCH, count=False, offset=offset).hits:
                document = self._searcher.doc(address)
                yield uuid.UUID(document["item"][0]), str(document["owner"][0])


def translate(query: str) -> str:
    """The engine's own language, with `word*` (which it lacks) written as a regular expression over terms.

    `a AND NOT b` and `a AND (NOT b)` find nothing there; with `-` for NOT they do what they say.
    """
    pieces = _OUTER.split(query)
    for i in range(0, len(pieces), 2):
        pieces[i] = _NOT.sub("-", _NOT_FIRST.sub("(* -", pieces[i]))
        pieces[i] = _PREFIX.sub(lambda m: _prefix(m.group(1), m.group(2)), pieces[i])
    return "".join(pieces)


def _prefix(field: str | None, word: str) -> str:
    """In the fields a bare word is looked for, or in the one that is named; `report-2024*` is two terms there."""
    if apart(word) != word:  # a phrase of letters, which goes on anyhow
        return f"{field}:{word}" if field else word
    *whole, last = _PUNCTUATION.split(word.lower().strip("_")) or [""]
    fields = [field] if field else _DEFAULT_FIELDS
    either = [" AND ".join([*(f"{f}:{w}" for w in whole), f"{f}:/{last}.*/"]) for f in fields]
    return either[0] if len(either) == 1 and not whole else "(" + " OR ".join(f"({e})" for e in either) + ")"


def _without_surrogates(text: str) -> str:
    return text.encode("utf-8", "replace").decode()


def _snippet(maker: tantivy.SnippetGenerator, values: list[str]) -> str:
    """Of the text; where nothing in it matches as it stands, of the parts that are read otherwise; else its beginning."""
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
