"""Rows of a face are what its statements give, by a real server: names of columns, and their types."""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from types import NoneType
from typing import Any, get_args, get_origin, get_type_hints

import pytest
from sql_faces import FACES, STATEMENTS

from sql.face import hints_of, parameters
from sql.session import Database

# Types of PostgreSQL (pg_type.typname) that the driver gives as a type of Python.
_GIVEN = {
    uuid.UUID: {"uuid"},
    str: {"text", "name"},
    int: {"int2", "int4", "int8"},
    float: {"float8"},
    bool: {"bool"},
    memoryview: {"bytea"},
    datetime: {"timestamptz"},
    list[str]: {"_text", "jsonb"},
    Mapping: {"jsonb"},
}
_SAMPLES = {uuid.UUID: uuid.UUID(int=0), str: "{}", int: 1, float: 1.0, bool: True, bytes: b""}


def _known(hint: Any) -> Any:
    """Without None; a mapping of whatever."""
    hint = get_args(hint)[0] if _optional(hint) else hint
    return Mapping if get_origin(hint) is Mapping else hint


def _optional(hint: Any) -> bool:
    return NoneType in get_args(hint)


def _sample(hint: Any) -> Any:
    """Something to give, with which a statement finds nothing: null where it may be, else an empty list."""
    return None if _optional(hint) else [] if get_origin(hint) is Sequence else _SAMPLES[hint]


def _expected(returned: Any) -> list[tuple[str | None, Any]]:
    """Names and types of columns; of a value its type alone."""
    kind = get_args(returned)[0] if get_origin(returned) in (list, Iterator) else _known(returned)
    if hasattr(kind, "__match_args__"):
        return [(name, _known(hint)) for name, hint in get_type_hints(kind).items()]
    return [(None, _known(kind))]


@pytest.mark.parametrize("name", FACES)
def test_rows_have_the_columns_of_their_statements(name: str, database: Database) -> None:
    """Every statement is run; in the order of declaration, since some work on tables that others make."""
    with database.transaction() as conn:
        types = dict(map(tuple, conn.exec_driver_sql("SELECT oid, typname FROM pg_type")))
        for statement in parameters(FACES[name]):
            hints = hints_of(getattr(FACES[name], statement))
            given = {key: _sample(hint) for key, hint in hints.items() if key not in ("conn", "return")}
            found = STATEMENTS[statement].run(conn, **given)
            if hints["return"] is NoneType or not found.returns_rows:
                assert found.returns_rows or hints["return"] in (NoneType, int), statement
                continue
            columns = {column[0]: types[column[1]] for column in found.cursor.description}
            for column, kind in _expected(hints["return"]):
                assert columns.get(column or next(iter(columns))) in _GIVEN[kind], (statement, column)
