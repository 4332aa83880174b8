"""Runs discoveries for a study: what all runs share, one run, its pair on null storage, and what is disclosed."""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, cast

from controller.jobs.source import PreparedSource, refuse_own_output
from controller.labels.rules import filer_cache
from core.errors import RunFailed, StorageFault, UsageError
from core.filer import load_filer
from core.settings import Settings
from experiments import conditions as said
from experiments.result.schema import At
from experiments.workload import Disturbed, Observe, Turn, Workload
from experiments.workloads.discovery import ABOUT
from experiments.workloads.discovery.configuration import configuration
from experiments.workloads.discovery.content import Content, content_of
from experiments.workloads.discovery.corpus import Corpus, look_at
from experiments.workloads.discovery.null_storage import PLACE, NullStorage, no_room, null_storage
from experiments.workloads.discovery.observed import Observed, observed, observed_on_null
from experiments.workloads.discovery.result import PointSpec
from experiments.workloads.discovery.run_point import Load, PointRun, run_point
from experiments.workloads.discovery.site import Machine, Site, Target


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
        self._null: NullStorage | None = None
        self._no_pair: str | None = None  # why no run has a pair on null storage
        self._corpus: Corpus
        self._content: Content  # before the first run
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
        self._content = content_of(self._corpus)
        jobs = 1 if self._load.shard else max(int(point.values()["databases"]) for point in points)
        with self._site.taken() as self._machine, self._null_storage(jobs):
            yield

    @contextlib.contextmanager
    def _null_storage(self, jobs: int) -> Iterator[None]:
        """Room for so many jobs at a time, or `no_pair` says why there is none."""
        self._no_pair = self._site.no_null() or no_room(self._corpus, jobs)
        with contextlib.ExitStack() as stack:
            if self._no_pair is None:
                try:
                    self._null = stack.enter_context(null_storage(self._corpus))
                    self._site.hand_over(self._null.directory)
                except StorageFault as fault:
                    self._null, self._no_pair = None, str(fault)
            if self._no_pair is not None:
                self.say(f"no pairs on null storage: {self._no_pair}")
            yield

    @contextlib.contextmanager
    def started(self, turn: Turn) -> Iterator[Observe]:
        """The job runs before the block begins, and is read inside it, while its databases are there."""
        target = Target(settings=self._settings, storage=self.storage, source=self._source)
        with run_point(self._site, cast(PointSpec, turn.at), turn.name, target, self._load) as done:
            yield lambda: self._observed(done, turn)

    def _observed(self, done: PointRun, turn: Turn) -> Observed | Disturbed:
        """A run that was neither paused nor suspended and kept its workers."""
        disturbed = done.result["disturbances"]
        if disturbed:
            return Disturbed(disturbed)
        places = said.database_places(done.database_files, self.storage, emulated=self._filer is not None)
        return observed(done, turn.repeat, turn.order, self._machine.processors, places)

    def on_null(self, turn: Turn) -> Mapping[str, Any]:
        """The same point in memory, without an emulated filer."""
        null = self._null
        if null is None:
            return {}
        settings = dataclasses.replace(self._settings, filer="none")
        target = Target(settings=settings, storage=null.storage, source=null.source, binds=(null.directory,))
        warm = dataclasses.replace(self._load, cold=False)
        with run_point(self._site, cast(PointSpec, turn.at), turn.name, target, warm) as done:
            return {"null": observed_on_null(done)}

    def surroundings(self) -> dict[str, Any]:
        """Design §7, so far as the runs do not tell it. Raises RunFailed when the corpus is another than before them."""
        settings, load = self._settings, self._load
        cache = filer_cache(self.storage, self._filer_cache)
        return {
            "configuration": configuration(settings, load, self._filer, cluster=self._site.cluster),
            "corpus": self._corpus.describe() | {"content": dataclasses.asdict(self._unchanged())},
            "cache": {
                "client_memory_bytes": self._machine.memory_bytes,
                "filer_cache_bytes": cache.declared,
                "filer_caches_itself": cache.possible,
            },
            "storage": said.place(self.storage),
            "source": said.place(self._corpus.root),
            "emulated_filer": said.emulated(self._filer),
            "null_storage": {"paired": self._no_pair is None, "place": str(PLACE), "why_not": self._no_pair},
            "hosts": self._machine.hosts,
            "fresh": self._site.fresh,
        }

    def _unchanged(self) -> Content:
        after = content_of(self._corpus)
        if after != self._content:
            raise RunFailed("the corpus was changed while it was measured: what it holds is not what it held before")
        return after
