"""A calibration and a question, as a network."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass

from core.errors import UsageError
from core.filer import FilerModel
from core.operations import Op
from experiments.capacity import filer_load
from experiments.capacity.calibration import Calibration, PhaseLoad
from experiments.capacity.filer_load import LINK, STORAGE, Calls
from experiments.capacity.network import DATABASE, Kind, Network, Phase, Station, sharded, simultaneous
from experiments.capacity.units import unit_sizes

PROCESSORS = "processors"
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
    filer: FilerModel | None = None  # None: the calibrated one
    shard: bool = False  # one data set over the databases; else each has a job over all of it, at once
    one_host: bool = False  # all on the calibration's processors; else each worker and each database server on its own
    times: float = 1.0  # the data set so many times

    def __post_init__(self) -> None:
        for what, number in (("workers", self.workers), ("databases", self.databases), ("slots", self.slots)):
            if number < 1:
                raise UsageError(f"{number} {what}: a prediction needs at least 1")


def assemble(calibration: Calibration, question: Question, dice: random.Random) -> Network:
    """The network of one simulated run; `dice`: which task gets which of the heaviest files. Raises UsageError."""
    filer = question.filer or calibration.filer
    phases = tuple(_phase(calibration, phase, question, filer, dice) for phase in calibration.phases)
    jobs = (sharded if question.shard else simultaneous)(phases, question.databases)
    servers = calibration.processors
    stations = filer_load.stations(filer, calibration.burst) if filer else (Station(name=STORAGE, kind=Kind.DELAY),)
    stations = (*stations, Station(name=WAITS, kind=Kind.DELAY))
    if question.one_host:
        taken = calibration.background + question.databases * calibration.background_database
        speed = max(_LEAST_SPEED, 1.0 - taken / servers)
        stations = (*stations, Station(name=PROCESSORS, servers=servers, speed=speed))
    own = None if question.one_host else Station(name=f"worker {PROCESSORS}", servers=servers)
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


def _phase(
    calibration: Calibration, load: PhaseLoad, question: Question, filer: FilerModel | None, dice: random.Random
) -> Phase:
    times = question.times
    work = filer_load.demands(filer, load.calls) if filer else {STORAGE: load.call_s}
    moved = work.get(LINK, 0.0)
    path = sum(work.values()) + load.local_s + load.database_s + load.wait_s
    slots = question.workers * question.slots
    sizes = unit_sizes(
        load,
        slots,
        dice,
        items=calibration.items,
        discovered=calibration.discovered_bytes,
        bytes_share=moved / path if path else 0.0,
        times=times / (question.databases if question.shard else 1),
    )
    if question.shard:  # `sharded` deals them out again
        sizes = sizes * question.databases
    units = len(sizes)
    a_task = filer_load.demands(filer, load.calls_a_task) if filer else {}
    demands = {name: seconds * times / units for name, seconds in work.items()}
    for name, seconds in a_task.items():
        demands[name] = demands.get(name, 0.0) + seconds
    demands[WAITS] = load.wait_s * times / units
    processors = PROCESSORS if question.one_host else f"worker {PROCESSORS}"
    demands[processors] = load.local_s * times / units
    database = processors if question.one_host else DATABASE
    demands[database] = demands.get(database, 0.0) + load.database_s * times / units
    rounds = min(_MOST_ROUNDS, max(_LEAST_ROUNDS, _MOST_EVENTS // (units * len(demands))))
    return Phase(
        name=load.name,
        units=units,
        demands=demands,
        beside={processors: load.beside_s * times / units},
        weights=sizes,
        counts={"calls": _calls(load.calls) * times / units + _calls(load.calls_a_task)},
        rounds=rounds,
        barrier_s=load.barrier_s,
    )


def _calls(calls: Mapping[Op, Calls]) -> float:
    return sum(each.calls for each in calls.values())
