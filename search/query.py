"""What a query means, as its reader (`query_language`) leaves it and as each engine looks for it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Word:
    """This word."""

    text: str


@dataclass(frozen=True, slots=True)
class Wild:
    """A word like that: `*` stands for letters or none, `?` for one. Never begins with either."""

    text: str


@dataclass(frozen=True, slots=True)
class Fuzzy:
    """A word that so many edits (1 or 2) make of this one: a letter more, one less, another one (Levenshtein)."""

    text: str
    edits: int


Pattern = Word | Wild | Fuzzy


@dataclass(frozen=True, slots=True)
class Everything:
    """`*`"""


@dataclass(frozen=True, slots=True)
class Row:
    """Words at these places, counted from any one, in one of `fields`. A Fuzzy word is alone in its row."""

    fields: tuple[str, ...]
    places: tuple[tuple[int, Pattern], ...]


@dataclass(frozen=True, slots=True)
class Near:
    """A proximity condition, written out: at least one of these rows."""

    rows: tuple[Row, ...]


@dataclass(frozen=True, slots=True)
class Between:
    """A word from `low` to `high` in one of `fields`; None: without an end."""

    fields: tuple[str, ...]
    low: str | None
    high: str | None
    with_low: bool
    with_high: bool


@dataclass(frozen=True, slots=True)
class Asked:
    """What the ledger knows and no index: `field` OPERATOR `value` (search.language)."""

    field: str
    op: str
    value: str


@dataclass(frozen=True, slots=True)
class All:
    """Every one of `wanted`, none of `excluded`; a parsed query never has one without `wanted`."""

    wanted: tuple[Node, ...]
    excluded: tuple[Node, ...] = ()


@dataclass(frozen=True, slots=True)
class Either:
    """At least one."""

    choices: tuple[Node, ...]


Node = Everything | Row | Near | Between | Asked | All | Either


def one_of(choices: tuple[Node, ...]) -> Node:
    """At least one of them."""
    return choices[0] if len(choices) == 1 else Either(choices)


def asks_ledger(node: Node) -> bool:
    """Whether an index alone cannot answer."""
    match node:
        case All(wanted, excluded):
            return any(map(asks_ledger, (*wanted, *excluded)))
        case Either(choices):
            return any(map(asks_ledger, choices))
    return isinstance(node, Asked)


def asked_in(node: Node) -> Iterator[Asked]:
    """What the ledger is asked, wherever in the query."""
    match node:
        case All(wanted, excluded):
            yield from (asked for each in (*wanted, *excluded) for asked in asked_in(each))
        case Either(choices):
            yield from (asked for each in choices for asked in asked_in(each))
        case Asked():
            yield node


def values_of(node: Node, field: str) -> Iterator[str]:
    """What a field of the ledger is asked for, wherever in the query."""
    return (asked.value for asked in asked_in(node) if asked.field == field)


def excluded_by(node: Node, field: str) -> Iterator[Node]:
    """The exclusions of the query that name this field."""
    match node:
        case All(wanted, excluded):
            yield from (each for each in excluded if any(values_of(each, field)))
            yield from (found for each in wanted for found in excluded_by(each, field))
        case Either(choices):
            yield from (found for each in choices for found in excluded_by(each, field))


def sought(node: Node) -> Iterator[Pattern]:
    """What is looked for in an item's text, to be marked there; nothing of what is excluded."""
    match node:
        case Row(fields, places):
            yield from (pattern for _, pattern in places if "body" in fields)
        case Near(rows):
            yield from dict.fromkeys(pattern for row in rows for pattern in sought(row))  # of each the same few words
        case All(wanted, _):
            yield from (pattern for each in wanted for pattern in sought(each))
        case Either(choices):
            yield from (pattern for each in choices for pattern in sought(each))
