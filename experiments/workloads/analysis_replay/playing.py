"""Plays a compiled replay on this host's paths in a process of its own, since its clients are forked:
an Order on standard input, a Played on standard output."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

import msgspec

import core
from core.errors import EdbenchError, RunFailed, StorageFault
from core.services.process import stop, tied
from replay.local import run_local
from replay.program import open_program
from replay.tree import Target

_PROGRAM = "import sys; from experiments.workloads.analysis_replay.playing import main; sys.exit(main())"
_LOOK_S = 0.5
_END_S = 30.0  # to end the clients and to remove their files


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """What is played, and where."""

    program: str  # the directory that it was compiled in
    paths: tuple[str, ...]
    replay_id: str
    null: bool
    cold: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Played:
    """What all clients found, as replay.result has it; or why it ended."""

    found: dict[str, Any]
    error: str = ""
    errno: int | None = None  # of the storage


def play(order: Order, between: Callable[[], None]) -> dict[str, Any]:
    """Raises RunFailed, StorageFault; its files are gone, whatever comes."""
    process = subprocess.Popen(
        tied([sys.executable, "-c", _PROGRAM], death_signal=signal.SIGTERM), stdin=subprocess.PIPE,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=Path(core.__file__).parents[1], start_new_session=True,
    )  # fmt: skip
    try:
        out, errors = _heard(process, msgspec.json.encode(order), between)
    finally:
        stop(process, [(signal.SIGTERM, _END_S)])
    if process.returncode or not out:
        said = errors.decode("utf-8", "replace").strip().splitlines() or [f"status {process.returncode}"]
        raise RunFailed(f"the replay failed: {said[-1]}")
    played = msgspec.json.decode(out, type=Played)
    if played.error:
        raise RunFailed(played.error) if played.errno is None else StorageFault(played.error, errno=played.errno)
    return played.found


def _heard(process: subprocess.Popen[bytes], order: bytes, between: Callable[[], None]) -> tuple[bytes, bytes]:
    given: bytes | None = order
    while True:
        try:
            return process.communicate(given, timeout=_LOOK_S)
        except subprocess.TimeoutExpired:
            given = None  # it was handed over
            between()


def main() -> int:
    """The exit status."""
    signal.signal(signal.SIGTERM, _terminated)
    order = msgspec.json.decode(sys.stdin.buffer.read(), type=Order)
    target = Target(paths=tuple(map(Path, order.paths)), replay_id=order.replay_id, null=order.null)
    try:
        done = run_local(open_program(Path(order.program)), target, cold=order.cold)
        played = Played(found=done.merged.to_json())
    except StorageFault as fault:
        played = Played(found={}, error=str(fault), errno=fault.errno)
    except EdbenchError as error:
        played = Played(found={}, error=str(error))
    sys.stdout.buffer.write(msgspec.json.encode(played) + b"\n")
    return 0


def _terminated(*_: object) -> NoReturn:
    raise SystemExit(1)  # clients end and files go on the way out
