"""One process that the embedded cluster keeps running."""

from __future__ import annotations

import signal
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from core.services.process import last_line, signal_group, spawn

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
    kill_at: float | None = field(default=None)  # it was asked to end and is ended hard then

    @property
    def running(self) -> bool:
        """Whether the process is there now."""
        return self.process is not None and self.process.poll() is None

    @property
    def leaving(self) -> bool:
        """Whether it was asked to end."""
        return self.kill_at is not None

    def tend(self, now: float) -> str | None:
        """Start it (again) when it is not running and due. Returns why it will not stay up, if so."""
        if self.running:
            return None
        if self.process is not None:
            self._bury(now)
            if self.deaths >= DEATHS_ALLOWED:
                said = last_line(self.log) or "no output"
                return f"{self.name} ended {self.deaths} times right after its start: {said}; see {self.log}"
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
        """SIGTERM; `see_off` does the rest."""
        self.kill_at = now + grace_seconds
        if self.process is not None and self.running:
            self.process.terminate()

    def see_off(self, now: float) -> bool:
        """Whether it is gone with everything in its session; ends it hard when its time is over."""
        if self.process is None:
            return True
        if self.running and self.kill_at is not None and now < self.kill_at:
            return False
        signal_group(self.process, signal.SIGKILL)
        self.process.wait()
        self.process = None
        return True
