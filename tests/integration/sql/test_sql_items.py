"""Items read back as they were written."""

import uuid
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import is_dataclass
from datetime import datetime
from enum import Enum
from types import NoneType
from typing import Any, get_args, get_origin, get_type_hints

import pytest
from sql_interfaces import INTERFACES, STATEMENTS

from core.records import ExceptionLevel, Shard
from readers.errors import ExceptionCode
from readers.records import Kind
from sql.findings import IndexOwner, Item, ItemException, TaskResult
from sql.interface import Query, columns_of, parameters
from sql.items import ITEMS
from sql.jobs import JOBS
from sql.runs import RUNS
from sql.session import Database


def _finished(hands: Any, **found: Any) -> uuid.UUID:
    job = hands.create(1)
    made = {k: v(job) for k, v in found.items()}
    hands.finish(hands.take(job), TaskResult(**made))
    return uuid.UUID(str(job))


def test_an_item_comes_back_as_it_went_in(hands: Any) -> None:
    loose, child = [], []

    def items(job: uuid.UUID) -> tuple[Item, ...]:
        loose.append(hands.item(job, b"a/\xff\0b.zip", container=True, mtime_ns=-5, name=b"\xff\0b.zip"))
        child.append(
            hands.item(
                job,
                b"#3",
                loose[0].id,
                family=uuid.uuid4(),
                kind=Kind.MESSAGE,
                content_hash=b"c" * 32,
                message_id_hash=b"m" * 16,
                location=b"jobs/x/\xfe",
                size=2**40,
                container_path=("a", "b\\x00", "ü"),
            )
        )
        return (loose[0], child[0], hands.item(job, b"unread", sha256=None))

    job = _finished(hands, items=items)
    ids = [child[0].id, uuid.uuid4(), loose[0].id]
    with hands.database.transaction() as conn:
        assert ITEMS.load_items(conn, items=ids) == [child[0], loose[0]]
        assert ITEMS.load_items(conn, items=[]) == []
        assert ITEMS.item_locations(conn, items=ids) == {loose[0].id: None, child[0].id: b"jobs/x/\xfe"}
        assert JOBS.job_custodians(conn, job=job) == {0: "_root", 1: "m\\xfcller"}


def test_item_codes_are_the_item_level_ones(hands: Any) -> None:
    """What a later phase must not say twice: this item's own exceptions, not those of its missing children, nor those of a
    job that took it since."""
    made: list[Item] = []

    def items(job: uuid.UUID) -> tuple[Item, ...]:
        made.append(hands.item(job, b"a"))
        return tuple(made)

    def failed(code: ExceptionCode, level: ExceptionLevel) -> ItemException:
        return ItemException(item=made[0].id, code=code, level=level, detail="d", missing=None)

    assert _finished(
        hands,
        items=items,
        exceptions=lambda _: (
            failed(ExceptionCode.CORRUPT, ExceptionLevel.ITEM),
            failed(ExceptionCode.TRUNCATED, ExceptionLevel.NODE),
        ),
    )
    assert _finished(hands, exceptions=lambda _: (failed(ExceptionCode.TIMEOUT, ExceptionLevel.ITEM),))
    with hands.database.transaction() as conn:
        assert ITEMS.item_codes(conn, items=[made[0].id, uuid.uuid4()]) == [(made[0].id, ExceptionCode.CORRUPT)]


def test_shards_are_those_of_finished_tasks_of_the_job(hands: Any) -> None:
    shard = Shard(id=uuid.uuid4(), engine="tantivy", location=b"x", documents=1)
    item = []

    def items(job: uuid.UUID) -> tuple[Item, ...]:
        item.append(hands.item(job, b"a"))
        return (item[0],)

    def owners(job: uuid.UUID) -> tuple[IndexOwner, ...]:
        return (IndexOwner(item=item[0].id, shard=shard.id),)

    job = _finished(hands, items=items, owners=owners, shard=lambda job: shard)
    with hands.database.transaction() as conn:
        assert ITEMS.shard_ids(conn, job=job) == [shard.id]
        assert ITEMS.shard_ids(conn, job=uuid.uuid4()) == []


def test_a_loose_file_needs_room_for_what_was_taken_out_of_it(hands: Any) -> None:
    def items(job: uuid.UUID) -> tuple[Item, ...]:
        loose = hands.item(job, b"b.zip", size=5_000)
        child = hands.item(job, b"#1", loose.id, location=b"x", size=4_096)
        return (
            loose,
            child,
            hands.item(job, b"#2", loose.id, size=10**9),  # none of its bytes were written
            hands.item(job, b"#3", child.id, location=b"y", size=1),
            hands.item(job, b"a\xff", size=0),
        )

    job = _finished(hands, items=items)
    with hands.database.transaction() as conn:
        needs = [(bytes(need.path), need.itself, need.inside) for need in RUNS.loose_needs(conn, job=job)]
    assert needs == [(b"a\xff", 1_024, 0), (b"b.zip", 8_192 + 1_024, 2 * (4_096 + 1_024))]


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
    """As the driver gives it: without None; a mapping of whatever."""
    hint = get_args(hint)[0] if _optional(hint) else hint
    if isinstance(hint, type) and issubclass(hint, Enum):
        return str
    of_each = get_args(hint)[0] if get_origin(hint) is tuple else hint
    read = {bytes: memoryview, tuple[str, ...]: list[str], Sequence[str]: list[str]}
    return Mapping if get_origin(hint) in (Mapping, dict) or hasattr(of_each, "from_json") else read.get(hint, hint)


def _optional(hint: Any) -> bool:
    return NoneType in get_args(hint)


def _sample(hint: Any) -> Any:
    """Something to give, with which a statement finds nothing: null where it may be, else an empty list."""
    return None if _optional(hint) else [] if get_origin(hint) is Sequence else _SAMPLES[hint]


def _samples(hints: Mapping[str, Any]) -> dict[str, Any]:
    """A sample of each parameter; a record holds several."""
    out: dict[str, Any] = {}
    for name, hint in hints.items():
        out |= _samples(get_type_hints(hint)) if is_dataclass(hint) else {name: _sample(hint)}
    return out


def _expected(returned: Any) -> list[tuple[str | int, Any]]:
    """Names (or places) and types of columns; of a value its type alone."""
    if get_origin(returned) is dict:
        return [(place, _known(kind)) for place, kind in enumerate(get_args(returned))]
    kind = get_args(returned)[0] if get_origin(returned) in (list, Iterator) else _known(returned)
    if names := columns_of(kind):
        return [(name, _known(hint)) for name, hint in get_type_hints(kind).items() if name in names]
    return [(0, _known(kind))]


@pytest.mark.parametrize("name", INTERFACES)
def test_rows_have_the_columns_of_their_statements(name: str, database: Database) -> None:
    """Every statement is run; in the order of declaration, since some work on tables that others make."""
    with database.transaction() as conn:
        types = dict(map(tuple, conn.execute("SELECT oid, typname FROM pg_type")))
        for statement in parameters(INTERFACES[name]):
            hints = get_type_hints(getattr(INTERFACES[name], statement))
            given = _samples({key: hint for key, hint in hints.items() if key not in ("conn", "return")})
            found = STATEMENTS[statement].run(conn, **given)
            if hints["return"] is NoneType or not found.returns_rows:
                assert found.returns_rows or hints["return"] in (NoneType, int), statement
                continue
            described = [(column[0], types[column[1]]) for column in found.cursor.description]
            columns = dict(described) | dict(enumerate(kind for _, kind in described))
            assert get_origin(hints["return"]) is not dict or len(described) == 2, statement
            for column, kind in _expected(hints["return"]):
                assert columns.get(column) in _GIVEN[kind], (statement, column)


VALUES = Query("values", "Of every type that statements give.", """
SELECT %(id)s::uuid AS id, ARRAY[%(id)s::uuid] AS ids, n, 'a' AS text, 1.5::float8 AS number, true AS yes,
    '{"a": [1]}'::jsonb AS data, '\\x00ff'::bytea AS bytes, now() AS at, null AS nothing, ARRAY['x', null] AS texts
FROM generate_series(1, %(rows)s) n""")  # fmt: skip


def _plain(value: Any) -> Any:
    return bytes(value) if isinstance(value, memoryview) else value


def _rows(database: Database, at_once: int, count: int) -> list[tuple[Any, ...]]:
    with database.transaction() as conn:
        conn.execute("SET LOCAL timezone = 'UTC'")
        taking = conn.streaming(at_once) if at_once else conn
        found = VALUES.run(taking, id=uuid.UUID(int=7), rows=count)
        names = ("n", "id", "ids", "text", "number", "yes", "data", "bytes", "nothing", "texts")
        return [tuple(map(_plain, row)) for row in found.columns(*names)]


@pytest.mark.parametrize("at_once", [0, 3])
@pytest.mark.parametrize("count", [0, 1, 7])
def test_values_have_their_types_whether_streamed_or_not(at_once: int, count: int, database: Database) -> None:
    own = uuid.UUID(int=7)
    found = _rows(database, at_once, count)
    assert found == [
        (n, own, [own], "a", 1.5, True, {"a": [1]}, b"\x00\xff", None, ["x", None]) for n in range(1, count + 1)
    ]


def test_one_row_is_one(database: Database) -> None:
    """More or fewer than were expected are an error, as everywhere here."""
    with database.transaction() as conn:
        assert conn.execute("SELECT 1 WHERE false").one_or_none() is None
        assert conn.execute("SELECT 1 WHERE false").scalar_one_or_none() is None
        for rows in ("SELECT 1 WHERE false", "VALUES (1), (2)"):
            with pytest.raises(LookupError):
                conn.execute(rows).scalar_one()
        with pytest.raises(LookupError):
            conn.execute("VALUES (1), (2)").one_or_none()


def test_two_transactions_at_a_time_have_a_connection_each(database: Database) -> None:
    with database.transaction() as one, database.transaction() as other:
        pids = {conn.execute("SELECT pg_backend_pid()").scalar_one() for conn in (one, other)}
    assert len(pids) == 2
    with database.transaction() as conn:
        assert conn.execute("SELECT pg_backend_pid()").scalar_one() in pids
