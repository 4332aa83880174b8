"""What a result of discoveries says of how long more of the same takes: GB/hour by workers, and what goes on around runs.

No model: a rate that was not measured is bounded by those that were. More workers bring no more than in proportion, fewer no
less, and nobody can use more than all processors.
"""

from __future__ import annotations

import itertools
import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from core.errors import UsageError
from core.operations import Op
from core.records import Phase
from experiments.workloads.discovery.phase_use import CallUse
from experiments.workloads.discovery.result import Point, Result, Run

_READING = frozenset(op.label for op in (Op.STAT, Op.OPEN, Op.READ, Op.CLOSE))
_WRITING = frozenset(op.label for op in (Op.CREATE, Op.WRITE, Op.CLOSE, Op.RENAME, Op.MKDIR))


@dataclass(frozen=True, slots=True, kw_only=True)
class Rate:
    """One measured number of workers, by the medians of its runs."""

    workers: int
    gb_per_hour: float  # discovered
    cpu: float  # share of the host's processors that the workers used, 0…1
    null_share: float | None  # time on null storage ÷ time on the storage; None: no pair


@dataclass(frozen=True, slots=True, kw_only=True)
class Rates:
    """Of one result. Sizes are of one run's data; `_s` are seconds of one process."""

    source: str  # which result
    labels: tuple[str, ...]
    slots: int  # of each worker
    processors: int  # of its hosts
    measured: tuple[Rate, ...]  # fewest workers first
    raw_bytes: int
    discovered_bytes: int
    index_bytes: int
    files_written: int
    store_bytes: int  # found beneath its largest loose file; 0: not told
    copy_s: float  # to read all loose files
    write_s: float  # to write what was written
    remove_s: float  # to remove it again: a rename's time a file, both change a directory
    around_s: float  # between two runs: services, workers, what nobody's clock counts

    def least(self, workers: int) -> float:
        """GB/hour discovered that so many workers reach: measured, on the line between two that are, in proportion below
        the fewest, no more than the most above them."""
        first, last = self.measured[0], self.measured[-1]
        if workers <= first.workers:
            return first.gb_per_hour * workers / first.workers
        for low, high in itertools.pairwise(self.measured):
            if workers <= high.workers:
                part = (workers - low.workers) / (high.workers - low.workers)
                return low.gb_per_hour + part * (high.gb_per_hour - low.gb_per_hour)
        return last.gb_per_hour

    def most(self, workers: int) -> float:
        """GB/hour discovered that so many workers do not pass: as measured, in proportion above, never beyond what all
        processors would bring at the processor seconds a GB that were measured."""
        bounds = [
            rate.gb_per_hour * max(1.0, workers / rate.workers) for rate in self.measured if rate.workers <= workers
        ]
        bounds += [rate.gb_per_hour / rate.cpu for rate in self.measured if rate.cpu > 0]
        return max(self.least(workers), min(bounds, default=0.0))

    @property
    def null_share(self) -> float | None:
        """The most that a pair takes of its run; None where none was made."""
        return max((rate.null_share for rate in self.measured if rate.null_share is not None), default=None)


def rates_of(result: Result, source: str) -> Rates:
    """Read it; `source` is what to call it. Raises UsageError in one line where it tells too little."""
    points = _points(result, source)
    runs = [run for point in points for run in point.repeats]
    one = runs[0]
    if not all(run.phases and any(phase.calls for phase in run.phases) for run in runs):
        raise UsageError(
            f"{source} has no records of calls by phase (an older version made it, or EDBENCH_OBSERVE was off)"
        )
    written = _calls(one, _WRITING)
    files = sum(use.calls for label, use in written if label == Op.CREATE.label)
    renames = [use for label, use in written if label == Op.RENAME.label]
    return Rates(
        source=source,
        labels=result.labels,
        slots=points[0].slots,
        processors=sum(int(host.get("processors") or 1) for host in _hosts(result)) or 1,
        measured=tuple(_rate(point) for point in points),
        raw_bytes=int(one.result["raw_bytes"]),
        discovered_bytes=int(one.result["discovered_bytes"]),
        index_bytes=int(one.result["index_bytes"]),
        files_written=files,
        store_bytes=max((found for phase in one.phases for _, found in phase.heaviest), default=0),
        copy_s=sum(use.seconds for _, use in _calls(one, _READING, Phase.EXPAND.value)),
        write_s=sum(use.seconds for _, use in written),
        remove_s=files * _mean_s(renames),
        around_s=_around(runs),
    )


def _points(result: Result, source: str) -> list[Point]:
    """Those on one database, fewest workers first."""
    points = sorted((point for point in result.points if point.databases == 1), key=lambda point: point.workers)
    if not points or len({point.slots for point in points}) > 1:
        raise UsageError(
            f"{source}: a plan needs runs on one database, all with the same slots; `edbench bench scale-up` makes them"
        )
    return points


def _hosts(result: Result) -> Sequence[Mapping[str, Any]]:
    return result.conditions.get("hosts") or ()


def _rate(point: Point) -> Rate:
    shares = [
        run.null_elapsed_s / run.elapsed_s for run in point.repeats if run.null_elapsed_s is not None and run.elapsed_s
    ]
    return Rate(
        workers=point.workers,
        gb_per_hour=statistics.median(run.gb_per_hour_discovered for run in point.repeats),
        cpu=statistics.median(run.worker_cpu for run in point.repeats),
        null_share=statistics.median(shares) if shares else None,
    )


def _calls(run: Run, labels: frozenset[str], phase: str | None = None) -> list[tuple[str, CallUse]]:
    return [
        (label, use)
        for each in run.phases
        if phase in (None, each.phase)
        for label, use in each.calls.items()
        if label in labels
    ]


def _mean_s(uses: Iterable[CallUse]) -> float:
    each = list(uses)
    calls = sum(use.calls for use in each)
    return sum(use.seconds for use in each) / calls if calls else 0.0


def _around(runs: Iterable[Run]) -> float:
    """Median over consecutive runs of what lay between them beside the run and its pair; 0 of a single run."""
    ordered = sorted(runs, key=lambda run: run.order)
    gaps = [
        after.started_at - before.started_at - before.elapsed_s - (before.null_elapsed_s or 0.0)
        for before, after in itertools.pairwise(ordered)
    ]
    return max(0.0, statistics.median(gaps)) if gaps else 0.0
