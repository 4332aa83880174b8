"""queue_manager.manager over a real ledger."""

import uuid
from collections.abc import Callable
from typing import Any

import pytest

from core.records import JobState, Phase, TaskState
from queue_manager.manager import Observer, Paced
from queue_manager.metrics import DatabaseNumbers
from sql import states
from sql.session import Database


def observed(database: Database) -> dict[str, list[Any]]:
    sql = 'SELECT kind, source, job, "values" FROM observation ORDER BY second'
    out: dict[str, list[Any]] = {}
    with database.transaction() as conn:
        for row in conn.execute(sql):
            out.setdefault(row.kind, []).append(row)
    return out


def test_a_running_job_is_observed_and_an_idle_database_is_not(
    database: Database, create_job: Callable[..., uuid.UUID]
) -> None:
    numbers = DatabaseNumbers()
    observer = Observer(database, numbers)
    observer.look()
    assert observed(database) == {}
    job = create_job(5)
    with database.transaction() as conn:
        conn.execute("UPDATE task SET state = 'dispatched', dispatched_at = now() WHERE weight = 4")
    observer.look()
    found = observed(database)
    assert {kind: len(rows) for kind, rows in found.items()} == {"queue": 1, "progress": 1, "database": 1}
    (queue,) = found["queue"]
    assert (queue.source, queue.job) == ("db1", job)
    assert (queue.values["pending"], queue.values["dispatched"], queue.values["running"]) == (4, 1, 0)
    progress = found["progress"][0].values
    assert (progress["open"], progress["done"], progress["weight_open"], progress["phase"]) == (5, 0, 10, "walk")
    assert found["database"][0].job is None
    assert found["database"][0].values["commits"] > 0
    assert found["database"][0].values["db_bytes"] > 1_000_000
    assert numbers.server["commits"] == found["database"][0].values["commits"]
    assert numbers.tasks()[Phase.WALK, TaskState.PENDING] == 4


def test_a_job_that_has_just_ended_is_observed_once_more(
    database: Database, create_job: Callable[..., uuid.UUID]
) -> None:
    job = create_job(0)
    with database.transaction() as conn:
        while not isinstance(states.advance(conn, job), JobState):
            conn.execute("UPDATE task SET state = 'done', items = 7 WHERE job = %(job)s", {"job": job})
    observer = Observer(database, DatabaseNumbers())
    observer.look()
    assert observed(database)["progress"][0].values["phase"] == "finalise"
    with database.transaction() as conn:
        conn.execute("UPDATE job SET finished_at = finished_at - interval '1 minute'")
        conn.execute("DELETE FROM observation")
    observer.look()
    assert observed(database) == {}


def _end(database: Database, job: uuid.UUID) -> None:
    """Every task is done, seven items each, and the job with them."""
    with database.transaction() as conn:
        while not isinstance(states.advance(conn, job), JobState):
            conn.execute("UPDATE task SET state = 'done', items = 7 WHERE job = %(job)s", {"job": job})


def test_the_end_is_observed_however_long_no_look_came(
    database: Database, create_job: Callable[..., uuid.UUID]
) -> None:
    """On a machine without a processor to spare a look may come many seconds after the end: it is the last one."""
    job = create_job(1)
    observer = Observer(database, DatabaseNumbers())
    observer.look()
    _end(database, job)
    with database.transaction() as conn:
        conn.execute("UPDATE job SET finished_at = finished_at - interval '1 minute'")
        conn.execute("DELETE FROM observation")
    observer.look()
    assert observed(database)["progress"][0].values["phase"] == "finalise"
    with database.transaction() as conn:
        conn.execute("DELETE FROM observation")
    observer.look()
    assert observed(database) == {}


def test_the_last_look_of_a_second_stays(database: Database, create_job: Callable[..., uuid.UUID]) -> None:
    """A job may end, and its queue manager be stopped, in the second in which it was looked at before."""
    job = create_job(1)
    observer = Observer(database, DatabaseNumbers())
    observer.look()
    _end(database, job)
    observer.look()
    found = observed(database)
    assert (found["progress"][-1].values["phase"], found["progress"][-1].values["items"]) == ("finalise", 7)
    assert found["queue"][-1].values["phase"] == "finalise"


def test_a_fault_is_reported_once_and_raises_nothing(database: Database, caplog: pytest.LogCaptureFixture) -> None:
    gone = Database("db1", database.url.replace("/test_", "/missing_"))
    observer = Observer(gone, DatabaseNumbers())
    for _ in range(3):
        observer.look()
    assert len(caplog.records) == 1
    with database.transaction() as conn:
        conn.execute("ALTER TABLE observation RENAME TO elsewhere")
    broken = Observer(database, DatabaseNumbers())
    with database.transaction() as conn:
        conn.execute("ALTER TABLE job RENAME TO other")
    broken.look()
    assert len(caplog.records) == 2


@pytest.mark.parametrize(
    ("counted", "takes", "most", "least"),
    [
        (600_000, 0.2, 5, 4),  # a bounded share of a processor
        (100, 0.3, 40, 40),  # few rows, on a machine that is busy: every second all the same
        (100, 5.0, 3, 2),  # few rows, but the server is slow: it is left alone meanwhile
    ],
)
def test_what_has_much_to_count_is_done_less_often(
    database: Database, counted: int, takes: float, most: int, least: int
) -> None:
    now = [100.0]
    looks: list[float] = []

    def look(_conn: object, _jobs: object) -> int:
        looks.append(now[0])
        now[0] += takes
        return counted

    paced = Paced(look, lambda: now[0])
    with database.transaction() as conn:
        for second in range(40):
            now[0] = max(now[0], 100.0 + second)
            paced.look(conn, [], anyway=False)
        assert least <= len(looks) <= most
        paced.look(conn, [], anyway=True)
    assert looks[-1] == now[0] - takes


def test_a_look_reports_how_many_rows_it_counted(database: Database, create_job: Callable[..., uuid.UUID]) -> None:
    job = create_job(7)
    observer = Observer(database, DatabaseNumbers())
    with database.transaction() as conn:
        assert observer._observe_queue(conn, [job]) == 7
        assert observer._observe_progress(conn, [job]) == 7
