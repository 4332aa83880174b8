"""Statements as functions with typed rows: a class declares them, a method each, and `face` has them run.

A method is named as its statement and takes, besides the connection, the statement's parameters by keyword (a test
compares them). Its return type says what comes of it: a NamedTuple or dataclass is one row, by the names of the columns
that it has, with `| None` one or none; another type one value; `list[…]` of either all of them, `Iterator[…]` as they are
read; None nothing, and the number of a statement that has no rows how many it changed.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping
from types import NoneType, SimpleNamespace, UnionType
from typing import TYPE_CHECKING, Any, get_args, get_origin, get_type_hints

from sql.queries import QUERIES, Query

if TYPE_CHECKING:
    from sqlalchemy import Connection


def face(kind: type[Any], queries: Mapping[str, Query] = QUERIES) -> Any:
    """An object with the methods that `kind` declares, which run `queries`. Raises KeyError for an unknown statement."""
    declared = {name: function for name, function in vars(kind).items() if _declares(name, function)}
    return SimpleNamespace(
        **{name: _runner(queries[name], hints_of(function)["return"]) for name, function in declared.items()}
    )


def hints_of(function: Callable[..., Any]) -> dict[str, Any]:
    """What a method says of its parameters and of what comes of it; SQLAlchemy's connection, which few starts need, is any."""
    return get_type_hints(function, localns={"Connection": Any})


def parameters(kind: type[Any]) -> dict[str, set[str]]:
    """What each declared statement is given, by name."""
    return {
        name: {p.name for p in inspect.signature(function).parameters.values() if p.kind is p.KEYWORD_ONLY}
        for name, function in vars(kind).items()
        if _declares(name, function)
    }


def _declares(name: str, value: object) -> bool:
    return inspect.isfunction(value) and not name.startswith("_")


def _runner(query: Query, wanted: Any) -> Callable[..., Any]:
    origin = get_origin(wanted)
    kind = wanted if origin is None else get_args(wanted)[0]
    fields = getattr(kind, "__match_args__", ())

    def run(conn: Connection, **given: Any) -> Any:
        result = query.run(conn, **given)
        if kind is NoneType:
            return None
        if not result.returns_rows:
            return result.rowcount
        rows: Any = result.columns(*fields) if fields else result.scalars()
        if origin in (list, Iterator):
            rows = (kind(*row) for row in rows) if fields else rows
            return list(rows) if origin is list else rows
        row = rows.one_or_none() if fields and origin is UnionType else rows.one()
        return kind(*row) if fields and row else row

    return run
