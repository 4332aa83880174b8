"""Statements as functions with typed rows: a class declares them, a method each, and `face` has them run.

A method is named as its statement and takes, besides the connection, the statement's parameters by keyword (a test
compares them); a dataclass holds several of them, each in a field of its name. Its return type defines the result: a NamedTuple or dataclass is one row, by the names of the columns
that it has, with `| None` one or none; another type one value; `list[…]` of either all of them, `Iterator[…]` as they
are read; None nothing, and the number of a statement that has no rows how many it changed.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from importlib.resources import files
from types import NoneType, SimpleNamespace, UnionType
from typing import TYPE_CHECKING, Any, get_args, get_origin, get_type_hints

if TYPE_CHECKING:
    from sqlalchemy import Connection, CursorResult


_NAME = re.compile(r"^-- name: (\w+)\n", re.MULTILINE)
_COMMENT = re.compile(r"^--.*\n", re.MULTILINE)
_PART = re.compile(r"^\s*@(\w+)$", re.MULTILINE)

NO_PARTS: Mapping[str, str] = {}


@dataclass(frozen=True, slots=True)
class Query:
    """One named statement."""

    name: str
    description: str
    sql: str

    def run(self, conn: Connection, **parameters: Any) -> CursorResult[Any]:
        """Execute it on a connection whose transaction the caller owns."""
        return conn.exec_driver_sql(self.sql, parameters)


def parse_queries(text: str, origin: str, parts: Mapping[str, str] = NO_PARTS) -> Iterator[Query]:
    """The queries of one file; raises ValueError when a block has no description or no statement, or takes in a part
    that there is not."""

    def part(match: re.Match[str]) -> str:
        if match[1] not in parts:
            raise ValueError(f"{origin}: there is no part {match[1]}")
        return parts[match[1]]

    pieces = _NAME.split(text)
    for name, body in zip(pieces[1::2], pieces[2::2], strict=True):
        lines = body.strip().splitlines()
        comments = [line[2:].strip() for line in lines if line.startswith("--")]
        statement = "\n".join(line for line in lines if not line.startswith("--")).strip().rstrip(";")
        if not comments or not statement:
            raise ValueError(f"{origin}: query {name} needs a description and a statement")
        yield Query(name, " ".join(comments), _PART.sub(part, statement))


def load_queries(package: str = "sql") -> dict[str, Query]:
    """Every query of a package, which may use parts of this one; raises ValueError when two have the same name."""
    out: dict[str, Query] = {}
    folder = files(package) / "queries"
    parts = {
        path.name.removesuffix(".sql"): _COMMENT.sub("", path.read_text(encoding="utf-8")).strip()
        for folder_of in {"sql", package}
        for path in (files(folder_of) / "queries" / "parts").iterdir()
    }
    for path in sorted((p for p in folder.iterdir() if p.name.endswith(".sql")), key=lambda p: p.name):
        for query in parse_queries(path.read_text(encoding="utf-8"), path.name, parts):
            if query.name in out:
                raise ValueError(f"{path.name}: there is already a query named {query.name}")
            out[query.name] = query
    return out


QUERIES = load_queries()


def face(kind: type[Any], queries: Mapping[str, Query] = QUERIES) -> Any:
    """An object with the methods that `kind` declares, which run `queries`. Raises KeyError for an unknown statement."""
    declared = {name: function for name, function in vars(kind).items() if _declares(name, function)}
    return SimpleNamespace(
        **{
            name: _runner(queries[name], hints_of(function)["return"], _records(function))
            for name, function in declared.items()
        }
    )


def hints_of(function: Callable[..., Any]) -> dict[str, Any]:
    """The type hints of a method. SQLAlchemy's connection is Any, because few processes need to import it."""
    return get_type_hints(function, localns={"Connection": Any})


def parameters(kind: type[Any]) -> dict[str, set[str]]:
    """What each declared statement is given, by name."""
    return {name: _parameters(function) for name, function in vars(kind).items() if _declares(name, function)}


def _parameters(function: Callable[..., Any]) -> set[str]:
    names = {p.name for p in inspect.signature(function).parameters.values() if p.kind is p.KEYWORD_ONLY}
    records = _records(function)
    return names - records.keys() | {name for inside in records.values() for name in inside}


def _records(function: Callable[..., Any]) -> dict[str, tuple[str, ...]]:
    """Its parameters that hold several of the statement, each with the names of these."""
    hints = hints_of(function).items()
    return {
        name: tuple(f.name for f in fields(hint)) for name, hint in hints if name != "return" and is_dataclass(hint)
    }


def _declares(name: str, value: object) -> bool:
    return inspect.isfunction(value) and not name.startswith("_")


def _runner(query: Query, wanted: Any, records: Mapping[str, Sequence[str]]) -> Callable[..., Any]:
    origin = get_origin(wanted)
    kind = wanted if origin is None else get_args(wanted)[0]
    columns = getattr(kind, "__match_args__", ())

    def run(conn: Connection, **given: Any) -> Any:
        for record, names in records.items():
            held = given.pop(record)
            given |= {name: getattr(held, name) for name in names}
        result = query.run(conn, **given)
        if kind is NoneType:
            return None
        if not result.returns_rows:
            return result.rowcount
        rows: Any = result.columns(*columns) if columns else result.scalars()
        if origin in (list, Iterator):
            rows = (kind(*row) for row in rows) if columns else rows
            return list(rows) if origin is list else rows
        row = rows.one_or_none() if columns and origin is UnionType else rows.one()
        return kind(*row) if columns and row else row

    return run
