"""When the jobs of a timeline were stopped: paused, suspended, or over until they were requeued."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from controller.timeline.job_status import JobStatus
from controller.timeline.model import PauseSpan
from core.records import JobState
from sql.faces.timeline import Pause

_Still = tuple[
    float, float, Pause | None
]  # from, to, and the row with the reason; none before the first claim and at the end


def pauses_of(statuses: Sequence[JobStatus], start: float) -> list[PauseSpan]:
    """Pauses in seconds since `start`: of several jobs the time in which none of them ran, though not all were over."""
    spans: list[_Still] = [(-math.inf, math.inf, None)]
    for status in statuses:
        spans = list(_both(spans, list(_still(status))))
    return [
        PauseSpan(
            row.state,
            row.reason,
            round(max(0.0, begin - start), 3),
            None if end == math.inf else round(end - start, 3),
        )
        for begin, end, row in spans
        if row is not None
    ]


def _still(status: JobStatus) -> Iterator[_Still]:
    if status.started is None:
        yield -math.inf, math.inf, None
        return
    yield -math.inf, status.started, None
    for row in status.pauses:
        yield row.started, math.inf if row.finished is None else row.finished, row
    if status.finished is not None:
        yield status.finished, math.inf, None


def _both(some: Sequence[_Still], others: Sequence[_Still]) -> Iterator[_Still]:
    """The intersection of the two, in order of time."""
    for begin, end, row in some:
        for start, stop, other in others:
            if max(begin, start) < min(end, stop):
                yield max(begin, start), min(end, stop), _graver(row, other)


def _graver(row: Pause | None, other: Pause | None) -> Pause | None:
    """Of two reasons for a stop the one to name: a suspension, else whichever there is."""
    known = [each for each in (row, other) if each is not None]
    return next((each for each in known if each.state == JobState.SUSPENDED.value), known[0] if known else None)
