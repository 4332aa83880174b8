"""Our query language over Whoosh's words and postings. Whoosh has no row of patterns at given places, so that is ours."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from whoosh import matching
from whoosh import query as wq
from whoosh.query import Query
from whoosh.reading import IndexReader
from whoosh.searching import Searcher

from core.errors import UsageError
from worker.indexes.nodes import All, Between, Either, Fuzzy, Near, Node, Pattern, Row, Wild, Word, asks_ledger
from worker.indexes.patterns import wild, within


def whoosh_query(node: Node) -> Query:
    """The query object for a parsed query: exactly its documents, those with more of its words, and rarer ones, first.
    Raises UsageError for what no index knows."""
    exact = exact_query(node)
    words = [wq.Term(field, text) for field, text in dict.fromkeys(_scoring(node))]
    return wq.AndMaybe(exact, wq.Or(words)) if words else exact


def exact_query(node: Node) -> Query:
    """The same documents, in no order."""
    if asks_ledger(node):
        raise UsageError("size, dates, states and tags are not in an index shard; search the job")
    return _Exactly(node)


def _scoring(node: Node) -> Iterator[tuple[str, str]]:
    """Field and word of what counts for the order."""
    match node:
        case Row(fields, places):
            yield from ((field, each.text) for _, each in places if isinstance(each, Word) for field in fields)
        case All(wanted, _):
            yield from (pair for each in wanted for pair in _scoring(each))
        case Either(choices):
            yield from (pair for each in choices for pair in _scoring(each))


class _Exactly(Query):  # type: ignore[misc]
    """A parsed query as one list of documents: Whoosh's own matchers lose some where exclusions stand inside each other,
    and keep a reader open for each word that a pattern means."""

    def __init__(self, node: Node) -> None:
        self.node, self.boost = node, 1.0

    def __hash__(self) -> int:
        return hash(self.node)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Exactly) and self.node == other.node

    def estimate_size(self, ixreader: IndexReader) -> int:
        return int(ixreader.doc_count())  # not looked for twice

    estimate_min_size = estimate_size

    def matcher(self, searcher: Searcher, context: Any = None) -> matching.Matcher:
        found = _documents(searcher.reader(), self.node)
        return matching.ListMatcher(sorted(found)) if found else matching.NullMatcher()


def _documents(reader: IndexReader, node: Node) -> set[int]:
    """Those of this part of the index."""
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
    """Documents in which the words of a row stand at their places."""
    if len(row.places) == 1:
        return _any_of(reader, field, row.places[0][1])
    begins: dict[int, set[int]] | None = None  # by document, where a row may begin
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
    """The field's words, of this part of the index, that the pattern or range means."""
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
