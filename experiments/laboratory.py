"""Measures points one after another, each paired with null storage, and notes what the disclosure needs."""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from controller.jobs.source import PreparedSource
from core.errors import RunFailed, StorageFault
from core.settings import Settings
from experiments.base import PointSpec
from experiments.cold import Drop
from experiments.conditions import database_places
from experiments.corpus import Corpus
from experiments.harvest import harvest
from experiments.null_storage import NullStorage, no_room, null_storage
from experiments.points import PointRun, Workload, run_point
from experiments.result import Run
from experiments.site import Ground, Machine, Site

ATTEMPTS = 3  # at a run that something disturbs


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """What was asked for beside the experiment itself."""

    settings: Settings
    source: PreparedSource
    load: Workload
    filer_cache: int  # bytes that the filer itself can cache, as declared
    order: str  # how the points are ordered, in words
    site: Site


@dataclass(slots=True)
class Notes:
    """What is gathered beside the runs."""

    drops: list[Drop] = field(default_factory=list)
    offsets: list[dict[str, Any]] = field(default_factory=list)
    databases: list[dict[str, Any]] = field(default_factory=list)
    versions: dict[str, Any] = field(default_factory=dict)
    missed: int = 0  # samples that a database did not answer
    no_pair: str | None = None  # why there is no null storage


class Laboratory:
    """A `Measure`."""

    def __init__(self, order: Order, run_id: str, null: NullStorage | None, machine: Machine) -> None:
        self.notes = Notes()
        self._processors = machine.processors
        self._order = order
        self._id = run_id
        self._null = null
        self._done = 0

    def __call__(self, spec: PointSpec, repeat: int) -> Run:
        order = self._order
        name = f"{self._id}/{self._done:03d}"
        ground = Ground(settings=order.settings, storage=order.settings.storage, source=order.source)
        run = self._undisturbed(spec, repeat, name, ground)
        if self._null is not None:
            run = dataclasses.replace(run, null_elapsed_s=self._on_null(spec, f"{name}-null", self._null))
        self._done += 1
        beside = "" if run.null_elapsed_s is None else f"; on null storage {run.null_elapsed_s:.1f} s"
        rate = f"{run.gb_per_hour_discovered:.1f} GB/hour discovered"
        order.load.say(f"{spec}, repeat {repeat + 1}: {run.elapsed_s:.1f} s, {rate}{beside}")
        return run

    def _undisturbed(self, spec: PointSpec, repeat: int, name: str, ground: Ground) -> Run:
        """A run that was neither paused nor suspended and kept its workers; raises RunFailed when there is none."""
        order = self._order
        for attempt in range(ATTEMPTS):
            with run_point(order.site, spec, f"{name}-{attempt}" if attempt else name, ground, order.load) as done:
                disturbed = done.result["disturbances"]
                if not disturbed:
                    run = harvest(done, repeat, self._done, self._processors)
                    self._note(done)
                    return run
            order.load.say(f"{spec}, repeat {repeat + 1}: not counted and run again: {'; '.join(disturbed)}")
        raise RunFailed(f"{spec} was disturbed {ATTEMPTS} times in a row, last: {'; '.join(disturbed)}")

    def _on_null(self, spec: PointSpec, name: str, null: NullStorage) -> float:
        """Elapsed seconds of the same point in memory, without an emulated filer."""
        settings = dataclasses.replace(self._order.settings, filer="none")
        ground = Ground(settings=settings, storage=null.storage, source=null.source, binds=(null.directory,))
        warm = dataclasses.replace(self._order.load, cold=False)
        with run_point(self._order.site, spec, name, ground, warm) as done:
            return float(done.result["elapsed_s"])

    def _note(self, done: PointRun) -> None:
        notes = self.notes
        notes.drops += done.drops
        notes.missed += done.samples.missed
        notes.offsets.append({"run": self._done, "start": done.offsets[0], "end": done.offsets[1]})
        notes.databases = database_places(done.database_files, self._order.settings.storage)
        notes.versions = done.result["versions"]


@contextlib.contextmanager
def null_or_reason(
    corpus: Corpus, points: Sequence[PointSpec], load: Workload, site: Site
) -> Iterator[tuple[NullStorage | None, str | None]]:
    """Null storage for the largest of the points, or None and why there is none."""
    jobs = 1 if load.shard else max(point.databases for point in points)
    reason = site.no_null() or no_room(corpus, jobs)
    with contextlib.ExitStack() as stack:
        null = None
        if reason is None:
            try:
                null = stack.enter_context(null_storage(corpus))
                site.hand_over(null.directory)
            except StorageFault as fault:
                null, reason = None, str(fault)
        if reason is not None:
            load.say(f"no pairs on null storage: {reason}")
        yield null, reason
