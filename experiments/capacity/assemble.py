"""A calibration and a question, as a network."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from core.errors import UsageError
from core.filer import FilerModel
from core.filer.site import SiteModel
from core.operations import Op
from core.records import Phase as PhaseName
from experiments.capacity import filer_load, site_load
from experiments.capacity.calibration import Calibration, PhaseLoad
from experiments.capacity.course import OWN, PROCESSORS
from experiments.capacity.filer_load import DATA, LINK, STORAGE, Calls
from experiments.capacity.network import DATABASE, Kind, Network, Phase, Station, sharded, simultaneous
from experiments.capacity.units import unit_sizes

WAITS = "waits"  # nobody's: the host's own share of calls, a slot between two tasks
_MOST_EVENTS = 12_000  # of a phase: units are taken round their stations so often
_MOST_ROUNDS, _LEAST_ROUNDS = 24, 4
_LEAST_SPEED = 0.1  # what is left of the processors beside those who are always busy


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """A point to predict."""

    workers: int
    databases: int
    slots: int  # of each worker
    filer: FilerModel | None = None  # None: the calibrated one; with the site around it, if it has one
    shard: bool = False  # one data set over the databases; else each has a job over all of it, at once
    one_host: bool = False  # all on the calibration's processors; else each worker and each database server on its own
    times: float = 1.0  # the data set so many times
    index_streams: int | None = None  # of each job; None: as calibrated, 0: no limit

    def __post_init__(self) -> None:
        for what, number in (("workers", self.workers), ("databases", self.databases), ("slots", self.slots)):
            if number < 1:
                raise UsageError(f"{number} {what}: a prediction needs at least 1")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Asked:
    """Seconds that a phase asks for: of the filer with its items, with each task, of everything else, beside its path."""

    filer: dict[str, float]
    a_task: dict[str, float]
    rest: dict[str, float]
    beside: dict[str, float]


def assemble(calibration: Calibration, question: Question, dice: random.Random) -> Network:
    """The network of one simulated run; `dice`: which task gets which of the heaviest files. Raises UsageError."""
    filer = question.filer or calibration.filer
    if filer is not None and filer.site is not None:
        return _on_site(calibration, question, filer, filer.site, dice)
    phases = _phases(calibration, question, [_asked(load, question, filer) for load in calibration.phases], dice)
    jobs = (sharded if question.shard else simultaneous)(phases, question.databases)
    servers = calibration.processors
    stations = _filer(filer, calibration)
    if question.one_host:
        taken = calibration.background + question.databases * calibration.background_database
        speed = max(_LEAST_SPEED, 1.0 - taken / servers)
        stations = (*stations, Station(name=PROCESSORS, servers=servers, speed=speed))
    own = None if question.one_host else Station(name=OWN, servers=servers)
    left = 1.0 if question.one_host else max(_LEAST_SPEED, 1.0 - calibration.background_database / servers)
    return Network(
        stations=stations,
        databases=tuple(
            Station(name=f"database {n + 1}", servers=servers, speed=left) for n in range(question.databases)
        ),
        jobs=jobs,
        workers=question.workers,
        slots_each=question.slots,
        own_processors=own,
    )


def _on_site(
    calibration: Calibration, question: Question, filer: FilerModel, site: SiteModel, dice: random.Random
) -> Network:
    """Everything is where the site says; jobs differ where its database servers do."""
    cut, deal = dice.random(), sharded if question.shard else simultaneous
    jobs = []
    for number in range(question.databases):
        server = number % len(site.databases)
        asked = [_asked_on(site, server, load, filer) for load in calibration.phases]
        dealt = deal(_phases(calibration, question, asked, random.Random(cut)), question.databases)
        jobs.append(replace(dealt[number], database=server))
    return Network(
        stations=_filer(filer, calibration),
        databases=site_load.databases(site),
        jobs=tuple(jobs),
        workers=question.workers,
        slots_each=question.slots,
        own_processors=Station(name=OWN, servers=site.worker_cores),
        hosts=site_load.hosts(site),
    )


def _filer(filer: FilerModel | None, calibration: Calibration) -> tuple[Station, ...]:
    stations = (
        filer_load.stations(filer, calibration.burst) if filer else (Station(name=STORAGE, kind=Kind.DELAY, shape=0),)
    )
    return (*stations, Station(name=WAITS, kind=Kind.DELAY, shape=0))


def _asked(load: PhaseLoad, question: Question, filer: FilerModel | None) -> _Asked:
    """On hosts like the calibration's, or on that one."""
    processors = PROCESSORS if question.one_host else OWN
    rest = {WAITS: load.wait_s, processors: load.local_s}
    database = processors if question.one_host else DATABASE
    rest[database] = rest.get(database, 0.0) + load.database_s
    beside = {processors: load.beside_s}
    if filer is not None:
        work, a_task = (filer_load.demands(filer, calls, load.name) for calls in (load.calls, load.calls_a_task))
        return _Asked(filer=work, a_task=a_task, rest=rest, beside=beside)
    serving_s = (
        load.serving_s if question.one_host else 0.0
    )  # elsewhere the storage's processes are not on the workers' hosts
    inside = min(serving_s, load.call_s)
    rest[processors] += inside
    beside[processors] += serving_s - inside
    return _Asked(filer={STORAGE: load.call_s - inside}, a_task={}, rest=rest, beside=beside)


def _asked_on(site: SiteModel, server: int, load: PhaseLoad, filer: FilerModel) -> _Asked:
    """On the site, of a job on its n-th database server. What its commits took on the emulating machine is waited for as well:
    a transaction is committed there first."""
    use, tasks = load.site, load.tasks
    rows_s, rows_filer_s = site_load.of_database(site, site.databases[server], filer, 0.0, use.rows)
    each_s, each_filer_s = site_load.of_database(site, site.databases[server], filer, use.transactions / tasks, 0.0)
    work, a_task = (filer_load.demands(filer, calls, load.name) for calls in (load.calls, load.calls_a_task))
    work[DATA] = work.get(DATA, 0.0) + rows_filer_s
    a_task[DATA] = a_task.get(DATA, 0.0) + each_filer_s
    a_task[DATABASE] = each_s
    processor_s = use.slot_s * site.processor_factor * site.time_scale
    rest = {OWN: processor_s, DATABASE: rows_s, WAITS: load.wait_s + load.database_s}
    return _Asked(filer=work, a_task=a_task, rest=rest, beside={})


def _phases(
    calibration: Calibration, question: Question, asked: Sequence[_Asked], dice: random.Random
) -> tuple[Phase, ...]:
    return tuple(
        _phase(calibration, load, question, one, dice) for load, one in zip(calibration.phases, asked, strict=True)
    )


def _phase(calibration: Calibration, load: PhaseLoad, question: Question, asked: _Asked, dice: random.Random) -> Phase:
    times = question.times
    path = sum(asked.filer.values()) + sum(asked.rest.values())
    streams = _streams(calibration, question, load)
    slots = question.workers * question.slots
    units, sizes = unit_sizes(
        load,
        slots if streams is None else min(slots, streams),
        dice,
        items=calibration.items,
        discovered=calibration.discovered_bytes,
        bytes_share=asked.filer.get(LINK, 0.0) / path if path else 0.0,
        times=times / (question.databases if question.shard else 1),
        together=_together(calibration, question, load),
    )
    if question.shard:  # `sharded` deals them out again
        units, sizes = units * question.databases, sizes * question.databases
    demands = {name: seconds * times / units for name, seconds in asked.filer.items()}
    for name, seconds in asked.a_task.items():
        demands[name] = demands.get(name, 0.0) + seconds
    for name, seconds in asked.rest.items():
        demands[name] = demands.get(name, 0.0) + seconds * times / units
    rounds = min(_MOST_ROUNDS, max(_LEAST_ROUNDS, _MOST_EVENTS // (units * len(demands))))
    return Phase(
        name=load.name,
        units=units,
        demands=demands,
        beside={name: seconds * times / units for name, seconds in asked.beside.items()},
        weights=sizes,
        counts={"calls": _calls(load.calls) * times / units + _calls(load.calls_a_task)},
        rounds=rounds,
        barrier_s=load.barrier_s,
        most_slots=streams,
        course=load.course,
    )


def _streams(calibration: Calibration, question: Question, load: PhaseLoad) -> int | None:
    """How many tasks of the phase one job has out; None: as many as there are slots."""
    if load.name != PhaseName.INDEX.value:
        return None
    asked = question.index_streams
    return calibration.index_streams if asked is None else asked or None


def _together(calibration: Calibration, question: Question, load: PhaseLoad) -> int | None:
    """How many tasks one job's phase is put together to, as many for each stream as where it was measured, and without a limit
    for each slot of the study's largest row, as `experiment r1` does; None: they are cut for the slots."""
    tasks, asked = calibration.index_tasks, question.index_streams
    if load.name != PhaseName.INDEX.value or tasks is None:
        return None
    if asked is None:
        return tasks
    largest = max(point.workers for point in calibration.measured) * calibration.slots
    wanted = asked or max(largest, question.workers * question.slots)
    return max(1, round(tasks * wanted / (calibration.index_streams or largest)))


def _calls(calls: Mapping[Op, Calls]) -> float:
    return sum(each.calls for each in calls.values())
