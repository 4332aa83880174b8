"""Processes forked from one that has loaded everything, by programs that are made for it: each start of an interpreter takes
more than a second of a processor, and a fork milliseconds."""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import subprocess
import sys
import time
import traceback
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

_LOOK_SECONDS = 0.01


@dataclass(frozen=True)
class Forked:
    """One of them, with what tests ask of a subprocess.Popen. How it ended stands in a file."""

    pid: int
    ended: Path

    def poll(self) -> int | None:
        """Its exit status, less than zero after a signal; None while it lives."""
        return int(self.ended.read_text()) if self.ended.exists() else None

    def wait(self, seconds: float = 120.0) -> int:
        """The same once it has ended."""
        last = time.monotonic() + seconds
        while (status := self.poll()) is None:
            assert time.monotonic() < last, f"process {self.pid} does not end"
            time.sleep(_LOOK_SECONDS)
        return status

    def send_signal(self, number: int) -> None:
        """As far as it lives."""
        if self.poll() is None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, number)

    def terminate(self) -> None:
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)


class Forker:
    """A program that calls `serve` or `become`."""

    def __init__(self, program: Path, env: Mapping[str, str]) -> None:
        self._count = 0
        self._process = subprocess.Popen(
            [sys.executable, str(program)],
            env=dict(env),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )

    def fork(
        self,
        arguments: Sequence[str],
        env: Mapping[str, str],
        log: Path,
        *,
        errors: Path | None = None,
        cwd: Path | None = None,
    ) -> Forked:
        """One that is given these, in a session of its own, and writes to the end of `log`; to that of `errors` what goes to
        standard error, where it is given."""
        stdin, stdout = self._process.stdin, self._process.stdout
        assert stdin is not None
        assert stdout is not None
        self._count += 1
        ended = log.with_name(f"{self._count}.ended")
        order = {
            "arguments": list(arguments),
            "env": dict(env),
            "log": str(log),
            "errors": str(errors or log),
            "cwd": str(cwd or Path.cwd()),
            "ended": str(ended),
        }
        stdin.write(json.dumps(order) + "\n")
        stdin.flush()
        return Forked(int(stdout.readline()), ended)

    def close(self) -> None:
        """It forks no more; what it forked lives on."""
        self._process.communicate()


def serve(body: Callable[[Sequence[str]], int]) -> None:
    """Fork whoever is ordered, who do `body`, until nobody orders any more; say of each how it ended."""
    if (arguments := become()) is None:
        return
    status = 1
    try:
        status = body(arguments)
    except BaseException:  # noqa: BLE001 - as an interpreter at its end
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)


def become() -> list[str] | None:
    """Fork whoever is ordered; in each of them the arguments that it is given, and None in this process, once nobody orders any
    more."""
    read, write = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
    signal.set_wakeup_fd(write)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    living: dict[int, Path] = {}
    while True:
        ready, _, _ = select.select([0, read], [], [])
        if read in ready:
            os.read(read, 4096)
            _reap(living)
        if 0 in ready:
            if not (line := sys.stdin.readline()):
                return None
            order = json.loads(line)
            pid = os.fork()
            if not pid:
                signal.set_wakeup_fd(-1)
                signal.signal(signal.SIGCHLD, signal.SIG_DFL)
                os.close(read)
                os.close(write)
                _take(order)
                return list(order["arguments"])
            living[pid] = Path(order["ended"])
            print(pid, flush=True)


def _reap(living: dict[int, Path]) -> None:
    while living:
        pid, status = os.waitpid(-1, os.WNOHANG)
        if not pid:
            return
        ended = living.pop(pid)
        part = ended.with_suffix(".part")
        part.write_text(str(os.waitstatus_to_exitcode(status)))
        part.rename(ended)


def _take(order: dict[str, object]) -> None:
    """In the child: place, files and environment, as whoever ordered it says."""
    os.setsid()
    os.chdir(str(order["cwd"]))
    log, errors = (
        os.open(str(order[name]), os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600) for name in ("log", "errors")
    )
    for number, descriptor in ((0, os.open(os.devnull, os.O_RDONLY)), (1, log), (2, errors)):
        os.dup2(descriptor, number)
        os.close(descriptor)
    os.environ.clear()
    os.environ.update(order["env"])  # type: ignore[call-overload]
    time.tzset()
