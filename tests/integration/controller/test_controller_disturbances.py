"""What happened to a job while it ran is on its labels: an elapsed time with a hole in it is no measurement."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from sqlalchemy import Connection

from controller.databases import JobHandle
from controller.labels.jobs import DATABASE_AWAY, PAUSED, SUSPENDED, WORKERS_CHANGED, disturbances, elapsed_note

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
    assert elapsed_note(conn, handle.id) == ""
    conn.exec_driver_sql(_STOPPED, {"job": handle.id, "state": state, "reason": reason})
    (said,) = disturbances(conn, handle.id)
    assert said.startswith(f"{label} for 30 s")
    assert ("EIO" in said) == (state == "suspended")
    noted = "with 30 s of suspension" if state == "suspended" else "less 30 s of pauses"
    assert elapsed_note(conn, handle.id) == noted


@pytest.mark.parametrize(("ended", "seconds", "label"), [("5 s", 3, True), ("1 h", 3, False), ("5 s", 0.2, False)])
def test_an_outage_of_the_database_is_on_the_label(
    conn: Connection, handle: JobHandle, ended: str, seconds: float, label: bool
) -> None:
    """One that touched the job's course, and was longer than a connection that is made again."""
    conn.exec_driver_sql("UPDATE job SET first_claim_at = finished_at - interval '10 s'")
    for later in "0", "-0.1 s":  # two queue managers noted it
        conn.exec_driver_sql(
            "INSERT INTO outage (ended_at, seconds)"
            f" SELECT first_claim_at + interval '{ended}' + interval '{later}', {seconds} FROM job"
        )
    said = [line for line in disturbances(conn, handle.id) if line.startswith(DATABASE_AWAY)]
    assert len(said) == label
    assert all("for 3.1 s" in line for line in said)


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
    assert [line.split(",")[0] for line in disturbances(conn, handle.id)] == [SUSPENDED]  # for how long is not known
