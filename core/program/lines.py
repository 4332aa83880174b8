"""Child processes that run one of our modules and answer each line of JSON with one; they end with this process."""

from __future__ import annotations

import contextlib
import os
import selectors
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import IO

import msgspec

import core
from core.errors import RunFailed
from core.services import launch
from core.services.process import stop

_LOOK_S = 1.0
_END_S = 10.0
_SIZE = 1 << 20


class LineProcess:
    """The parent's side of one; `what` names it in errors."""

    def __init__(self, module: str, what: str, env: Mapping[str, str] | None = None) -> None:
        self._what = what
        command = [sys.executable, "-I", "-S", launch.__file__, str(os.getpid()), str(int(signal.SIGKILL)), "-1", "-1",
                   "", sys.executable, "-m", module]  # fmt: skip
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=Path(core.__file__).parents[1],
            start_new_session=True, env=None if env is None else os.environ | env,
        )  # fmt: skip
        self._unread = b""

    @property
    def out(self) -> IO[bytes]:
        """Its standard output."""
        assert self.process.stdout is not None
        return self.process.stdout

    def tell(self, what: object) -> None:
        """One line. Raises RunFailed where it has died."""
        assert self.process.stdin is not None
        try:
            self.process.stdin.write(msgspec.json.encode(what) + b"\n")
            self.process.stdin.flush()
        except BrokenPipeError as error:
            raise self._died() from error

    def hear(self) -> bytes | None:
        """A whole line, when there is one. Raises RunFailed where it has died."""
        more = os.read(self.out.fileno(), _SIZE)
        if not more:
            raise self._died()
        self._unread += more
        if not self._unread.endswith(b"\n"):
            return None
        line, self._unread = self._unread, b""
        return line

    def _died(self) -> RunFailed:
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(_END_S)
        return RunFailed(f"a process of {self._what} died (status {self.process.returncode}); the run has ended")

    def end(self, seconds: float = 0.0) -> None:
        """By force, with the processes that it has forked; after so many seconds to end by itself on SIGTERM."""
        stop(self.process, [(signal.SIGTERM, seconds)] if seconds else [])
        for pipe in (self.process.stdin, self.process.stdout):
            with contextlib.suppress(OSError):
                if pipe is not None:
                    pipe.close()


def heard(processes: Sequence[LineProcess], between: Callable[[], None] = lambda: None) -> list[bytes]:
    """A line of each, in their order; `between` is called about once a second meanwhile. Raises RunFailed, what `between` raises."""
    said: dict[int, bytes] = {}
    with selectors.DefaultSelector() as waiting:
        for number, process in enumerate(processes):
            waiting.register(process.out, selectors.EVENT_READ, number)
        while len(said) < len(processes):
            for key, _ in waiting.select(_LOOK_S):
                line = processes[key.data].hear()
                if line is not None:
                    said[key.data] = line
                    waiting.unregister(key.fileobj)
            between()
    return [said[number] for number in range(len(processes))]
