"""Runs days: a schedule of matters on workers of the crew, the same on null storage, and the disclosure."""

from __future__ import annotations

import contextlib
import dataclasses
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, cast

from controller.filer import watched_filer
from controller.jobs.source import PreparedSource
from core.errors import StorageFault, UsageError
from core.job_types import types_with
from core.names import display_name
from core.residency import regular_files
from experiments.result.steady import judged
from experiments.workload import Disturbed, Observe, Turn
from experiments.workloads.day import ABOUT
from experiments.workloads.day.result import DayLoad, DayRun
from experiments.workloads.day.running import Running
from experiments.workloads.day.schedule import STEPS, Schedule
from experiments.workloads.discovery.figures import Times, calls_of
from experiments.workloads.discovery.null import Portion
from experiments.workloads.discovery.site import Target
from experiments.workloads.discovery.workload import Discovery

MOST_SOURCES = 8  # custodians whose data the matters have


def sources_of(source: PreparedSource) -> dict[str, tuple[bytes, int]]:
    """Return the largest custodians by name: directory and bytes of its files. Raises UsageError if none has files."""
    root = Path(os.fsdecode(source.path))
    sizes = {name: sum(f.stat(follow_symlinks=False).st_size for f in regular_files(root / os.fsdecode(name)))
             for name in source.directories}  # fmt: skip
    largest = sorted((name for name in sizes if sizes[name]), key=lambda name: (-sizes[name], name))[:MOST_SOURCES]
    if not largest:
        raise UsageError(
            f"source {root} has no directory with files: a matter has the files of one first-level directory"
        )
    return {display_name(name): (name, sizes[name]) for name in largest}


def steps_there() -> tuple[tuple[str, ...], str]:
    """Return the installed job types after a discovery, and a line about those not installed; empty if all are."""
    there, absent = [], []
    for step in STEPS:
        try:
            types_with(step)
            there.append(step.value)
        except UsageError:
            absent.append(step.value)
    return tuple(there), f"omitted, because their package is not installed: {', '.join(absent)}" if absent else ""


class Day(Discovery):
    """An experiment of discoveries whose runs are days. `schedule`: for every load; `sources`: as `sources_of` returns
    them; `within`: the bound, seconds for each GB; `predicted`: by the simulator, in plain data."""

    about = ABOUT

    def __init__(
        self, *given: Any, schedule: Schedule, sources: Mapping[str, tuple[bytes, int]], within: float,
        predicted: Sequence[Mapping[str, Any]] = (), **named: Any,
    ) -> None:  # fmt: skip
        super().__init__(*given, **named)
        self._schedule, self._sources, self._within, self._predicted = schedule, sources, within, list(predicted)
        self._needs = 0  # bytes of null storage for the last run

    @contextlib.contextmanager
    def started(self, turn: Turn) -> Iterator[Observe]:
        """Yield a function that runs the day."""
        yield lambda: self._day(turn, Target(settings=self._settings, storage=self.storage, source=self._source))

    def _day(self, turn: Turn, target: Target) -> DayRun | Disturbed:
        at = cast(DayLoad, turn.at)
        matters = self._schedule.matters(at.matters, turn.repeat) if at.matters else self._schedule.each_alone()
        with self._site.deploy(at, turn.name, target) as deployment:
            with deployment.leased, watched_filer(deployment.settings):
                running = Running(at, deployment, target.source, self._sources, self._load)
                before = deployment.workers()
                running.carry(matters, one_by_one=not at.matters)
                after = deployment.workers()
            jobs, tables = running.records()
        if running.disturbed:
            return Disturbed(sorted(set(running.disturbed)))
        self._needs = sum(nbytes for _, nbytes in self._sources.values()) + sum(job.bytes for job in jobs)
        elapsed = max(job.ended_s for job in jobs)
        calls = calls_of(tables, Times(running.began + running.offset_s, running.began + running.offset_s + elapsed))
        done = [(second, float(sum(by_op.values()))) for second, by_op in calls.per_second]
        steady = judged(
            "calls done of those due", done, 0.0, elapsed, due=[(int(job.due_s), float(job.calls_made)) for job in jobs]
        )
        return DayRun(
            repeat=turn.repeat,
            order=turn.order,
            started_at=running.began,
            elapsed_s=elapsed,
            worker_cpu=min(1.0, (after[1] - before[1]) / (elapsed * deployment.processors)),
            run_queue_share=(after[2] - before[2]) / calls.seconds if calls.seconds else None,
            null_elapsed_s=None,
            latency=calls.latency,
            steady=() if steady is None else (steady,),
            within_s_per_gb=self._within,
            jobs=jobs,
        )

    def on_null(self, turn: Turn) -> Mapping[str, Any]:
        """Run the same day in memory, without an emulated filer."""
        if self._null is None:
            return {}
        root = os.fsencode(self._source.path)
        files = tuple(os.path.relpath(os.fsencode(file), root) for name, _ in self._sources.values()
                      for file in regular_files(Path(os.fsdecode(os.path.join(root, name)))))  # fmt: skip
        try:
            if self._needs > self._null.cap:
                raise StorageFault(
                    f"a day needs {self._needs / 1e9:,.3f} GB, but null storage may use {self._null.cap / 1e9:,.3f} GB"
                )
            source = self._null.stage(Portion(files, self._needs), whole=True)
            settings = dataclasses.replace(self._settings, filer="none")
            seen = self._day(turn, Target(settings=settings, storage=self._null.storage, source=source))
        except StorageFault as fault:
            self._unpaired(str(fault))
            return {}
        return {} if isinstance(seen, Disturbed) else {"null": seen.jobs, "null_elapsed_s": seen.elapsed_s}

    def surroundings(self) -> dict[str, Any]:
        """Return the surroundings of a discovery, with the schedule and the predictions."""
        schedule = dataclasses.asdict(self._schedule) | {"within_s_per_gb": self._within}
        raw = {name: nbytes for name, (_, nbytes) in self._sources.items()}
        known = {"schedule": schedule | {"raw_bytes": raw}, "predicted": self._predicted, "filer": self._settings.filer}
        return super().surroundings() | known
