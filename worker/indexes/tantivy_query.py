"""Our query language as Tantivy's query objects; its own language is used for nothing but ranges of words."""

from __future__ import annotations

import tantivy
from tantivy import Occur, Query

from core.errors import UsageError
from worker.indexes.nodes import All, Asked, Between, Either, Everything, Fuzzy, Near, Node, Pattern, Row, Wild, Word


def tantivy_query(node: Node, index: tantivy.Index) -> Query:
    """The query object for a parsed query. Raises UsageError for what no index knows."""
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
    """Of letters, digits, `*` and `?` only: nothing else has a meaning there."""
    return text.replace("*", ".*").replace("?", ".")


def _between(index: tantivy.Index, field: str, node: Between) -> Query:
    """By way of the engine's parser, which alone makes ranges of words."""
    if node.low is node.high is None:
        return Query.regex_query(index.schema, field, ".+")
    low, high = ("*" if end is None else end for end in (node.low, node.high))  # words: no sign of the language in them
    text = f"{field}:{'[' if node.with_low else '{'}{low} TO {high}{']' if node.with_high else '}'}"
    try:
        return index.parse_query(text, [field])
    except ValueError as e:
        raise UsageError(f"the range {text} has a syntax error: {' '.join(str(e).split())}") from e
