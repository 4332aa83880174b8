"""What the web application knows of the installation it serves; made once by whoever starts it."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from controller.databases import Jobs
from controller.jobs.groups.find import find, find_discovered
from controller.search.opened import Indexes
from core.clock import Clock, SystemClock
from core.errors import UsageError
from core.settings import Settings
from sql.session import Database
from web.doings import Doings
from web.door import Door
from web.errands import Errand, Errands

if TYPE_CHECKING:
    from experiments.profiles.live import Live
    from web.measuring.runs import Measurements


class Runner(Protocol):
    """Brings workers to jobs where they are ours to bring (`web.runs`)."""

    @property
    def creating(self) -> bool:
        """Whether jobs may be created and resumed here."""

    def room(self) -> int:
        """Slots, over all workers, that can be started beside what runs."""

    def reserved(self, workers: int, slots: int, filer: str) -> AbstractContextManager[None]:
        """Keep room for a job that is created or resumed in the block, which starts it. Raises FieldErrors when so many workers
        of so many slots cannot be started now beside what runs and what is reserved."""

    def start(self, jobs: Jobs, *, workers: int, slots: int) -> None:
        """Have a job or group worked on until it is at rest; returns at once."""

    def tends(self, identity: uuid.UUID) -> bool:
        """Whether somebody who lives is known to see to this job or group."""

    def problem(self, identity: uuid.UUID) -> str | None:
        """What went wrong with bringing workers to this job or group, in one line; None while nothing did."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WebContext:
    """Services attached, databases open, and who may come in."""

    settings: Settings
    databases: Sequence[Database]
    embedded: bool  # services and workers are ours to start
    runner: Runner
    door: Door
    env: Mapping[str, str] = field(default_factory=dict)
    clock: Clock = field(default_factory=SystemClock)
    corpora: tuple[Path, ...] = ()  # directories beside the storage root below which sources may lie
    productions: tuple[Path, ...] = ()  # the same of what jobs are told to write
    hash_lists: tuple[Path, ...] = ()  # directories with lists of known software files, beside the storage root's
    targets: tuple[Path, ...] = ()  # directories below which storage profiles may run, beside the storage root
    measurements: Measurements | None = None  # where this server may start some
    profile: Live | None = None  # of the command that this server stands beside, where that runs one
    results: Path | None = None  # storage root whose results are shown, where that is another than the jobs'
    indexes: Indexes = field(init=False)  # that searches share
    errands: Errands = field(init=False, default_factory=Errands)  # what takes longer than a request
    doings: Doings = field(init=False, default_factory=Doings)  # of requests, that measurements may not begin beside

    def __post_init__(self) -> None:
        object.__setattr__(self, "indexes", Indexes(self.settings))

    @property
    def results_root(self) -> Path:
        """The storage root below which results lie."""
        return self.results or self.settings.storage

    def refuse_beside(self) -> None:
        """Raises UsageError while a measurement runs: what is done beside it would be in its figures."""
        if self.measurements is not None:
            self.measurements.refuse()

    def doing(self, what: str) -> AbstractContextManager[None]:
        """Begin what no measurement may begin beside before the block is left. Raises UsageError while one runs."""
        return self.doings.doing(what, self.refuse_beside)

    def start_errand(self, job: uuid.UUID, kind: str, work: Callable[[], Any]) -> Errand:
        """Begin it, where neither another one nor a measurement runs; raises UsageError."""
        with self.doing(f"{kind} of job {job} is being begun"):
            return self.errands.start(job, kind, work)

    def find(self, reference: str) -> Jobs:
        """The job or group meant by an id, an unambiguous beginning of one, or `last`; raises UsageError."""
        self._refuse_none()
        return find(self.databases, reference)

    def find_discovered(self, reference: str) -> Jobs:
        """The same, of discoveries alone; `last` is the newest of them. Raises OtherType for a job of another type."""
        self._refuse_none()
        return find_discovered(self.databases, reference)

    def _refuse_none(self) -> None:
        if not self.databases:
            raise UsageError("there is no job: the databases come with the next run of the experiment")
