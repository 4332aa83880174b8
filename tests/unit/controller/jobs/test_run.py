"""How the end of a job becomes the end of a command."""

from __future__ import annotations

import pytest

from controller.jobs.run import Outcome, judge
from core.errors import RunFailed
from core.records import JobState


def outcome(state: JobState, reason: str | None = None) -> Outcome:
    """A job that came to rest so."""
    return Outcome(state=state, reason=reason, interrupted=False, calls_complete=True)


@pytest.mark.parametrize("state", [JobState.COMPLETED, JobState.COMPLETED_WITH_EXCEPTIONS])
def test_a_completed_job_is_good_when_its_counts_add_up(state: JobState) -> None:
    assert judge(outcome(state), "j", 0) is None
    with pytest.raises(RunFailed, match="do not add up"):
        judge(outcome(state), "j", 3)


def test_a_suspended_job_says_why_and_how_to_go_on() -> None:
    """The reason and the next command are in the line."""
    with pytest.raises(RunFailed, match=r"the filer is full.*edbench job resume j"):
        judge(outcome(JobState.SUSPENDED, "the filer is full"), "j", 0)


@pytest.mark.parametrize("state", [JobState.RUNNING, JobState.PAUSING])
def test_anything_unfinished_is_a_failed_run(state: JobState) -> None:
    with pytest.raises(RunFailed):
        judge(outcome(state), "j", 0)


def test_a_job_that_another_command_paused_is_no_failure() -> None:
    assert "edbench job resume j" in str(judge(outcome(JobState.PAUSED), "j", 0))


def test_a_job_that_another_command_cancelled_is_a_failure() -> None:
    with pytest.raises(RunFailed, match="edbench job delete j"):
        judge(outcome(JobState.CANCELLED), "j", 0)
