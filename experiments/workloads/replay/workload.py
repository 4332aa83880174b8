"""Replays one trace for a study: the trace held open, one replay, the ceiling of its clients, and what is disclosed."""

from __future__ import annotations

import contextlib
import dataclasses
import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, cast

from controller.labels.rules import FilerCache, filer_cache, is_cached
from controller.observe.place_kind import read_mounts, storage_label
from controller.replay.ceiling import PLACE, ceiling
from controller.replay.found import difference_text
from controller.replay.order import ReplayOrder, speed_text
from controller.replay.recorded import recorded
from controller.replay.run import Replayed, Stage, replay_once
from core.errors import UsageError
from core.filer import FilerModel, load_filer
from core.memory import client_memory
from experiments.conditions import emulated, host, place
from experiments.drops import NOT_DROPPED, Drop, cache_state
from experiments.processes import processors
from experiments.report import words
from experiments.result.latency import call_time_of, marked
from experiments.result.schema import At
from experiments.workload import Observe, Turn, Workload
from experiments.workloads.replay import ABOUT
from experiments.workloads.replay.fidelity import fidelity
from experiments.workloads.replay.figures import recorded_figures, replayed_latencies
from experiments.workloads.replay.result import (
    ALL,
    Fidelity,
    Load,
    RecordedFigures,
    ReplayPoint,
    ReplayResult,
    ReplayRun,
    by_storage,
)
from traces.read import FileTrace, open_trace

_NOTHING_DROPPED = "nothing was dropped: the misses of an emulated filer are computed"


class Replays(Workload):
    """`filers`: emulated one after another, each a source as settings have it; `bounded`: ops that a bound is set on."""

    about = ABOUT

    def __init__(self, stage: Stage, order: ReplayOrder, filers: Sequence[str], bounded: Iterable[str] = ()) -> None:
        self.storage, self.clock, self.say = stage.settings.storage, stage.clock, stage.say
        self._stage, self._order, self._bounded = stage, order, tuple(bounded)
        self._filers: dict[str, FilerModel | None] = {}  # by the storage's name
        self._sources: dict[str, str] = {}
        for source in filers:
            filer = load_filer(source)
            name = self.where() if filer is None else filer.choice.label
            self._filers[name], self._sources[name] = filer, source
        self._ceilings: dict[int, dict[str, Any]] = {}  # by clients: it is the same for every storage and repeat
        self._drops: list[Drop] = []
        self._touched = self._adapted = self._opened = 0
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
        """A replay brings its files, clients and their end along."""
        yield lambda: self._observed(turn)

    def _observed(self, turn: Turn) -> ReplayRun:
        at = cast(Load, turn.at)
        settings = dataclasses.replace(self._stage.settings, filer=self._sources[at.storage])
        stage = dataclasses.replace(self._stage, settings=settings)
        done = replay_once(stage, self._trace, self._order, at.clients)
        self._drops += [drop_of(one) for one in done.found.dropped]
        self._touched = max(self._touched, sum(room.bytes for room in done.program.rooms))
        self._adapted = max(self._adapted, done.program.adapted)
        self._opened = max(self._opened, done.program.unrecorded_opens)
        return run_of(done, turn, emulated=self._filers[at.storage] is not None)

    def on_null(self, turn: Turn) -> Mapping[str, Any]:
        """The same clients without think time."""
        clients = cast(Load, turn.at).clients
        if clients not in self._ceilings:
            self._ceilings[clients] = self._ceiling(clients)
        return self._ceilings[clients]

    def _ceiling(self, clients: int) -> dict[str, Any]:
        if not self._stage.ours:
            self.no_pair = "the clients run on hosts of others"
            return {}
        found = ceiling(self._order.trace, self._order.choice(clients), self._stage.settings.scratch)
        if isinstance(found, str):
            self.no_pair = found
            return {}
        return {"null_calls": found.calls, "null_elapsed_s": found.elapsed_s}

    def where(self) -> str:
        """The label of the first path's storage."""
        return storage_label(self._order.paths[0], read_mounts())

    def pace(self) -> str:
        """How fast."""
        speed = speed_text(self._order.speed)
        return {"recorded": "at recorded speed", "max": "as fast as it goes"}.get(
            speed, f"at {speed} of recorded speed"
        )

    def emulated(self, point: ReplayPoint) -> str | None:
        """The name of its storage, where that is a filer's label."""
        return point.storage if point.run.emulated else None

    def cached(self, points: Sequence[ReplayPoint]) -> bool:
        """Whether the files are less than three times what this host's memory and the filer hold."""
        return is_cached(self._touched, client_memory() + self._cache().bytes)

    def undeclared(self) -> bool:
        """Whether there may be a filer whose cache nobody told of."""
        return self._cache().undeclared

    def _cache(self) -> FilerCache:
        return filer_cache(self._order.paths[0], self._stage.settings.filer_cache)

    def beside(self, points: Sequence[ReplayPoint]) -> Mapping[str, Any]:
        """The trace, and whether it came out as recorded."""
        return {"recorded": self._recorded, "fidelity": self._judged(points)}

    def _judged(self, points: Sequence[ReplayPoint]) -> Fidelity | None:
        """Of the filer of the recording if it is among those replayed on, else of the first."""
        same = [point for point in points if point.clients == self._recorded.streams]
        if not same or self._order.speed != 1.0:
            return None
        recorded_on = self._recorded.origin.get("filer")
        digest = recorded_on.get("digest", "") if isinstance(recorded_on, dict) else ""
        for point in same:
            filer = self._filers[point.storage]
            if digest == ("" if filer is None else filer.digest):
                return fidelity(self._recorded, point)
        return fidelity(self._recorded, same[0], same_filer=False)

    def remarks(self, result: ReplayResult) -> Sequence[str]:
        """Whether it came out as recorded."""
        return as_recorded(result)

    def warnings(self, points: Sequence[ReplayPoint]) -> Sequence[str]:
        """Of the trace, and of calls that ended otherwise."""
        return warnings_of(self._recorded, points, adapted=self._adapted, opened=self._opened)

    def conditions(self, points: Sequence[ReplayPoint]) -> dict[str, Any]:
        """What the result was found under; another storage is the point of it, another trace is not comparable."""
        order, run = self._order, points[-1].run
        filers = [emulated(filer) for filer in self._filers.values()]
        return {
            "configuration": {
                "edbench": run.job["versions"]["edbench"],
                "speed": speed_text(order.speed),
                "clones": "shared files" if order.shared else "private files",
            },
            "trace": {
                "path": str(order.trace),
                "bytes": order.trace.stat().st_size,
                "hash": _hash(order.trace),
                "origin": self._recorded.origin,
            },
            "seed": order.seed,
            "cache": {
                "state": cache_state(self._drops, asked=True) if self._drops else _NOTHING_DROPPED,
                "client_memory_bytes": client_memory(),
                "filer_cache_bytes": self._cache().declared,
                "drops": [drop.to_json() for drop in self._drops],
                "not_dropped": NOT_DROPPED if self._drops else "nothing was dropped",
            },
            "storage": place(order.paths[0]),
            "targets": [place(path) for path in order.paths],
            "emulated_filer": filers[0] if len(filers) == 1 else filers,
            "null_storage": {"paired": self.no_pair is None, "place": str(PLACE), "why_not": self.no_pair},
            "workers": run.job["workers"],
            "versions": run.job["versions"],
            "hosts": [host()],
        }


def _hash(file: Path) -> str:
    with file.open("rb") as data:
        return hashlib.file_digest(data, "sha256").hexdigest()


def drop_of(found: Mapping[str, Any]) -> Drop:
    """What one client dropped between writing its files and playing."""
    return Drop(when="before the calls", drop_caches=False, **found)


def run_of(done: Replayed, turn: Turn, *, emulated: bool) -> ReplayRun:
    """One replay's figures; its pair comes later."""
    found = done.found.result
    time = call_time_of(done.result)
    inside = sum(one.service_total_ns for one in found.ops.values()) / 1e9
    return ReplayRun(
        repeat=turn.repeat,
        order=turn.order,
        started_at=done.found.began,
        elapsed_s=found.elapsed_s,
        worker_cpu=found.cpu_s / (found.elapsed_s * processors()) if found.elapsed_s else 0.0,
        run_queue_share=done.found.run_queue_s / inside if inside else None,
        null_elapsed_s=None,
        latency=replayed_latencies(found, response=True),
        emulated=emulated,
        job_id=str(done.job),
        prepared_s=done.found.prepared_s,
        calls=found.calls,
        errors=found.errors,
        bytes=found.bytes,
        differences={difference_text(one): one.calls for one in found.differences},
        calls_per_second=found.calls / found.elapsed_s if found.elapsed_s else 0.0,
        service=marked(replayed_latencies(found, response=False), time),
        call_time=time,
        per_second=found.by_second,
        late_s=found.lateness_max_ns / 1e9,
        waited_s=found.waited_s,
        null_calls=None,
        job=done.result,
    )


def refuse_bounds_on_nothing(bounded: Iterable[str], trace: RecordedFigures) -> None:
    """Raises UsageError for a bound on an op that the trace has not: every load would keep it."""
    lacking = [op for op in bounded if op not in trace.latency]
    if lacking:
        there = ", ".join(op for op in trace.latency if op != ALL)
        raise UsageError(f"--max-p99: the trace has no {lacking[0]} call; it has {there}")


def as_recorded(result: ReplayResult) -> list[str]:
    """Whether a replay gave what was recorded, for the first line; nothing where that is not judged."""
    found = result.fidelity
    if found is None or found.passed is None:
        return []
    kept = "as recorded" if found.passed else "NOT as recorded"
    of = f" on {found.storage}" if len(by_storage(result.points)) > 1 else ""
    judged = (f"{row.what} {row.difference * 100:+z.1f} %" for row in found.rows if row.bound is not None)
    return [f"{kept}{of} ({', '.join(judged)})".replace("-", "\u2212")]


def warnings_of(trace: RecordedFigures, points: Sequence[ReplayPoint], *, adapted: int, opened: int = 0) -> list[str]:
    """What a reader must know before using the figures."""
    out = []
    if trace.lost:
        out.append(f"the trace lacks {trace.lost:,} calls that could not be kept when it was recorded")
    if adapted:
        out.append(
            f"{words.many(adapted, 'call')} of the trace ended otherwise than the rest of it explains (another program"
            " worked on the same files); they are replayed by the rest"
        )
    if opened:
        out.append(
            f"{words.many(opened, 'file')} that a call of the trace needs open, no call of the trace opened: the replay"
            " opens them, unmeasured"
        )
    for point in points:
        on = f"{point.storage}, " if len(by_storage(points)) > 1 else ""
        worst = max(point.repeats, key=lambda run: sum(run.differences.values())).differences
        if worst:
            told = "; ".join(f"{what} {calls:,} times" for what, calls in list(worst.items())[:5])
            more = f" and {len(worst) - 5} more kinds" if len(worst) > 5 else ""
            out.append(
                f"{on}{words.many(point.clients, 'client')}: {sum(worst.values()):,} calls did not end as"
                f" recorded: {told}{more}"
            )
    return out
