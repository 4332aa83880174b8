"""Panels of the work done: GB/hour, items, exceptions."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

from controller.jobs.progress import NOW_SECONDS
from controller.jobs.rates import gb_per_hour
from controller.timeline.axis import Axis
from controller.timeline.counters import Counter, added
from controller.timeline.model import Panel, Series
from controller.timeline.readings import Readings, counter
from sql.faces.timeline import Values


class Work:
    """The progress of one job, from nothing at its first claim."""

    def __init__(self, axis: Axis, readings: Readings, start: float | None, *, over: bool) -> None:
        """`start`: the job's own first claim, None before it. `over`: it will not go on, and what was observed after
        its end is what it came to."""
        self._before = None if start is None else math.floor(start) - 1
        last_second = axis.end - 1 if over else max((second for second, _ in readings), default=0)
        began = {
            min(second, last_second): values
            for second, values in readings
            if start is not None and second >= int(start)
        }
        self._readings = list(began.items())

    def counter(self, *names: str) -> Counter:
        """The sum of some counters."""

        def total(values: Values) -> float | None:
            numbers = [values[name] for name in names if name in values]
            return float(sum(numbers)) if numbers else None

        known = counter(self._readings, total)
        return known if self._before is None or not self._readings else known.after_nothing(self._before)


def work_panels(axis: Axis, jobs: Sequence[Work], *, produced: bool = False) -> tuple[Panel, Panel, Panel]:
    """`gb_per_hour`, `items` and `exceptions`, all jobs together; `produced`: they write files out of others' items."""
    items = [
        Series("items", "items", _rates(axis, jobs, "items")),
        Series("items_indexed", "texts taken", _rates(axis, jobs, "items_indexed")),
    ]
    exceptions = [Series("exceptions", "exceptions", _rates(axis, jobs, "exceptions"))]
    return (
        Panel("gb_per_hour", "GB/hour", "GB/hour", "line", _written(axis, jobs) if produced else _volumes(axis, jobs)),
        Panel("items", "Items/second", "items/s", "line", items),
        Panel("exceptions", "Exceptions/second", "exceptions/s", "line", exceptions),
    )


def _rates(axis: Axis, jobs: Sequence[Work], name: str) -> list[float | None]:
    return added([job.counter(name).rates(axis.edges) for job in jobs])


def _volumes(axis: Axis, jobs: Sequence[Work]) -> list[Series]:
    """`now` is over the last ten seconds or the bucket, whichever is longer: tasks end in lumps. In the index phase
    it counts what is read again, as the progress of the command line does."""
    return [
        Series("raw_now", "raw, now", _now(axis, jobs, "raw_bytes")),
        Series("discovered_now", "discovered, now", _now(axis, jobs, "discovered_bytes", "indexed_bytes")),
        Series("raw_since_start", "raw, since start", _since_start(axis, jobs, "raw_bytes")),
        Series("discovered_since_start", "discovered, since start", _since_start(axis, jobs, "discovered_bytes")),
    ]


def _written(axis: Axis, jobs: Sequence[Work]) -> list[Series]:
    """Where nothing is discovered, and raw is always 0."""
    return [
        Series("discovered_now", "written, now", _now(axis, jobs, "discovered_bytes")),
        Series("discovered_since_start", "written, since start", _since_start(axis, jobs, "discovered_bytes")),
    ]


def _now(axis: Axis, jobs: Sequence[Work], *names: str) -> list[float | None]:
    def one(counted: Counter) -> list[float | None]:
        out: list[float | None] = []
        for low, high in itertools.pairwise(axis.edges):
            grown, seconds = counted.grown(min(low, high - NOW_SECONDS), high)
            out.append(gb_per_hour(int(grown), seconds) if seconds and counted.value(high) is not None else None)
        return out

    return added([one(job.counter(*names)) for job in jobs])


def _since_start(axis: Axis, jobs: Sequence[Work], name: str) -> list[float | None]:
    """Bytes of all jobs over the longest job's time, less pauses. A job that is over keeps what it had."""
    pairs = [(job.counter(name), job.counter("elapsed_s")) for job in jobs]
    out: list[float | None] = []
    for high in axis.edges[1:]:
        reached = [(volume.until(high), elapsed.until(high)) for volume, elapsed in pairs]
        known = [(volume, elapsed) for volume, elapsed in reached if volume is not None and elapsed is not None]
        seconds = max((elapsed for _, elapsed in known), default=0.0)
        out.append(gb_per_hour(int(sum(volume for volume, _ in known)), seconds) if seconds else None)
    return out
