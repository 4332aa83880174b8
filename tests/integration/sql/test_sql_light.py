"""The way over the driver alone gives what SQLAlchemy's gives, for every statement that a reading command runs."""

from __future__ import annotations

import uuid
from typing import Any

import pytest
from finished_job import Finished

from controller.browse.counts import count_job
from controller.browse.items import stream_items
from controller.databases import JobHandle, find_job, open_databases, open_to_read
from sql.face import Query
from sql.light import LightDatabase
from sql.session import Database

VALUES = Query("values", "Of every type that statements give.", """
SELECT %(id)s::uuid AS id, ARRAY[%(id)s::uuid] AS ids, n, 'a' AS text, 1.5::float8 AS number, true AS yes,
    '{"a": [1]}'::jsonb AS data, '\\x00ff'::bytea AS bytes, now() AS at, null AS nothing, ARRAY['x', null] AS texts
FROM generate_series(1, %(rows)s) n""")  # fmt: skip


def _plain(value: Any) -> Any:
    return bytes(value) if isinstance(value, memoryview) else value


def _rows(database: Database, at_once: int, count: int) -> list[tuple[Any, ...]]:
    with database.transaction() as conn:
        conn.exec_driver_sql("SET LOCAL timezone = 'UTC'")
        taking = conn.execution_options(stream_results=True, yield_per=at_once) if at_once else conn
        found = VALUES.run(taking, id=uuid.UUID(int=7), rows=count)
        names = ("n", "id", "ids", "text", "number", "yes", "data", "bytes", "nothing", "texts")
        return [tuple(map(_plain, row)) for row in found.columns(*names)]


@pytest.mark.parametrize("at_once", [0, 3])
@pytest.mark.parametrize("count", [0, 1, 7])
def test_values_are_of_the_same_types(at_once: int, count: int, database: Database) -> None:
    light = LightDatabase("db1", database.url)
    found = _rows(light, at_once, count)
    assert found == _rows(database, at_once, count)
    assert [row[0] for row in found] == list(range(1, count + 1))
    assert all(type(row[1]) is uuid.UUID is type(row[2][0]) for row in found)
    light.dispose()


def test_one_row_is_one(database: Database) -> None:
    """More or fewer than were expected are an error, as everywhere here."""
    light = LightDatabase("db1", database.url)
    with light.transaction() as conn:
        assert conn.exec_driver_sql("SELECT 1 WHERE false").one_or_none() is None
        assert conn.exec_driver_sql("SELECT 1 WHERE false").scalar_one_or_none() is None
        for rows in ("SELECT 1 WHERE false", "VALUES (1), (2)"):
            with pytest.raises(LookupError):
                conn.exec_driver_sql(rows).scalar_one()
        with pytest.raises(LookupError):
            conn.exec_driver_sql("VALUES (1), (2)").one_or_none()
    light.dispose()


def test_two_transactions_at_a_time_have_a_connection_each(database: Database) -> None:
    light = LightDatabase("db1", database.url)
    with light.transaction() as one, light.transaction() as other:
        pids = {conn.exec_driver_sql("SELECT pg_backend_pid()").scalar_one() for conn in (one, other)}
    assert len(pids) == 2
    with light.transaction() as conn:
        assert conn.exec_driver_sql("SELECT pg_backend_pid()").scalar_one() in pids
    light.dispose()


def test_a_job_reads_the_same(finished: Finished) -> None:
    (light,), (usual,) = open_to_read(finished.settings), open_databases(finished.settings)
    handles = [JobHandle(each, find_job([each], str(finished.job)).job) for each in (light, usual)]
    assert isinstance(light, LightDatabase)
    counts, items = [count_job(handle) for handle in handles], [list(stream_items(handle)) for handle in handles]
    assert counts[0] == counts[1]
    assert items[0] == items[1]
    assert len(items[0]) == counts[0].items > 100
    for database in (light, usual):
        database.dispose()
