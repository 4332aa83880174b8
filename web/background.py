"""Work that takes longer than a request: background tasks; measurements, each a child process, one at a time; and the
requests that no measurement may overlap. All of it ends with the server."""

from __future__ import annotations

import contextvars
import fcntl
import logging
import os
import re
import signal
import subprocess
import sys
import threading
import time
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Literal

from pydantic import Field

from controller.custody import operator
from core.document import Document
from core.errors import EdbenchError, UsageError
from core.services.process import spawn, stop
from core.settings import Settings
from experiments.package.records import RESULTS
from web.errors import NotFound

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
            for (of, kind), task in self._all.items():
                if of == job:
                    now = time.monotonic() - self._since[of, kind] if task.running else task.seconds
                    out[kind] = task.model_copy(update={"seconds": round(now, 1)})
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


_REMEMBERED_MEASUREMENTS = 50
_TAIL = 64 << 10  # bytes of a log that are shown
_PATIENCE_S = 60.0  # to clean up when the server ends
_SECRET = ("EDBENCH_TOKEN", "EDBENCH_TOKEN_FILE")  # of the web UI; no measurement uses it
_SERVICES = ("EDBENCH_DATABASES", "EDBENCH_BROKER", "EDBENCH_LOGIN_FILE")
_REPORT = re.compile(rf"^.*/{RESULTS}/([^/\n]+)/[^/\n]+$", re.MULTILINE)


class Measurement(Document):
    """A measurement; times by the server's clock."""

    id: uuid.UUID
    kind: str
    command: list[str] = Field(description="Its arguments to `edbench`.")
    who: str
    begun: datetime
    ended: datetime | None = None
    state: Literal["running", "cancelling", "completed", "cancelled", "refused", "failed"] = "running"
    line: str = Field(default="", description="Its last error line.")
    result: str | None = Field(default=None, description="The name of its result.")


class Measurements:
    """The measurements of one server. Its scratch directory contains their logs and clean-up records."""

    def __init__(self, settings: Settings, env: Mapping[str, str], *, embedded: bool = True) -> None:
        """Set up measurements. `embedded`: each starts services of its own; else it uses those of this installation,
        and their workers."""
        self._storage = settings.storage.absolute()
        self._place = settings.scratch.absolute() / "measurements"
        left_out = (*_SECRET, *_SERVICES) if embedded else _SECRET
        kept = {name: value for name, value in env.items() if name not in left_out}
        own = {"EDBENCH_STORAGE": str(self._storage), "EDBENCH_SCRATCH": str(self._place / "scratch")}
        self._env = kept | own
        self._lock = threading.RLock()
        self._all: dict[uuid.UUID, Measurement] = {}
        self._process: subprocess.Popen[bytes] | None = None
        self._thread: threading.Thread | None = None

    def refuse(self) -> None:
        """Raise UsageError while a measurement runs, because it would be distorted."""
        running = next((each for each in self.every() if each.ended is None), None)
        if running is not None:
            raise UsageError(f"a measurement is running ({running.kind}); wait until it ends, or cancel it")

    def start(self, kind: str, words: Sequence[str]) -> Measurement:
        """Start a measurement. Raises UsageError while one runs, here or in another server of the same scratch."""
        with self._lock:
            self.refuse()
            self._place.mkdir(mode=0o711, parents=True, exist_ok=True)
            held = _held(self._place / "lock")
            made = Measurement(id=uuid.uuid4(), kind=kind, command=list(words), who=operator(), begun=datetime.now(UTC))
            self._all[made.id] = made
            while len(self._all) > _REMEMBERED_MEASUREMENTS:
                gone = next(iter(self._all))
                self._log(gone).unlink(missing_ok=True)
                del self._all[gone]
            begun = threading.Event()
            # The thread that starts a child has to live as long as it: the kernel ends the child with the thread.
            self._thread = threading.Thread(
                target=self._follow, args=(made, held, begun), name=f"measurement {kind}", daemon=True
            )
            self._thread.start()
        begun.wait()
        return self.of(made.id)

    def _follow(self, made: Measurement, held: int, begun: threading.Event) -> None:
        try:
            # Python must not search the working directory for modules.
            line = [sys.executable, "-P", "-m", "cli", *made.command]
            self._process = spawn(
                line, env=self._env, log=self._log(made.id), cwd=Path.cwd(), death_signal=signal.SIGTERM
            )
            begun.set()
            status = self._process.wait()
        except OSError as error:
            self._over(made.id, state="failed", line=f"it cannot be started: {error}")
            return
        finally:
            os.close(held)
            begun.set()
            self._process = None
        output = self.log(made.id)
        cancelled = self._all[made.id].state == "cancelling"
        state = {0: "completed", 2: "refused"}.get(status, "failed")
        complaints = [each.removeprefix("edbench: ") for each in output.splitlines() if each.startswith("edbench: ")]
        found = _REPORT.findall(output) if status == 0 else []
        self._over(
            made.id,
            state="cancelled" if cancelled and status != 0 else state,
            line=complaints[-1] if complaints else "" if status == 0 else f"it ended with status {status}",
            result=found[-1] if found else None,
        )

    def _over(self, identity: uuid.UUID, **changes: object) -> None:
        with self._lock:
            self._all[identity] = self._all[identity].model_copy(update=changes | {"ended": datetime.now(UTC)})

    def every(self) -> list[Measurement]:
        """All measurements, the newest first."""
        with self._lock:
            return list(reversed(self._all.values()))

    def of(self, identity: uuid.UUID) -> Measurement:
        """The measurement with this id. Raises NotFound."""
        with self._lock:
            if identity not in self._all:
                raise NotFound("this server has started no such measurement; GET /api/v1/measurements lists them")
            return self._all[identity]

    def log(self, identity: uuid.UUID) -> str:
        """The end of its output."""
        self.of(identity)
        try:
            with self._log(identity).open("rb") as source:
                source.seek(max(0, source.seek(0, os.SEEK_END) - _TAIL))
                return source.read().decode("utf-8", "replace")
        except OSError:
            return ""

    def _log(self, identity: uuid.UUID) -> Path:
        return self._place / f"{identity}.log"

    def cancel(self, identity: uuid.UUID) -> Measurement:
        """Stop a measurement as Ctrl-C does, which cleans up. The second time, kill it. Raises UsageError if it is
        over."""
        with self._lock:
            one, process = self.of(identity), self._process
            if one.ended is not None or process is None:
                raise UsageError("this measurement has ended")
            if one.state == "cancelling":
                with suppress(ProcessLookupError, PermissionError):
                    os.killpg(process.pid, signal.SIGKILL)
            else:
                process.send_signal(signal.SIGTERM)
            self._all[identity] = one.model_copy(update={"state": "cancelling"})
            return self._all[identity]

    def stop(self) -> None:
        """Stop the running measurement, with the server."""
        with self._lock:
            process, thread = self._process, self._thread
        if process is not None:
            stop(process, [(signal.SIGTERM, _PATIENCE_S)])
        if thread is not None:
            thread.join()


def _held(path: Path) -> int:
    """The lock of all measurements with this scratch directory. Raises UsageError while another process holds it."""
    lock = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        os.close(lock)
        raise UsageError("another server with this scratch is measuring; wait until it ends") from error
    return lock
