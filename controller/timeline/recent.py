"""A stretch of some jobs' time as figures, from which `controller.timeline.limits` names the bottleneck."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from controller.timeline.readings import JobAt, Readings, counter, number
from monitoring.observations import WORKER
from monitoring.processes import capacities
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
    hosts: int = 0  # that the workers run on
    # Of the busiest host's CPU: the workers' share, that of all other programs, and what the hypervisor withheld.
    cpu_share: float | None = None
    others_share: float | None = None
    stolen_share: float | None = None
    pending: float | None = None  # tasks, mean
    least_pending: float | None = None


def read_recent(jobs: Sequence[JobAt], low: int, end: int, witness: int, step: int = 1) -> Recent:
    """From second `low` until before second `end`, in steps of so many seconds; `witness`: see `read_all`. Raises
    DatabaseFault."""
    workers: dict[str, list[tuple[int, Values]]] = {}
    queue: dict[int, float] = {}
    call_ns, called = 0, False
    for conn, job in jobs:
        for calls in TIMELINE.timeline_calls(conn, job=job, step=step, low=low - low % step):
            if calls.second < end:
                call_ns, called = call_ns + calls.total_ns, True
        for tasks in TIMELINE.timeline_queue(conn, job=job, step=step, low=low):
            queue[tasks.second] = queue.get(tasks.second, 0.0) + tasks.pending
    window = {"low": low - _MARGIN_SECONDS, "high": end, "first": low, "last": end - 2}
    for row in TIMELINE.timeline_readings(jobs[witness][0], kinds=[WORKER], step=step, **window):
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
        **_cpu_shares(workers, grown),
        pending=_mean(pending),
        least_pending=min(pending, default=None),
    )


_VALUES: Mapping[str, Callable[[Values], float | None]] = {
    "cpu_s": number("cpu_s"),
    "busy_s": number("busy_s"),
    "run_queue_s": number("run_queue_s"),
    "host_used_s": number("host_used_s"),
    "host_stolen_s": number("host_stolen_s"),
    "database_s": lambda v: sum(v["database_s"].values()) if "database_s" in v else None,
}


def _grown(readings: Readings, low: int, end: int) -> dict[str, float]:
    grown = {name: counter(readings, value).grown(low, end) for name, value in _VALUES.items()}
    return {name: growth for name, (growth, _) in grown.items()} | {"seconds": grown["cpu_s"][1]}


def _cpu_shares(workers: Mapping[str, Readings], grown: Mapping[str, Mapping[str, float]]) -> dict[str, Any]:
    """Shares of the CPU of the host that is busiest; each worker of a host reports the same use of all programs. The workers'
    own share is of what their limits leave them."""
    usable = capacities((readings[-1][1] for readings in workers.values()), "processors", "host")
    own: dict[str, float] = {}
    of_machine: dict[str, float] = {}
    whole: dict[str, tuple[float, float]] = {}
    for name, readings in workers.items():
        latest, growth = readings[-1][1], grown[name]
        if not growth["seconds"]:
            continue
        host = latest.get("host", "")
        cpu_seconds = growth["seconds"] * max(1, latest.get("machine_processors", latest.get("processors", 1)))
        own[host] = own.get(host, 0.0) + growth["cpu_s"] / (growth["seconds"] * (usable[host] or 1))
        of_machine[host] = of_machine.get(host, 0.0) + growth["cpu_s"] / cpu_seconds
        if "host_used_s" in latest:
            seen = (growth["host_used_s"] / cpu_seconds, growth["host_stolen_s"] / cpu_seconds)
            whole[host] = max(whole.get(host, seen), seen)
    if not own:
        return {}
    busiest = max(own, key=lambda host: max(own[host], sum(whole.get(host, (0.0, 0.0)))))
    share, known = min(1.0, own[busiest]), whole.get(busiest)
    return {
        "hosts": len(own),
        "cpu_share": share,
        "others_share": None if known is None else max(0.0, min(1.0, known[0]) - min(1.0, of_machine[busiest])),
        "stolen_share": None if known is None else known[1],
    }


def _mean(values: Sequence[float]) -> float | None:
    return sum(values) / len(values) if values else None
