"""Replays of one trace as a workload of the experiment engine: each leases its members of the crew."""

from __future__ import annotations

import contextlib
import hashlib
import secrets
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import msgspec
from msgspec import to_builtins

from controller.jobs.progress import Snapshot
from controller.labels.rules import filer_cache
from core.clock import Clock
from core.crew import Ceiling as CeilingOrder
from core.crew import Place
from core.errors import StorageFault, SystemFault, UsageError
from core.filer import FilerModel, load_filer
from core.mounts import read_mounts, storage_label
from experiments.conditions import emulated
from experiments.crew.admission import BACK_SECONDS, described, usable
from experiments.crew.lease import Leased
from experiments.crew.orders import LONG_SECONDS
from experiments.crew.system import System
from experiments.places import fresh_place
from experiments.result.schema import At
from experiments.workload import HostLost, Observe, Turn, Workload
from monitoring.machine import place
from replay.about import ABOUT
from replay.host import plan_of
from replay.job import Stage, replay_once
from replay.local import PLACE, Ceiling
from replay.orders import ReplayOrder, pace_text
from replay.plan import recorded_rate
from replay.runs import ALL, LEVELS, Load, Observed, RecordedFigures, recorded_figures
from traces.file import FileTrace, open_trace


def clients_by_member(clients: int, streams: int, members: int) -> list[int]:
    """How many clients each of the first members has, in whole clones of the trace, whose clients share memory; those that would
    have none are left out."""
    whole, rest = divmod(clients, max(1, streams))
    clones = [max(1, streams)] * whole + ([rest] if rest else [])
    return [sum(clones[member::members]) for member in range(min(members, len(clones)))]


def slots_for(clients: int, streams: int, workers: Sequence[int]) -> int:
    """Slots that each worker needs so that whole clones of the trace fit on members with so many `workers` each."""
    shares = clients_by_member(clients, streams, len(workers))
    return max(-(-share // many) for share, many in zip(shares, workers, strict=False))


class Replays(Workload):
    """`filers`: emulated one after another, each a source as settings have it; `bounded`: ops that a bound is set on; `workers`:
    of the crew, that are leased for a replay."""

    about = ABOUT

    def __init__(
        self, system: System, workers: int, order: ReplayOrder, filers: Sequence[str], bounded: Iterable[str], clock: Clock,
        show: Callable[[Snapshot, float], None], say: Callable[[str], None],
    ) -> None:  # fmt: skip
        self._system, self._workers = system, workers
        self.storage, self.clock, self.say, self._show = system.settings.storage, clock, say, show
        self._order, self._bounded = order, tuple(bounded)
        self._filers: dict[str, FilerModel | None] = {}  # by the storage's name
        self._sources: dict[str, str] = {}
        for source in filers:
            filer = load_filer(source)
            name = storage_label(order.paths[0], read_mounts()) if filer is None else filer.choice.label
            self._filers[name], self._sources[name] = filer, source
        self._levels = False  # whether the load is offered by levels
        self._ceilings: dict[int, dict[str, Any]] = {}  # by clients: it is the same for every storage and repeat
        self._discarded: dict[int, int] = {}  # bytes written on null storage, by clients
        self._no_pair: str | None = None  # why no run has a null baseline
        self._trace: FileTrace
        self._recorded: RecordedFigures

    def loads(self, clients: int = 1) -> list[Load]:
        """So many clients on each storage, in the order asked for."""
        return [Load(storage, clients) for storage in self._filers]

    @contextlib.contextmanager
    def prepared(self, points: Sequence[At]) -> Iterator[None]:
        """The trace is open."""
        with open_trace(self._order.trace) as self._trace:
            self._recorded = recorded_figures(str(self._order.trace), self._trace)
            refuse_bounds_on_nothing(self._bounded, self._recorded)
            yield

    @contextlib.contextmanager
    def started(self, turn: Turn) -> Iterator[Observe]:
        """The members' workers, with slots for their shares of the clients, and a database, from entering the lease."""
        at, system = cast(Load, turn.at), self._system
        filer = self._sources[at.storage]
        seats = system.admission.await_workers(self._workers, BACK_SECONDS)
        system.refuse_filer(filer, seats)
        slots = slots_for(at.clients, self._recorded.streams, [seat.workers for seat in seats])
        settings = replace(system.settings, slots=slots, filer=filer)
        with (
            fresh_place(settings, self.storage, turn.name) as own,
            system.run(own, 1) as (attached, (database,), lease),
            lease(seats) as leased,
        ):
            stage = Stage(
                settings=attached, database=database, clock=self.clock, show=self._show, say=self.say, cluster=leased
            )
            yield lambda: self._observed(turn, stage, leased)

    def _observed(self, turn: Turn, stage: Stage, leased: Leased) -> Observed:
        at = cast(Load, turn.at)
        order = replace(self._order, speed=self._speed(at))
        self._levels |= at.percent is not None
        done = replay_once(stage, self._trace, order, at.clients)
        leased.leave()
        plan, streams = done.program.plan, self._trace.header.streams
        return Observed(
            repeat=turn.repeat,
            order=turn.order,
            emulated=self._filers[at.storage] is not None,
            job_id=str(done.job),
            job=done.result,
            processors=usable([seat.member for seat in leased.seats], "processors"),
            clients=tuple(done.clients),
            touched=sum(room.bytes for room in done.program.rooms),
            adapted=done.program.adapted,
            opened=done.program.unrecorded_opens,
            streams=tuple(
                tuple(f"{streams[n].worker}/{streams[n].slot}" for n in its)
                for clone in plan.clones
                for its in clone.clients
            ),
            data_sets=len(plan.clones),
            hosts=tuple(leased.left),
        )

    def _speed(self, at: Load) -> float:
        """What makes the trace's calls come at the level's rate; of a load without levels the order's."""
        if at.percent is None:
            return self._order.speed
        plan = plan_of(self._trace.header, replace(self._order, speed=1.0).choice(at.clients))
        return (at.peak or 0) * at.percent / 100 / recorded_rate(self._trace.header, plan)

    def on_null(self, turn: Turn) -> Mapping[str, Any]:
        """The same clients without think time."""
        clients = cast(Load, turn.at).clients
        if clients not in self._ceilings:
            try:
                found = self._ceiling(clients)
            except HostLost:
                raise  # it is made again
            except SystemFault as fault:
                self._no_pair, self._ceilings[clients] = str(fault), {}
            else:
                self._discarded[clients] = found.discarded_bytes
                self._ceilings[clients] = {"null_calls": found.calls, "null_elapsed_s": found.elapsed_s}
        return self._ceilings[clients]

    def _ceiling(self, clients: int) -> Ceiling:
        """What the members make of the calls on null storage, each with the clients that are its, all at the same time: all
        calls in the time of the slowest. Raises RunFailed when members are gone, SystemFault."""
        system, order = self._system, self._order
        seats = system.admission.await_workers(self._workers, BACK_SECONDS)
        shares = clients_by_member(clients, self._recorded.streams, len(seats))
        with _shown(order.trace, self.storage) as there:
            trace = Place(root="storage", path=there.name)
            asked = [
                (seat.member, CeilingOrder(trace=trace, clients=share, shared=order.shared, seed=order.seed))
                for seat, share in zip(seats, shares, strict=False)
            ]
            answers = system.crew.ask_all(asked, LONG_SECONDS)
        found = [msgspec.convert(one, Ceiling) for one in answers]
        return Ceiling(
            calls=sum(one.calls for one in found),
            elapsed_s=max(one.elapsed_s for one in found),
            discarded_bytes=sum(one.discarded_bytes for one in found),
        )

    def surroundings(self) -> dict[str, Any]:
        """What was asked for, the trace, and the places."""
        order = self._order
        cache = filer_cache(order.paths[0], self._system.settings.filer_cache)
        filers = [emulated(filer) for filer in self._filers.values()]
        hosts = self._system.admission.admitted
        return {
            "configuration": {
                "pace": LEVELS if self._levels else pace_text(order.speed, order.closed),
                "clones": "shared files" if order.shared else "private files",
            },
            "trace": {
                "path": str(order.trace),
                "bytes": order.trace.stat().st_size,
                "hash": _hash(order.trace),
                "origin": self._recorded.origin,
            },
            "recorded": to_builtins(self._recorded),
            "seed": order.seed,
            "storage": place(order.paths[0]),
            "targets": [place(path) for path in order.paths],
            "emulated_filer": filers[0] if len(filers) == 1 else filers,
            "digests": {name: "" if filer is None else filer.digest for name, filer in self._filers.items()},
            "cache": {
                "client_memory_bytes": usable(hosts, "memory_bytes"),
                "filer_cache_bytes": cache.declared,
                "filer_caches_itself": cache.possible,
            },
            "null_storage": {
                "paired": self._no_pair is None,
                "why_not": self._no_pair,
                "place": str(PLACE),
                "reads": "zeros generated by the system; no file contains data",
                "writes": "discarded; a file is as long as if it had them",
                "discarded_bytes": {str(clients): size for clients, size in self._discarded.items()},
            },
            "hosts": described(hosts),
        }


@contextlib.contextmanager
def _shown(trace: Path, storage: Path) -> Iterator[Path]:
    """A copy where the members see it, for as long as the block lasts. Raises StorageFault."""
    there = storage / f".edbench-trace-{secrets.token_hex(8)}"
    try:
        shutil.copyfile(trace, there)
    except OSError as error:
        raise StorageFault(f"the trace cannot be copied to {storage}: {error.strerror}") from error
    try:
        yield there
    finally:
        there.unlink(missing_ok=True)


def _hash(file: Path) -> str:
    with file.open("rb") as data:
        return hashlib.file_digest(data, "sha256").hexdigest()


def refuse_bounds_on_nothing(bounded: Iterable[str], trace: RecordedFigures) -> None:
    """Raises UsageError for a bound on an op that the trace has not: every load would keep it."""
    lacking = [op for op in bounded if op not in trace.latency]
    if lacking:
        there = ", ".join(op for op in trace.latency if op != ALL)
        raise UsageError(f"--max-p99: the trace has no {lacking[0]} call; it has {there}")
