"""Which jobs may run together, and what becomes of a run that ends, fails, goes on or is stopped."""

from __future__ import annotations

import threading
import uuid
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from installation import until

import web.runs
from controller.databases import JobHandle, alone
from controller.jobs.run import Crew
from core.clock import SystemClock
from core.errors import SystemFault
from core.records import Job, JobOptions, JobState, Phase
from core.settings import Settings
from sql.session import Database
from web.errors import FieldErrors
from web.runs import EmbeddedRunner

PATIENCE = 90.0


class Work:
    """Stands for following jobs: each run waits until it may end, or until its workers tell it to stop."""

    def __init__(self) -> None:
        self.crews: list[Crew] = []
        self.begun = threading.Semaphore(0)
        self.may_end = threading.Semaphore(0)
        self.fault: Exception | None = None
        self.until: Callable[[Crew], None] = lambda crew: None

    def __call__(self, handles: Sequence[JobHandle], crew: Crew, *rest: Any) -> None:
        self.crews.append(crew)
        self.begun.release()
        self.until(crew)
        assert self.may_end.acquire(timeout=PATIENCE)
        if self.fault is not None:
            raise self.fault


@pytest.fixture
def work(monkeypatch: pytest.MonkeyPatch) -> Work:
    """Instead of following a job in its database."""
    made = Work()
    monkeypatch.setattr(web.runs, "run_all_to_rest", made)
    return made


@pytest.fixture
def runner() -> EmbeddedRunner:
    """With room for eight slots."""
    return EmbeddedRunner(Settings(), {}, SystemClock(), room=8)


def _job() -> JobHandle:
    job = Job(
        id=uuid.uuid4(),
        name="job",
        state=JobState.RUNNING,
        phase=Phase.WALK,
        source=b"/source",
        source_device=1,
        source_inode=1,
        options=JobOptions(),
        reason=None,
    )
    return JobHandle(Database("db1", "postgresql+psycopg2://u@h/db1"), job)


def _begin(runner: EmbeddedRunner, work: Work, workers: int = 1, slots: int = 2) -> JobHandle:
    handle = _job()
    runner.refuse(workers, slots, "none")
    runner.start(alone(handle), workers=workers, slots=slots)
    assert work.begun.acquire(timeout=PATIENCE)
    return handle


def _ended(runner: EmbeddedRunner) -> None:
    for thread in threading.enumerate():
        if thread.name.startswith("job "):
            thread.join(PATIENCE)


def test_jobs_share_workers_of_one_kind_while_there_is_room(runner: EmbeddedRunner, work: Work) -> None:
    _begin(runner, work)
    _begin(runner, work, workers=2)
    assert runner.room() == 8 - 3 * 2
    for order, field in (((1, 3, "none"), "slots"), ((1, 2, "titan"), "filer"), ((2, 2, "none"), "workers")):
        with pytest.raises(FieldErrors) as raised:
            runner.refuse(*order)
        assert list(raised.value.errors) == [field]
    work.may_end.release(2)
    _ended(runner)
    assert runner.room() == 8
    runner.refuse(2, 4, "titan")


def test_room_is_kept_for_a_job_that_is_being_made(runner: EmbeddedRunner, work: Work) -> None:
    """Of two that are made at once the second is refused at its field, as beside one that runs; afterwards it is not."""
    with runner.reserved(2, 3, "none"):
        assert runner.room() == 2
        for order, field in (((1, 2, "none"), "slots"), ((1, 3, "titan"), "filer"), ((1, 3, "none"), "workers")):
            with pytest.raises(FieldErrors) as raised, runner.reserved(*order):
                pass
            assert list(raised.value.errors) == [field]
        runner.start(alone(_job()), workers=2, slots=3)
    assert work.begun.acquire(timeout=PATIENCE)
    assert runner.room() == 2
    work.may_end.release()
    _ended(runner)
    with runner.reserved(2, 4, "titan"):
        assert runner.room() == 0


def test_what_goes_wrong_is_kept_until_the_job_is_started_again(runner: EmbeddedRunner, work: Work) -> None:
    """One line, for the job's row; a bug of ours has its type in it."""
    for fault, line in (
        (SystemFault("w1 ended\n5 times"), "w1 ended 5 times"),
        (KeyError("x"), "internal error: KeyError"),
    ):
        work.fault = fault
        handle = _begin(runner, work)
        work.may_end.release()
        _ended(runner)
        assert (runner.problem(handle.id) or "").startswith(line)
        assert not runner.tends(handle.id)
        work.fault = None
        runner.start(alone(handle), workers=1, slots=2)
        assert runner.problem(handle.id) is None
        assert work.begun.acquire(timeout=PATIENCE)
        work.may_end.release()
        _ended(runner)


def test_a_job_resumed_while_it_comes_to_rest_goes_on(runner: EmbeddedRunner, work: Work) -> None:
    handle = _begin(runner, work)
    runner.start(alone(handle), workers=1, slots=2)
    work.may_end.release()
    assert work.begun.acquire(timeout=PATIENCE)
    assert runner.tends(handle.id)
    work.may_end.release()
    _ended(runner)
    assert len(work.crews) == 2
    assert not runner.tends(handle.id)


def test_stopping_interrupts_every_run(runner: EmbeddedRunner, work: Work) -> None:
    told = threading.Semaphore(0)

    def look(crew: Crew) -> None:
        assert crew.cluster is not None
        try:
            while True:
                crew.cluster.pids()
                if stopping.wait(0.001):
                    crew.cluster.check()
        except KeyboardInterrupt:
            told.release()

    stopping = threading.Event()
    work.until = look
    handles = [_begin(runner, work) for _ in range(2)]
    work.may_end.release(2)
    ending = threading.Thread(target=runner.stop)
    ending.start()
    until(lambda: all(run.stop.is_set() for run in list(runner._runs.values())), "the runs are told")
    stopping.set()
    ending.join(PATIENCE)
    assert told.acquire(timeout=PATIENCE)
    assert told.acquire(timeout=PATIENCE)
    assert not any(runner.tends(handle.id) for handle in handles)
