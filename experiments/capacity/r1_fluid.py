"""The R1 network, many parameter sets at once: rates by mean-value analysis, advanced from one end of a phase to the next.

Between two such ends nothing changes, so each stretch has constant rates. They come from the approximate mean-value
analysis for several classes (Bard 1979, Schweitzer 1979), a class for each job; several servers at a station as one that is
as fast as all and a delay (Seidmann 1987). The simulation is what this is checked against.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from experiments.capacity import r1_facts as facts
from experiments.capacity.r1_sets import Demands, Numbers, Sets, demands

_ROUNDS, _LOOK = 400, 8
_CLOSE = 1e-4  # changes elapsed times by less than 0.1 %
_DONE = 1e-9


@dataclass(frozen=True, slots=True)
class Stretch:
    """Arrays over sets; `phase` and `database` also over jobs. A set that is over has `seconds` 0."""

    seconds: Numbers
    ops: Numbers  # filer operations a second of the application
    fsa: Numbers  # utilisation, 0 to 1
    fsb: Numbers
    processors: Numbers
    database: Numbers
    phase: Numbers  # 0, 1, 2; 3 when the job is over


@dataclass(frozen=True, slots=True)
class Timeline:
    """One run of every set."""

    stretches: tuple[Stretch, ...]

    @property
    def elapsed_s(self) -> Numbers:
        return np.asarray(np.sum([s.seconds for s in self.stretches], axis=0))


def run(
    sets: Sets, workers: int, databases: int, *, cores: int = facts.CORES, databases_on_filer: bool = True
) -> Timeline:
    """`databases` jobs at once. The second server is as slow as the set says; any further one is like the first."""
    asked = demands(sets, databases_on_filer=databases_on_filer)
    speeds = np.ones((len(sets), databases))
    if databases > 1:
        speeds[:, 1] = sets.of("second_database")
    crew = _Crew(
        slots=float(workers * facts.SLOTS_EACH),
        processors=float(min(workers * facts.PROCESSORS_EACH, cores)),
        shared=sets.of("shared_crew") > 0.5,
    )
    phase = np.zeros((len(sets), databases), dtype=np.intp)
    left = np.ones((len(sets), databases))
    stretches = []
    while (phase < 3).any():
        rates, stretch = _stretch(asked, speeds, crew, phase)
        active = phase < 3
        ends = np.where(active, left / np.where(active, rates, 1.0), np.inf).min(axis=1)
        seconds = np.where(np.isfinite(ends), ends, 0.0)
        left = np.where(active, left - rates * seconds[:, None], left)
        over = active & (left < _DONE)
        phase, left = phase + over, np.where(over, 1.0, left)
        stretches.append(Stretch(seconds, *stretch))
    return Timeline(tuple(stretches))


@dataclass(frozen=True, slots=True)
class _Crew:
    slots: float
    processors: float
    shared: np.ndarray[tuple[int, ...], np.dtype[np.bool_]]


def _stretch(
    asked: Demands, speeds: Numbers, crew: _Crew, phase: np.ndarray[tuple[int, ...], np.dtype[np.intp]]
) -> tuple[Numbers, tuple[Numbers, ...]]:
    """Rates (phases a second) of every set and job, and what stands in a Stretch after its seconds."""
    active = phase < 3
    at = (np.arange(len(phase))[:, None], np.minimum(phase, 2))
    count = np.maximum(active.sum(axis=1, keepdims=True), 1)
    number = crew.slots / np.where(crew.shared[:, None], count, phase.shape[1]) * active
    units = 1e5  # a unit is this part of a phase; rates do not depend on it
    processors = asked.processors[at]
    queues = np.stack(
        [processors / crew.processors, asked.fsa[at], asked.fsb[at], asked.link[at], asked.database[at] / speeds], -1
    )
    queues = queues * active[..., None] / units
    delay = (asked.latency[at] + processors * (1 - 1 / crew.processors)) / units * active
    throughput = _rates(queues, delay, number)
    busy = throughput[..., None] * queues
    shared = busy.sum(axis=1)
    rates = throughput / units
    ops = (rates * asked.ops[at]).sum(axis=1)
    return rates, (ops, shared[:, 1], shared[:, 2], shared[:, 0], busy[..., 4], phase.astype(np.float64))


def _rates(queues: Numbers, delay: Numbers, number: Numbers) -> Numbers:
    """Units a second: sets x jobs. The last station is each job's own, the others are shared."""
    active = number > 0
    safe = np.where(active, number, 1.0)
    used = np.maximum((queues > 0).sum(axis=-1, keepdims=True), 1)
    length = np.where(queues > 0, number[..., None] / used, 0.0)
    throughput = np.zeros_like(number)
    going = np.arange(len(number))  # sets that are not settled yet
    rates = throughput.copy()
    for step in range(_ROUNDS):
        seen = length.sum(axis=1, keepdims=True) - length / safe[..., None]
        seen[..., 4] = length[..., 4] * (1 - 1 / safe)
        stay = queues * (1 + seen)
        before, throughput = throughput, number / np.maximum(delay + stay.sum(axis=-1), 1e-300)
        length = throughput[..., None] * stay
        if step % _LOOK == _LOOK - 1:
            rates[going] = throughput
            moving = (np.abs(throughput - before) > _CLOSE * throughput).any(axis=1)
            if not moving.any():
                break
            going, throughput, length, safe = going[moving], throughput[moving], length[moving], safe[moving]
            queues, delay, number = queues[moving], delay[moving], number[moving]
    return rates
