"""Several jobs at one look."""

from __future__ import annotations

import dataclasses

import pytest

from controller.jobs.groups import combined, group_state
from controller.jobs.progress import Snapshot, left_text
from core.records import JobState, Phase

_ONE = Snapshot(
    state=JobState.RUNNING,
    phase=Phase.EXPAND,
    reason=None,
    items_done=10,
    items_known=None,
    share=0.5,
    tasks_done=1,
    tasks_known=2,
    raw_gb_per_hour=4.0,
    discovered_gb_per_hour=6.0,
    raw_gb_per_hour_now=4.0,
    discovered_gb_per_hour_now=6.0,
    calls_per_second=100.0,
    exceptions=1,
    elapsed_s=10.0,
    phase_left_s=10.0,
    left_s=None,
)
_AHEAD = dataclasses.replace(
    _ONE, phase=Phase.INDEX, share=0.9, items_known=10, elapsed_s=20.0, phase_left_s=5.0, left_s=5.0
)
_DONE = dataclasses.replace(_AHEAD, state=JobState.COMPLETED, share=1.0, phase=Phase.FINALISE, left_s=None)


def test_one_job_is_shown_as_it_is() -> None:
    """Promise: nothing changes where there is no group."""
    assert combined([_ONE]) is _ONE


def test_counts_add_up_and_the_one_behind_says_how_far() -> None:
    """Promise: rates are bytes of all over the longest time, as the result has it; nothing is promised of the end
    while one job does not know its own."""
    both = combined([_AHEAD, _ONE])
    assert (both.phase, both.share, both.items_done, both.items_known) == (Phase.EXPAND, 0.5, 20, None)
    assert both.elapsed_s == 20.0
    assert both.discovered_gb_per_hour == pytest.approx((6.0 * 20 + 6.0 * 10) / 20)
    assert both.left_s is None
    assert "then index" in left_text(both)


def test_a_job_that_is_done_holds_nothing_up() -> None:
    """Promise: what is left is what the others need, and it is over only when all are."""
    both = combined([_DONE, _AHEAD])
    assert (both.state, both.phase, both.left_s) == (JobState.RUNNING, Phase.INDEX, 5.0)
    assert combined([_DONE, _DONE]).state is JobState.COMPLETED
    unknown = combined([_AHEAD, dataclasses.replace(_AHEAD, phase_left_s=None, left_s=None)])
    assert left_text(unknown) == "end unknown yet"


def test_the_state_of_a_group_is_its_worst() -> None:
    """Promise: a suspended or failed job is never hidden behind one that completed."""
    assert group_state([JobState.COMPLETED, JobState.SUSPENDED]) is JobState.SUSPENDED
    assert group_state([JobState.CANCELLED, JobState.COMPLETED_WITH_EXCEPTIONS]) is JobState.CANCELLED
    assert group_state([JobState.COMPLETED_WITH_EXCEPTIONS, JobState.COMPLETED]) is JobState.COMPLETED_WITH_EXCEPTIONS
