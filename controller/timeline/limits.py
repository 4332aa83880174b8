"""The bottleneck of a run as one sentence with its evidence; no verdict if the evidence is insufficient."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from controller.labels.rules import (
    BUSY_SLOTS,
    CORE_WAIT,
    CPU_LIMIT,
    CPU_LOW,
    ENDED_SECONDS,
    EVIDENCE_SECONDS,
    MOST_OF_TIME,
    RUN_QUEUE_SHARE,
)
from controller.timeline.model import Limit
from controller.timeline.readings import JobAt, Readings, counter, number
from monitoring.machine import capacities
from monitoring.observations import WORKER
from sql.timeline import TIMELINE, Values

_MARGIN_SECONDS = 3  # a reading before the window, to grow from


@dataclass(frozen=True, slots=True, kw_only=True)
class Recent:
    """Sums over the window; None if nothing was observed. Seconds of slots count for each slot."""

    seconds: float = 0.0  # of the window that observations cover
    slots: int = 0
    busy_s: float | None = None  # of slots in a task
    call_s: float | None = None  # of slots in storage calls
    database_s: float | None = None  # of slots in transactions
    run_queue_s: float | None = None  # of threads waiting for a CPU
    hosts: int = 0  # on which the workers run
    # Of the busiest host's CPU: the workers' share, that of all other programs, and what the hypervisor withheld.
    cpu_share: float | None = None
    others_share: float | None = None
    stolen_share: float | None = None
    pending: float | None = None  # tasks, mean
    least_pending: float | None = None


def read_recent(jobs: Sequence[JobAt], low: int, end: int, witness: int, step: int = 1) -> Recent:
    """Read from second `low` until before second `end`, in steps of so many seconds; `witness`: see `read_all`. Raises
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
    """Compute the sums from readings and calls that were read already."""
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
    """Return shares of the CPU of the busiest host; each worker of a host reports the same use by all programs. The
    workers' own share is of the CPU that their limits allow."""
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


_NOW = {"is": "is", "are": "are", "use": "use", "spend": "spend", "wait": "wait", "compete": "compete"}
_THEN = {"is": "was", "are": "were", "use": "used", "spend": "spent", "wait": "waited", "compete": "competed"}
_NAMES = {
    "workers": "the CPU",
    "host": "the CPU",
    "storage": "the storage",
    "databases": "the databases",
    "queue": "the queue manager",
}


def limit_of(recent: Recent, *, phase: str, phase_s: float | None, of_run: float | None = None) -> Limit:
    """Return the bottleneck of a phase.

    `phase_s` is how long the phase runs or ran, None before its first claim. `of_run` is the share of the run that the
    phase took, if the run is over; None while it runs."""
    evidence = tuple(_evidence(recent if of_run is None else replace(recent, pending=None)))  # none is left
    where = "" if of_run is None else f"In the {phase} phase ({_percent(of_run)} of this run) "
    least = EVIDENCE_SECONDS if of_run is None else ENDED_SECONDS
    if phase_s is None or min(phase_s, recent.seconds) < least:
        short = "the run was too short to name a bottleneck" if where else f"the {phase} phase has only just begun"
        return Limit(evidence=(short, *evidence))
    verbs = _THEN if where else _NOW
    candidates = list(_candidates(recent))
    if len(candidates) != 1:
        found = " and ".join(_NAMES[who] for who, _ in candidates)
        why = (
            f"{found} {verbs['compete']} for being the bottleneck"
            if found
            else f"no single bottleneck {verbs['is']} visible"
        )
        return Limit(evidence=(_capital(where + why), *evidence))
    who, sentence = candidates[0]
    return Limit(
        _capital(f"{where}the bottleneck {verbs['is']} {_NAMES[who]}: {sentence.format(**verbs)}"), who, evidence
    )


def _capital(text: str) -> str:
    return text[0].upper() + text[1:]


def _percent(share: float) -> str:
    return f"{100 * share:.0f} %"


def _share(part: float | None, whole: float | None) -> float | None:
    return part / whole if part is not None and whole else None


def _busy(recent: Recent) -> float | None:
    share = _share(recent.busy_s, recent.slots * recent.seconds)
    return None if share is None else min(1.0, share)  # a worker's seconds are not exactly seconds


def _candidates(recent: Recent) -> Iterator[tuple[str, str]]:
    """Yield each part that the figures indicate, with its sentence, whose `{use}` and the like are filled from `_NOW`
    or `_THEN`."""
    busy, cpu = _busy(recent), recent.cpu_share
    calls, databases = _share(recent.call_s, recent.busy_s), _share(recent.database_s, recent.busy_s)
    if busy is None or cpu is None:
        return
    if busy < BUSY_SLOTS:
        if recent.least_pending:
            yield (
                "queue",
                f"slots {{are}} idle {_percent(1 - busy)} of the time while {recent.pending:,.0f} tasks {{are}} pending",
            )
        return
    waits = _share(recent.run_queue_s, recent.call_s)
    short = waits is not None and waits > RUN_QUEUE_SHARE and (cpu > CPU_LOW or _core_wait(recent) >= CORE_WAIT)
    if cpu >= CPU_LIMIT or short:
        yield _cpu_bound(recent, cpu)
    if cpu > CPU_LOW or short:
        return
    for who, share, what in (("storage", calls, "storage calls"), ("databases", databases, "transactions")):
        if share is not None and share >= MOST_OF_TIME:
            yield who, f"slots {{spend}} {_percent(share)} of their busy time in {what}, at {_percent(cpu)} CPU"


def _cpu_bound(recent: Recent, cpu: float) -> tuple[str, str]:
    """Return who uses the cores that the workers wait for, with its sentence."""
    host = _host(recent)
    waits = "" if recent.run_queue_s is None else f" and {{wait}} for a core {_waited(recent)}"
    if recent.others_share is None or recent.stolen_share is None:
        return "workers", f"the workers {{use}} {_percent(cpu)} of {host}'s CPU{waits}"
    others, stolen = recent.others_share, recent.stolen_share
    if cpu + others + stolen < CPU_LOW:
        rest = f"only {_percent(cpu + others)} of {host}'s CPU {{is}} used: look for a CPU limit or pinning"
        return "workers", f"the workers {{wait}} for a core {_waited(recent)} although {rest}"
    if stolen > max(cpu, others):
        return (
            "host",
            f"the hypervisor gives {_percent(stolen)} of {host}'s CPU to other machines; the workers {{use}} {_percent(cpu)}",
        )
    if others > cpu:
        return "host", f"other programs {{use}} {_percent(others)} of {host}'s CPU, the workers {_percent(cpu)}"
    return "workers", f"the workers {{use}} {_percent(cpu)} of {host}'s CPU, other programs {_percent(others)}"


def _host(recent: Recent) -> str:
    return "this host" if recent.hosts <= 1 else "the busiest host"


def _core_wait(recent: Recent) -> float:
    return _share(recent.run_queue_s, recent.busy_s) or 0.0


def _waited(recent: Recent) -> str:
    """Describe the wait as a share of call time (design §4), or of busy slot time if the calls took hardly any: then
    the first means nothing."""
    of_calls = _share(recent.run_queue_s, recent.call_s)
    if of_calls is not None and (of_calls <= 1 or not recent.busy_s):
        return f"{_percent(of_calls)} of the call time"
    share = _core_wait(recent)  # the workers' other threads wait too
    return f"{_percent(share)} of the busy slot time" if share <= 1 else f"{share:.1f} times the busy slot time"


def _evidence(recent: Recent) -> Iterator[str]:
    if recent.cpu_share is not None:
        yield f"CPU of {_host(recent)}: workers {_percent(recent.cpu_share)}{_others_text(recent)}"
    if recent.run_queue_s is not None and recent.call_s:
        yield f"waiting for a core: {_waited(recent)}"
    if (busy := _busy(recent)) is not None:
        yield f"slots busy: {_percent(busy)} of the time"
    if (calls := _share(recent.call_s, recent.busy_s)) is not None:
        yield f"storage calls: {_percent(calls)} of busy slot time"
    if (databases := _share(recent.database_s, recent.busy_s)) is not None:
        yield f"transactions: {_percent(databases)} of busy slot time"
    if recent.pending is not None:
        yield f"tasks pending: {recent.pending:,.0f}"


def _others_text(recent: Recent) -> str:
    if recent.others_share is None or recent.stolen_share is None:
        return ""
    stolen = f", withheld by the hypervisor {_percent(recent.stolen_share)}" if recent.stolen_share >= 0.01 else ""
    return f", other programs (including databases on the host) {_percent(recent.others_share)}{stolen}"
