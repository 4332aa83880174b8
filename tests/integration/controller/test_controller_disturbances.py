"""What happened to a job while it ran is on its labels: an elapsed time with a hole in it is no measurement."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from sqlalchemy import Connection

from controller.databases import JobHandle
from controller.jobs.disturbances import PAUSED, SUSPENDED, WORKERS_CHANGED, disturbances

pytestmark = pytest.mark.services

_STOPPED = """
INSERT INTO job_pause (job, state, reason, started_at, finished_at)
SELECT id, %(state)s, %(reason)s, first_claim_at, first_claim_at + interval '30 s' FROM job WHERE id = %(job)s
"""


@pytest.fixture
def conn(handle: JobHandle) -> Iterator[Connection]:
    """A transaction that is taken back: the finished job is other tests' too."""
    with handle.database.engine().connect() as made:
        yield made
        made.rollback()


def test_a_quiet_run_has_none(conn: Connection, handle: JobHandle) -> None:
    """Nothing happened, nothing is said."""
    assert disturbances(conn, handle.id) == []


@pytest.mark.parametrize(("state", "reason", "label"), [("paused", None, PAUSED), ("suspended", "EIO", SUSPENDED)])
def test_a_job_that_stood_still_says_for_how_long(
    conn: Connection, handle: JobHandle, state: str, reason: str | None, label: str
) -> None:
    """With what it was and whether elapsed holds it."""
    conn.exec_driver_sql(_STOPPED, {"job": handle.id, "state": state, "reason": reason})
    (said,) = disturbances(conn, handle.id)
    assert said.startswith(f"{label} for 30 s")
    assert ("EIO" in said) == (state == "suspended")


def test_other_workers_than_at_the_beginning(conn: Connection, handle: JobHandle) -> None:
    """Resumed with another worker: more did its tasks than it was planned with."""
    one = "UPDATE task SET worker = 'another' WHERE id = (SELECT id FROM task WHERE job = %(job)s ORDER BY id LIMIT 1)"
    conn.exec_driver_sql(one, {"job": handle.id})
    assert [line.split(":")[0] for line in disturbances(conn, handle.id)] == [WORKERS_CHANGED]


def test_a_worker_that_left_before_the_end(conn: Connection, handle: JobHandle) -> None:
    """Killed or stopped in the middle: another may have taken its name."""
    early = """
    UPDATE worker SET stopped_at = j.finished_at - interval '1 ms' FROM job j WHERE j.id = %(job)s
    """
    conn.exec_driver_sql(early, {"job": handle.id})
    (said,) = disturbances(conn, handle.id)
    (name,) = conn.exec_driver_sql("SELECT name FROM worker").scalars()
    assert f"{name} (0.0 s before it) left before its end" in said
    conn.exec_driver_sql("UPDATE job SET first_claim_at = finished_at - interval '1 min'")
    conn.exec_driver_sql("UPDATE worker SET stopped_at = NULL, seen_at = j.finished_at - interval '12 s' FROM job j")
    (said,) = disturbances(conn, handle.id)
    assert f"{name} (not seen for 12.0 s) left before its end" in said


def test_workers_that_left_a_job_that_stands_still(conn: Connection, handle: JobHandle) -> None:
    """A full disk suspended it and the command went home with its workers: that is no other change of workers."""
    stood = """
    WITH job AS (
        UPDATE job SET state = 'suspended', reason = 'ENOSPC', stopped_at = finished_at, finished_at = NULL
        WHERE id = %(job)s RETURNING stopped_at
    ) UPDATE worker SET stopped_at = job.stopped_at + interval '1 ms' FROM job
    """
    conn.exec_driver_sql(stood, {"job": handle.id})
    assert [line.split(" ")[0] for line in disturbances(conn, handle.id)] == [SUSPENDED]
