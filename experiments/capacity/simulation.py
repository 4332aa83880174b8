"""Discrete-event simulation of a network: a pure function of the network and a seed.

Units are carried through the stations by simpy processes. 100 workers x 1 million items take too many events one by one:
`batched` makes fewer, larger units of the same total demands. In a closed network of exponential stations throughput
depends on the demands alone, so this changes only the spread of the ends of phases, by less than one unit's time.
"""

from __future__ import annotations

import random
from collections.abc import Generator, Mapping
from dataclasses import dataclass, field, replace

import simpy

from experiments.capacity.network import Job, Network, Phase, PhaseTime, Predicted, Station, limit
from experiments.capacity.stations import Places, Server, SlotPool

MOST_UNITS = 100_000  # of all phases and jobs; some ten seconds on one core
LEAST_A_SLOT = 8  # units of a phase for each slot: with fewer, the phase's end would be the batch's, not the job's
_HALVINGS = 20  # of how heavy units put together may be

_Process = Generator[simpy.Event, None, None]


def batched(network: Network, most_units: int = MOST_UNITS) -> Network:
    """The same work in fewer units, none where it is small enough; phases of few units stay as they are."""
    total = sum(phase.units for job in network.jobs for phase in job.phases)
    factor = max(1.0, total / most_units)
    if factor == 1.0:
        return network

    def larger(phase: Phase) -> Phase:
        units = max(round(phase.units / factor), min(phase.units, LEAST_A_SLOT * network.slots))
        weights = _merged(phase.weights, units)
        units = len(weights) if len(phase.weights) > units else units
        by = phase.units / units
        return replace(
            phase,
            units=units,
            demands={name: seconds * by for name, seconds in phase.demands.items()},
            database_io={name: seconds * by for name, seconds in phase.database_io.items()},
            beside={name: seconds * by for name, seconds in phase.beside.items()},
            counts={name: count * by for name, count in phase.counts.items()},
            weights=weights,
        )

    jobs = tuple(replace(job, phases=tuple(larger(phase) for phase in job.phases)) for job in network.jobs)
    return replace(network, jobs=jobs, dispatch_s=network.dispatch_s * factor)


def _merged(weights: tuple[float, ...], most: int) -> tuple[float, ...]:
    """Neighbours together, so that there are so many at most, none heavier than it must be; each by the mean of the new ones.
    Fewer stay as they are. What is heavy stays alone: two of the largest tasks one after the other would make an end of the
    phase that no run has."""
    if len(weights) <= most:
        return weights
    light, heavy = 0.0, sum(weights)
    for _ in range(_HALVINGS):
        middle = (light + heavy) / 2
        light, heavy = (light, middle) if len(_filled(weights, middle)) <= most else (middle, heavy)
    together = _fewest_joined(_filled(weights, light), most)
    return tuple(weight * len(together) / len(weights) for weight in together)


def _fewest_joined(weights: list[float], most: int) -> list[float]:
    """The lightest neighbours together, until there are so many: of equal ones that are just too many not each with its next."""
    while len(weights) > most:
        at = min(range(len(weights) - 1), key=lambda n: weights[n] + weights[n + 1])
        weights[at : at + 2] = [weights[at] + weights[at + 1]]
    return weights


def _filled(weights: tuple[float, ...], full: float) -> list[float]:
    """Neighbours together as long as they are not heavier than that."""
    out: list[float] = [weights[0]]
    for weight in weights[1:]:
        if out[-1] + weight > full:
            out.append(weight)
        else:
            out[-1] += weight
    return out


def simulate(network: Network, seed: int) -> Predicted:
    """One run of the network; the same for the same arguments."""
    return _Run(network, random.Random(seed)).result()


@dataclass(frozen=True, slots=True)
class _Reading:
    """The counters at a moment."""

    at: float = 0.0
    busy: Mapping[str, float] = field(default_factory=dict)
    slot_seconds: float = 0.0


@dataclass(slots=True, eq=False)
class _Progress:
    """Where one job is: units wait to be dispatched, are out, of those ready for a slot, of those worked on."""

    job: Job
    pool: SlotPool
    phase: int = 0
    waiting: int = 0
    out: int = 0
    ready: int = 0
    working: int = 0
    left: int = 0  # not done
    ended_s: float = 0.0
    # Stations and mean seconds of a round, in each part of the phase's course.
    visits: list[list[tuple[str, float]]] = field(default_factory=list)
    beside: list[tuple[str, float]] = field(default_factory=list)  # the same, not waited for
    given: int = 0  # units that slots have taken so far
    gone: float = 0.0  # mean units of rounds that were begun
    whole: float = 1.0  # of all of them
    start: _Reading = field(default_factory=_Reading)
    room: simpy.Event | None = None  # what the queue manager waits for while the window is full

    @property
    def now(self) -> Phase:
        return self.job.phases[self.phase]

    @property
    def may_start(self) -> bool:
        most = self.now.most_slots
        return self.ready > 0 and (most is None or self.working < most)

    def weight(self, unit: int) -> float:
        """Of one of the phase's units, by the mean one."""
        weights = self.now.weights
        return weights[unit * len(weights) // self.now.units] if weights else 1.0

    def visited(self, units: float) -> list[tuple[str, float]]:
        """What a round of so many mean units visits that begins now."""
        part = int(self.gone / self.whole * len(self.visits)) if self.whole else 0
        self.gone += units
        return self.visits[min(part, len(self.visits) - 1)]


class _Run:
    def __init__(self, network: Network, source: random.Random) -> None:
        self._network = network
        self._env = simpy.Environment()
        self._places = Places(network, source)
        dealt = 1 if network.pooled else len(network.jobs)
        pools = [SlotPool(range(n, network.workers, dealt), network.slots_each) for n in range(dealt)]
        self._jobs = [_Progress(job, pools[n % dealt]) for n, job in enumerate(network.jobs)]
        plain = Station(name="queue manager", shape=0)
        self._turns = list(self._jobs)  # whose unit an idle slot takes next
        self._managers = {job.database: Server(plain, source) for job in network.jobs}
        self._slot_seconds, self._holding, self._changed = 0.0, 0, 0.0
        self._times: list[PhaseTime] = []

    def result(self) -> Predicted:
        """Run to the end."""
        first = self._read()
        for progress in self._jobs:
            self._enter(progress)
        for progress in self._jobs:
            self._hand_out(progress.pool)
        self._env.run()
        utilisation, busy = self._since(first)
        longest: dict[str, float] = {}
        for time in self._times:
            longest[time.limit] = longest.get(time.limit, 0.0) + time.end_s - time.start_s
        return Predicted(
            elapsed_s=max(progress.ended_s for progress in self._jobs),
            phases=tuple(sorted(self._times, key=lambda time: (time.start_s, time.job))),
            utilisation=utilisation,
            slots_busy=busy,
            limit=max(longest, key=lambda name: longest[name]),
            stay_s=self._places.stay_s(),
        )

    def _enter(self, progress: _Progress) -> None:
        """Begin the phase that `progress` stands at; nobody has its units yet."""
        phase = progress.now
        beside = self._network.beside(progress.job, phase)
        progress.visits = [
            [(name, seconds / phase.rounds) for name, seconds in part.items()]
            for part in self._network.along(progress.job, phase)
        ]
        progress.beside = [(name, seconds / phase.rounds) for name, seconds in beside.items()]
        progress.left, progress.given, progress.gone = phase.units, 0, 0.0
        progress.whole = sum(map(progress.weight, range(phase.units)))
        progress.start = self._read()
        if self._network.dispatch_s or self._network.window is not None:
            progress.waiting = phase.units
            self._env.process(self._dispatch(progress))
        else:
            progress.out = progress.ready = phase.units

    def _dispatch(self, progress: _Progress) -> _Process:
        """The queue manager sends as long as the window allows."""
        window = self._network.window or progress.waiting
        manager = self._managers[progress.job.database]
        while progress.waiting:
            if progress.out >= window:
                progress.room = self._env.event()
                yield progress.room
            progress.waiting -= 1
            progress.out += 1
            if self._network.dispatch_s:
                yield self._until(manager.book(self._env.now, self._network.dispatch_s))
            progress.ready += 1
            self._hand_out(progress.pool)

    def _hand_out(self, pool: SlotPool) -> None:
        """Units to idle slots, of the jobs in turn: each has a queue of its own at the broker, which slots go round. So jobs
        get on equally fast, and one whose units take longer has more slots."""
        while pool:
            progress = next((one for one in self._turns if one.pool is pool and one.may_start), None)
            if progress is None:
                return
            self._turns.remove(progress)
            self._turns.append(progress)
            progress.ready -= 1
            progress.working += 1
            self._hold(1)
            self._env.process(self._work(progress, progress.given, pool.lend()))
            progress.given += 1

    def _work(self, progress: _Progress, unit: int, worker: int) -> _Process:
        """One unit, from its slot's taking it to its end."""
        weight = progress.weight(unit)
        rounds = max(1, round(progress.now.rounds * weight))  # a heavy unit makes more calls, not longer ones
        each = weight * progress.now.rounds / rounds
        for _ in range(rounds):
            for name, mean_s in progress.beside:
                self._places.at(name, worker).book(self._env.now, mean_s * each)
            for name, mean_s in progress.visited(weight / rounds):
                yield self._until(self._places.at(name, worker).book(self._env.now, mean_s * each))
        self._hold(-1)
        progress.pool.give_back(worker)
        progress.working -= 1
        progress.out -= 1
        progress.left -= 1
        if progress.room is not None and not progress.room.triggered:
            progress.room.succeed()
        if progress.left == 0:
            self._env.process(self._leave(progress))
        self._hand_out(progress.pool)

    def _leave(self, progress: _Progress) -> _Process:
        """The phase is over; after its barrier the next one begins."""
        utilisation, busy = self._since(progress.start)
        self._times.append(
            PhaseTime(
                job=progress.job.name,
                phase=progress.now.name,
                start_s=progress.start.at,
                end_s=self._env.now,
                utilisation=utilisation,
                slots_busy=busy,
                limit=limit(utilisation, busy, self._most(progress)),
            )
        )
        yield self._env.timeout(progress.now.barrier_s)
        progress.ended_s = self._env.now
        progress.phase += 1
        if progress.phase < len(progress.job.phases):
            self._enter(progress)
            self._hand_out(progress.pool)
        else:
            progress.phase -= 1

    def _most(self, progress: _Progress) -> float:
        """Share of all slots that may work on the phase at a time, of all jobs that are like this one."""
        most = progress.now.most_slots
        return 1.0 if most is None else most * len(self._jobs) / self._network.slots

    def _until(self, end: float) -> simpy.Event:
        return self._env.timeout(max(0.0, end - self._env.now))

    def _hold(self, change: int) -> None:
        now = self._env.now
        self._slot_seconds += self._holding * (now - self._changed)
        self._holding, self._changed = self._holding + change, now

    def _read(self) -> _Reading:
        self._hold(0)
        return _Reading(self._env.now, self._places.busy_until(self._env.now), self._slot_seconds)

    def _since(self, start: _Reading) -> tuple[dict[str, float], float]:
        """Utilisation of the stations and share of slots that were busy since then."""
        end = self._read()
        seconds = end.at - start.at
        busy = {name: worked - start.busy[name] for name, worked in end.busy.items()}
        share = (end.slot_seconds - start.slot_seconds) / (self._network.slots * seconds) if seconds else 0.0
        return self._places.utilisation(busy, seconds), share
