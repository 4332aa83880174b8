"""Our query language as Whoosh's query objects."""

from __future__ import annotations

from whoosh import query as wq
from whoosh.query import Query

from worker.indexes.query_language import All, Between, Either, Everything, Node, Words


def whoosh_query(node: Node) -> Query:
    """The query object for a parsed query."""
    match node:
        case Everything():
            return wq.Every()
        case Either(choices):
            return wq.Or([whoosh_query(choice) for choice in choices])
        case All(wanted, excluded):
            queries = [whoosh_query(each) for each in wanted]
            both = queries[0] if len(queries) == 1 else wq.And(queries)
            if not excluded:
                return both
            unwanted = [whoosh_query(each) for each in excluded]
            return wq.AndNot(both, unwanted[0] if len(unwanted) == 1 else wq.Or(unwanted))
        case Words():
            return _words(node)
        case Between():
            each = [_range(field, node) for field in node.fields]
            return each[0] if len(each) == 1 else wq.Or(each)


def _words(node: Words) -> Query:
    if not node.words:
        return wq.NullQuery
    each = [_in_field(field, node) for field in node.fields]
    return each[0] if len(each) == 1 else wq.Or(each)


def _range(field: str, node: Between) -> Query:
    return wq.TermRange(field, node.low or "", node.high, not node.with_low, not node.with_high)


def _in_field(field: str, node: Words) -> Query:
    words = node.words
    if node.prefix:  # the words before the last are looked for anywhere in the field, as the other engine does
        begun = wq.Prefix(field, words[-1])
        return wq.And([*(wq.Term(field, word) for word in words[:-1]), begun]) if words[1:] else begun
    return wq.Term(field, words[0]) if len(words) == 1 else wq.Phrase(field, list(words), slop=1 + node.between)


def body_words(node: Node) -> tuple[set[str], tuple[str, ...]]:
    """What a snippet of the body marks: whole words, and beginnings of words."""
    match node:
        case Everything() | Between():
            return set(), ()
        case Words(fields, words, prefix):
            if "body" not in fields or not words:
                return set(), ()
            return (set(words[:-1]), (words[-1],)) if prefix else (set(words), ())
        case All(wanted, _):
            parts = [body_words(each) for each in wanted]
        case Either(choices):
            parts = [body_words(each) for each in choices]
    return set().union(*(whole for whole, _ in parts)), tuple(begun for _, all_begun in parts for begun in all_begun)
