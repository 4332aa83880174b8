"""What a job that produces asks of the ledger costs the same whatever the planner knows of it."""

import json
import uuid
from typing import Any

import pytest

from benchmarks.driver import bare_job
from core.job_types import JobType
from core.records import JobOptions, Phase
from production.options import ProductionChoice
from production.statements import STATEMENTS
from sql import states
from sql.connection import Connection
from sql.session import Database
from sql.workers import NewWorker, register

_ITEMS, _TAKEN = 20_000, 500
_SHARD = uuid.UUID(int=7)
_INSERT = """
INSERT INTO production_item (job, number, item, source_job, family_first, family_last, volume, folder, suffix, bytes, shard, pages)
SELECT %(job)s, n, md5(n::text)::uuid, %(job)s, n, n, 1, n / %(taken)s, '.txt', 1, %(shard)s, 1
FROM generate_series(0, %(items)s - 1) n;
INSERT INTO production_file (job, number, kind, page, path, bytes, sha256, md5)
SELECT %(job)s, n, kind, 1, n::text, 1, '', '' FROM generate_series(0, %(items)s - 1) n, unnest(ARRAY['text', 'image']) kind;
INSERT INTO item (id, job, custodian, ordinal, depth, name, display, container_path, kind, container, media_type, bytes)
SELECT md5(n::text)::uuid, %(job)s, 0, '', 0, '', '', '{}', 'loose_file', n %% 10 = 0, '', 1 FROM generate_series(0, %(items)s - 1) n
ON CONFLICT DO NOTHING;
INSERT INTO exception (job, item, code, level, phase, detail, task, token)
SELECT %(job)s, md5(n::text)::uuid, 'corrupt', 'item', 'expand', '', %(job)s, %(job)s FROM generate_series(0, %(items)s - 1, 10) n;
"""


def _produced(conn: Connection) -> uuid.UUID:
    job = bare_job(conn, "")
    conn.execute(_INSERT, {"job": job, "items": _ITEMS, "taken": _TAKEN, "shard": _SHARD})
    return job


def _read(plan: dict[str, Any]) -> float:
    """Rows that its steps have had in hand, also those that they left out."""
    shown = ("Actual Rows", "Rows Removed by Filter", "Rows Removed by Join Filter")
    own: float = plan["Actual Loops"] * sum(plan.get(each, 0) for each in shown)
    return own + sum(map(_read, plan.get("Plans", ())))


_RANGE = {"first": 4_000, "last": 4_499}
_PAGES = json.dumps([{"number": number, "pages": 2} for number in range(4_000, 4_500)])
# What is asked, by how much, and how many rows it may have in hand: some for each that it takes, or once all of the job.
_ASKED: dict[str, tuple[dict[str, Any], int]] = {
    "production_files_of": ({"volume": 1, "folder": 8}, 20 * _TAKEN),
    "production_natives": (_RANGE, 20 * _TAKEN),
    "production_batch": (_RANGE, 20 * _TAKEN),
    "production_texts": (_RANGE | {"shard": _SHARD}, 20 * _TAKEN),
    "production_images": (_RANGE, 20 * _TAKEN),
    "production_records": (_RANGE | {"deduped": []}, 30 * _TAKEN),
    "production_files": (_RANGE, 20 * _TAKEN),
    "put_production_pages": ({"rows": _PAGES}, 20 * _TAKEN),
    "production_gaps": ({"after": 0, "limit": _TAKEN}, 10 * _ITEMS),
    "number_production_pages": ({"first": 1}, 10 * _ITEMS),
}


@pytest.mark.parametrize("known", [False, True])
def test_items_of_a_new_job_are_found_by_their_numbers(database: Database, known: bool) -> None:
    """Where statistics know an earlier job alone, they say of a later one that it has a single row, and where they know it, that a
    table is soon read whole; that all of it is read for each task, or each item, is quadratic."""
    read = {}
    with database.transaction() as conn:
        _produced(conn)
        conn.execute("ANALYZE production_item, production_file, item, exception")
        job = _produced(conn)
        if known:
            conn.execute("ANALYZE production_item, production_file, item, exception")
        for query, (parameters, _) in _ASKED.items():
            explained = "EXPLAIN (ANALYZE, FORMAT JSON) " + STATEMENTS[query].sql
            plan = conn.execute(explained, {"job": job, "images": job} | parameters).scalar_one()
            read[query] = _read((json.loads(plan) if isinstance(plan, str) else plan)[0]["Plan"])
    assert {query: rows for query, rows in read.items() if not 0 < rows <= _ASKED[query][1]} == {}


def test_the_end_of_a_production_is_two_tasks(hands: Any) -> None:
    """Promise: the reports at the end of a job that produces are dealt over two slots, and no more: each reads all rows."""
    worker = NewWorker(incarnation=uuid.uuid4(), name="w1", host="h", pid=1, boot_id="b", slots=4, version="v")
    with hands.database.transaction() as conn:
        register(conn, worker)
    job = hands.create(0, options=JobOptions(of_type=ProductionChoice(type=JobType.EXTRACTION, out="/out")))
    with hands.database.transaction(durable=True) as conn:
        assert states.advance(conn, job) is Phase.FINALISE
    shares = [row.payload["folders"] for row in hands.rows("SELECT payload FROM task WHERE job = %(job)s", job=job)]
    assert sorted(shares) == [[""], ["tables"]]
