"""Processes forked from one that has loaded everything, by programs that are made for it: each start of an interpreter takes
more than a second of a processor, and a fork milliseconds."""

import contextlib
import ctypes
import json
import os
import select
import signal
import subprocess
import sys
import threading
import time
import traceback
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TextIO

_LOOK_SECONDS = 0.01
# Where /proc reads a program's line and environment is as large as both were when it began.
_ROOM_FOR_WORDS, _ROOM_FOR_ENVIRONMENT = "-" * 2_048, {"ROOM": "-" * 8_192}


@dataclass(frozen=True)
class Forked:
    """One of them, with what tests ask of a subprocess.Popen. How it ended stands in a file."""

    pid: int
    ended: Path

    def poll(self) -> int | None:
        """Its exit status, less than zero after a signal; None while it lives."""
        return int(self.ended.read_text()) if self.ended.exists() else None

    def wait(self, seconds: float = 300.0) -> int:
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
    """Orders forks of a process that called `serve` or `become`, which reads the orders and says whom it forked."""

    def __init__(self, orders: TextIO, answers: TextIO, statuses: Path | None = None) -> None:
        """`statuses`: a directory for how each ended; None: that of its log."""
        self._orders, self._answers, self._statuses = orders, answers, statuses
        self._count = 0
        self._lock = threading.Lock()  # a thread may tend some while others are begun

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
        with self._lock:
            self._count += 1
            ended = (self._statuses or log.parent) / f"{self._count}.ended"
            order = {
                "arguments": list(arguments),
                "env": dict(env),
                "log": str(log),
                "errors": str(errors or log),
                "cwd": str(cwd or Path.cwd()),
                "ended": str(ended),
            }
            self._orders.write(json.dumps(order) + "\n")
            self._orders.flush()
            return Forked(int(self._answers.readline()), ended)


class Program(Forker):
    """One that is begun with a program, which calls `serve` or `become`."""

    def __init__(self, program: Path, env: Mapping[str, str], statuses: Path | None = None) -> None:
        self._process = subprocess.Popen(
            [sys.executable, str(program), _ROOM_FOR_WORDS],
            env=_ROOM_FOR_ENVIRONMENT | dict(env),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        super().__init__(self._process.stdin, self._process.stdout, statuses)

    def close(self) -> None:
        """It forks no more; what it forked lives on."""
        self._process.communicate()


def customised(env: Mapping[str, str]) -> bool:
    """Whether an interpreter with these variables does something of its own before its program."""
    return any(Path(place, "sitecustomize.py").exists() for place in env.get("PYTHONPATH", "").split(os.pathsep))


def spawner(forker: Forker, spawn: Callable[..., Any]) -> Callable[..., Any]:
    """`core.services.process.spawn`, with what would be an interpreter for a module of ours forked; the module's words are what
    it is given."""

    def forked(command: Sequence[str], *, env: Mapping[str, str], log: Path, cwd: Path) -> Any:
        if tuple(command[:2]) != (sys.executable, "-m") or customised(env):
            return spawn(command, env=env, log=log, cwd=cwd)
        return forker.fork(command[1:], env, log, cwd=cwd)

    return forked


def appear_as(words: Sequence[str]) -> None:
    """Have /proc tell of this process the line and environment that a program begun with these words and our environment would
    have, as far as there is room."""
    fields = Path("/proc/self/stat").read_text().rpartition(")")[2].split()
    line, line_end, environment, environment_end = map(int, fields[45:49])  # proc(5): arg_start to env_end
    variables = sorted(os.environ.items(), key=lambda each: not each[0].startswith("EDBENCH_"))
    for start, end, parts in (
        (line, line_end, words),
        (environment, environment_end, [f"{name}={value}" for name, value in variables]),
    ):
        data = b"".join(os.fsencode(part) + b"\0" for part in parts)[: max(0, end - start - 1)]
        ctypes.memset(start, 0, end - start)
        ctypes.memmove(start, data, len(data))


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
