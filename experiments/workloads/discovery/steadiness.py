"""How evenly the phases of a discovery went.

Judged is each phase that takes a tenth of the run or more, by itself: another phase makes other calls. A phase's calls
change with what it has come to (first large files, then small ones), so each call counts by its op's mean time in that phase:
an open may be worth three reads throughout, and what slows or speeds the storage up shows, not which files it holds.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from experiments.result.schema import Steady
from experiments.result.steady import judged
from experiments.workloads.discovery.series import Times
from experiments.workloads.discovery.tables import JobTables
from monitoring.aggregate import sums_of

LEAST_SHARE = 0.1  # of the run


def steadiness(jobs: Sequence[JobTables], times: Times) -> tuple[Steady, ...]:
    """Of every job's phases in order; of several jobs each is named with its database."""
    intervals = []
    for job in jobs:
        calls = job.rows("call_seconds")
        for span in job.rows("phase_spans"):
            if span.finished - span.started >= LEAST_SHARE * times.elapsed:
                name = f"{job.database} {span.phase}" if len(jobs) > 1 else span.phase
                intervals.append(_phase(name, span, [row for row in calls if row.phase == span.phase], times))
    return tuple(one for one in intervals if one is not None)


def _phase(name: str, span: Any, rows: Sequence[Any], times: Times) -> Steady | None:
    weights = _weights(rows)
    seconds: dict[float, float] = {}
    for row in rows:
        at = row.second - times.start
        seconds[at] = seconds.get(at, 0.0) + row.calls * weights[row.op]
    return judged(name, list(seconds.items()), span.started - times.start, span.finished - times.start)


def _weights(rows: Iterable[Any]) -> dict[int, float]:
    """By op: its mean time ÷ that of all calls."""
    sums = sums_of(rows)
    calls, total = sum(one.calls for one in sums.values()), sum(one.total_ns for one in sums.values())
    return {op: one.total_ns / one.calls * calls / total if total else 1.0 for op, one in sums.items()}
