"""Statements as functions with typed rows: a class declares them, a method each, and `face` has them run.

A method is named as its statement and takes, besides the connection, the statement's parameters by keyword (a test
compares them). Its return type says what comes of it: a NamedTuple is one row, by column name; another type one value;
`list[…]` of either all of them; None nothing.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, get_args, get_origin, get_type_hints

from sqlalchemy import Connection

from sql.queries import QUERIES, Query


def face(kind: type[Any]) -> Any:
    """An object with the methods that `kind` declares. Raises KeyError for a statement that there is not."""
    declared = {name: function for name, function in vars(kind).items() if _declares(name, function)}
    return SimpleNamespace(
        **{name: _runner(QUERIES[name], get_type_hints(f)["return"]) for name, f in declared.items()}
    )


def parameters(kind: type[Any]) -> dict[str, set[str]]:
    """What each declared statement is given, by name."""
    return {
        name: {p.name for p in inspect.signature(function).parameters.values() if p.kind is p.KEYWORD_ONLY}
        for name, function in vars(kind).items()
        if _declares(name, function)
    }


def _declares(name: str, value: object) -> bool:
    return inspect.isfunction(value) and not name.startswith("_")


def _runner(query: Query, returned: Any) -> Callable[..., Any]:
    many = get_origin(returned) is list
    kind = get_args(returned)[0] if many else returned
    row = isinstance(kind, type) and issubclass(kind, tuple)

    def run(conn: Connection, **given: Any) -> Any:
        found = query.run(conn, **given)
        if kind is type(None):
            return None
        if row:
            return [kind(**each._mapping) for each in found] if many else kind(**found.one()._mapping)
        return list(found.scalars()) if many else found.scalar_one()

    return run
