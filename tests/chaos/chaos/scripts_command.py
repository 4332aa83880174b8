"""`edbench discover` as a person starts it, with services and workers of its own, and what becomes of them when the command
itself is killed, stopped or interrupted."""

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import psutil

import core
from chaos.armed import armed
from chaos.follow import POLL_SECONDS
from chaos.kinds import DISPATCH_SECONDS, LEASE_SECONDS
from chaos.scripts import Stage
from core.errors import RunFailed

_GONE_SECONDS = 120.0  # seconds on an idle machine
_USAGE = 2  # the exit status of a command that was asked for what cannot be
_OVER = " is completed"  # what `resume` says of a job that needs none
_NO_JOB = "there is no job yet"


def command(stage: Stage) -> None:
    """From `discover` to `verify`, with one `resume` where the command did not come to its end."""
    home = stage.site.home / "command"
    shutil.rmtree(home, ignore_errors=True)
    home.mkdir(parents=True)
    started = time.monotonic()
    leases = ("--lease-seconds", str(LEASE_SECONDS), "--dispatch-seconds", str(DISPATCH_SECONDS))
    discover = ("discover", str(stage.source.corpus), "--workers", "2", "--slots", "2", *leases)
    stage.begin()
    process = _start(stage, home, *discover)
    stage.site.command = psutil.Process(process.pid)
    try:
        status = _end(stage, process)
        if status != 0:
            stage.resumes, stage.reason = 1, f"status {status}: {_output(home)}"
            stage.mend()
            _wait_until_gone(home)
            _go_on(stage, home, discover)
        stage.seconds = time.monotonic() - started
        stage.seen = dict(stage.counts)
        stage.mend()
        _do(stage, home, "verify", "last")
        _wait_until_gone(home)
    finally:
        stage.site.command = None
        for left in _left(home):
            left.kill()
    shutil.rmtree(home, ignore_errors=True)


def _start(stage: Stage, home: Path, *words: str) -> subprocess.Popen[bytes]:
    env = {key: value for key, value in os.environ.items() if not key.startswith("EDBENCH_")} | {
        "EDBENCH_SCRATCH": str(home / "scratch"),
        "EDBENCH_STORAGE": str(home / "storage"),
    }
    with (home / "said").open("ab") as out:
        return subprocess.Popen(
            armed([sys.executable, "-m", "cli", *words], stage.site.ear),
            env=env,
            cwd=Path(core.__file__).parents[1],
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=out,
            start_new_session=True,
        )


def _end(stage: Stage, process: subprocess.Popen[bytes]) -> int:
    try:
        return process.wait(max(1.0, stage.deadline - time.monotonic()))
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
        raise RunFailed("the command does not come to its end") from None


def _do(stage: Stage, home: Path, *words: str) -> None:
    status = _end(stage, _start(stage, home, *words))
    if status:
        raise _failed(home, words, status)


def _go_on(stage: Stage, home: Path, discover: Sequence[str]) -> None:
    """As a person does: `resume`; the command again if it was killed before it had a job, nothing if after its end."""
    words = ("job", "resume", "last")
    status = _end(stage, _start(stage, home, *words))
    shown = _output(home, lines=1) if status == _USAGE else ""
    if _NO_JOB in shown:
        _do(stage, home, *discover)
    elif status and _OVER not in shown:
        raise _failed(home, words, status)


def _failed(home: Path, words: Sequence[str], status: int) -> RunFailed:
    return RunFailed(f"`edbench {' '.join(words)}` ended with {status}: {_output(home)}")


def _output(home: Path, lines: int = 4) -> str:
    output = (home / "said").read_text(errors="replace").splitlines()
    return " / ".join(line for line in output[-lines:] if line.strip())[:400]


def _wait_until_gone(home: Path) -> None:
    """Whatever became of the command, its services and workers end. Raises RunFailed."""
    deadline = time.monotonic() + _GONE_SECONDS
    while left := _left(home):
        if time.monotonic() > deadline:
            raise RunFailed(f"left running: {', '.join(' '.join(p.cmdline()[:4]) for p in left)}")
        time.sleep(POLL_SECONDS)


def _left(home: Path) -> list[psutil.Process]:
    """Processes that use this place."""
    processes = []
    for candidate in psutil.process_iter():
        try:
            if str(home) in " ".join(candidate.cmdline()) or str(home) in candidate.environ().get(
                "EDBENCH_SCRATCH", ""
            ):
                processes.append(candidate)
        except psutil.Error:
            continue
    return processes
