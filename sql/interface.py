"""Statements as functions with typed rows: a class declares a method for each; `implemented` returns an object that has them.

A method has the name of its statement and takes, after the connection, the statement's parameters by keyword (a test
compares them); a dataclass holds several of them, each in a field of its name. A parameter may have a default. The
return type defines the result: a NamedTuple, dataclass, Struct or pydantic model is one row, by the names of its
columns, with `| None` one or none; another type is one value; `list[…]` of either is all of them, `Iterator[…]` streams
them; `dict[…]` is all rows of two columns, the first of which is the key; None is no result, and the number of a
statement without rows is how many it changed. Values are converted to members of an enumeration, bytes, tuples, or by
the `from_json` of a type, as declared."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, fields, is_dataclass
from enum import Enum
from functools import cache
from importlib.resources import files
from types import NoneType, SimpleNamespace, UnionType
from typing import Any, get_args, get_origin, get_type_hints

from sql.connection import Connection, Rows

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

    def run(self, conn: Connection, **parameters: Any) -> Rows:
        """Execute it on a connection whose transaction the caller owns."""
        return conn.execute(conn.repeated(self.sql), parameters)


def parse_queries(text: str, origin: str, parts: Mapping[str, str] = NO_PARTS) -> Iterator[Query]:
    """Parse the queries of one file. Raises ValueError if a block has no description or no statement, or includes an
    unknown part."""

    def part(match: re.Match[str]) -> str:
        if match[1] not in parts:
            raise ValueError(f"{origin}: no part {match[1]} exists")
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
    """Load every query of a package, which may use parts of this one. Raises ValueError if two have the same name."""
    out: dict[str, Query] = {}
    folder = files(package) / "queries"
    parts = {
        path.name.removesuffix(".sql"): _COMMENT.sub("", path.read_text(encoding="utf-8")).strip()
        for shared in (files("sql") / "queries" / "parts", folder / "parts")
        if shared.is_dir()
        for path in shared.iterdir()
    }
    for path in sorted((p for p in folder.iterdir() if p.name.endswith(".sql")), key=lambda p: p.name):
        for query in parse_queries(path.read_text(encoding="utf-8"), path.name, parts):
            if query.name in out:
                raise ValueError(f"{path.name}: there is already a query named {query.name}")
            out[query.name] = query
    return out


QUERIES = load_queries()


def implemented(kind: type[Any], queries: Mapping[str, Query] = QUERIES) -> Any:
    """Return an object with the methods that `kind` declares, which run `queries`. Raises KeyError for an unknown
    statement."""
    declared = {name: function for name, function in vars(kind).items() if _declares(name, function)}
    return SimpleNamespace(**{name: _runner(queries[name], function) for name, function in declared.items()})


def parameters(kind: type[Any]) -> dict[str, set[str]]:
    """The names of the parameters of each declared statement."""
    return {name: _parameters(function) for name, function in vars(kind).items() if _declares(name, function)}


def _parameters(function: Callable[..., Any]) -> set[str]:
    names = {p.name for p in inspect.signature(function).parameters.values() if p.kind is p.KEYWORD_ONLY}
    records = _records(function)
    return names - records.keys() | {name for inside in records.values() for name in inside}


def _records(function: Callable[..., Any]) -> dict[str, tuple[str, ...]]:
    """The parameters that hold several parameters of the statement, each with their names."""
    hints = get_type_hints(function).items()
    return {
        name: tuple(f.name for f in fields(hint)) for name, hint in hints if name != "return" and is_dataclass(hint)
    }


def _declares(name: str, value: object) -> bool:
    return inspect.isfunction(value) and not name.startswith("_")


def _runner(query: Query, function: Callable[..., Any]) -> Callable[..., Any]:
    wanted, records = get_type_hints(function)["return"], _records(function)
    usual = {p.name: p.default for p in inspect.signature(function).parameters.values() if p.default is not p.empty}
    origin = get_origin(wanted)
    kind = wanted if origin is None else get_args(wanted)[0]
    columns = columns_of(kind)

    def run(conn: Connection, **given: Any) -> Any:
        given = usual | given
        for record, names in records.items():
            held = given.pop(record)
            given |= {name: getattr(held, name) for name in names}
        result = query.run(conn, **given)
        if kind is NoneType:
            return None
        if not result.returns_rows:
            return result.rowcount
        if origin is dict:
            read_key, read_value = map(_maker, get_args(wanted))
            return {read_key(key): read_value(value) for key, value in result}
        rows: Any = result.columns(*columns) if columns else result.scalars()
        make = _maker(kind)
        if origin in (list, Iterator):
            made = map(make, rows)
            return list(made) if origin is list else made
        row = rows.one_or_none() if origin is UnionType else rows.one()
        return None if row is None else make(row)

    return run


def columns_of(kind: Any) -> tuple[str, ...]:
    """The field names of a row; empty for a type of a value."""
    if is_dataclass(kind):
        return tuple(f.name for f in fields(kind))
    of_kind = ("_fields", "__struct_fields__", "model_fields")  # a NamedTuple, msgspec's Struct, pydantic's model
    return next((tuple(getattr(kind, name)) for name in of_kind if hasattr(kind, name)), ())


@cache
def _maker(kind: Any) -> Callable[[Any], Any]:
    """A function that makes a row of this type from the driver's values, or a value of this type from its value."""
    columns = columns_of(kind)
    if not columns:
        read = _reader(kind)
        return (lambda value: value) if read is None else lambda value: None if value is None else read(value)
    by_place = getattr(kind, "__match_args__", ()) == columns
    hints = {} if hasattr(kind, "model_fields") else get_type_hints(kind)  # pydantic makes the values itself
    readers = [(at, read) for at, name in enumerate(columns) if (read := _reader(hints.get(name))) is not None]

    def make(row: Any) -> Any:
        values = list(row)
        for at, read in readers:
            if values[at] is not None:
                values[at] = read(values[at])
        return kind(*values) if by_place else kind(**dict(zip(columns, values, strict=True)))

    return make


def _reader(hint: Any) -> Callable[[Any], Any] | None:
    """A function that makes a value of this type from the driver's; None: the driver returns the right type."""
    kind: Any = next(one for one in get_args(hint) if one is not NoneType) if get_origin(hint) is UnionType else hint
    if kind is bytes or (isinstance(kind, type) and issubclass(kind, Enum)):
        return kind
    if get_origin(kind) is tuple:
        of_each = _reader(get_args(kind)[0])
        return tuple if of_each is None else lambda values: tuple(map(of_each, values))
    return getattr(kind, "from_json", None)
