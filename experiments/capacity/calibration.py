"""What a job asks of everything, read out of a result's call and task records.

Nothing is fitted where it was measured: calls by phase come from the call records, the filer's seconds from the filer's
own numbers, time beside calls from the tasks' spans, processor time from the kernel's accounts. Two numbers of workers
tell apart what comes with the work and what comes with time alone (queue manager, databases' own processes, this
command), and how unevenly the link is asked.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from core.errors import UsageError
from core.filer import FilerModel
from core.operations import Op
from core.options.production import JobType
from core.records import FINALISE_SHARES
from core.records import Phase as PhaseName
from experiments.capacity import filer_load
from experiments.capacity.course import course, ending, queued, sizes
from experiments.capacity.filer_load import Calls
from experiments.capacity.site_load import SiteUse, booked, estimated
from experiments.filer_numbers import filer_of
from experiments.workloads.discovery.phase_use import SERVERS, WORKERS, PhaseUse
from experiments.workloads.discovery.result import Point, Result, Run

# Calls that come with a task rather than with items: publishing a shard, looking at the job's folder and the source.
_A_TASK: Mapping[str, frozenset[Op]] = {
    PhaseName.INDEX.value: frozenset({Op.STAT, Op.CREATE, Op.WRITE, Op.RENAME, Op.REMOVE, Op.MKDIR}),
    PhaseName.EXPAND.value: frozenset({Op.STAT}),
    PhaseName.FINALISE.value: frozenset({Op.STAT}),
}
# Phases whose items are cut into batches when the job is made, for as many slots as it is to have (controller.production.create).
_BATCHED = frozenset((PhaseName.RENDER.value, PhaseName.STAMP.value, PhaseName.EXPORT.value))
_MOST_GAP_S = 0.1  # of a slot between two tasks; more is a phase's end, not the queue's
_UNTOLD = "untold"  # in a background: who is nobody that was asked


@dataclass(frozen=True, slots=True, kw_only=True)
class PhaseLoad:
    """One phase of one job over the whole data set. Seconds are sums over its tasks, with nobody in the way."""

    name: str
    tasks: int  # as they were cut
    sizes: tuple[float, ...]  # of these, by the mean one, in the order of their claims (`course.sizes`)
    entries: int  # files, items or folders that tasks are cut from; 0: they cannot be cut again
    calls: Mapping[Op, Calls]  # that come with items
    calls_a_task: Mapping[Op, Calls]
    call_s: float  # inside calls as measured
    serving_s: float  # processor seconds of this host that real storage took to serve them: its client and servers here
    wait_s: float  # in calls beyond what the filer's numbers say, and of slots between tasks: nobody is busy then
    local_s: float  # beside calls, on the path
    beside_s: float  # the workers' processor seconds off the path: index threads, supervisors, calls under way
    database_s: float  # the servers' processor seconds that come with the work, on the path
    barrier_s: float
    heaviest: tuple[tuple[int, int], ...]  # items and bytes under the heaviest loose files
    site: SiteUse  # what an emulated site is asked for beside
    course: Mapping[str, tuple[float, ...]]  # by station, what equal parts of the work ask for over their mean


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """A point that the calibration stands on."""

    workers: int
    elapsed_s: tuple[float, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Calibration:
    """A job and the machine it was measured on."""

    source: str  # which result
    job_type: JobType
    labels: tuple[str, ...]
    phases: tuple[PhaseLoad, ...]
    filer: FilerModel | None  # that it ran on, where its numbers are known
    burst: float  # squared coefficient of variation of what the link is asked for
    slots: int  # of each worker
    processors: int
    background: float  # processors that are busy whatever is done, beside the databases
    background_database: float  # the same of a database server
    databases_known: bool  # whether anybody told what the database servers used; containers of a run do not
    raw_bytes: int
    discovered_bytes: int
    items: int
    index_streams: int | None  # tasks of phase index at a time, of each job; None: no limit
    index_tasks: int | None  # that phase index was put together to; None: they were cut for the slots
    speed: float | None  # of a processor there (core.filer.machine); None: nobody measured it
    measured: tuple[Measured, ...]
    ledger_counted: bool = False  # whether transactions and rows are what its database counted

    @property
    def on_a_site(self) -> bool:
        """Whether it was made on an emulated site, so that its times tell of no other machines."""
        return self.filer is not None and self.filer.site is not None


def calibrate(result: Result, name: str, *, filer_given: bool) -> Calibration:
    """Read it; `filer_given`: a prediction takes its filer from elsewhere. Raises UsageError in one line."""
    filer = filer_of(result, name)
    # On a site its own machines were the limit: their numbers and the filer's are in the result, so nothing has to be given.
    points = _usable(result, name, filer_given=filer_given or (filer is not None and filer.site is not None))
    least, most = points[0], points[-1]
    first, last = _middle(least), _middle(most)
    processors = _processors(result)
    background = _background(first, last, processors, real=filer is None)
    streams, together = (_whole(result, name) for name in ("index_streams", "index_tasks"))
    speed = _speed(result)
    site = None if filer is None or filer.site is None else booked(first, filer.site)
    return Calibration(
        source=name,
        job_type=_type(first),
        labels=result.labels,
        phases=tuple(
            _phase(n, first, last, filer, background, result, None if site is None else site[n], streams, speed or 1.0)
            for n in range(len(first.phases))
        ),
        filer=filer,
        burst=_burst(last, most, filer),
        slots=least.slots,
        processors=processors,
        background=background["others"] + background[_UNTOLD],
        background_database=background[SERVERS],
        databases_known=any(SERVERS in phase.cpu_s for phase in first.phases),
        raw_bytes=int(first.result["raw_bytes"]),
        discovered_bytes=int(first.result["discovered_bytes"]),
        items=int(first.result["items"]),
        index_streams=streams,
        index_tasks=together,
        speed=speed,
        measured=tuple(
            Measured(workers=point.workers, elapsed_s=tuple(run.elapsed_s for run in point.repeats)) for point in points
        ),
        ledger_counted=all(phase.transactions is not None for phase in first.phases),
    )


def _usable(result: Result, name: str, *, filer_given: bool) -> list[Point]:
    """The two points of fewest workers on one database; raises UsageError where the result tells too little."""
    single = [point for point in result.points if point.databases == 1]
    slots = {point.slots for point in single}
    if len({point.workers for point in single}) < 2 or len(slots) > 1:
        raise UsageError(
            f"{name}: a calibration needs one database with two numbers of workers, 1 and 2 say, of the same slots;"
            f" make one with `edbench bench scale-up --workers 1,2`, of other types of jobs with `edbench bench job-types`"
        )
    points = sorted(single, key=lambda point: point.workers)[:2]
    for run in (run for point in points for run in point.repeats):
        if not run.phases or not any(phase.calls for phase in run.phases):
            raise UsageError(
                f"{name} has no records of calls and tasks by phase (an older version made it, or EDBENCH_OBSERVE was"
                " off); run the experiment again"
            )
        if not run.result["calls_complete"]:
            raise UsageError(f"{name}: some call records are missing, so its calls are only a lower bound")
    limited = [point for point in points if point.limited]
    if limited and not filer_given:
        raise UsageError(
            f"{name} is GENERATOR-LIMITED at {limited[0].workers} worker{'s' if limited[0].workers > 1 else ''}, so it"
            " does not describe its filer; give the filer's numbers with --filer, or predict for the same host and storage"
            " with --one-host"
        )
    return points


def _middle(point: Point) -> Run:
    runs = sorted(point.repeats, key=lambda run: (run.elapsed_s, run.repeat))
    return runs[(len(runs) - 1) // 2]


def _processors(result: Result) -> int:
    hosts: Sequence[Mapping[str, Any]] = result.conditions.get("hosts") or ()
    return max([int(host.get("processors") or 1) for host in hosts], default=1)


def _whole(result: Result, name: str) -> int | None:
    """A number of its configuration; None where that says `no limit`, or nothing."""
    said = result.conditions.get("configuration", {}).get(name)
    return said if isinstance(said, int) else None


def _speed(result: Result) -> float | None:
    """Of a processor of the hosts where it was made, the middle one of several."""
    hosts: Sequence[Mapping[str, Any]] = result.conditions.get("hosts") or ()
    told = sorted(float(host["processor_speed"]) for host in hosts if host.get("processor_speed"))
    return told[len(told) // 2] if told else None


def _used(run: Run, *, databases: bool) -> float:
    """Processor seconds of database servers, or of all who are neither those nor workers."""
    return sum(
        seconds
        for phase in run.phases
        for who, seconds in phase.cpu_s.items()
        if who != WORKERS and (who == SERVERS) == databases
    )


def _untold(run: Run, processors: int) -> float:
    """Processor seconds of this host that nobody who is asked had used: a shared file system's client and servers here, and
    whatever else ran. 0 where the host's own are not known."""
    told = sum(seconds for phase in run.phases for seconds in phase.cpu_s.values())
    return 0.0 if run.host_cpu is None else max(0.0, run.host_cpu * processors * run.elapsed_s - told)


def _background(first: Run, last: Run, processors: int, *, real: bool) -> dict[str, float]:
    """Processors busy with time rather than with work: the same work took the two runs differently long. `real`: on real
    storage, which may be served by processes of this host that nobody asks."""
    longer = first.elapsed_s - last.elapsed_s

    def busy(before: float, after: float) -> float:
        most = before / first.elapsed_s if first.elapsed_s else 0.0
        return min(max(0.0, (before - after) / longer), most) if longer > 0 else 0.0

    out = {
        who: busy(_used(first, databases=databases), _used(last, databases=databases))
        for who, databases in ((SERVERS, True), ("others", False))
    }
    return out | {_UNTOLD: busy(_untold(first, processors), _untold(last, processors)) if real else 0.0}


def _phase(
    n: int,
    first: Run,
    last: Run,
    filer: FilerModel | None,
    background: Mapping[str, float],
    result: Result,
    site: SiteUse | None,
    streams: int | None,
    speed: float,
) -> PhaseLoad:
    use = first.phases[n]
    again = next((other for other in last.phases if other.phase == use.phase), use)
    calls, calls_a_task = _calls(again)
    call_s = sum(call.seconds for call in use.calls.values())
    made = {Op[op.upper()]: Calls(calls=c.calls, bytes=c.bytes) for op, c in use.calls.items()}
    own = filer_load.demands(filer, made, use.phase) if filer else {}
    excess = max(0.0, call_s - sum(own.values()) - queued(first)[n]) if filer else 0.0
    at_once = min(_slots(first), use.tasks, streams if streams and use.phase == PhaseName.INDEX.value else use.tasks)
    idle = max(0.0, use.elapsed_s * at_once - use.busy_s - ending(first, use))
    path = max(0.0, use.busy_s - call_s)
    database = _with_work(use, SERVERS, background.get(SERVERS, 0.0))
    on_path = min(database, path / 2)
    workers = min(use.cpu_s.get(WORKERS, 0.0), again.cpu_s.get(WORKERS, math.inf))
    following = first.phases[n + 1].start_s if n + 1 < len(first.phases) else use.start_s + use.elapsed_s
    return PhaseLoad(
        name=use.phase,
        tasks=use.tasks,
        sizes=sizes(use),
        entries=_entries(use.phase, first, result),
        calls=calls,
        calls_a_task=calls_a_task,
        call_s=call_s,
        serving_s=0.0 if filer else _serving(first, background[_UNTOLD], _processors(result)) * call_s,
        wait_s=excess + min(idle, _MOST_GAP_S * use.tasks),
        local_s=path - on_path,
        beside_s=max(0.0, workers - (path - on_path)),
        database_s=on_path,
        barrier_s=max(0.0, following - use.start_s - use.elapsed_s),
        heaviest=use.heaviest,
        site=site or estimated(use, workers * speed, int(first.result["items"])),
        course={} if filer is None else course(first, use, filer.site),
    )


def _serving(run: Run, background: float, processors: int) -> float:
    """Of each second in calls, what processors of this host served that nobody was asked about."""
    inside = sum(call.seconds for phase in run.phases for call in phase.calls.values())
    untold = max(0.0, _untold(run, processors) - background * run.elapsed_s)
    return untold / inside if inside else 0.0


def _calls(use: PhaseUse) -> tuple[dict[Op, Calls], dict[Op, Calls]]:
    """Those that come with items, and those that come with each task: the latter's closes are as many as its creates."""
    with_task = _A_TASK.get(use.phase, frozenset())
    items: dict[Op, Calls] = {}
    each: dict[Op, Calls] = {}
    for label, call in use.calls.items():
        op = Op[label.upper()]
        if op in with_task:
            each[op] = Calls(calls=call.calls / use.tasks, bytes=0.0)
            if call.bytes:
                items[op] = Calls(calls=0.0, bytes=call.bytes)
        else:
            items[op] = Calls(calls=call.calls, bytes=call.bytes)
    if Op.CREATE in each and Op.CLOSE in items:
        closes = min(each[Op.CREATE].calls, items[Op.CLOSE].calls / use.tasks)
        each[Op.CLOSE] = Calls(calls=closes, bytes=0.0)
        items[Op.CLOSE] = Calls(calls=items[Op.CLOSE].calls - closes * use.tasks, bytes=0.0)
    return items, each


def _with_work(use: PhaseUse, who: str, background: float) -> float:
    return max(0.0, use.cpu_s.get(who, 0.0) - background * use.elapsed_s)


def _slots(run: Run) -> int:
    return int(run.result["workers"]) * int(run.result["slots"])


def _type(run: Run) -> JobType:
    return JobType(run.result.get("type", JobType.DISCOVERY))


def _entries(phase: str, run: Run, result: Result) -> int:
    """What its tasks are cut from, where they are cut for the slots that there are."""
    if phase == PhaseName.EXPAND.value:
        return int(result.conditions.get("corpus", {}).get("files") or 0)
    if phase == PhaseName.FINALISE.value:
        return len(FINALISE_SHARES) if _type(run) is JobType.DISCOVERY else 0
    return int(run.result["items"]) if phase == PhaseName.INDEX.value or phase in _BATCHED else 0


def _stations(run: Run) -> Mapping[str, Mapping[str, float]]:
    return dict((run.result.get("filer") or {}).get("stations") or {})


def _burst(run: Run, point: Point, filer: FilerModel | None) -> float:
    """How much longer calls waited for the link than they would for equally spread demands of random length.

    A closed network of the link and the rest of a slot's time, by mean values; the wait of a queue grows with
    (1 + the squared coefficient of variation) / 2 (Pollaczek and Khinchine).
    """
    link = _stations(run).get("link")
    if filer is None or link is None or not link["calls"]:
        return 1.0
    seconds = sum(call.bytes for phase in run.phases for call in phase.calls.values()) * filer.link_ns_per_byte / 1e9
    slots = point.workers * point.slots
    busy = sum(phase.busy_s for phase in run.phases)
    waited = link["mean_wait_us"] * link["calls"] / 1e6
    queue = 0.0
    for customers in range(1, slots + 1):
        response = seconds * (1.0 + queue)
        queue = customers * response / (busy - seconds - waited + response) if busy > seconds + waited else 0.0
    random = response - seconds
    return min(_MOST_BURST, max(_LEAST_BURST, 2.0 * waited / random - 1.0)) if random > 0 else 1.0


_LEAST_BURST, _MOST_BURST = 0.1, 8.0
