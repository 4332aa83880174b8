"""What takes longer than a request may: done in a thread, one at a time, while whoever asked looks again."""

from __future__ import annotations

import contextvars
import logging
import threading
import time
import uuid
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

from core.document import Document
from core.errors import EdbenchError, UsageError

log = logging.getLogger("web.errands")

_REMEMBERED = 200


class Errand(Document):
    """One that runs, has run, or failed."""

    job: uuid.UUID
    kind: str
    begun: datetime
    seconds: float
    running: bool
    error: str | None = None
    outcome: Any = None

    @property
    def ended(self) -> datetime:
        """When it came to its end, or was looked at last."""
        return self.begun + timedelta(seconds=self.seconds)


class Errands:
    """Of one server. It forgets them with the process; what they store is stored as by a command that is killed then."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._running: tuple[uuid.UUID, str] | None = None
        self._all: dict[tuple[uuid.UUID, str], Errand] = {}
        self._since: dict[tuple[uuid.UUID, str], float] = {}

    def start(self, job: uuid.UUID, kind: str, work: Callable[[], Any]) -> Errand:
        """Begin one in the caller's name; raises UsageError while another one runs."""
        key = (job, kind)
        with self._lock:
            self.refuse()
            self._running = key
            self._all.pop(key, None)
            self._since[key] = time.monotonic()
            self._all[key] = Errand(job=job, kind=kind, begun=datetime.now(UTC), seconds=0.0, running=True)
            while len(self._all) > _REMEMBERED:
                self._since.pop(oldest := next(iter(self._all)), None)
                del self._all[oldest]
        context = contextvars.copy_context()  # who asked for it is written down with what is done
        threading.Thread(target=context.run, args=(self._do, key, work), name=f"{kind} {job}", daemon=True).start()
        return self.of(job)[kind]

    def refuse(self) -> None:
        """Raises UsageError while one runs."""
        if (running := self._running) is not None:
            raise UsageError(f"{running[1]} of job {running[0]} is still running here; wait for it")

    def _do(self, key: tuple[uuid.UUID, str], work: Callable[[], Any]) -> None:
        outcome, error = None, None
        try:
            outcome = work()
        except EdbenchError as fault:
            error = " ".join(str(fault).split())
        except Exception as bug:
            log.exception("%s of job %s", key[1], key[0])
            error = f"a bug: {type(bug).__name__}; the server's log says where"
        with self._lock:
            took = time.monotonic() - self._since[key]
            told = {"running": False, "seconds": took, "error": error, "outcome": outcome}
            self._all[key] = self._all[key].model_copy(update=told)
            self._running = None

    def of(self, job: uuid.UUID) -> dict[str, Errand]:
        """The latest of each kind of a job."""
        with self._lock:
            out = {}
            for (of, kind), errand in self._all.items():
                if of == job:
                    now = time.monotonic() - self._since[of, kind] if errand.running else errand.seconds
                    out[kind] = errand.model_copy(update={"seconds": round(now, 1)})
            return out
