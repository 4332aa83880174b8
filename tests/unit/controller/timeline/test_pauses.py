"""controller.timeline.pauses: when nothing ran, of one job and of several."""

from __future__ import annotations

import uuid
from types import SimpleNamespace
from typing import Any

import pytest

from controller.timeline.pauses import pauses_of
from controller.timeline.standing import Standing
from core.records import Job, JobOptions, JobState, Phase


def standing(
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
    return Standing(
        job=job, started=started, finished=finished, now=999.0, phases=[], exceptions={}, calls={}, pauses=rows
    )


PAUSED, LASTING = ("paused", 110.0, 130.0), ("paused", 150.0, None)


@pytest.mark.parametrize(
    ("standings", "spans"),
    [
        ([standing()], []),
        ([standing(PAUSED, LASTING)], [("paused", 10.0, 30.0), ("paused", 50.0, None)]),
        # Only one of two stands still: the other runs.
        ([standing(PAUSED), standing()], []),
        ([standing(PAUSED), standing(("suspended", 120.0, 160.0))], [("suspended", 20.0, 30.0)]),
        # The other is over, or has not begun: nothing runs either.
        ([standing(PAUSED), standing(finished=120.0)], [("paused", 20.0, 30.0)]),
        ([standing(PAUSED), standing(started=125.0)], [("paused", 10.0, 25.0)]),
        ([standing(PAUSED), standing(started=None)], [("paused", 10.0, 30.0)]),
        # Both are over: that is no pause.
        ([standing(finished=120.0), standing(finished=130.0)], []),
        # Requeued: over meanwhile, and running again.
        ([standing(("completed", 120.0, 200.0), finished=210.0)], [("completed", 20.0, 100.0)]),
    ],
)
def test_pauses_are_when_none_of_the_jobs_runs(
    standings: list[Standing], spans: list[tuple[str, float, float | None]]
) -> None:
    found = pauses_of(standings, 100.0)
    assert [(span.state, span.start_s, span.end_s) for span in found] == spans
    assert all(span.reason == f"why {span.state}" for span in found)
