"""A replay on this host alone: as many processes as the plan has clients, started together; and the ceiling of this host.

The ceiling is what the same clients do on null storage without think time. Null storage has names in memory and no data: reads are
zeros that the system generates, writes are discarded (decision 49), so that a trace of any size has a ceiling. Callers that may have
threads play it in a process of its own, `python -m replay.local`, because clients are forked.
"""

from __future__ import annotations

import contextlib
import ctypes
import dataclasses
import multiprocessing
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Callable
from dataclasses import dataclass, field
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any, Final, NoReturn

import msgspec

import core
from core.errors import EdbenchError, Interrupted, RunFailed, StorageFault
from core.filer.use import SHARED_MEMORY
from core.mounts import in_memory, read_mounts
from core.operations import Op
from core.records import ReplayChoice
from core.services.launch import PR_SET_PDEATHSIG
from core.services.process import stop, tied
from core.storage.files import Station
from monitoring.machine import free_memory
from replay.client import run_client
from replay.host import plan_of
from replay.program import Program, compile_replay
from replay.tally import ClientResult, merge_results
from replay.tree import Target, drop_own, prepare_tree, remove_trees
from traces.file import open_trace

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
_MOST_SECONDS = 600.0  # … so that a replay on null storage would take longer than this at most


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """A replay in a process of its own."""

    trace: str
    scratch: str  # a directory in which it is compiled
    choice: ReplayChoice  # with the paths
    null: bool = False  # the paths are null storage
    cold: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Played:
    """What came of it, or why it ended."""

    found: dict[str, Any] = field(default_factory=dict)  # of all clients (replay.tally)
    data_sets: int = 0  # clones of the trace
    touched: int = 0  # bytes that were prepared
    adapted: int = 0  # calls that the trace does not explain
    error: str = ""
    errno: int | None = None  # of the storage


def played_apart(order: Order, between: Callable[[], None] = lambda: None) -> Played:
    """Play it in a process without threads, which clients can be forked from. `between` is called now and then. Raises RunFailed,
    StorageFault and what `between` raises; the files are gone, whatever comes."""
    process = subprocess.Popen(
        tied([sys.executable, "-m", "replay.local"], death_signal=signal.SIGTERM), stdin=subprocess.PIPE,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=Path(core.__file__).parents[1], start_new_session=True,
    )  # fmt: skip
    given: bytes | None = msgspec.json.encode(order)
    try:
        while True:
            try:
                out, errors = process.communicate(given, timeout=_LOOK_S)
                break
            except subprocess.TimeoutExpired:
                given = None  # it was handed over
                between()
    finally:
        stop(process, [(signal.SIGTERM, _END_S)])
    if process.returncode or not out:
        last = errors.decode("utf-8", "replace").strip().splitlines() or [f"status {process.returncode}"]
        raise RunFailed(f"the replay failed: {last[-1]}")
    done = msgspec.json.decode(out, type=Played)
    if done.error:
        raise RunFailed(done.error) if done.errno is None else StorageFault(done.error, errno=done.errno)
    return done


@dataclass(frozen=True, slots=True)
class Ceiling:
    """What the clients made of calls on null storage."""

    calls: int
    elapsed_s: float
    discarded_bytes: int = 0  # that were written


def ceiling(trace: Path, choice: ReplayChoice, scratch: Path) -> Ceiling:
    """The ceiling of these clients. Raises RunFailed with the reason where it is not known, StorageFault."""
    try:
        with tempfile.TemporaryDirectory(prefix=f"edbench-null-{os.getpid()}-", dir=PLACE) as place:
            choice = dataclasses.replace(choice, paths=(place,), speed=0.0, closed=False)
            done = played_apart(Order(trace=str(trace), scratch=str(scratch), choice=choice, null=True))
    except OSError as error:
        raise RunFailed(f"{PLACE} is not a memory file system: {error.strerror}") from error
    merged = ClientResult.from_json(done.found)
    written = merged.ops.get(Op.WRITE)
    return Ceiling(merged.calls, merged.elapsed_s, 0 if written is None else written.bytes)


def no_room(program: Program) -> str | None:
    """Why there is no null storage for it here; None when there is."""
    if not in_memory(PLACE, read_mounts()):
        return f"{PLACE} is not a memory file system"
    names = sum(room.inodes for room in program.rooms)
    room = min(shutil.disk_usage(PLACE).free, int(free_memory() * _SHARE))
    if names * _NAME_BYTES > room or names > os.statvfs(PLACE).f_favail:
        return f"the names of {names:,} files do not fit into {room / 1e9:,.2f} GB of memory in {PLACE}"
    if program.calls > _MOST_SECONDS * _LEAST_RATE:
        return f"{program.calls:,} calls would take too long"
    return None


def _played(order: Order) -> Played:
    """Raises EdbenchError, OSError."""
    scratch = Path(order.scratch)
    scratch.mkdir(parents=True, exist_ok=True)
    target = Target(paths=tuple(map(Path, order.choice.paths)), replay_id=uuid.uuid4().hex, null=order.null)
    with tempfile.TemporaryDirectory(prefix="replay-", dir=scratch) as directory:
        with open_trace(Path(order.trace)) as opened:
            program = compile_replay(opened, plan_of(opened.header, order.choice), Path(directory) / "program")
        if order.null and (reason := no_room(program)) is not None:
            raise RunFailed(reason)
        found = run_local(program, target, cold=order.cold).merged.to_json()
        touched = sum(room.bytes for room in program.rooms)
        return Played(found=found, data_sets=len(program.plan.clones), touched=touched, adapted=program.adapted)


def main() -> int:
    """Play the order on standard input; the exit status."""
    signal.signal(signal.SIGTERM, _ended)
    try:
        done = _played(msgspec.json.decode(sys.stdin.buffer.read(), type=Order))
    except (EdbenchError, OSError) as error:
        why = " ".join(str(error).split())
        done = Played(error=why, errno=error.errno if isinstance(error, StorageFault) else None)
    sys.stdout.buffer.write(msgspec.json.encode(done) + b"\n")
    return 0


def _ended(_number: int, _frame: object) -> NoReturn:
    raise SystemExit(1)  # clients end and files are removed on the way out


if __name__ == "__main__":
    sys.exit(main())
