"""What the dispatcher asks of the ledger costs the same however much is pending."""

from __future__ import annotations

import json
from typing import Any

import pytest

from benchmarks.driver import bare_job
from sql.face import QUERIES
from sql.session import Database

PENDING = 5_000
_INSERT = """
INSERT INTO task (job, phase, weight, payload)
SELECT %(job)s, 'walk', n %% 100, '{}' FROM generate_series(1, %(tasks)s) n
"""


@pytest.mark.parametrize(
    ("query", "parameters"),
    [("dispatch", {"limit": 10}), ("demand", {"limit": 10}), ("has_pending", {}), ("phase_open", {"phase": "walk"})],
)
def test_a_look_reads_only_what_it_takes(database: Database, query: str, parameters: dict[str, Any]) -> None:
    """Promise: a million pending tasks do not slow the queue manager down: with thousands pending, a look for ten
    touches a few pages, not a page for each (a plan that sorts all of them touches over 5,000)."""
    with database.transaction() as conn:
        job = bare_job(conn, "")
        conn.exec_driver_sql(_INSERT, {"job": job, "tasks": PENDING})
    with database.transaction() as conn:
        explained = "EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) " + QUERIES[query].sql
        plan = conn.exec_driver_sql(explained, {"job": job} | parameters).scalar_one()
        top = (json.loads(plan) if isinstance(plan, str) else plan)[0]["Plan"]
    assert top["Shared Hit Blocks"] + top["Shared Read Blocks"] < 500
