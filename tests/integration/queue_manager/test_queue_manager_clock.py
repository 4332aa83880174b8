"""The database's clock is put forward and back; the ledger goes on as if it had not been.

The machine's own clock is left alone: the rows are shifted as the step would have left them, and the watch is told of a
database clock that was stepped."""

import uuid
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from core.records import ClaimedTask, JobState
from queue_manager.dispatcher import ClockWatch, Deadlines
from queue_manager.metrics import DatabaseNumbers
from sql import jobs, ledger, states
from sql.connection import Connection
from sql.findings import TaskResult
from sql.session import Database
from sql.workers import LIVE_SECONDS, WORKERS

HOUR = 3_600.0
STEPS = pytest.mark.parametrize("by", [HOUR, -HOUR, 5.0, -40.0])


class _Rig:
    """Looks at deadlines of a database whose clock can be stepped."""

    def __init__(self, database: Database, deadlines: Callable[[ClockWatch], Deadlines]) -> None:
        self.database = database
        self.by = 0.0
        self.looks = 0
        self.deadlines = deadlines(ClockWatch(self._read))

    def _read(self, conn: Connection) -> float:
        return WORKERS.database_clock(conn) + self.by

    def look(self) -> None:
        self.looks += 1
        self.deadlines.look(self.looks * 10.0)

    def step(self, by: float, *, announced: bool = True) -> None:
        """As if the clock had been stepped: what was noted lies elsewhere on it now."""
        self.by += by if announced else 0.0
        self.run("UPDATE task SET lease = lease - %(b)s, deadline = deadline - %(b)s", by)
        self.run("UPDATE job SET first_claim_at = first_claim_at - %(b)s, stopped_at = stopped_at - %(b)s", by)
        self.run("UPDATE job_phase SET started_at = started_at - %(b)s, finished_at = finished_at - %(b)s", by)
        self.run("UPDATE worker SET seen_at = seen_at - %(b)s", by)

    def run(self, sql: str, by: float) -> None:
        with self.database.transaction() as conn:
            conn.execute(sql.replace("%(b)s", "make_interval(secs => %(b)s)"), {"b": by})

    def claim(self, job: uuid.UUID, limit: int = 1) -> ClaimedTask:
        """Dispatch so many and claim the first."""
        with self.database.transaction() as conn:
            task = ledger.dispatch(conn, job, limit)[0]
            claimed = ledger.claim(conn, job, task, uuid.uuid4(), "w", 0)
        assert claimed is not None
        return claimed

    def terms(self) -> list[tuple[str, float]]:
        """State of the tasks out and the seconds they have left."""
        sql = (
            "SELECT state, extract(epoch FROM coalesce(deadline, lease) - clock_timestamp())::float8 AS left FROM task"
            " WHERE state IN ('dispatched', 'running') ORDER BY state"
        )
        with self.database.transaction() as conn:
            return [(row.state, row.left) for row in conn.execute(sql)]

    def elapsed(self, job: uuid.UUID) -> list[float]:
        """Of the job and of its phases."""
        with self.database.transaction() as conn:
            return [jobs.JOBS.elapsed(conn, job=job), *jobs.phase_elapsed(conn, job).values()]


@pytest.fixture
def rig(database: Database) -> Iterator[_Rig]:
    """A look is always due."""
    with database.listen() as held:
        yield _Rig(database, lambda clock: Deadlines(held, "db1", DatabaseNumbers(), clock))


@STEPS
def test_a_step_neither_ends_nor_freezes_leases_and_deadlines(
    rig: _Rig, create_job: Callable[..., uuid.UUID], by: float
) -> None:
    """Promise: every task that is out stays out and has no more than its whole term left."""
    job = create_job(3)
    claimed = rig.claim(job, 3)
    rig.look()
    rig.step(by)
    rig.look()
    terms = rig.terms()
    assert [state for state, _ in terms] == ["dispatched", "dispatched", "running"]
    assert all(0 < left <= (60 if state == "dispatched" else 30) for state, left in terms)
    with rig.database.transaction() as conn:
        ledger.finish(conn, claimed, TaskResult())


def test_a_step_back_that_was_not_seen_freezes_nothing(rig: _Rig, create_job: Callable[..., uuid.UUID]) -> None:
    """Promise: also after a queue manager that was away when the clock was put back, a dead slot's task runs again
    within its term."""
    job = create_job(1)
    rig.claim(job)
    rig.step(-HOUR, announced=False)
    rig.look()
    assert all(0 < left <= 30 for _, left in rig.terms())
    rig.run("UPDATE task SET lease = clock_timestamp() - %(b)s", 1.0)
    rig.look()
    assert rig.terms() == []


def test_leases_that_really_ran_out_are_returned(rig: _Rig, create_job: Callable[..., uuid.UUID]) -> None:
    """Promise: without a step nothing gets a second term."""
    job = create_job(1)
    rig.claim(job)
    rig.look()
    rig.run("UPDATE task SET lease = clock_timestamp() - %(b)s", 1.0)
    rig.look()
    assert rig.terms() == []


@STEPS
def test_elapsed_times_are_what_they_would_have_been(
    rig: _Rig, create_job: Callable[..., uuid.UUID], by: float
) -> None:
    """Promise: neither a job that runs nor one that is paused counts the step, nor does its end."""
    job = create_job(2)
    claimed = rig.claim(job)
    rig.run("UPDATE job SET first_claim_at = first_claim_at - %(b)s", 100.0)
    rig.run("UPDATE job_phase SET started_at = started_at - %(b)s", 100.0)
    with rig.database.transaction() as conn:
        ledger.finish(conn, claimed, TaskResult())
        assert states.request_pause(conn, job) is JobState.PAUSED
    rig.look()
    rig.step(by)
    rig.look()
    assert all(100 <= seconds < 160 for seconds in rig.elapsed(job))
    with rig.database.transaction() as conn:
        states.request_resume(conn, job)
        states.request_cancel(conn, job)
    assert all(100 <= seconds < 160 for seconds in rig.elapsed(job))


@STEPS
def test_no_time_is_negative_when_the_step_is_not_seen(
    rig: _Rig, create_job: Callable[..., uuid.UUID], by: float
) -> None:
    """Promise: a pause and a job that end on a clock that was put back took no time, rather than less than none."""
    job = create_job(2)
    claimed = rig.claim(job)
    with rig.database.transaction() as conn:
        ledger.finish(conn, claimed, TaskResult())
        states.request_pause(conn, job)
    rig.step(by, announced=False)
    with rig.database.transaction() as conn:
        states.request_resume(conn, job)
        states.request_cancel(conn, job)
        ends = conn.execute(
            "SELECT finished_at >= first_claim_at AND stopped_seconds >= 0 FROM job"
            " UNION ALL SELECT finished_at >= started_at FROM job_pause"
        ).scalars()
        assert all(ends)
    assert all(seconds >= 0 for seconds in rig.elapsed(job))


def test_a_dead_worker_does_not_live_on_after_a_step_back(rig: _Rig, add_slots: Any) -> None:
    """Promise: one that was last seen in what is the future now counts for as long as any other."""
    add_slots(2)
    rig.look()
    rig.by -= HOUR
    rig.look()
    rig.run("UPDATE worker SET seen_at = seen_at - %(b)s", LIVE_SECONDS)
    with rig.database.transaction() as conn:
        assert WORKERS.live_slots(conn) == 0


def test_slow_answers_are_no_steps() -> None:
    """Promise: a database that takes long to answer is not taken for one whose clock was stepped."""
    times = iter([0.0, 0.1, 10.0, 25.0, 26.0, 26.1])
    shown = iter([1_000.0, 1_024.9, 1_026.0])
    watch = ClockWatch(lambda _: next(shown), lambda: next(times))
    conn: Any = None
    assert [watch.look(conn) for _ in range(3)] == [None] * 3
