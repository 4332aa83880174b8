"""What is done to rows before they travel."""

import ast
import datetime
import json
import re
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import get_type_hints

import psycopg2
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sql_interfaces import INTERFACES, STATEMENTS

from sql.bulk import merge_counts, storable, storable_metadata
from sql.findings import ContainerCount
from sql.held import fault_of
from sql.interface import QUERIES, implemented, parameters, parse_queries

_ANY_TEXT = st.text(st.characters(codec=None), max_size=20)  # lone surrogates and NUL included
_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | _ANY_TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_ANY_TEXT, inner, max_size=3),
    max_leaves=8,
)


@given(_ANY_TEXT)
def test_storable_text_is_utf8_without_nul(text: str) -> None:
    """Promise: no text a document holds can make PostgreSQL refuse a row; harmless text is untouched."""
    out = storable(text)
    assert "\0" not in out
    assert out.encode("utf-8").decode("utf-8") == out
    if "\0" not in text and not any("\ud800" <= c <= "\udfff" for c in text):
        assert out == text


@given(st.dictionaries(_ANY_TEXT, _JSON, max_size=4))
def test_storable_metadata_is_strict_json(metadata: dict[str, object]) -> None:
    """Promise: metadata becomes JSON that jsonb accepts: no NUL, no lone surrogate, no NaN."""
    out = json.dumps(storable_metadata(metadata), allow_nan=False, ensure_ascii=False)
    assert "\\u0000" not in out.replace("\\\\", "")
    out.encode("utf-8")


def test_counts_of_one_container_are_merged() -> None:
    """Promise: several counts of a container in one result add up; what it announces is kept, not added."""
    a, b = uuid.uuid4(), uuid.uuid4()
    merged = merge_counts(
        [
            ContainerCount(item=a, announced=None, emitted=2, failed=1),
            ContainerCount(item=b, announced=None, emitted=5, failed=0),
            ContainerCount(item=a, announced=9, emitted=3, failed=0, remainder_unknown=True),
            ContainerCount(item=a, announced=None, emitted=1, failed=0),
        ]
    )
    assert merged == [
        ContainerCount(item=a, announced=9, emitted=6, failed=1, remainder_unknown=True),
        ContainerCount(item=b, announced=None, emitted=5, failed=0),
    ]


def test_metadata_that_json_does_not_know_becomes_text() -> None:
    found = storable_metadata({"when": datetime.date(2020, 1, 2), "raw": b"x", "fine": 1})
    assert found == {"when": "2020-01-02", "raw": "b'x'", "fine": 1}


ROOT = Path(__file__).parents[3]
ROOMS = ("core", "packages", "traces", "replay", "monitoring", "dataset_gen", "queue_manager", "worker", "controller", "experiments", "web", "cli")  # fmt: skip


def wanted(statement: str) -> set[str]:
    """The parameters of a statement."""
    return set(re.findall(r"%\((\w+)\)s", STATEMENTS[statement].sql))


@pytest.mark.parametrize("name", INTERFACES)
def test_a_face_gives_each_statement_what_it_asks_for(name: str) -> None:
    given = parameters(INTERFACES[name])
    assert given == {statement: wanted(statement) for statement in given}
    for statement in given:
        assert "return" in get_type_hints(getattr(INTERFACES[name], statement))


def test_a_statement_that_there_is_not_is_an_error_at_import() -> None:
    class Face:
        def no_such_statement(self, conn: object) -> None: ...

    with pytest.raises(KeyError, match="no_such_statement"):
        implemented(Face)


def calls() -> Iterator[tuple[str, ast.Call]]:
    """Each `QUERIES["name"].run(conn, …)` of sql/ with its parameters."""
    for path in (ROOT / "sql").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            match node:
                case ast.Call(func=ast.Attribute(value=ast.Subscript(value=ast.Name("QUERIES")), attr="run")):
                    yield f"{path.relative_to(ROOT)}:{node.lineno}", node


def test_statements_are_given_the_parameters_that_they_have() -> None:
    seen = 0
    for where, call in calls():
        name = call.func.value.slice  # type: ignore[attr-defined]
        if not isinstance(name, ast.Constant):
            continue
        given = {keyword.arg for keyword in call.keywords}
        asked = wanted(str(name.value))
        assert given - {None} <= asked, where
        assert None in given or given == asked, where
        seen += 1
    assert seen > 50


@pytest.mark.parametrize("room", ROOMS)
def test_no_room_names_statements(room: str) -> None:
    named = [path for path in (ROOT / room).rglob("*.py") if "QUERIES" in path.read_text(encoding="utf-8")]
    assert not named, "declare them in a class of `sql`"


class _Coded(psycopg2.OperationalError):
    """psycopg2 sets `pgcode` in C; a subclass may give it."""

    def __init__(self, code: str | None, text: str) -> None:
        super().__init__(text)
        self._code = code

    @property
    def pgcode(self) -> str | None:
        return self._code


@pytest.mark.parametrize(
    ("error", "transient", "shows"),
    [
        (_Coded("53100", "a\nb"), False, "disk is full"),
        (_Coded("53200", "a\nb"), False, "out of memory"),
        (_Coded("53300", "a\nb"), True, "max_connections"),
        (_Coded("25006", "a\nb"), False, "read-only"),
        (_Coded("57P01", "a\nb"), True, "shut down"),
        (_Coded("57P03", "a\nb"), True, "does not accept connections"),
        (_Coded("08006", "a\nb"), True, "connection"),
        (_Coded("40P01", "a\nb"), True, "deadlock"),
        (_Coded("28P01", "a\nb"), False, "EDBENCH_DATABASES"),
        (
            _Coded(None, 'connection to server at "x" failed: Connection refused'),
            True,
            "cannot be reached; check that it runs, and EDBENCH_DATABASES",
        ),
        (_Coded(None, 'FATAL:  password authentication failed for user "u"'), False, "refused the login"),
        (_Coded(None, 'FATAL:  database "x" does not exist'), True, "no database of this name"),
    ],
)
def test_states_that_are_faults(error: Exception, transient: bool, shows: str) -> None:
    """Promise: each broken-system state becomes one line that says what to do, and whether a retry may help. While connecting there is
    no state, only libpq's text."""
    fault = fault_of("db1", error)
    assert fault.transient is transient
    assert shows in str(fault)
    assert "db1" in str(fault)
    assert "\n" not in str(fault)


def test_the_statements_own_errors_are_no_faults() -> None:
    """Promise: a constraint or a bug is not mistaken for an outage, or a job would wait for ever."""
    assert fault_of("db1", _Coded("23505", "duplicate key")) is None
    assert fault_of("db1", _Coded("42601", "syntax error")) is None


def test_a_lost_connection_is_a_fault_whatever_the_error_states() -> None:
    """Promise: psycopg2's odd errors on a dying connection count as a lost connection, also where it does not call it closed yet."""
    for fault in (
        fault_of("db1", psycopg2.DatabaseError("server closed the connection unexpectedly")),
        fault_of("db1", psycopg2.ProgrammingError("no results to fetch"), closed=True),
    ):
        assert fault is not None
        assert fault.transient
    assert fault_of("db1", psycopg2.ProgrammingError("no results to fetch")) is None


def test_every_query_has_a_name_and_a_description() -> None:
    """Promise: the hot statements are readable by themselves, so each says what it does."""
    assert {"claim", "fence", "dispatch", "insert_items", "demand"} <= set(QUERIES)
    for query in QUERIES.values():
        assert len(query.description) > 5, query.name
        assert "--" not in query.sql, query.name
        assert not query.sql.endswith(";"), query.name


def test_blocks_are_split_at_their_names() -> None:
    """Promise: a file's header and each block's comments stay out of the statement."""
    text = "-- About this file.\n\n-- name: one\n-- First\n-- thing.\nSELECT 1;\n\n-- name: two\n-- Second.\nSELECT\n  2;\n"
    one, two = parse_queries(text, "x.sql")
    assert (one.name, one.description, one.sql) == ("one", "First thing.", "SELECT 1")
    assert (two.name, two.sql) == ("two", "SELECT\n  2")


@pytest.mark.parametrize("text", ["-- name: bare\nSELECT 1;\n", "-- name: empty\n-- Says something.\n"])
def test_a_block_without_description_or_statement_is_refused(text: str) -> None:
    """Promise: a forgotten description is an error at import, not a habit."""
    with pytest.raises(ValueError, match=r"x\.sql"):
        list(parse_queries(text, "x.sql"))


def test_what_statements_share_is_in_one_place() -> None:
    """Promise: a line `@part` takes the part in; one that there is not is an error at import."""
    text = "-- name: one\n-- First.\nSELECT 1 WHERE a\n  @more\nORDER BY 1;\n"
    (one,) = parse_queries(text, "x.sql", {"more": "AND b"})
    assert one.sql == "SELECT 1 WHERE a\nAND b\nORDER BY 1"
    with pytest.raises(ValueError, match=r"x\.sql: no part more exists"):
        list(parse_queries(text, "x.sql"))
    assert all("\n@" not in query.sql.replace(" ", "") for query in QUERIES.values())


@pytest.mark.parametrize("newer", ["pg_input_is_valid(", "any_value(", "json_table(", "uuidv7("])
def test_statements_are_those_of_postgresql_15(newer: str) -> None:
    """Promise: what `doctor` says is enough is enough; these came later."""
    assert not [query.name for query in QUERIES.values() if newer in query.sql.lower()]
