"""The last seconds of some jobs, as figures: what the sentence about the limit goes by."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from controller.timeline.readings import JobAt, Readings, counter, number
from controller.timeline.thresholds import WINDOW_SECONDS
from monitoring.observations import WORKER
from sql.faces.timeline import TIMELINE, Values

_MARGIN_SECONDS = 3  # a reading before the window, to grow from


@dataclass(frozen=True, slots=True, kw_only=True)
class Recent:
    """Sums over the window; None where nothing was observed. Seconds of slots count for each slot."""

    seconds: float = 0.0  # of the window that observations cover
    slots: int = 0
    busy_s: float | None = None  # of slots in a task
    call_s: float | None = None  # of slots in storage calls
    database_s: float | None = None  # of slots in transactions
    run_queue_s: float | None = None  # of threads waiting for a processor
    cpu_share: float | None = None  # of its processors, by the workers of the busiest host
    pending: float | None = None  # tasks, mean
    least_pending: float | None = None


def read_recent(jobs: Sequence[JobAt], end: int, witness: int) -> Recent:
    """The window before second `end`; see `read_all` for `witness`. Raises DatabaseFault."""
    low = end - int(WINDOW_SECONDS)
    workers: dict[str, list[tuple[int, Values]]] = {}
    queue: dict[int, float] = {}
    call_ns, called = 0, False
    for conn, job in jobs:
        for step in TIMELINE.timeline_calls(conn, job=job, step=1, low=low):
            if step.second < end:
                call_ns, called = call_ns + step.total_ns, True
        for tasks in TIMELINE.timeline_queue(conn, job=job, step=1, low=low):
            queue[tasks.second] = queue.get(tasks.second, 0.0) + tasks.pending
    window = {"low": low - _MARGIN_SECONDS, "high": end, "first": low, "last": low}
    for row in TIMELINE.timeline_readings(jobs[witness][0], kinds=[WORKER], step=1, **window):
        workers.setdefault(row.source, []).append((row.second, row.values))
    return recent_of(workers, low, end, call_s=call_ns / 1e9 if called else None, pending=list(queue.values()))


def recent_of(
    workers: Mapping[str, Readings], low: int, end: int, *, call_s: float | None, pending: Sequence[float]
) -> Recent:
    """The same from what was read."""
    grown = {name: _grown(readings, low, end) for name, readings in workers.items()}
    seconds = max((growth["seconds"] for growth in grown.values()), default=0.0)
    if not seconds:
        return Recent(pending=_mean(pending), least_pending=min(pending, default=None))
    return Recent(
        seconds=seconds,
        slots=sum(int(readings[-1][1].get("slots", 0)) for name, readings in workers.items() if grown[name]["seconds"]),
        busy_s=sum(growth["busy_s"] for growth in grown.values()),
        call_s=call_s,
        database_s=sum(growth["database_s"] for growth in grown.values()),
        run_queue_s=sum(growth["run_queue_s"] for growth in grown.values()),
        cpu_share=_cpu_share(workers, grown),
        pending=_mean(pending),
        least_pending=min(pending, default=None),
    )


_VALUES: Mapping[str, Callable[[Values], float | None]] = {
    "cpu_s": number("cpu_s"),
    "busy_s": number("busy_s"),
    "run_queue_s": number("run_queue_s"),
    "database_s": lambda v: sum(v["database_s"].values()) if "database_s" in v else None,
}


def _grown(readings: Readings, low: int, end: int) -> dict[str, float]:
    grown = {name: counter(readings, value).grown(low, end) for name, value in _VALUES.items()}
    return {name: growth for name, (growth, _) in grown.items()} | {"seconds": grown["cpu_s"][1]}


def _cpu_share(workers: Mapping[str, Readings], grown: Mapping[str, Mapping[str, float]]) -> float | None:
    hosts: dict[str, float] = {}
    for name, readings in workers.items():
        latest, growth = readings[-1][1], grown[name]
        if growth["seconds"]:
            used = growth["cpu_s"] / growth["seconds"] / max(1, latest.get("processors", 1))
            hosts[latest.get("host", "")] = hosts.get(latest.get("host", ""), 0.0) + used
    return min(1.0, max(hosts.values())) if hosts else None


def _mean(values: Sequence[float]) -> float | None:
    return sum(values) / len(values) if values else None
