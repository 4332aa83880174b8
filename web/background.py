"""Background tasks, which take longer than a request, and the requests that no measurement may overlap."""

from __future__ import annotations

import contextvars
import logging
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import Any

from core.document import Document
from core.errors import EdbenchError, UsageError

log = logging.getLogger("web.background")

_REMEMBERED = 200


class BackgroundTask(Document):
    """A task that runs, has completed, or has failed."""

    job: uuid.UUID
    kind: str
    begun: datetime
    seconds: float
    running: bool
    error: str | None = None
    outcome: Any = None

    @property
    def ended(self) -> datetime:
        """Time of its end; now while it runs."""
        return self.begun + timedelta(seconds=self.seconds)


class BackgroundTasks:
    """The background tasks of one server. They end with the process, as a killed command does."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._running: tuple[uuid.UUID, str] | None = None
        self._all: dict[tuple[uuid.UUID, str], BackgroundTask] = {}
        self._since: dict[tuple[uuid.UUID, str], float] = {}

    def start(self, job: uuid.UUID, kind: str, work: Callable[[], Any]) -> BackgroundTask:
        """Start a task on behalf of the caller. Raises UsageError while another one runs."""
        key = (job, kind)
        with self._lock:
            self.refuse()
            self._running = key
            self._all.pop(key, None)
            self._since[key] = time.monotonic()
            self._all[key] = BackgroundTask(job=job, kind=kind, begun=datetime.now(UTC), seconds=0.0, running=True)
            while len(self._all) > _REMEMBERED:
                self._since.pop(oldest := next(iter(self._all)), None)
                del self._all[oldest]
        context = contextvars.copy_context()  # the chain of custody names the caller
        threading.Thread(target=context.run, args=(self._do, key, work), name=f"{kind} {job}", daemon=True).start()
        return self.of(job)[kind]

    def refuse(self) -> None:
        """Raise UsageError while a task runs."""
        if (running := self._running) is not None:
            raise UsageError(f"{running[1]} of job {running[0]} is still running; wait until it ends")

    def _do(self, key: tuple[uuid.UUID, str], work: Callable[[], Any]) -> None:
        outcome, error = None, None
        try:
            outcome = work()
        except EdbenchError as fault:
            error = " ".join(str(fault).split())
        except Exception as bug:
            log.exception("%s of job %s", key[1], key[0])
            error = f"internal error: {type(bug).__name__}; see the server's log"
        with self._lock:
            took = time.monotonic() - self._since[key]
            done = {"running": False, "seconds": took, "error": error, "outcome": outcome}
            self._all[key] = self._all[key].model_copy(update=done)
            self._running = None

    def of(self, job: uuid.UUID) -> dict[str, BackgroundTask]:
        """The latest task of each kind of a job."""
        with self._lock:
            out = {}
            for (of, kind), background_task in self._all.items():
                if of == job:
                    now = (
                        time.monotonic() - self._since[of, kind] if background_task.running else background_task.seconds
                    )
                    out[kind] = background_task.model_copy(update={"seconds": round(now, 1)})
            return out


class Activities:
    """Requests in progress that write to jobs, such as creating one: no measurement starts while they run."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._all: list[str] = []

    @contextmanager
    def during(self, what: str, refuse: Callable[[], None]) -> Iterator[None]:
        """Register the activity for the block. `refuse` raises if it must not start."""
        with self._lock:
            refuse()
            self._all.append(what)
        try:
            yield
        finally:
            with self._lock:
                self._all.remove(what)

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Keep activities from starting during the block. Raises UsageError if one runs."""
        with self._lock:
            if self._all:
                raise UsageError(f"{self._all[0]}; it would distort the measurement: try again when it is done")
            yield
