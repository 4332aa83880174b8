"""Replays of one trace as a workload of the experiment engine, on members of the crew.

Each replay leases its members; the clients of one clone of the trace run at one of them.
"""

from __future__ import annotations

import contextlib
import dataclasses
import hashlib
import math
import secrets
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, cast

import msgspec
from msgspec import to_builtins

from controller.labels.rules import filer_cache
from core.crew import Ceiling as CeilingOrder
from core.crew import Place
from core.errors import StorageFault, SystemFault, UsageError
from core.filer import FilerModel, load_filer
from core.mounts import read_mounts, storage_label
from core.records import ReplayChoice
from core.settings import Settings
from experiments.conditions import emulated
from experiments.crew.admission import BACK_SECONDS, described, usable
from experiments.crew.lease import Leased
from experiments.crew.orders import LONG_SECONDS
from experiments.crew.system import System, Wanted, Ways, taken_system
from experiments.result.schema import At
from experiments.workload import Observe, Turn, Workload
from monitoring.machine import client_memory, host, place, processors
from replay.about import ABOUT
from replay.host import plan_of
from replay.job import Stage, recorded, replay_once
from replay.local import PLACE, Ceiling, ceiling
from replay.orders import ReplayOrder, pace_text
from replay.plan import recorded_rate
from replay.runs import (
    ALL,
    LEVELS,
    Load,
    Observed,
    RecordedFigures,
    recorded_figures,
)
from sql.session import Database
from traces.read import FileTrace, open_trace


@dataclass(frozen=True, slots=True, kw_only=True)
class Players:
    """`streams`: of the trace; clients of one clone share memory, so they are at one member."""

    system: System
    workers: int  # one at each of so many members
    streams: int

    @contextlib.contextmanager
    def playing(self, clients: int, filer: str) -> Iterator[tuple[Settings, Database, Leased]]:
        """Workers with slots for their shares of the clients, from entering the lease. Raises what `Leased` does."""
        seats = self.system.admission.await_workers(self.workers, BACK_SECONDS)
        self.system.refuse_filer(filer, seats)
        slots = slots_for(clients, self.streams, len(seats))
        settings = replace(self.system.settings, slots=slots, filer=filer)
        with self.system.run(settings, 1) as (attached, (database,), lease):
            yield attached, database, lease(seats)

    def ceiling(self, trace: Path, choice: ReplayChoice) -> Ceiling | str:
        """What the members make of the calls on null storage, each with the clients that are its, all at the same time: all
        calls in the time of the slowest. Or why that is not known. Raises RunFailed when members are gone."""
        seats = self.system.admission.await_workers(self.workers, BACK_SECONDS)
        storage = self.system.settings.storage
        try:
            with _shown(trace, storage) as there:
                asked = [
                    (
                        seat.member,
                        CeilingOrder(
                            trace=Place(root="storage", path=there.name),
                            clients=share,
                            shared=choice.shared,
                            seed=choice.seed,
                        ),
                    )
                    for seat, share in zip(
                        seats, clients_by_member(choice.clients, self.streams, len(seats)), strict=False
                    )
                ]
                answers = self.system.crew.ask_all(asked, LONG_SECONDS)
        except SystemFault as fault:
            return str(fault)
        found = [msgspec.convert(one, Ceiling) for one in answers]
        return Ceiling(
            calls=sum(one.calls for one in found),
            elapsed_s=max(one.elapsed_s for one in found),
            discarded_bytes=sum(one.discarded_bytes for one in found),
        )


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


def clients_by_member(clients: int, streams: int, members: int) -> list[int]:
    """How many clients each of the first members has; those that would have none are left out."""
    whole, rest = divmod(clients, max(1, streams))
    clones = [max(1, streams)] * whole + ([rest] if rest else [])
    return [sum(clones[member::members]) for member in range(min(members, len(clones)))]


def slots_for(clients: int, streams: int, members: int) -> int:
    """Slots that a member needs so that whole clones of the trace, of `streams` clients at most, fit on `members` of them."""
    streams = max(1, streams)
    clones = math.ceil(clients / streams)
    return math.ceil(clones / members) * min(clients, streams)


@contextlib.contextmanager
def players(
    settings: Settings, env: Mapping[str, str], paths: Sequence[Path], workers: int | None, streams: int,
    say: Callable[[str], None], ways: Ways,
) -> Iterator[Players]:  # fmt: skip
    """Members of the system of the settings, `workers` of them (None: all that are connected), that see the first path. Raises
    UsageError."""
    wanted = Wanted(workers=workers or 1, databases=1, slots=1)
    with taken_system(settings, env, paths[0], wanted, say, ways) as (system, _):
        many = workers or sum(member.workers for member in system.crew.present())
        yield Players(system=system, workers=many, streams=streams)


class Replays(Workload):
    """`filers`: emulated one after another, each a source as settings have it; `bounded`: ops that a bound is set on."""

    about = ABOUT

    def __init__(
        self, stage: Stage, order: ReplayOrder, filers: Sequence[str], bounded: Iterable[str] = (),
        players: Players | None = None,
    ) -> None:  # fmt: skip
        self._players = players
        self.storage, self.clock, self.say = stage.settings.storage, stage.clock, stage.say
        self._stage, self._order, self._bounded = stage, order, tuple(bounded)
        self._filers: dict[str, FilerModel | None] = {}  # by the storage's name
        self._sources: dict[str, str] = {}
        for source in filers:
            filer = load_filer(source)
            name = self._local() if filer is None else filer.choice.label
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
            self._recorded = recorded_figures(str(self._order.trace), self._trace, recorded(self._trace))
            refuse_bounds_on_nothing(self._bounded, self._recorded)
            yield

    @contextlib.contextmanager
    def started(self, turn: Turn) -> Iterator[Observe]:
        """A replay brings its files, clients and their end along; a lease its workers before."""
        if self._players is None:
            yield lambda: self._observed(turn, self._stage)
            return
        at = cast(Load, turn.at)
        with (
            self._players.playing(at.clients, self._sources[at.storage]) as (settings, database, leased),
            leased,
        ):
            stage = dataclasses.replace(self._stage, settings=settings, database=database, ours=False, cluster=leased)
            members = [seat.member for seat in leased.seats]

            def observed() -> Observed:
                seen = self._observed(turn, stage)
                leased.leave()
                return dataclasses.replace(seen, processors=usable(members, "processors"), hosts=tuple(leased.left))

            yield observed

    def _observed(self, turn: Turn, stage: Stage) -> Observed:
        at = cast(Load, turn.at)
        order = dataclasses.replace(self._order, speed=self._speed(at))
        self._levels |= at.percent is not None
        settings = dataclasses.replace(stage.settings, filer=self._sources[at.storage])
        stage = dataclasses.replace(stage, settings=settings)
        done = replay_once(stage, self._trace, order, at.clients)
        plan, streams = done.program.plan, self._trace.header.streams
        return Observed(
            repeat=turn.repeat,
            order=turn.order,
            emulated=self._filers[at.storage] is not None,
            job_id=str(done.job),
            job=done.result,
            processors=processors(),
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
        )

    def _speed(self, at: Load) -> float:
        """What makes the trace's calls come at the level's rate; of a load without levels the order's."""
        if at.percent is None:
            return self._order.speed
        plan = plan_of(self._trace.header, dataclasses.replace(self._order, speed=1.0).choice(at.clients))
        return (at.peak or 0) * at.percent / 100 / recorded_rate(self._trace.header, plan)

    def on_null(self, turn: Turn) -> Mapping[str, Any]:
        """The same clients without think time."""
        clients = cast(Load, turn.at).clients
        if clients not in self._ceilings:
            self._ceilings[clients] = self._ceiling(clients)
        return self._ceilings[clients]

    def _ceiling(self, clients: int) -> dict[str, Any]:
        trace, choice = self._order.trace, self._order.choice(clients)
        if self._players is not None:
            ceiling_run = self._players.ceiling(trace, choice)
        elif self._stage.ours:
            ceiling_run = ceiling(trace, choice, self._stage.settings.scratch)
        else:
            ceiling_run = "the clients run on hosts of others"
        if isinstance(ceiling_run, str):
            self._no_pair = ceiling_run
            return {}
        self._discarded[clients] = ceiling_run.discarded_bytes
        return {"null_calls": ceiling_run.calls, "null_elapsed_s": ceiling_run.elapsed_s}

    def _local(self) -> str:
        """The label of the first path's storage."""
        return storage_label(self._order.paths[0], read_mounts())

    def surroundings(self) -> dict[str, Any]:
        """What was asked for, the trace, and the places."""
        order = self._order
        cache = filer_cache(order.paths[0], self._stage.settings.filer_cache)
        filers = [emulated(filer) for filer in self._filers.values()]
        hosts = None if self._players is None else self._players.system.admission.admitted
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
                "client_memory_bytes": client_memory() if hosts is None else usable(hosts, "memory_bytes"),
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
            "hosts": [host()] if hosts is None else described(hosts),
        }


def _hash(file: Path) -> str:
    with file.open("rb") as data:
        return hashlib.file_digest(data, "sha256").hexdigest()


def refuse_bounds_on_nothing(bounded: Iterable[str], trace: RecordedFigures) -> None:
    """Raises UsageError for a bound on an op that the trace has not: every load would keep it."""
    lacking = [op for op in bounded if op not in trace.latency]
    if lacking:
        there = ", ".join(op for op in trace.latency if op != ALL)
        raise UsageError(f"--max-p99: the trace has no {lacking[0]} call; it has {there}")
