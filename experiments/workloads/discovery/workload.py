"""Runs discoveries for an experiment: shared preparation, one run, its null baseline, and the disclosure."""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from importlib.metadata import version
from typing import Any, cast

from controller.databases import JobHandle
from controller.jobs.distribution import Distribution
from controller.jobs.source import PreparedSource, refuse_own_output
from controller.labels.rules import filer_cache
from core.crew import roots_of
from core.errors import RunFailed, StorageFault, system_errors
from core.filer import FilerModel, load_filer
from core.options import DEFAULT_ZONE
from core.records import JobOptions
from core.settings import Settings
from experiments import conditions
from experiments.result.schema import At
from experiments.workload import Disturbed, Observe, Turn, Workload
from experiments.workloads.discovery import ABOUT
from experiments.workloads.discovery.corpus import Content, Corpus, content_of, look_at
from experiments.workloads.discovery.null import (
    NullStorage,
    Portion,
    may_take,
    needs_of,
    no_memory,
    null_storage,
    portions_of,
)
from experiments.workloads.discovery.observed import Observed
from experiments.workloads.discovery.result import NO_LIMIT, PointSpec
from experiments.workloads.discovery.run_point import Load, run_on_null, run_point
from experiments.workloads.discovery.site import Site, Target
from monitoring.machine import place


def configuration(settings: Settings, load: Load, filer: FilerModel | None, *, cluster: str) -> dict[str, Any]:
    """Return the configuration, without storage, host and the points' own numbers."""
    options = load.options
    return {
        "edbench": version("edbench"),
        "cluster": cluster,
        "index_engine": settings.index_engine,
        "index_io": "built on scratch, then published through the storage layer",
        "passes": 1 if options.single_pass else 2,
        "index_streams": options.index_streams or NO_LIMIT,
        "fsync": options.fsync.value,
        "layout": options.layout.value,
        "task_bytes": options.batch_bytes,
        "split_bytes": options.split_bytes,
        "limits": dataclasses.asdict(options.limits),
        "passwords": dataclasses.asdict(options.passwords),
        "lease_seconds": options.lease_seconds,
        "dispatch_seconds": options.dispatch_seconds,
        "slot_memory_mb": settings.slot_memory_mb,
        "plugins": sorted(settings.plugins),
        "emulated_filer": "none" if filer is None else f"{filer.choice.label} ({filer.digest})",
        "cold": load.cold,
        "several_databases": _several(load),
    } | _chosen(options)


def _chosen(options: JobOptions) -> dict[str, Any]:
    """Return the options that are not the default: older results do not name these and had the default, except those of
    `experiment r1`."""
    values = {"task_files": options.batch_files, "index_tasks": options.index_tasks, "time_zone": options.time_zone}
    usual = {"task_files": JobOptions().batch_files, "index_tasks": None, "time_zone": DEFAULT_ZONE}
    others = {"batch_mb", "batch_files", "split_mb", "index_streams"}  # have older names
    distributed = {name: value for name, value in Distribution.of(options).chosen.items() if name not in others}
    return {name: value for name, value in values.items() if value != usual[name]} | distributed


def _several(load: Load) -> str:
    if load.shard:
        return "one data set shared out over the databases"
    each = "each with its own copy" if load.copies else "all of one source"
    return f"one job over the data set on each database, {each}"


_READS = "copies in memory of one portion of the corpus at a time, made before the clock starts"
_WRITES = "in memory until the portion is done, so that tasks can read it; index files are discarded"


class Discovery(Workload):
    """A discovery as a workload. `filer_cache`: declared bytes that the filer itself can cache; None: not declared.
    `null_cap`: bytes of memory that null storage may hold; None: a share of what is free. `baseline`: whether to run on
    null storage at all."""

    about = ABOUT

    def __init__(
        self,
        settings: Settings,
        source: PreparedSource,
        load: Load,
        site: Site,
        *,
        filer_cache: int | None = None,
        null_cap: int | None = None,
        baseline: bool = True,
    ) -> None:
        self.storage, self.clock, self.say = settings.storage, load.clock, load.say
        self._settings, self._source, self._load, self._site = settings, source, load, site
        self._filer_cache, self._null_cap, self._baseline = filer_cache, null_cap, baseline
        self._filer = load_filer(settings.filer)  # refuses a missing or invalid one
        self._null: NullStorage | None = None
        self._portions: dict[int, tuple[Portion, ...] | None] = {}  # by databases; None: they cannot be made
        self._no_baseline: str | None = None  # why some run has no null baseline
        self._corpus: Corpus
        self._content: Content  # before the first run
        self._memory_bytes: float  # of the workers' hosts

    @contextlib.contextmanager
    def prepared(self, points: Sequence[At]) -> Iterator[None]:
        """Take the site, and create null storage if possible."""
        settings = self._settings
        refuse_own_output(self._source, settings)
        with system_errors(StorageFault, f"storage root {settings.storage}"):
            settings.storage.mkdir(parents=True, exist_ok=True)
        self._corpus = look_at(self._source)
        self._content = content_of(self._corpus)
        with self._site.taken(points) as self._memory_bytes, self._null_storage():
            yield

    @contextlib.contextmanager
    def _null_storage(self) -> Iterator[None]:
        """Provide null storage; if that is not possible, `no_baseline` has the reason."""
        place = roots_of(self._settings, self._load.env)["null"]
        why = no_memory(place) if self._baseline else "left out by --no-baseline"
        with contextlib.ExitStack() as stack:
            try:
                if why is None:
                    room = may_take(place)
                    cap = room if self._null_cap is None else min(self._null_cap, room)
                    null = stack.enter_context(null_storage(self._source.path, cap, place))
                    why = self._site.no_null(null.directory)
                    self._null = null if why is None else None
            except StorageFault as fault:
                why = str(fault)
            if why is not None:
                self._unpaired(why)
            yield

    def _unpaired(self, why: str) -> None:
        if why != self._no_baseline:
            self.say(f"no null baseline: {why}")
        self._no_baseline = why

    @contextlib.contextmanager
    def started(self, turn: Turn) -> Iterator[Observe]:
        """Run the job, then yield a function that reads it while its databases exist."""
        target = Target(settings=self._settings, storage=self.storage, source=self._source)
        with run_point(self._site, turn, target, self._load) as (jobs, seen):
            yield lambda: self._observed(jobs, seen, cast("PointSpec", turn.at))

    def _observed(self, jobs: Sequence[JobHandle], seen: Observed, at: PointSpec) -> Observed | Disturbed:
        """Return the observations, or Disturbed if the run was paused or suspended or lost workers."""
        if disturbed := seen.result["disturbances"]:
            return Disturbed(disturbed)
        self._cut(jobs, at)
        return seen

    def _cut(self, jobs: Sequence[JobHandle], at: PointSpec) -> None:
        """Cut the corpus into portions once the first run with so many databases is over: the needs of each file are
        then known."""
        if self._null is None or at.databases in self._portions:
            return
        try:
            needs = needs_of(jobs, copies=self._load.copies and at.databases > 1)
            self._portions[at.databases] = portions_of(needs, self._null.cap)
        except StorageFault as fault:
            self._portions[at.databases] = None
            self._unpaired(str(fault))

    def on_null(self, turn: Turn) -> Mapping[str, Any]:
        """Run the same point in memory, without an emulated filer."""
        at = cast(PointSpec, turn.at)
        portions = self._portions.get(at.databases)
        if self._null is None or not portions:
            return {}
        try:
            return {"null": run_on_null(self._site, at, turn.name, self._null, portions, self._settings, self._load)}
        except StorageFault as fault:
            self._unpaired(str(fault))
            return {}

    def surroundings(self) -> dict[str, Any]:
        """Return the disclosure of design §7, except what the runs contain. Raises RunFailed if the corpus has
        changed."""
        settings, load = self._settings, self._load
        cache = filer_cache(self.storage, self._filer_cache)
        content = content_of(self._corpus)
        if content != self._content:
            raise RunFailed("the corpus changed during the measurement: its content differs from before")
        return {
            "configuration": configuration(settings, load, self._filer, cluster=self._site.cluster),
            "corpus": self._corpus.describe() | {"content": dataclasses.asdict(content)},
            "cache": {
                "client_memory_bytes": self._memory_bytes,
                "filer_cache_bytes": cache.declared,
                "filer_caches_itself": cache.possible,
            },
            "storage": place(self.storage),
            "source": place(self._corpus.root),
            "emulated_filer": conditions.emulated(self._filer),
            "null_storage": {
                "paired": self._no_baseline is None,
                "why_not": self._no_baseline,
                "place": str(roots_of(settings, load.env)["null"]),
                "cap_bytes": self._null and self._null.cap,
                "reads": _READS,
                "writes": _WRITES,
            },
            "hosts": self._site.hosts,
            "fresh": self._site.fresh,
        }
