"""Runs discoveries for a study: what all runs share, one run, its pair on null storage, and what is disclosed."""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

from controller.jobs.source import PreparedSource, refuse_own_output
from controller.labels.rules import FilerCache, filer_cache, is_cached, unique_bytes
from controller.observe.place_kind import read_mounts, storage_label
from core.errors import StorageFault, UsageError
from core.filer import load_filer
from core.settings import Settings
from experiments import conditions as said
from experiments.drops import NOT_DROPPED, Drop, cache_state
from experiments.result.schema import At
from experiments.workload import Disturbed, Observe, Turn, Workload
from experiments.workloads.discovery import ABOUT, shares_told
from experiments.workloads.discovery.cold import ONE_KERNEL
from experiments.workloads.discovery.configuration import configuration
from experiments.workloads.discovery.corpus import Corpus, look_at
from experiments.workloads.discovery.harvest import harvest
from experiments.workloads.discovery.null_storage import PLACE, NullStorage, no_room, null_storage
from experiments.workloads.discovery.result import Point, PointSpec, Result, Run
from experiments.workloads.discovery.run_point import Load, PointRun, run_point
from experiments.workloads.discovery.site import Ground, Machine, Site


@dataclass(slots=True)
class Notes:
    """What is gathered beside the runs."""

    drops: list[Drop] = field(default_factory=list)
    offsets: list[dict[str, Any]] = field(default_factory=list)
    databases: list[dict[str, Any]] = field(default_factory=list)
    versions: dict[str, Any] = field(default_factory=dict)
    missed: int = 0  # samples that a database did not answer


class Discovery(Workload):
    """`filer_cache`: bytes that the filer itself can cache, as declared; None: nobody said."""

    about = ABOUT

    def __init__(
        self, settings: Settings, source: PreparedSource, load: Load, site: Site, *, filer_cache: int | None = None
    ) -> None:
        self.storage, self.clock, self.say = settings.storage, load.clock, load.say
        self._settings, self._source, self._load, self._site = settings, source, load, site
        self._filer_cache = filer_cache
        self._filer = load_filer(settings.filer)  # it is there and makes sense
        self._notes = Notes()
        self._null: NullStorage | None = None
        self._corpus: Corpus
        self._machine: Machine

    @contextlib.contextmanager
    def prepared(self, points: Sequence[At]) -> Iterator[None]:
        """The site is taken, and the corpus copied to null storage where it has room there."""
        settings = self._settings
        if not settings.embedded:
            raise UsageError(
                "an experiment starts databases and workers of its own for every run;"
                " unset EDBENCH_DATABASES and EDBENCH_BROKER, and run it on the host, not in a container"
            )
        refuse_own_output(self._source, settings)
        try:
            settings.storage.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise StorageFault(f"storage root {settings.storage}: {error.strerror}", errno=error.errno or 0) from error
        self._corpus = look_at(self._source)
        jobs = 1 if self._load.shard else max(int(point.values()["databases"]) for point in points)
        with self._site.taken() as self._machine, self._null_storage(jobs):
            yield

    @contextlib.contextmanager
    def _null_storage(self, jobs: int) -> Iterator[None]:
        """Room for so many jobs at a time, or `no_pair` says why there is none."""
        self.no_pair = self._site.no_null() or no_room(self._corpus, jobs)
        with contextlib.ExitStack() as stack:
            if self.no_pair is None:
                try:
                    self._null = stack.enter_context(null_storage(self._corpus))
                    self._site.hand_over(self._null.directory)
                except StorageFault as fault:
                    self._null, self.no_pair = None, str(fault)
            if self.no_pair is not None:
                self.say(f"no pairs on null storage: {self.no_pair}")
            yield

    @contextlib.contextmanager
    def started(self, turn: Turn) -> Iterator[Observe]:
        """The job runs before the block begins, and is read inside it, while its databases are there."""
        ground = Ground(settings=self._settings, storage=self.storage, source=self._source)
        with run_point(self._site, cast(PointSpec, turn.at), turn.name, ground, self._load) as done:
            yield lambda: self._observed(done, turn)

    def _observed(self, done: PointRun, turn: Turn) -> Run | Disturbed:
        """A run that was neither paused nor suspended and kept its workers."""
        disturbed = done.result["disturbances"]
        if disturbed:
            return Disturbed(disturbed)
        run = harvest(done, turn.repeat, turn.order, self._machine.processors)
        notes = self._notes
        notes.drops += done.drops
        notes.missed += done.samples.missed
        notes.offsets.append({"run": turn.order, "start": done.offsets[0], "end": done.offsets[1]})
        notes.databases = said.database_places(done.database_files, self.storage, emulated=self._filer is not None)
        notes.versions = done.result["versions"]
        return run

    def on_null(self, turn: Turn) -> Mapping[str, Any]:
        """The same point in memory, without an emulated filer."""
        null = self._null
        if null is None:
            return {}
        settings = dataclasses.replace(self._settings, filer="none")
        ground = Ground(settings=settings, storage=null.storage, source=null.source, binds=(null.directory,))
        warm = dataclasses.replace(self._load, cold=False)
        with run_point(self._site, cast(PointSpec, turn.at), turn.name, ground, warm) as done:
            return {"null_elapsed_s": float(done.result["elapsed_s"])}

    def where(self) -> str:
        """The storage's label."""
        return storage_label(self.storage, read_mounts())

    def emulated(self, point: Point) -> str | None:
        """The same for every point."""
        return self._filer.choice.label if self._filer else None

    def cached(self, points: Sequence[Point]) -> bool:
        """Whether some point discovered too little for what can cache it."""
        return cached(points, self._machine.memory_bytes + self._cache().bytes)

    def undeclared(self) -> bool:
        """Whether there may be a filer whose cache nobody told of."""
        return self._cache().undeclared

    def _cache(self) -> FilerCache:
        return filer_cache(self.storage, self._filer_cache)

    def remarks(self, result: Result) -> Sequence[str]:
        """What of its time the storage took."""
        return shares_told(result.points)

    def warnings(self, points: Sequence[Point]) -> Sequence[str]:
        """Of gaps, and of runs that did not find the same."""
        return warnings_of(points, missed=self._notes.missed)

    def conditions(self, points: Sequence[Point]) -> dict[str, Any]:
        """Design §7."""
        settings, load, notes = self._settings, self._load, self._notes
        config = configuration(settings, load, self._filer, cluster=self._site.cluster)
        run = points[0].repeats[0]
        return {
            "configuration": config,
            "configuration_hash": said.configuration_hash(config),
            "corpus": self._corpus.describe(),
            "expansion": run.result["expansion"],
            "items_per_gb_raw": run.result["items_per_gb_raw"],
            "cache": {
                "state": cache_state(notes.drops, asked=load.cold),
                "client_memory_bytes": self._machine.memory_bytes,
                "filer_cache_bytes": self._filer_cache,
                "drops": [drop.to_json() for drop in notes.drops],
                "not_dropped": NOT_DROPPED if load.cold else "nothing was dropped",
                "index_batches": ONE_KERNEL,
            },
            "storage": said.place(self.storage),
            "source": said.place(self._corpus.root),
            "databases": notes.databases,
            "emulated_filer": said.emulated(self._filer),
            "null_storage": {"paired": self.no_pair is None, "place": str(PLACE), "why_not": self.no_pair},
            "hosts": self._machine.hosts,
            "versions": notes.versions,
            "clock_offset_s": notes.offsets,  # by run: the database's clock less this host's
            "samples_missed": notes.missed,
            "fresh": self._site.fresh,
            "latencies": "closed-loop: a slot makes its next call after the last has returned",
        }


def cached(points: Sequence[Point], caches: int) -> bool:
    """Whether some point discovered less than three times the bytes that caches hold, each byte counted once."""
    return is_cached(min(_unique(run.result) for point in points for run in point.repeats), caches)


def _unique(result: Mapping[str, Any]) -> float:
    return unique_bytes(
        float(result["discovered_bytes"]),
        kind=result.get("kind"),
        jobs=int(result.get("databases", 1)),
        source_copies=int(result.get("source_copies", 1)),
    )


def warnings_of(points: Sequence[Point], *, missed: int = 0) -> list[str]:
    """What keeps the figures of discoveries from being whole."""
    out = []
    if missed:
        out.append(f"{missed} looks at a database got no answer: the series have gaps")
    if not all(run.result["calls_complete"] for point in points for run in point.repeats):
        out.append("some call records are missing: the calls are a lower bound")
    for databases in sorted({point.databases for point in points}):
        found = {
            (run.result["items"], run.result["discovered_bytes"])
            for point in points
            if point.databases == databases
            for run in point.repeats
        }
        if len(found) > 1:
            out.append(
                f"runs did not find the same items and discovered bytes ({databases} databases): {sorted(found)}"
            )
    return out
