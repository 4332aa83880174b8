"""Runs commands one after another and leaves nothing of them behind, in a process of its own.

An Order on standard input, then an empty line before each command; a Stepped line for each on standard output. Whatever they start becomes this process's child
when its own parent is gone (PR_SET_CHILD_SUBREAPER); it is ended with it: at the end, on SIGTERM, and so when the command dies
that started this.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Generator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, NoReturn

import msgspec
import psutil

import core
from core.errors import RunFailed
from core.services.process import last_line, stop, tied

PR_SET_CHILD_SUBREAPER = 36
_PROGRAM = "import sys; from experiments.workloads.setup_effort.stepping import main; sys.exit(main())"
_END_S = 60.0  # on SIGTERM, for everything to be ended
_LOOK_S = 0.1


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """`commands`: each with its directory; `log`: where all output goes."""

    commands: tuple[tuple[str, tuple[str, ...]], ...]
    env: dict[str, str]
    log: str
    grace_s: float = 30.0  # at the end, for services that a command started to end by themselves


@dataclass(frozen=True, slots=True, kw_only=True)
class Stepped:
    """One command that ended."""

    seconds: float
    cpu_s: float  # with what it waited for
    status: int


def steps(order: Order) -> Generator[Stepped, None, None]:
    """Each as it ends; raises RunFailed with the last words of one that failed. Nothing runs when this is over."""
    process = subprocess.Popen(
        tied([sys.executable, "-c", _PROGRAM], death_signal=signal.SIGTERM), stdin=subprocess.PIPE,
        stdout=subprocess.PIPE, cwd=Path(core.__file__).parents[1], start_new_session=True,
    )  # fmt: skip
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        _tell(process.stdin, msgspec.json.encode(order))
        for directory, command in order.commands:
            _tell(process.stdin, b"")
            line = process.stdout.readline()
            if not line:
                raise RunFailed(f"the process that runs {' '.join(command)} died (status {process.wait()})")
            done = msgspec.json.decode(line, type=Stepped)
            if done.status:
                said = last_line(Path(order.log)) or "no output"
                raise RunFailed(f"{' '.join(command)} in {directory} ended with status {done.status}: {said}")
            yield done
        process.stdin.close()
        process.wait()
    finally:
        stop(process, [(signal.SIGTERM, _END_S)])
        for pipe in (process.stdin, process.stdout):
            with contextlib.suppress(OSError):
                pipe.close()


def _tell(pipe: IO[bytes], line: bytes) -> None:
    with contextlib.suppress(BrokenPipeError):  # it died: whoever reads from it hears that
        pipe.write(line + b"\n")
        pipe.flush()


def _run(directory: str, command: Sequence[str], env: dict[str, str], log: str) -> Stepped:
    began, before = time.monotonic(), _cpu()
    with open(log, "ab") as out:
        try:
            done = subprocess.run(
                command, cwd=directory, env=env, stdin=subprocess.DEVNULL, stdout=out, stderr=out, check=False
            )
            status = done.returncode
        except OSError as error:
            out.write(f"{error}\n".encode())
            status = 127
    return Stepped(seconds=time.monotonic() - began, cpu_s=_cpu() - before, status=status)


def _cpu() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _end_all(seconds: float) -> None:
    """What still runs below this process has so long to end by itself, then it is killed."""
    until = time.monotonic() + seconds
    while below := psutil.Process().children(recursive=True):
        if time.monotonic() > until:
            for child in below:
                with contextlib.suppress(psutil.Error):
                    child.kill()
        with contextlib.suppress(ChildProcessError):
            while os.waitpid(-1, os.WNOHANG)[0]:
                continue
        time.sleep(_LOOK_S)


def _terminated(*_: object) -> NoReturn:
    raise SystemExit(1)


def main() -> int:
    """The exit status."""
    signal.signal(signal.SIGTERM, _terminated)
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    order = msgspec.json.decode(sys.stdin.buffer.readline(), type=Order)
    grace = 0.0
    try:
        for directory, command in order.commands:
            if not sys.stdin.buffer.readline():
                return 1
            done = _run(directory, command, order.env, order.log)
            _tell(sys.stdout.buffer, msgspec.json.encode(done))
            if done.status:
                return 0
        grace = order.grace_s
    finally:
        _end_all(grace)
    return 0
