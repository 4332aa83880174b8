"""Replays one trace on each storage with several numbers of clients, one after another, and writes one result."""

from __future__ import annotations

import dataclasses
import time
import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from controller.observe.place_kind import read_mounts, storage_label
from controller.replay.ceiling import ceiling
from controller.replay.found import difference_text
from controller.replay.order import ReplayOrder, speed_text
from controller.replay.recorded import recorded
from controller.replay.run import Replayed, Stage, replay_once
from core.filer import load_filer
from experiments.conditions import emulated, host, place
from experiments.conduct import RESULTS
from experiments.memory import client_memory
from experiments.processes import processors
from experiments.replay.fidelity import fidelity
from experiments.replay.figures import recorded_figures, replayed_latencies
from experiments.replay.knee import refuse_bounds_on_nothing, search
from experiments.replay.result import (
    SCHEMA,
    Ceiling,
    Fidelity,
    RecordedFigures,
    ReplayKnee,
    ReplayPoint,
    ReplayResult,
    by_storage,
    write_result,
)
from experiments.replay.verdict import labels_of, limits_of, verdict_of, warnings_of
from experiments.report import words
from experiments.result import Latency
from traces.read import open_trace


@dataclass(frozen=True, slots=True, kw_only=True)
class Loads:
    """Which numbers of clients: those named, or those that a search for bounds on response time comes to; and on what.

    With bounds there is one filer: what they find is one storage's.
    """

    filers: Sequence[str] = ("none",)  # emulated one after another, each a source as settings have it
    clients: Sequence[int] = ()
    bounds_us: dict[str, float] | None = None  # op label → bound on its response p99
    most: int = 1  # clients that the search tries at the most


class Replays:
    """The points of one trace, as they come."""

    def __init__(self, stage: Stage, order: ReplayOrder, loads: Loads) -> None:
        self._stage, self._order, self._loads = stage, order, loads
        self._filer = load_filer(loads.filers[0])
        self._points: dict[tuple[str, int], ReplayPoint] = {}  # by storage and clients
        self._ceilings: dict[int, Ceiling | None] = {}  # by clients: it is the same for every storage
        self._no_ceiling: str | None = None
        self._touched = 0
        self._adapted = self._opened = 0

    def conduct(self) -> tuple[ReplayResult, Path]:
        """Every point, then the result, written to `<storage>/results/<run>`; raises as `replay_once`, RunFailed."""
        with open_trace(self._order.trace) as self._trace:
            figures = recorded_figures(str(self._order.trace), self._trace, recorded(self._trace))
            refuse_bounds_on_nothing(self._loads.bounds_us or {}, figures.latency)
            knee = self._run()
        result = self._result(figures, knee)
        directory = self._stage.settings.storage / RESULTS / result.run_id
        write_result(result, directory)
        return result, directory

    def _run(self) -> ReplayKnee | None:
        knee = None
        for source in self._loads.filers:
            self._filer = load_filer(source)
            self._stage = dataclasses.replace(
                self._stage, settings=dataclasses.replace(self._stage.settings, filer=source)
            )
            if self._loads.bounds_us is not None:
                knee = search(self._response, self._loads.bounds_us, most=self._loads.most)
            for clients in sorted(set(self._loads.clients)):
                self._response(clients)
        return knee

    def _response(self, clients: int) -> dict[str, Latency]:
        storage = self._storage()
        checks = self._stage.ours and clients not in self._ceilings
        self._stage.say(f"{storage}, {words.many(clients, 'client')}: {'self-check, then ' if checks else ''}replay")
        done = replay_once(self._stage, self._trace, self._order, clients, checked=lambda: self._check(clients))
        self._touched = max(self._touched, sum(room.bytes for room in done.program.rooms))
        self._adapted = max(self._adapted, done.program.adapted)
        self._opened = max(self._opened, done.program.unrecorded_opens)
        point = point_of(done, self._ceilings[clients], storage, emulated=self._filer is not None)
        self._points[storage, clients] = point
        return point.response

    def _storage(self) -> str:
        """What the points to come are named by."""
        return storage_label(self._order.paths[0], read_mounts()) if self._filer is None else self._filer.choice.label

    def _check(self, clients: int) -> None:
        if clients not in self._ceilings:
            self._ceilings[clients] = self._ceiling(clients)

    def _ceiling(self, clients: int) -> Ceiling | None:
        if not self._stage.ours:
            self._no_ceiling = "the clients run on hosts of others"
            return None
        found = ceiling(self._order.trace, self._order.choice(clients), self._stage.settings.scratch)
        if isinstance(found, str):
            self._no_ceiling = found
            return None
        return Ceiling(calls=found.calls, elapsed_s=found.elapsed_s, calls_per_second=found.calls_per_second)

    def _result(self, figures: RecordedFigures, knee: ReplayKnee | None) -> ReplayResult:
        together = by_storage(self._points.values())
        points = tuple(point for those in together.values() for point in sorted(those, key=lambda one: one.clients))
        labels = labels_of(points, touched=self._touched, memory=client_memory())
        judged = self._judged(figures, points)
        where = storage_label(self._order.paths[0], read_mounts())
        now = self._stage.clock.now()
        return ReplayResult(
            schema=SCHEMA,
            run_id=f"replay-{time.strftime('%Y%m%d-%H%M%S', time.gmtime(now))}-{uuid.uuid4().hex[:6]}",
            created=now,
            verdict=verdict_of(labels, where, points, speed_text(self._order.speed), judged, knee),
            labels=labels,
            warnings=warnings_of(
                figures, points, no_ceiling=self._no_ceiling, adapted=self._adapted, opened=self._opened
            ),
            conditions=self._conditions(points),
            recorded=figures,
            points=points,
            fidelity=judged,
            knee=knee,
        )

    def _judged(self, figures: RecordedFigures, points: Sequence[ReplayPoint]) -> Fidelity | None:
        """Of the filer of the recording if it is among those replayed on, else of the first."""
        same = {point.storage: point for point in points if point.clients == figures.streams}
        if not same or self._order.speed != 1.0:
            return None
        recorded_on = figures.origin.get("filer")
        digest = recorded_on.get("digest", "") if isinstance(recorded_on, dict) else ""
        for source, point in zip(self._loads.filers, same.values(), strict=True):
            filer = load_filer(source)
            if digest == ("" if filer is None else filer.digest):
                return fidelity(figures, point)
        return fidelity(figures, next(iter(same.values())), same_filer=False)

    def _conditions(self, points: Sequence[ReplayPoint]) -> dict[str, Any]:
        order, filers = self._order, [emulated(load_filer(source)) for source in self._loads.filers]
        return {
            "trace": {"path": str(order.trace), "bytes": order.trace.stat().st_size},
            "speed": speed_text(order.speed),
            "clones": "shared files" if order.shared else "private files",
            "seed": order.seed,
            "targets": [place(path) for path in order.paths],
            "emulated_filer": filers[0] if len(filers) == 1 else filers,
            "workers": points[-1].job["workers"],
            "versions": points[-1].job["versions"],
            "host": host(),
        }


def point_of(done: Replayed, top: Ceiling | None, storage: str, *, emulated: bool) -> ReplayPoint:
    """One replay's figures, with whether the replayer was the limit."""
    found = done.found.result
    rate = found.calls / found.elapsed_s if found.elapsed_s else 0.0
    inside = sum(one.service_total_ns for one in found.ops.values()) / 1e9
    cpu = found.cpu_s / (found.elapsed_s * processors()) if found.elapsed_s else 0.0
    share = done.found.run_queue_s / inside if inside else None
    limits = limits_of(rate, top, cpu, share)
    return ReplayPoint(
        storage=storage,
        emulated=emulated,
        clients=done.found.clients,
        job_id=str(done.job),
        began=done.found.began,
        prepared_s=done.found.prepared_s,
        elapsed_s=found.elapsed_s,
        calls=found.calls,
        errors=found.errors,
        bytes=found.bytes,
        differences={difference_text(one): one.calls for one in found.differences},
        calls_per_second=rate,
        response=replayed_latencies(found, response=True),
        service=replayed_latencies(found, response=False),
        per_second=found.by_second,
        late_s=found.lateness_max_ns / 1e9,
        waited_s=found.waited_s,
        client_cpu=cpu,
        run_queue_share=share,
        ceiling=top,
        limited=bool(limits),
        limits=limits,
        job=done.result,
    )
