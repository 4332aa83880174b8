"""States, phases and clocks of a job."""

import time
import uuid
from typing import Any

import pytest

from core.errors import UsageError
from core.records import JobOptions, JobState, NewTask, Phase
from sql import jobs, states
from sql.findings import TaskResult
from sql.jobs import JOBS


def _do(hands: Any, function: Any, *arguments: Any, **named: Any) -> Any:
    with hands.database.transaction(durable=True) as conn:
        return function(conn, *arguments, **named)


def _age(hands: Any, seconds: float) -> None:
    """Let `seconds` pass for every clock of every job."""
    for table, columns in {
        "job": ("created_at", "first_claim_at", "finished_at", "stopped_at"),
        "job_phase": ("started_at", "finished_at"),
        "job_pause": ("started_at", "finished_at"),
    }.items():
        moved = ", ".join(f"{c} = {c} - make_interval(secs => {seconds})" for c in columns)
        hands.run(f"UPDATE {table} SET {moved}")


def _about(seconds: float, begun: float) -> Any:
    """So many, and no more beside them than have passed since the test began."""
    return pytest.approx(seconds, abs=1 + time.monotonic() - begun)


def _state(hands: Any, job: uuid.UUID) -> tuple[str, str]:
    return tuple(hands.rows("SELECT state, phase FROM job WHERE id = %(job)s", job=job)[0])


def test_a_job_goes_through_its_phases(hands: Any) -> None:
    """Promise: a phase is left only when none of its tasks is open; phases without tasks are passed; finalise
    has one task; then the job is completed."""
    job = hands.create(1)
    assert _do(hands, states.advance, job) is None  # pending
    claimed = hands.take(job)
    assert _do(hands, states.advance, job) is None  # running
    hands.finish(claimed, TaskResult(follow_on=(NewTask(phase=Phase.INDEX, weight=1, payload={}),)))
    assert _do(hands, states.advance, job) is Phase.INDEX
    assert _do(hands, states.advance, job) is None
    hands.finish(hands.take(job))
    assert _do(hands, states.advance, job) is Phase.FINALISE
    final = hands.take(job)
    assert (final.phase, final.payload) == (Phase.FINALISE, {"folders": [*"0123456789abcdef", ""]})
    hands.finish(final)
    assert _do(hands, states.advance, job) is JobState.COMPLETED
    assert _state(hands, job) == ("completed", "finalise")
    assert _do(hands, states.advance, job) is None
    phases = _do(hands, jobs.phase_elapsed, job)
    assert set(phases) == set(JobOptions().phases)
    assert phases[Phase.EXPAND] == 0.0
    assert hands.value("SELECT count(*) FROM job_phase WHERE finished_at IS NULL") == 0


def test_a_pause_waits_for_what_runs(hands: Any) -> None:
    """Promise: dispatched tasks go back at once, running ones finish, then the job is paused and its messages
    claim nothing; resumed, it goes on with the same tasks."""
    job = hands.create(3)
    running = hands.take(job)
    (sent,) = hands.dispatch(job, 1)
    assert _do(hands, states.request_pause, job) is JobState.PAUSING
    assert _do(hands, states.request_pause, job) is JobState.PAUSING
    assert hands.state(sent) == "pending"
    assert hands.claim(sent) is None
    assert _do(hands, states.advance, job) is None
    hands.finish(running)
    assert _do(hands, states.settle, job) is JobState.PAUSED
    assert hands.dispatch(job) == []
    assert _do(hands, states.request_resume, job) is JobState.RUNNING
    assert len(hands.dispatch(job)) == 2


def test_a_lapsed_lease_does_not_hold_up_a_pause(hands: Any) -> None:
    """Promise: with its workers dead, a job can still be paused."""
    job = hands.create(1)
    hands.take(job)
    hands.run("UPDATE task SET lease = now() - interval '1 s'")
    assert _do(hands, states.request_pause, job) is JobState.PAUSED


def test_elapsed_leaves_out_pauses_and_holds_suspensions(hands: Any) -> None:
    """Promise: elapsed = end − first claim − pauses, for the job and for its phase; it stands still while paused, and
    what a failure of the system took is charged."""
    begun = time.monotonic()
    job = hands.create(2)
    assert _do(hands, JOBS.elapsed, job=job) == 0.0
    _age(hands, 1000)  # before the first claim nothing counts
    claimed = hands.take(job)
    _age(hands, 10)
    hands.finish(claimed)
    _do(hands, states.request_pause, job)
    _age(hands, 100)
    assert _do(hands, JOBS.elapsed, job=job) == _about(10, begun)
    _do(hands, states.request_resume, job)
    _age(hands, 5)
    assert _do(hands, JOBS.elapsed, job=job) == _about(15, begun)
    assert _do(hands, states.suspend, job, "filer gone")
    _age(hands, 200)
    assert _do(hands, JOBS.elapsed, job=job) == _about(215, begun)
    _do(hands, states.request_resume, job)
    hands.finish(hands.take(job))
    _do(hands, states.advance, job)
    _age(hands, 3)
    hands.finish(hands.take(job))
    _do(hands, states.advance, job)
    _age(hands, 500)
    assert _do(hands, JOBS.elapsed, job=job) == _about(218, begun)
    assert _do(hands, jobs.phase_elapsed, job)[Phase.WALK] == _about(215, begun)


def test_every_pause_is_known_afterwards(hands: Any) -> None:
    """Promise: when it stood still since its first claim, as what and why; what an operator asked for is taken off its
    elapsed, what the system under test lost is not; one that a cancellation ends has an end. No row is added to stop a job: on a full disk none could be."""
    begun = time.monotonic()
    job = hands.create(2)
    _do(hands, states.request_pause, job)  # before the first claim: not on its axis, and not taken off
    _age(hands, 50)
    _do(hands, states.request_resume, job)
    hands.finish(hands.take(job))
    _do(hands, states.request_pause, job)
    _age(hands, 100)
    _do(hands, states.request_resume, job)
    _age(hands, 10)
    _do(hands, states.suspend, job, "filer gone")
    pauses = (
        "SELECT state, reason, extract(epoch FROM finished_at - started_at)::float8 FROM job_pause ORDER BY started_at"
    )
    assert [tuple(row) for row in hands.rows(pauses)] == [("paused", None, _about(100, begun))]
    _age(hands, 7)
    _do(hands, states.request_cancel, job)
    assert [tuple(row) for row in hands.rows(pauses)] == [
        ("paused", None, _about(100, begun)),
        ("suspended", "filer gone", _about(7, begun)),
    ]
    assert hands.value("SELECT stopped_seconds FROM job") == _about(100, begun)


def test_suspend_only_what_runs(hands: Any) -> None:
    """Promise: a fault suspends a running or pausing job, with the reason and its messages void; a job at rest
    is left alone."""
    job = hands.create(2)
    (sent,) = hands.dispatch(job, 1)
    assert _do(hands, states.suspend, job, "no space\0 left")
    assert not _do(hands, states.suspend, job, "again")
    assert hands.rows("SELECT state, reason FROM job") == [("suspended", "no space\ufffd left")]
    assert hands.state(sent) == "pending"
    _do(hands, states.request_resume, job)
    assert hands.rows("SELECT state, reason, stopped_at FROM job") == [("running", None, None)]
    running = hands.take(job)
    _do(hands, states.request_pause, job)
    assert _do(hands, states.suspend, job, "filer gone")
    hands.finish(running)  # what was under way may still end well


def test_cancel_from_any_state_that_is_not_over(hands: Any) -> None:
    """Promise: running, paused and suspended jobs can be cancelled, and then the clocks have an end."""
    for stop in (None, states.request_pause, lambda conn, job: states.suspend(conn, job, "x")):
        job = hands.create(1)
        if stop is not None:
            _do(hands, stop, job)
        assert _do(hands, states.request_cancel, job) is JobState.CANCELLED
        assert hands.value("SELECT finished_at IS NOT NULL FROM job WHERE id = %(job)s", job=job)


def test_requests_that_make_no_sense_are_refused(hands: Any) -> None:
    """Promise: one clear line instead of a state nobody defined."""
    job = hands.create(1)
    with pytest.raises(UsageError, match="is running; only a paused, held or suspended"):
        _do(hands, states.request_resume, job)
    _do(hands, states.request_cancel, job)
    with pytest.raises(UsageError, match="is cancelled; only a running job"):
        _do(hands, states.request_pause, job)
    with pytest.raises(UsageError, match="nothing to cancel"):
        _do(hands, states.request_cancel, job)
    with pytest.raises(UsageError, match="there is no job"):
        _do(hands, states.request_pause, uuid.uuid4())


def test_demands_show_jobs_that_are_not_at_rest(hands: Any) -> None:
    """Promise: the dispatcher sees what is out and what is pending of each such job, in one look."""
    job = hands.create(5)
    resting = hands.create(1)
    _do(hands, states.request_pause, resting)
    hands.take(job)
    hands.dispatch(job, 1)
    (demand,) = _do(hands, states.STATES.demand, limit=2)
    assert (demand.job, demand.dispatched, demand.running, demand.pending) == (job, 1, 1, 2)
