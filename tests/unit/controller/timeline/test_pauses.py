"""controller.timeline.read: when nothing ran, of one job and of several."""

from __future__ import annotations

import uuid
from types import SimpleNamespace
from typing import Any

import pytest

from controller.timeline.job_status import JobStatus
from controller.timeline.read import pauses_of
from core.records import Job, JobOptions, JobState, Phase


def status(
    *pauses: tuple[str, float, float | None], started: float | None = 100.0, finished: float | None = None
) -> Any:
    job = Job(
        id=uuid.UUID(int=1),
        name="j",
        state=JobState.RUNNING,
        phase=Phase.INDEX,
        source=b"/s",
        source_device=1,
        source_inode=1,
        options=JobOptions(),
        reason=None,
    )
    rows = [SimpleNamespace(state=s, reason=f"why {s}", started=a, finished=b) for s, a, b in pauses]
    return JobStatus(
        job=job, started=started, finished=finished, now=999.0, phases=[], exceptions={}, calls={}, pauses=rows
    )


PAUSED, LASTING = ("paused", 110.0, 130.0), ("paused", 150.0, None)


@pytest.mark.parametrize(
    ("statuses", "spans"),
    [
        ([status()], []),
        ([status(PAUSED, LASTING)], [("paused", 10.0, 30.0), ("paused", 50.0, None)]),
        # Only one of two stands still: the other runs.
        ([status(PAUSED), status()], []),
        ([status(PAUSED), status(("suspended", 120.0, 160.0))], [("suspended", 20.0, 30.0)]),
        # The other is over, or has not begun: nothing runs either.
        ([status(PAUSED), status(finished=120.0)], [("paused", 20.0, 30.0)]),
        ([status(PAUSED), status(started=125.0)], [("paused", 10.0, 25.0)]),
        ([status(PAUSED), status(started=None)], [("paused", 10.0, 30.0)]),
        # Both are over: that is no pause.
        ([status(finished=120.0), status(finished=130.0)], []),
        # Requeued: over meanwhile, and running again.
        ([status(("completed", 120.0, 200.0), finished=210.0)], [("completed", 20.0, 100.0)]),
    ],
)
def test_pauses_are_when_none_of_the_jobs_runs(
    statuses: list[JobStatus], spans: list[tuple[str, float, float | None]]
) -> None:
    found = pauses_of(statuses, 100.0)
    assert [(span.state, span.start_s, span.end_s) for span in found] == spans
    assert all(span.reason == f"why {span.state}" for span in found)
