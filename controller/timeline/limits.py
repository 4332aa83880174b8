"""What limits a run now, in plain words and on what evidence; nothing where the evidence does not suffice."""

from __future__ import annotations

from collections.abc import Iterator

from controller.timeline.model import Limit
from controller.timeline.recent import Recent
from controller.timeline.thresholds import (
    BUSY_SLOTS,
    CORE_WAIT,
    CPU_LIMIT,
    CPU_LOW,
    EVIDENCE_SECONDS,
    MOST_OF_TIME,
    RUN_QUEUE_SHARE,
)


def limit_of(recent: Recent, *, running: bool, phase: str, phase_s: float | None) -> Limit:
    """The verdict. `phase_s`: how long the present phase runs, None before its first claim."""
    if not running:
        return Limit()
    evidence = tuple(_evidence(recent))
    if phase_s is None or phase_s < EVIDENCE_SECONDS or recent.seconds < EVIDENCE_SECONDS:
        return Limit(evidence=(f"the {phase} phase has only just begun", *evidence))
    candidates = list(_candidates(recent))
    if len(candidates) != 1:
        why = (
            "nothing stands out as the limit"
            if not candidates
            else f"{' and '.join(who for who, _ in candidates)} compete"
        )
        return Limit(evidence=(why, *evidence))
    who, sentence = candidates[0]
    return Limit(f"{who}: {sentence}", who, evidence)


def _share(part: float | None, whole: float | None) -> float | None:
    return part / whole if part is not None and whole else None


def _busy(recent: Recent) -> float | None:
    share = _share(recent.busy_s, recent.slots * recent.seconds)
    return None if share is None else min(1.0, share)  # a worker's seconds are not exactly seconds


def _candidates(recent: Recent) -> Iterator[tuple[str, str]]:
    """Each that the figures could mean."""
    busy, cpu = _busy(recent), recent.cpu_share
    calls, databases = _share(recent.call_s, recent.busy_s), _share(recent.database_s, recent.busy_s)
    if busy is None or cpu is None:
        return
    waits = _share(recent.run_queue_s, recent.call_s)
    waiting = "" if waits is None else f", {_waited(recent, waits)} spent waiting for a core"
    if busy < BUSY_SLOTS:
        if recent.least_pending:
            yield "queue", f"{1 - busy:.0%} of slot time idle while {recent.pending:,.0f} tasks are pending"
        return
    short = waits is not None and waits > RUN_QUEUE_SHARE and (cpu > CPU_LOW or _core_wait(recent) >= CORE_WAIT)
    if cpu >= CPU_LIMIT or short:
        yield "workers", f"{cpu:.0%} CPU{waiting}"
    if cpu > CPU_LOW or short:
        return
    if calls is not None and calls >= MOST_OF_TIME:
        yield "storage", f"{calls:.0%} of busy slot time is spent in storage calls, at {cpu:.0%} CPU"
    if databases is not None and databases >= MOST_OF_TIME:
        yield "databases", f"{databases:.0%} of busy slot time is spent in transactions, at {cpu:.0%} CPU"


def _core_wait(recent: Recent) -> float:
    return _share(recent.run_queue_s, recent.busy_s) or 0.0


def _waited(recent: Recent, of_calls: float) -> str:
    """Of call time, as design §4 has it; where hardly any time goes into calls, that says nothing: of busy slot time."""
    if of_calls <= 1 or not recent.busy_s:
        return f"{of_calls:.0%} of call time"
    share = _core_wait(recent)  # the workers' other threads wait too
    return f"{share:.0%} of busy slot time" if share <= 1 else f"{share:.1f} times the busy slot time"


def _evidence(recent: Recent) -> Iterator[str]:
    if recent.cpu_share is not None:
        yield f"the workers use {recent.cpu_share:.0%} of their host's processors"
    if (waits := _share(recent.run_queue_s, recent.call_s)) is not None:
        yield f"{_waited(recent, waits)} is spent waiting for a core"
    if (busy := _busy(recent)) is not None:
        yield f"slots are busy {busy:.0%} of the time"
    if (calls := _share(recent.call_s, recent.busy_s)) is not None:
        yield f"storage calls take {calls:.0%} of busy slot time"
    if (databases := _share(recent.database_s, recent.busy_s)) is not None:
        yield f"transactions take {databases:.0%} of busy slot time"
    if recent.pending is not None:
        yield f"{recent.pending:,.0f} tasks are pending"
