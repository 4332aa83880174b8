"""The network of queues that stands for the pipeline: plain data, checked when made.

A *unit* is a task, or a batch of a fixed number of items of one. A slot holds one unit at a time and carries it through
the stations that the phase has a demand for, in the order of the demands. Seconds are seconds of one server of speed 1.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum

from core.errors import UsageError

DATABASE = "database"  # in a phase's demands: the server of the unit's own job, whichever that is
SLOTS = "slots"  # a limit that is no station: every slot is busy, and no station is
TASKS = "tasks"  # nor that: slots stand idle, because tasks are too few, too unequal, or sent too slowly
STREAMS = "streams"  # nor that: as many units are out as may be (`Phase.most_slots`)
BUSY = 0.85  # a station's utilisation from which it is called the limit


class Kind(StrEnum):
    """What a station does with units that come while it is busy."""

    QUEUE = "queue"  # `servers` equal servers, first come first served
    DELAY = "delay"  # everybody at once: latency, think time, a miss of a cache


def _positive(what: str, value: float) -> None:
    if not (math.isfinite(value) and value > 0):
        raise UsageError(f"{what} is {value:g}; it must be over 0")


def _not_negative(what: str, value: float) -> None:
    if not (math.isfinite(value) and value >= 0):
        raise UsageError(f"{what} is {value:g}; it must be 0 or more")


@dataclass(frozen=True, slots=True, kw_only=True)
class Station:
    """`shape` is the gamma shape of service times: 1 exponential (as the mean-value analysis has it), 4 half the spread,
    0 none at all, below 1 bursts. Long services made of many small ones vary little: a larger shape is nearer to the truth."""

    name: str
    kind: Kind = Kind.QUEUE
    servers: int = 1
    speed: float = 1.0  # a server does a demand of s seconds in s / speed
    shape: float = 1.0

    def __post_init__(self) -> None:
        if self.servers < 1:
            raise UsageError(f"station {self.name} has {self.servers} servers; it must have one or more")
        _positive(f"station {self.name}: speed", self.speed)
        _not_negative(f"station {self.name}: shape", self.shape)


@dataclass(frozen=True, slots=True, kw_only=True)
class Phase:
    """So many units of the same demands; the next phase of the job begins when the last of them is done."""

    name: str
    units: int
    demands: Mapping[str, float]  # station (or DATABASE) → mean seconds a unit
    database_io: Mapping[str, float] = field(default_factory=dict)  # the same, only where databases lie on the filer
    beside: Mapping[str, float] = field(
        default_factory=dict
    )  # asked of stations too, but the unit does not wait for it
    counts: Mapping[str, float] = field(default_factory=dict)  # anything to be counted a unit: calls, rows, bytes
    # Sizes of units by the mean one, in the order of dispatch; fewer than units: each for as many neighbours; () : all equal.
    weights: tuple[float, ...] = ()
    rounds: int = 1  # a unit goes through its stations so many times, with its demands spread over them
    barrier_s: float = 0.0  # after the last unit, until the next phase begins
    most_slots: int | None = None  # so many slots at most can work on it at once (None: all)
    # By station, what equal parts of the phase's rounds ask for, over the mean; of a station that is absent all the same.
    course: Mapping[str, tuple[float, ...]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.units < 1 or self.rounds < 1:
            raise UsageError(
                f"phase {self.name} has {self.units} units in {self.rounds} rounds; both must be 1 or more"
            )
        if self.most_slots is not None and self.most_slots < 1:
            raise UsageError(f"phase {self.name} lets {self.most_slots} slots work; it must be one or more")
        if len(self.weights) > self.units:
            raise UsageError(f"phase {self.name} has {self.units} units and {len(self.weights)} weights")
        for weight in self.weights:
            _not_negative(f"phase {self.name}: weight", weight)
        for name, seconds in [*self.demands.items(), *self.database_io.items(), *self.beside.items()]:
            _not_negative(f"phase {self.name}: demand at {name}", seconds)
        if len({len(parts) for parts in self.course.values()}) > 1:
            raise UsageError(
                f"phase {self.name}: its course has other numbers of parts for one station than for another"
            )
        for factor in (factor for parts in self.course.values() for factor in parts):
            _not_negative(f"phase {self.name}: course", factor)
        _not_negative(f"phase {self.name}: barrier", self.barrier_s)


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """One job on one database server (an index of `Network.databases`)."""

    name: str
    phases: tuple[Phase, ...]
    database: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Network:
    """Everything that `simulate` needs beside a seed. A station named as a database must not be among `stations`.

    Worker processors are a station like any other where slots share them (one host); with `own_processors` each worker has
    such a station of its own, by that name, and only its slots use it. With `hosts` it is a share of a host's: workers are dealt
    out to them in turn, what a unit asks of its worker's share it asks of the host too, at the host's speed, and goes on
    when it has had both.
    """

    stations: tuple[Station, ...]
    databases: tuple[Station, ...]
    jobs: tuple[Job, ...]
    workers: int
    slots_each: int = 4
    own_processors: Station | None = None
    hosts: tuple[Station, ...] = ()
    pooled: bool = True  # any slot takes units of any job, of the jobs in turn; else workers are dealt out
    databases_on_filer: bool = False
    window: int | None = None  # units of a job that are dispatched or worked on, at most (None: never in the way)
    dispatch_s: float = 0.0  # the queue manager's time for one unit; one queue manager a database

    def __post_init__(self) -> None:
        if self.workers < 1 or self.slots_each < 1:
            raise UsageError(f"{self.workers} workers with {self.slots_each} slots: both must be 1 or more")
        if not self.pooled and self.workers < len(self.jobs):
            raise UsageError(f"{self.workers} workers cannot be dealt out to {len(self.jobs)} jobs")
        if self.window is not None and self.window < 1:
            raise UsageError(f"a window of {self.window} lets nothing through")
        _not_negative("dispatch time", self.dispatch_s)
        self._check_names()

    def _check_names(self) -> None:
        names = [s.name for s in (*self.stations, *self.databases, *self.hosts)]
        if self.own_processors is not None:
            names.append(self.own_processors.name)
        elif self.hosts:
            raise UsageError("workers share the cores of hosts, but these workers have none of their own")
        if len(set(names)) < len(names) or {DATABASE, SLOTS, TASKS, STREAMS} & {s.name for s in self.stations}:
            raise UsageError(f"stations need names of their own: {', '.join(names)}")
        known = {DATABASE, *names}
        for job in self.jobs:
            if not 0 <= job.database < len(self.databases):
                raise UsageError(f"job {job.name} is on database {job.database + 1} of {len(self.databases)}")
            unknown = {name for p in job.phases for name in (*p.demands, *p.database_io, *p.beside)} - known
            if unknown:
                raise UsageError(f"job {job.name} demands {', '.join(sorted(unknown))}, which is not a station")

    @property
    def slots(self) -> int:
        return self.workers * self.slots_each

    def demands(self, job: Job, phase: Phase) -> dict[str, float]:
        """Seconds of a mean unit at each station by its own name, at speed 1; those of nothing are left out."""
        parts = [phase.demands, phase.database_io] if self.databases_on_filer else [phase.demands]
        return self._named(job, parts)

    def along(self, job: Job, phase: Phase) -> list[dict[str, float]]:
        """`demands` in each equal part of the phase's course."""
        parts = len(next(iter(phase.course.values()), (1.0,)))
        course = self._renamed(job, phase.course)
        return [
            {
                name: seconds * course[name][n] if name in course else seconds
                for name, seconds in self.demands(job, phase).items()
            }
            for n in range(parts)
        ]

    def beside(self, job: Job, phase: Phase) -> dict[str, float]:
        """The same of what the unit does not wait for."""
        return self._named(job, [phase.beside])

    def _renamed(self, job: Job, course: Mapping[str, tuple[float, ...]]) -> dict[str, tuple[float, ...]]:
        return {
            self.databases[job.database].name if name == DATABASE else name: parts for name, parts in course.items()
        }

    def _named(self, job: Job, parts: list[Mapping[str, float]]) -> dict[str, float]:
        named: dict[str, float] = {}
        for name, seconds in [pair for part in parts for pair in part.items()]:
            real = self.databases[job.database].name if name == DATABASE else name
            named[real] = named.get(real, 0.0) + seconds
        return {name: seconds for name, seconds in named.items() if seconds > 0}


def simultaneous(phases: tuple[Phase, ...], databases: int) -> tuple[Job, ...]:
    """The same job once on each database, all at once: report R1's way."""
    return tuple(Job(name=f"job {n + 1}", phases=phases, database=n) for n in range(databases))


def sharded(phases: tuple[Phase, ...], databases: int) -> tuple[Job, ...]:
    """One data set spread over the databases: each job has its part of the units (at least one)."""

    def part(phase: Phase, n: int) -> Phase:
        if not phase.weights:
            return replace(phase, units=max(1, phase.units // databases + (n < phase.units % databases)))
        dealt = phase.weights[n::databases] or (0.0,)
        units = max(1, round(phase.units * len(dealt) / len(phase.weights)))
        return replace(phase, units=units, weights=dealt)

    return tuple(
        Job(name=f"shard {n + 1}", phases=tuple(part(p, n) for p in phases), database=n) for n in range(databases)
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class PhaseTime:
    """One phase of one job, as simulated."""

    job: str
    phase: str
    start_s: float
    end_s: float  # of its last unit, before the barrier
    utilisation: Mapping[str, float]  # of each queue station meanwhile, by whatever job (0 to 1)
    slots_busy: float  # share of all slots that held a unit meanwhile
    limit: str  # a station's name, SLOTS, TASKS or STREAMS


@dataclass(frozen=True, slots=True, kw_only=True)
class Predicted:
    """One simulated run. `elapsed_s` is of the longest job, as GB/hour counts it."""

    elapsed_s: float
    phases: tuple[PhaseTime, ...]  # in order of their start
    utilisation: Mapping[str, float]  # over the whole run
    slots_busy: float
    limit: str  # what limited the longest part of the run
    stay_s: Mapping[str, float] = field(default_factory=dict)  # mean seconds at a station a visit, waiting included


def limit(utilisation: Mapping[str, float], slots_busy: float, most: float = 1.0) -> str:
    """What holds a closed network back: its busiest station when that is busy, else its slots, else that no more of them may
    work at a time (`most` of all), else a lack of tasks."""
    busiest = max(utilisation, key=lambda name: utilisation[name], default=None)
    if busiest is not None and utilisation[busiest] >= BUSY:
        return busiest
    if slots_busy >= BUSY:
        return SLOTS
    return STREAMS if most < 1.0 and slots_busy >= BUSY * most else TASKS
