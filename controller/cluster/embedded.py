"""The embedded cluster: queue manager and workers as child processes of this one, which end with it."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self

import core
from core.errors import StorageFault, SystemFault
from core.roles import QUEUE_MANAGER, WORKER
from core.services.process import last_line, rotate, signal_group, spawn, trim
from core.settings import Settings
from monitoring.metrics import Endpoint, read_endpoint

AT_ONCE_SECONDS = 5.0  # a process that ends sooner than this after its start died at once
DEATHS_ALLOWED = 5  # at once, in a row
_BACKOFF_SECONDS = (0.1, 0.2, 0.4, 0.8, 1.6)


@dataclass(slots=True, kw_only=True)
class Member:
    """A named process. Only the tending thread may call its methods: the kernel ties the process to that thread."""

    name: str
    command: Sequence[str]
    env: Mapping[str, str]
    log: Path
    cwd: Path
    process: subprocess.Popen[bytes] | None = None
    started: float = 0.0
    next_start: float = 0.0
    deaths: int = 0  # at once, in a row
    kill_at: float | None = field(default=None)  # when it is killed, once it was asked to end

    @property
    def running(self) -> bool:
        """Whether the process runs now."""
        return self.process is not None and self.process.poll() is None

    @property
    def leaving(self) -> bool:
        """Whether the process was asked to end."""
        return self.kill_at is not None

    def tend(self, now: float) -> str | None:
        """Start the process (again) if it is not running and due. Returns why it will not stay up, if so."""
        if self.running:
            return None
        if self.process is not None:
            self._bury(now)
            if self.deaths >= DEATHS_ALLOWED:
                line = last_line(self.log) or "no output"
                return f"{self.name} ended {self.deaths} times right after its start: {line}; see {self.log}"
        if now >= self.next_start:
            self.process = spawn(self.command, env=self.env, log=self.log, cwd=self.cwd)
            self.started = now
        return None

    def _bury(self, now: float) -> None:
        assert self.process is not None
        signal_group(self.process, signal.SIGKILL)  # children it left in its session
        self.process = None
        self.deaths = self.deaths + 1 if now - self.started < AT_ONCE_SECONDS else 0
        self.next_start = now + _BACKOFF_SECONDS[min(self.deaths, len(_BACKOFF_SECONDS) - 1)]

    def ask_to_end(self, now: float, grace_seconds: float) -> None:
        """Send SIGTERM; `see_off` does the rest."""
        self.kill_at = now + grace_seconds
        if self.process is not None and self.running:
            self.process.terminate()

    def see_off(self, now: float) -> bool:
        """Return whether the process and everything in its session are gone; kill them once their time is over."""
        if self.process is None:
            return True
        if self.running and self.kill_at is not None and now < self.kill_at:
            return False
        signal_group(self.process, signal.SIGKILL)
        self.process.wait()
        self.process = None
        return True


TEND_SECONDS = 0.25
SCALE_GRACE_SECONDS = 60.0
# The least number of workers that are forked from one process, and the least if each should answer Prometheus.
TOGETHER_FROM, TOGETHER_ANYHOW = 2, 9
_QUEUE_MANAGER = "queue-manager"
_TOGETHER = re.compile(r"w1-w([0-9]+)")  # the name of a process that all workers are forked from
_MANAGER_GRACE_SECONDS = 5.0  # after the workers are gone it has nothing left to do
# What a child needs of the environment in addition to its settings: how to find programs, a place for temporary files, and what a
# worker reads itself.
_KEPT = re.compile(
    r"PATH|HOME|USER|LANG|LC_.*|TZ|TMPDIR|PYTHON(?!HOME|STARTUP|INSPECT).*|LD_LIBRARY_PATH|COVERAGE_.*|EDBENCH_(REMOUNT|GRACE_S)"
)

Commands = Callable[[str, int], Sequence[str]]


def module_commands(name: str, slots: int) -> Sequence[str]:
    """Return the command line of the process of that name."""
    if name == _QUEUE_MANAGER:
        return (sys.executable, "-m", "queue_manager")
    several = _TOGETHER.fullmatch(name)
    which = ("--name", name) if several is None else ("--name", "w", "--workers", several[1])
    return (sys.executable, "-m", "worker", *which, "--slots", str(slots), "--alone")


def together(workers: int, env: Mapping[str, str]) -> bool:
    """Return whether so many workers should be forked from one process. In a process of its own each worker imports
    everything again and starts its own fork server for sandboxes, which takes 1.3 CPU seconds; but only then it answers
    Prometheus, if `env` enables that."""
    return workers >= (TOGETHER_ANYHOW if read_endpoint(env).port else TOGETHER_FROM)


class EmbeddedCluster:
    """One queue manager and `workers` workers (w1, w2, …) of `slots` slots each.

    Each runs in a session of its own with its output in scratch/logs/<name>.log. A tending thread starts all of them,
    because the kernel ends a child when the thread that started it ends, and restarts those that die. With `together`
    the workers are forked from one process, named w1-w30 for example: they share its memory, are up in seconds however
    many they are, and have one log. Their number is then fixed, and none answers Prometheus. Without `managed` the
    queue manager is started by `manage`. `env` is the environment from which a child's is taken; `commands` gives the
    command line for a name. If `env` has EDBENCH_METRICS_PORT, the queue manager answers Prometheus one port further
    on, w1 at the one after that, …"""

    def __init__(
        self,
        settings: Settings,
        workers: int,
        slots: int,
        *,
        env: Mapping[str, str],
        commands: Commands = module_commands,
        together: bool = False,
        managed: bool = True,
    ) -> None:
        self._settings = settings
        self._wanted = workers
        self._together = together
        self._managed = managed
        self._slots = slots
        self._env = {key: value for key, value in env.items() if _KEPT.fullmatch(key)}
        self._endpoint = read_endpoint(env)
        self._commands = commands
        self._root = Path(core.__file__).parents[1]
        self._lock = threading.Lock()
        self._wake = threading.Event()
        self._started = threading.Event()
        self._members: dict[str, Member] = {}
        self._rotated: set[Path] = set()
        self._fault: SystemFault | None = None
        self._stop_grace: float | None = None
        self._thread: threading.Thread | None = None

    def start(self) -> Self:
        """Start everything; return once the processes exist. Raises SystemFault if one cannot be started; then none is
        left."""
        self._thread = threading.Thread(target=self._tend, name="cluster", daemon=True)
        self._thread.start()
        try:
            self._started.wait()
            self.check()
        except BaseException:
            self.stop(0.0)
            raise
        return self

    def stop(self, grace_seconds: float = 30.0) -> None:
        """Stop the workers, then the queue manager, so that it sees them leave; return when no process is left."""
        if self._thread is None:
            return
        self._stop_grace = grace_seconds
        self._wake.set()
        self._thread.join()
        self._thread = None

    def manage(self) -> None:
        """Run the queue manager from now on; return at once."""
        with self._lock:
            self._managed = True
        self._wake.set()

    def scale(self, workers: int) -> None:
        """Run so many workers from now on; return at once."""
        with self._lock:
            self._wanted = workers
        self._wake.set()

    def check(self) -> None:
        """Raise SystemFault with the last line of its log if a process will not stay up."""
        if self._fault is not None:
            raise self._fault
        if self._thread is not None and not self._thread.is_alive():
            raise SystemFault(
                "the thread that manages the workers has ended and so have the workers; see standard error for the "
                "cause"
            )

    def pids(self) -> dict[str, int]:
        """Return the process ids, by name, of the processes that run now."""
        with self._lock:
            return {n: m.process.pid for n, m in self._members.items() if m.process is not None and m.running}

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.stop()

    def _tend(self) -> None:
        try:
            while self._stop_grace is None:
                self._turn()
                self._started.set()
                self._wake.wait(TEND_SECONDS)
                self._wake.clear()
        except OSError as error:
            self._fault = StorageFault(f"cannot write to {self._settings.scratch / 'logs'}: {error}")
        finally:
            self._started.set()
            grace = self._stop_grace or 0.0
            self._end([name for name in self._members if name != _QUEUE_MANAGER], grace)
            self._end([name for name in self._members if name == _QUEUE_MANAGER], min(grace, _MANAGER_GRACE_SECONDS))

    def _turn(self) -> None:
        """Check every process once: add missing ones, end surplus ones, restart dead ones."""
        now = time.monotonic()
        with self._lock:
            names = [*([_QUEUE_MANAGER] if self._managed else []), *self._names()]
            for name in names:
                if name not in self._members:
                    self._members[name] = self._member(name)
            for name, member in list(self._members.items()):
                if name not in names and not member.leaving:
                    member.ask_to_end(now, SCALE_GRACE_SECONDS)
                if member.leaving and member.see_off(now):
                    del self._members[name]
            if self._fault is None:
                self._fault = self._tend_members(now)

    def _names(self) -> list[str]:
        """Return the names of the workers' processes, or of the one that they are forked from."""
        if self._together:
            return [f"w1-w{self._wanted}"]
        return [f"w{n}" for n in range(1, self._wanted + 1)]

    def _tend_members(self, now: float) -> SystemFault | None:
        for member in self._members.values():
            if member.leaving:
                continue
            try:
                trim(member.log)
                trouble = member.tend(now)
            except OSError as error:
                return StorageFault(f"{member.name} cannot be started: {error}")
            if trouble:
                return SystemFault(trouble)
        return None

    def _member(self, name: str) -> Member:
        log = self._settings.scratch / "logs" / f"{name}.log"
        if log not in self._rotated:
            log.parent.mkdir(parents=True, exist_ok=True)
            rotate(log)
            self._rotated.add(log)
        command = self._commands(name, self._slots)
        first = name == _QUEUE_MANAGER
        own = self._settings.for_role(QUEUE_MANAGER if first else WORKER).environment()
        port = Endpoint() if self._together and not first else self._endpoint
        env = self._env | own | port.environment(1 if first else 1 + int(name[1:].partition("-")[0]))
        return Member(name=name, command=command, env=env, log=log, cwd=self._root)

    def _end(self, names: Sequence[str], grace_seconds: float) -> None:
        now = time.monotonic()
        for name in names:
            self._members[name].ask_to_end(now, grace_seconds)
        left = list(names)
        while left:
            with self._lock:
                left = [name for name in left if not self._members[name].see_off(time.monotonic())]
            if left:
                time.sleep(0.02)
        with self._lock:
            for name in names:
                del self._members[name]
