"""Experiments on embedded services: everything is a process of this host, made for each run."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from controller.databases import open_databases
from controller.filer.emulated import watched_filer
from controller.jobs.run import Crew
from core.memory import client_memory
from core.services import embedded_services
from core.services.embedded import running_services
from core.services.place import Home, postgres_place
from experiments.workloads.discovery.places import fresh_place
from experiments.workloads.discovery.result import PointSpec
from experiments.workloads.discovery.serving import ServingMeter
from experiments.workloads.discovery.site import Deployment, Machine, Target
from monitoring.machine import host
from monitoring.processes import WorkerMeter, host_seconds, processors


class ProcessMeter:
    """Of the worker processes below this one, and of the services kept for this scratch directory."""

    def __init__(self, scratch: Path) -> None:
        self._meter = WorkerMeter(os.getpid())
        self._serving = ServingMeter(os.getpid(), running_services(scratch))

    def workers(self) -> tuple[float, float, float]:
        return (time.time(), *self._meter.read())

    def host(self) -> tuple[float, float] | None:
        return host_seconds()

    def serving(self) -> Mapping[str, float]:
        return self._serving.read()

    def close(self) -> None:
        """It holds nothing."""


class EmbeddedSite:
    """A `Site`."""

    cluster = "embedded"
    fresh = "every run: new database servers, an empty storage root of its own, everything synced before"

    @contextmanager
    def taken(self) -> Iterator[Machine]:
        yield Machine(processors=processors(), memory_bytes=client_memory(), hosts=[host()])

    @contextmanager
    def deploy(self, spec: PointSpec, name: str, target: Target, env: Mapping[str, str]) -> Iterator[Deployment]:
        names = [f"db{n}" for n in range(1, spec.databases + 1)]
        with (
            fresh_place(target.settings, target.storage, name) as place,
            embedded_services(place, databases=names, slots=spec.workers * spec.slots) as settings,
        ):
            databases = open_databases(settings)
            try:
                yield Deployment(
                    settings=settings,
                    databases=databases,
                    crew=Crew(settings=settings, ours=True, workers=spec.workers, slots=spec.slots, env=env),
                    meter=ProcessMeter(settings.scratch),
                    watch=partial(watched_filer, settings),
                    database_files={d.name: postgres_place(Home(settings.scratch), d.name) for d in databases},
                    containers=tuple,
                )
            finally:
                for database in databases:
                    database.dispose()

    def no_null(self) -> str | None:
        return None

    def hand_over(self, directory: Path) -> None:
        """The workers are this user."""
