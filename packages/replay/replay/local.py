"""A replay on this host alone: as many processes as the plan has clients, started together; and the ceiling of this host.

The ceiling is what the same clients do on null storage without think time. Null storage has names in memory and no data: reads are
zeros that the system generates, writes are discarded (decision 49), so that a trace of any size has a ceiling. It runs in a process
of its own, `python -m replay.local`, because clients are forked and the caller may have threads.
"""

from __future__ import annotations

import contextlib
import ctypes
import dataclasses
import json
import multiprocessing
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any, Final, NoReturn

import core
from core.errors import EdbenchError, Interrupted, RunFailed
from core.filer.use import SHARED_MEMORY
from core.mounts import in_memory, read_mounts
from core.operations import Op
from core.records import ReplayChoice
from core.services import launch
from core.services.launch import PR_SET_PDEATHSIG
from core.storage.files import Station
from monitoring.machine import free_memory
from replay.client import run_client
from replay.host import plan_of
from replay.program import Program, compile_replay
from replay.tally import ClientResult, merge_results
from replay.tree import Target, drop_own, prepare_tree, remove_trees
from traces.read import open_trace

_START_AFTER_NS: Final = 50_000_000  # the last client has its order by then
_LOOK_S: Final = 1.0
_END_S: Final = 20.0  # for a client to end on SIGTERM

MakeStation = Callable[[], Station | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalResult:
    """What all clients found, and each of them."""

    merged: ClientResult
    clients: tuple[ClientResult, ...]


def run_local(
    program: Program,
    target: Target,
    *,
    keep: bool = False,
    cold: bool = False,
    station: MakeStation | None = None,
    between: Callable[[], None] | None = None,
) -> LocalResult:
    """Prepare the trees, play the program with forked clients behind a barrier, remove the trees unless `keep`.

    `cold`: this host's page cache is asked to forget the prepared files before the first call (replay.tree).
    `station` makes each client's way to an emulated filer, after the fork. Clients die with their parent, and end cleanly
    on SIGTERM. For a caller without threads. Raises RunFailed in one line when a client dies, StorageFault, and what
    `between` raises (called about once a second here).
    """
    shared = SHARED_MEMORY if SHARED_MEMORY.is_dir() else program.directory
    progress = Path(tempfile.mkdtemp(prefix="edbench-replay-", dir=shared))
    clients: list[_Client] = []
    try:
        for number in range(program.plan.clients):
            clients.append(_Client(program, target, number, progress, station, cold=cold))
        _hear(clients, between)  # prepared, and everything is open
        start = time.monotonic_ns() + _START_AFTER_NS
        for client in clients:
            client.connection.send(start)
        results = tuple(ClientResult.from_json(message) for message in _hear(clients, between))
        return LocalResult(merged=merge_results(results), clients=results)
    finally:
        _end(clients)
        shutil.rmtree(progress, ignore_errors=True)
        if not keep:
            remove_trees(target)


class _Client:
    """The parent's side of one client process."""

    def __init__(
        self, program: Program, target: Target, number: int, progress: Path, station: MakeStation | None, *, cold: bool
    ) -> None:
        context = multiprocessing.get_context("fork")
        self.number = number
        self.connection, theirs = context.Pipe()
        self.process: BaseProcess = context.Process(
            target=_client, args=(os.getpid(), theirs, program, target, number, progress, station, cold), daemon=True
        )
        self.process.start()
        theirs.close()


def _hear(clients: list[_Client], between: Callable[[], None] | None) -> list[Any]:
    """One message of each client, in their order; raises what a client had to say instead."""
    heard: dict[int, Any] = {}
    while len(heard) < len(clients):
        silent = {client.connection: client for client in clients if client.number not in heard}
        for ready in wait(list(silent), _LOOK_S):
            client = silent[ready]  # type: ignore[index]
            try:
                message = client.connection.recv()
            except (EOFError, ConnectionError) as e:
                client.process.join(_END_S)
                raise RunFailed(
                    f"client {client.number} of the replay died ({_how(client.process.exitcode)}); the replay has ended"
                ) from e
            if isinstance(message, BaseException):
                raise message
            heard[client.number] = message
        if between is not None:
            between()
    return [heard[client.number] for client in clients]


def _how(status: int | None) -> str:
    if status is not None and status < 0:
        return signal.Signals(-status).name
    return f"status {status}"


def _end(clients: list[_Client]) -> None:
    """No client is left when this returns."""
    for client in clients:
        client.connection.close()
        if client.process.is_alive():
            client.process.terminate()
    for client in clients:
        client.process.join(_END_S)
        if client.process.is_alive():
            client.process.kill()
            client.process.join()


def _client(
    parent: int,
    connection: Connection,
    program: Program,
    target: Target,
    number: int,
    progress: Path,
    station: MakeStation | None,
    cold: bool,
) -> None:
    """A client process, from its fork to its end."""
    signal.signal(signal.SIGTERM, _terminated)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # a terminal sends it to the parent too, which ends this one
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != parent:  # it died before the signal was asked for
        os._exit(1)
    try:
        prepare_tree(program, target, client=number)
        if cold:
            drop_own(program, target, client=number)

        def start() -> int:
            connection.send(None)
            return int(connection.recv())

        filer = None if station is None else station()
        result = run_client(program, target, client=number, progress=progress, start_ns=start, station=filer)
        connection.send(result.to_json())
    except (Interrupted, EOFError, ConnectionError):  # the parent ended it, or is gone
        return
    except EdbenchError as e:
        with contextlib.suppress(ConnectionError):
            connection.send(e)


def _terminated(*_: object) -> NoReturn:
    raise Interrupted("stopped")


PLACE = Path("/dev/shm")
MARK = 0.8  # of the ceiling: figures above it are the generator's
_SHARE = 0.6  # of free memory that may be taken
_NAME_BYTES = 2_048  # of memory that a file without data takes, with its name
_LEAST_RATE = 5_000  # calls a second that any host makes …
_MOST_SECONDS = 600.0  # … so that the check would take longer than this at most


@dataclass(frozen=True, slots=True)
class Ceiling:
    """What the clients made of calls on null storage."""

    calls: int
    elapsed_s: float
    discarded_bytes: int = 0  # that were written

    @property
    def calls_per_second(self) -> float:
        """0.0 when no time passed."""
        return self.calls / self.elapsed_s if self.elapsed_s else 0.0


def ceiling(trace: Path, choice: ReplayChoice, scratch: Path) -> Ceiling | str:
    """The ceiling of these clients, or why it is not known, in one line."""
    wish = {"clients": choice.clients, "shared": choice.shared, "seed": choice.seed}
    command = [sys.executable, "-I", "-S", launch.__file__, str(os.getpid()), str(int(signal.SIGTERM)), "-1", "-1", "",
               sys.executable, "-m", "replay.local", str(trace), str(scratch), json.dumps(wish)]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True, cwd=Path(core.__file__).parents[1], check=False)
    if done.returncode:
        return (done.stderr.strip().splitlines() or [f"exit status {done.returncode}"])[-1]
    figures = json.loads(done.stdout)
    return Ceiling(**figures)


def no_room(program: Program) -> str | None:
    """Why the check cannot be made here; None when it can."""
    if not PLACE.is_dir() or not in_memory(PLACE, read_mounts()):
        return f"{PLACE} is not a memory file system"
    names = sum(room.inodes for room in program.rooms)
    room = min(shutil.disk_usage(PLACE).free, int(free_memory() * _SHARE))
    if names * _NAME_BYTES > room or names > os.statvfs(PLACE).f_favail:
        return f"the names of {names:,} files do not fit into {room / 1e9:,.2f} GB of memory in {PLACE}"
    if program.calls > _MOST_SECONDS * _LEAST_RATE:
        return f"{program.calls:,} calls would take too long"
    return None


def main(trace: Path, scratch: Path, choice: ReplayChoice) -> int:
    """Make the check, print its figures; the exit status."""
    scratch.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="ceiling-", dir=scratch) as directory:
        try:
            with open_trace(trace) as opened:
                program = compile_replay(opened, plan_of(opened.header, choice), Path(directory) / "program")
            reason = no_room(program)
            if reason is not None:
                return _failed(reason)
            with tempfile.TemporaryDirectory(prefix=f"edbench-null-{os.getpid()}-", dir=PLACE) as place:
                merged = run_local(program, Target(paths=(Path(place),), replay_id="ceiling", null=True)).merged
        except (EdbenchError, OSError) as error:
            return _failed(" ".join(str(error).split()))
    written = merged.ops.get(Op.WRITE)
    figures = Ceiling(merged.calls, merged.elapsed_s, 0 if written is None else written.bytes)
    sys.stdout.write(json.dumps(dataclasses.asdict(figures)) + "\n")
    return 0


def _failed(reason: str) -> int:
    sys.stderr.write(f"{reason}\n")
    return 1


def _ended(_number: int, _frame: object) -> None:
    raise SystemExit(1)  # what was made is removed on the way out


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, _ended)
    options = json.loads(sys.argv[3])
    sys.exit(main(Path(sys.argv[1]), Path(sys.argv[2]), ReplayChoice(paths=("null",), speed=0.0, **options)))
