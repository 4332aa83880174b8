"""Jobs held at the barrier go on: when all are there, when one never comes, when what was done meanwhile fails."""

import uuid
from typing import Any

import pytest

from core.errors import StorageFault
from core.records import JobOptions, JobState, Phase
from experiments.workloads.discovery.sampler import Hold
from sql import states
from sql.jobs import get_job


@pytest.fixture
def jobs(hands: Any) -> tuple[uuid.UUID, uuid.UUID]:
    """Two that are to be held before the index phase, each with one task of the walk."""
    options = JobOptions(hold_before=Phase.INDEX, lease_seconds=3600.0)
    return hands.create(1, options), hands.create(1, options)


def _come(hands: Any, job: uuid.UUID) -> None:
    hands.finish(hands.take(job))
    with hands.database.transaction() as conn:
        assert states.advance(conn, job) is JobState.HELD


def _states(hands: Any, jobs: tuple[uuid.UUID, uuid.UUID]) -> list[JobState]:
    with hands.database.transaction() as conn:
        return [get_job(conn, job).state for job in jobs]


def test_they_continue_once_all_were_held(hands: Any, jobs: tuple[uuid.UUID, uuid.UUID]) -> None:
    seen: list[list[JobState]] = []
    hold = Hold([(hands.database, job) for job in jobs], lambda: seen.append(_states(hands, jobs)))
    _come(hands, jobs[0])
    hold.look()
    assert (_states(hands, jobs), hold.over) == ([JobState.HELD, JobState.RUNNING], False)
    _come(hands, jobs[1])
    hold.look()
    hold.look()
    assert seen == [[JobState.HELD] * 2]
    assert (_states(hands, jobs), hold.over) == ([JobState.RUNNING] * 2, True)


def test_one_that_never_comes_is_not_waited_for(hands: Any, jobs: tuple[uuid.UUID, uuid.UUID]) -> None:
    hold = Hold([(hands.database, job) for job in jobs], lambda: pytest.fail("not all were held"))
    _come(hands, jobs[0])
    with hands.database.transaction() as conn:
        assert states.suspend(conn, jobs[1], "the filer is gone")
    hold.look()
    assert _states(hands, jobs) == [JobState.RUNNING, JobState.SUSPENDED]


def test_what_fails_meanwhile_is_reported_when_they_continue(hands: Any, jobs: tuple[uuid.UUID, uuid.UUID]) -> None:
    def broken() -> None:
        raise StorageFault("the filer is gone")

    hold = Hold([(hands.database, job) for job in jobs], broken)
    for job in jobs:
        _come(hands, job)
    with pytest.raises(StorageFault, match="the filer is gone"):
        hold.look()
    assert _states(hands, jobs) == [JobState.RUNNING] * 2
