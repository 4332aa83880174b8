"""Jobs of this server: one set of workers for all of them, and a thread that follows each; runners of servers that start no workers."""

from __future__ import annotations

import dataclasses
import logging
import threading
import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field
from functools import partial

from controller.cluster.embedded import EmbeddedCluster
from controller.databases import Jobs
from controller.filer import watched_filer
from controller.jobs.create import clean_copies
from controller.jobs.groups import refresh
from controller.jobs.progress import Snapshot
from controller.jobs.results import job_result
from controller.jobs.run import run_all_to_rest, wait_all
from controller.observe.trace_collection import collect_trace
from core.clock import Clock
from core.errors import EdbenchError, UsageError
from core.settings import Settings
from web.background import Measurements
from web.context import Runner
from web.errors import FieldErrors, one_line


class SharedWorkers:
    """The shared workers, as one run uses them. On request to stop, the run ends as a command does at Ctrl-C, which
    pauses the job."""

    def __init__(self, bring: Callable[[], EmbeddedCluster], stop: threading.Event) -> None:
        self._bring = bring
        self._stop = stop
        self._cluster: EmbeddedCluster | None = None

    def check(self) -> None:
        """Start the workers, the first time. Raises KeyboardInterrupt if the run must end, SystemFault if a worker does
        not start or has ended."""
        if self._stop.is_set():
            raise KeyboardInterrupt
        if self._cluster is None:
            self._cluster = self._bring()
        self._cluster.check()


log = logging.getLogger("web.runs")


@dataclass(slots=True, eq=False)
class _Run:
    """A job or group that is being processed."""

    jobs: Jobs
    workers: int
    again: bool = False  # it was resumed while it was stopping
    stop: threading.Event = field(default_factory=threading.Event)
    thread: threading.Thread | None = None


class EmbeddedRunner(Runner):
    """Starts workers for the jobs that it is given, and stops them when no job is left.

    All jobs share the workers, so they use the same slots per worker and the same filer; the number of workers is the
    sum over the jobs. `room` is the largest number of slots."""

    def __init__(
        self,
        settings: Settings,
        env: Mapping[str, str],
        clock: Clock,
        *,
        room: int,
        measurements: Measurements | None = None,
    ) -> None:
        self._settings = settings
        self._env = env
        self._clock = clock
        self._room = room
        self._measurements = measurements
        self._lock = threading.RLock()
        self._runs: dict[uuid.UUID, _Run] = {}
        self._reserved: list[int] = []  # workers of each job that is being created or resumed
        self._cluster: EmbeddedCluster | None = None
        self._slots = 0  # slots of each worker of the running cluster
        self._filer = "none"
        self._problems: dict[uuid.UUID, str] = {}

    def room(self) -> int:
        """Number of slots that can still be started."""
        return max(0, self._room - (self._workers() + sum(self._reserved)) * self._slots)

    def _workers(self) -> int:
        return sum(run.workers for run in list(self._runs.values()))

    def refuse(self, workers: int, slots: int, filer: str) -> None:
        """Raise FieldErrors if these workers cannot be started now, UsageError while a measurement runs."""
        if self._measurements is not None:
            self._measurements.refuse()
        if self._runs or self._reserved:
            if slots != self._slots:
                raise FieldErrors(
                    {
                        "slots": f"a running job uses {self._slots} slots per worker; use the same number or wait until it ends"
                    }
                )
            if filer != self._filer:
                raise FieldErrors(
                    {"filer": f"a running job uses filer {self._filer}; use the same filer or wait until it ends"}
                )
        if workers * slots > self.room():
            raise FieldErrors(
                {
                    "workers": f"{workers} workers x {slots} slots are too many: {self.room()} of {self._room} slots are free"
                }
            )

    @contextmanager
    def reserved(self, workers: int, slots: int, filer: str) -> Iterator[None]:
        """Reserve before the job is created, so that two requests at once cannot both take the last slots."""
        with self._lock:
            self.refuse(workers, slots, filer)
            self._slots, self._filer = slots, filer
            self._reserved.append(workers)
        try:
            yield
        finally:
            with self._lock:
                self._reserved.remove(workers)

    def start(self, jobs: Jobs, *, workers: int, slots: int) -> None:
        """Follow the job in a thread of its own; a thread that it already has continues."""
        with self._lock:
            if jobs.id in self._runs:
                self._runs[jobs.id].again = True
                return
            self._problems.pop(jobs.id, None)
            if not self._runs:
                self._slots = slots
                self._filer = jobs.each[0].job.options.filer.source
            run = self._runs[jobs.id] = _Run(jobs, workers)
            run.thread = threading.Thread(target=self._follow, args=(run,), name=f"job {jobs.id}", daemon=True)
            run.thread.start()

    def problem(self, identity: uuid.UUID) -> str | None:
        """The reason why workers could not be started for this job."""
        return self._problems.get(identity)

    def tends(self, identity: uuid.UUID) -> bool:
        """Whether this server processes the job or group."""
        return identity in self._runs

    def stop(self) -> None:
        """Pause running jobs, as Ctrl-C does in `discover`, and stop the workers."""
        with self._lock:
            runs = list(self._runs.values())
        for run in runs:
            run.stop.set()
        for run in runs:
            if run.thread is not None:
                run.thread.join()

    def _follow(self, run: _Run) -> None:
        jobs = run.jobs
        try:
            self._work(run)
            while self._continues(run):
                self._work(run)
        except EdbenchError as error:
            self._problems[jobs.id] = one_line(error)
        except Exception as error:
            log.exception("job %s", jobs.id)
            self._problems[jobs.id] = f"internal error: {type(error).__name__}; see the server's log"
        finally:
            self._leave(run)

    def _continues(self, run: _Run) -> bool:
        """Return whether the run continues because it was resumed in the meantime; if not, end it."""
        with self._lock:
            continues, run.again = run.again and not run.stop.is_set(), False
            if not continues:
                self._problems.pop(run.jobs.id, None)  # under the lock, so that no problem of a new run is removed
                self._leave(run)
            return continues

    def _work(self, run: _Run) -> None:
        settings = dataclasses.replace(self._settings, filer=self._filer)
        workers = nullcontext(SharedWorkers(lambda: self._started(settings), run.stop))
        note = partial(self._note, run.jobs.id)
        with watched_filer(settings):
            run_all_to_rest(run.jobs.each, settings, workers, self._clock, _ignore, note)
        clean_copies(run.jobs, settings.storage)
        self._collect(run.jobs, settings)

    def _note(self, identity: uuid.UUID, line: str) -> None:
        """Store the latest remark of a run, which the page shows until the run has ended without error."""
        self._problems[identity] = one_line(line)

    def _collect(self, jobs: Jobs, settings: Settings) -> None:
        """Collect the traces of ended jobs while the workers that recorded them still run. Raises UsageError if one
        cannot be written."""
        if not any(handle.job.options.trace for handle in jobs.each):
            return
        for handle in refresh(jobs).each:
            if handle.job.options.trace and handle.job.state.over:
                labels = job_result(handle, settings).labels
                collect_trace(handle, settings, self._clock, labels=labels, ours=False)

    def _started(self, settings: Settings) -> EmbeddedCluster:
        """Start workers up to the number that all runs need. Raises SystemFault if they cannot be started."""
        with self._lock:
            if self._cluster is None:
                self._cluster = EmbeddedCluster(settings, self._workers(), self._slots, env=self._env).start()
            else:
                self._cluster.scale(self._workers())
            return self._cluster

    def _leave(self, run: _Run) -> None:
        """Remove the run and stop its workers; a second call does nothing."""
        with self._lock:
            if self._runs.get(run.jobs.id) is not run:
                return
            only = len(self._runs) == 1
            if self._cluster is not None:
                if only:
                    self._cluster.stop()
                    self._cluster = None
                else:
                    self._cluster.scale(self._workers() - run.workers)
            del self._runs[run.jobs.id]


def _ignore(snapshot: Snapshot, at: float) -> None:
    """Ignore a snapshot: the page reads progress itself."""


class OthersWork(Runner):
    """A server whose workers are run by other processes (Compose), which take up every job."""

    def __init__(self, settings: Settings, clock: Clock) -> None:
        self._settings = settings
        self._clock = clock

    def start(self, jobs: Jobs, *, workers: int, slots: int) -> None:
        """Remove the copies of a group's source when its jobs have ended."""
        if jobs.copied:
            threading.Thread(target=self._clean, args=(jobs,), name=f"group {jobs.id}", daemon=True).start()

    def _clean(self, group: Jobs) -> None:
        try:
            for _ in wait_all(group.each, self._clock, check=lambda: None, say=log.warning):
                pass
            clean_copies(group, self._settings.storage)
        except EdbenchError as error:  # deleting the group removes the copies too
            log.warning("copies of group %s: %s", group.id, error)


class CommandRunner(Runner):
    """The web UI of a command that runs its own job and prints its problems; it ends with the command."""

    creating = False

    def reserved(self, workers: int, slots: int, filer: str) -> AbstractContextManager[None]:
        """Raise UsageError."""
        raise UsageError(
            "this web UI belongs to a running command and ends with it; use `edbench serve` to create and resume jobs"
        )
