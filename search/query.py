"""A parsed query, as `search.language` makes it and each engine executes it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Word:
    """A word."""

    text: str


@dataclass(frozen=True, slots=True)
class Wild:
    """A pattern of a word: `*` stands for any letters or none, `?` for one. It never begins with either."""

    text: str


@dataclass(frozen=True, slots=True)
class Fuzzy:
    """Words that differ from this one by so many edits (1 or 2): a letter more, less or different (Levenshtein)."""

    text: str
    edits: int


Pattern = Word | Wild | Fuzzy


@dataclass(frozen=True, slots=True)
class Everything:
    """Matches every document: `*`."""


@dataclass(frozen=True, slots=True)
class Row:
    """Words at these relative places in one of `fields`. A Fuzzy word is alone in its row."""

    fields: tuple[str, ...]
    places: tuple[tuple[int, Pattern], ...]


@dataclass(frozen=True, slots=True)
class Near:
    """A proximity condition, expanded: at least one of these rows."""

    rows: tuple[Row, ...]


@dataclass(frozen=True, slots=True)
class Between:
    """A word from `low` to `high` in one of `fields`; None: unbounded."""

    fields: tuple[str, ...]
    low: str | None
    high: str | None
    with_low: bool
    with_high: bool


@dataclass(frozen=True, slots=True)
class Asked:
    """A condition that only the ledger can answer: `field` OPERATOR `value` (search.language)."""

    field: str
    op: str
    value: str


@dataclass(frozen=True, slots=True)
class All:
    """All of `wanted` and none of `excluded`; a parsed query always has a `wanted`."""

    wanted: tuple[Node, ...]
    excluded: tuple[Node, ...] = ()


@dataclass(frozen=True, slots=True)
class Either:
    """A choice of nodes, of which at least one must match."""

    choices: tuple[Node, ...]


Node = Everything | Row | Near | Between | Asked | All | Either


def one_of(choices: tuple[Node, ...]) -> Node:
    """Return the choices as one node."""
    return choices[0] if len(choices) == 1 else Either(choices)


def asks_ledger(node: Node) -> bool:
    """Whether an index alone cannot answer the query."""
    match node:
        case All(wanted, excluded):
            return any(map(asks_ledger, (*wanted, *excluded)))
        case Either(choices):
            return any(map(asks_ledger, choices))
    return isinstance(node, Asked)


def asked_in(node: Node) -> Iterator[Asked]:
    """Return all conditions on the ledger in the query."""
    match node:
        case All(wanted, excluded):
            yield from (asked for each in (*wanted, *excluded) for asked in asked_in(each))
        case Either(choices):
            yield from (asked for each in choices for asked in asked_in(each))
        case Asked():
            yield node


def values_of(node: Node, field: str) -> Iterator[str]:
    """Return the values of all conditions on this field of the ledger."""
    return (asked.value for asked in asked_in(node) if asked.field == field)


def excluded_by(node: Node, field: str) -> Iterator[Node]:
    """Return the exclusions of the query that name this field."""
    match node:
        case All(wanted, excluded):
            yield from (each for each in excluded if any(values_of(each, field)))
            yield from (found for each in wanted for found in excluded_by(each, field))
        case Either(choices):
            yield from (found for each in choices for found in excluded_by(each, field))


def sought(node: Node) -> Iterator[Pattern]:
    """Return the patterns to mark in an item's text; none from exclusions."""
    match node:
        case Row(fields, places):
            yield from (pattern for _, pattern in places if "body" in fields)
        case Near(rows):
            yield from dict.fromkeys(pattern for row in rows for pattern in sought(row))  # rows repeat the same words
        case All(wanted, _):
            yield from (pattern for each in wanted for pattern in sought(each))
        case Either(choices):
            yield from (pattern for each in choices for pattern in sought(each))
