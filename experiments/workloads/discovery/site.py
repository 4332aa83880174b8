"""What experiments run on: a run gets everything fresh from it, and of its own."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from controller.databases import JobHandle
from controller.filer.emulated import Watch
from controller.jobs.run import Crew
from controller.jobs.source import PreparedSource
from core.settings import Settings
from experiments.drops import Drop
from experiments.result.schema import At
from experiments.workloads.discovery.cold import drop_here
from experiments.workloads.discovery.result import PointSpec
from sql.session import Database


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """The storage of a run: that under test, or null storage."""

    settings: Settings  # no services attached; scratch and filer as they are to be used
    storage: Path  # directory on the storage under test
    source: PreparedSource
    binds: tuple[Path, ...] = ()  # that workers must see beside what they see always


class Meter(Protocol):
    """Counters of those who work, as they stand; asked once a second. Raises DatabaseFault."""

    def workers(self) -> tuple[float, float, float]:
        """When (this host's clock, seconds), and the workers' processor and run-queue seconds so far."""

    def host(self) -> tuple[float, float] | None:
        """Processor seconds that the workers' host was busy, and those that passed; None where it is another host."""

    def serving(self) -> Mapping[str, float]:
        """Processor seconds so far of those who serve the workers, by name; nothing of those nobody tells of."""

    def close(self) -> None:
        """Let go of what it reads from."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OfHosts:
    """What was observed of the hosts of a run, of an experiment on several."""

    counted: tuple[dict[str, Any], ...]  # by host: its share of the workers, its clock, its meters (core.crew.messages)
    index: dict[str, int]  # tasks; on_another_host: than the one that had written or read what they read


@dataclass(frozen=True, slots=True, kw_only=True)
class Deployment:
    """What one run has: fresh services, an empty storage root, and a crew that begins when the run does."""

    settings: Settings  # with the services attached
    databases: Sequence[Database]
    crew: Crew
    meter: Meter
    watch: Callable[[], AbstractContextManager[Watch]]  # of the emulated filer
    database_files: Mapping[str, Path]  # where each server keeps its files
    containers: Callable[[], Sequence[Mapping[str, Any]]]  # what each used, once the crew has left
    processors: float | None = None  # of those who work at it; None: all of the site's
    drop: Callable[[Sequence[Path], str], list[Drop]] = drop_here
    hosts: Callable[[Sequence[JobHandle]], OfHosts | None] = lambda _jobs: None  # once the crew has left


@dataclass(frozen=True, slots=True, kw_only=True)
class Machine:
    """Where the workers run."""

    processors: float
    memory_bytes: float  # that may cache files
    hosts: list[dict[str, Any]] = field(default_factory=list)  # for the disclosure


class Site(Protocol):
    """Workers and databases, and where they are."""

    cluster: str
    fresh: str  # what is fresh in every run, in words

    def taken(self, points: Sequence[At]) -> AbstractContextManager[Machine]:
        """Have it for an experiment, of whose points the largest is among these; at the end everything is as it was. Raises
        UsageError, SystemFault."""

    def deploy(
        self, spec: PointSpec, name: str, target: Target, env: Mapping[str, str]
    ) -> AbstractContextManager[Deployment]:
        """Everything for one run, removed afterwards; `name` is unique to it. Raises UsageError, SystemFault."""

    def no_null(self) -> str | None:
        """Why the workers cannot have their storage in this host's memory; None when they can."""

    def hand_over(self, directory: Path) -> None:
        """Let the workers read and write everything below a directory. Raises StorageFault."""
