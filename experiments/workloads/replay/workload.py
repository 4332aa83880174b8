"""Replays one trace for a study: the trace held open, one replay, the ceiling of its clients, and what is disclosed."""

from __future__ import annotations

import contextlib
import dataclasses
import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, cast

from msgspec import to_builtins

from controller.labels.rules import filer_cache
from controller.replay.order import ReplayOrder, pace_text
from controller.replay.recorded import recorded
from controller.replay.run import Stage, replay_once
from core.errors import UsageError
from core.filer import FilerModel, load_filer
from core.memory import client_memory
from core.mounts import read_mounts, storage_label
from experiments.conditions import emulated
from experiments.crew.admission import described, usable
from experiments.crew.players import Players
from experiments.result.schema import At
from experiments.workload import Observe, Turn, Workload
from experiments.workloads.replay import ABOUT
from experiments.workloads.replay.figures import recorded_figures
from experiments.workloads.replay.observed import Observed
from experiments.workloads.replay.result import (
    ALL,
    LEVELS,
    Load,
    RecordedFigures,
)
from monitoring.machine import host, place, processors
from replay.ceiling import PLACE, ceiling
from replay.host import plan_of
from replay.plan import recorded_rate
from traces.read import FileTrace, open_trace


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
        self._no_pair: str | None = None  # why no run has a pair on null storage
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
