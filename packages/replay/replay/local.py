"""Clients of a replay on this host: forked processes that prepare their files, start together, and report what they
found.

They are forked from a process without threads, `python -m replay.local` (`core.services.process`): it reads an `Order`,
has its clients prepare their files, answers with `Ready`, reads the start, and answers with `Played`, or with an error
in place of both. On null storage it measures the ceiling of this host: there are names in memory and no data, reads are
zeros that the system generates and writes are discarded (decision 49), so that a trace of any size has a ceiling."""

from __future__ import annotations

import contextlib
import dataclasses
import multiprocessing
import os
import shutil
import signal
import sys
import tempfile
import time
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any, Final, NoReturn

import msgspec

from core.errors import EdbenchError, Interrupted, RunFailed
from core.filer.emulation import EmulatedFiler, emulated_filer, mostly_over
from core.mounts import in_memory
from core.services.process import LineProcess, answer, answer_error, answers
from core.settings import read_settings
from core.storage.files import Station
from monitoring.machine import free_memory
from monitoring.processes import RunQueueMeter
from monitoring.wire import WireSampler
from replay.client import run_client, shared_steps
from replay.plan import ReplayChoice
from replay.program import Program, compile_replay, open_program
from replay.tally import ClientResult, merge_results
from replay.tree import Target, drop_own, prepare_tree, remove_trees
from traces.file import open_trace
from worker.processes import die_with_parent

MODULE = "replay.local"
_END_S: Final = 20.0  # for a client to end on SIGTERM

MakeStation = Callable[[], Station | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayClient:
    """Report of one client. Times are seconds since the epoch by the clock of its host."""

    client: int
    taken: float  # start of the preparation of its files
    ready: float
    result: dict[
        str, Any
    ]  # found (replay.tally), start, run_queue_s, dropped, reading: as a worker reads them for a slot


@contextlib.contextmanager
def waiting_clients(
    program: Program,
    target: Target,
    numbers: Sequence[int] = (),
    *,
    keep: bool = False,
    cold: bool = False,
    station: MakeStation | None = None,
) -> Iterator[Callable[[int | None], list[ReplayClient]]]:
    """Fork clients (those with these `numbers`, else all), which prepare their trees; the yielded function starts them
    at a monotonic time in ns (None: at once) and waits for their ends. The trees are removed at the end unless `keep`.

    `cold`: this host's page cache drops the prepared files before the first call (replay.tree). `station` connects each
    client to an emulated filer, after the fork. Clients die with their parent, and end cleanly on SIGTERM. For a caller
    without threads. Raises RunFailed in one line if a client dies, StorageFault."""
    done = [shared_steps(len(clone.clients)) for clone in program.plan.clones]
    clients: list[_Client] = []
    try:
        for number in numbers or range(program.plan.clients):
            clients.append(_Client(program, target, number, done, station, cold=cold))
        prepared = _hear(clients)

        def play(start_ns: int | None) -> list[ReplayClient]:
            for client in clients:
                client.connection.send(time.monotonic_ns() if start_ns is None else start_ns)
            played = _hear(clients)
            return [
                ReplayClient(client=client.number, taken=before["taken"], ready=before["ready"], result=before | after)
                for client, before, after in zip(clients, prepared, played, strict=True)
            ]

        yield play
    finally:
        _end(clients)
        if not keep:
            remove_trees(target)


class _Client:
    """Parent's side of one client process."""

    def __init__(
        self, program: Program, target: Target, number: int, done: Sequence[memoryview], station: MakeStation | None,
        *, cold: bool,
    ) -> None:  # fmt: skip
        context = multiprocessing.get_context("fork")
        self.number = number
        self.connection, theirs = context.Pipe()
        self.process: BaseProcess = context.Process(
            target=_client, args=(os.getpid(), theirs, program, target, number, done, station, cold), daemon=True
        )
        self.process.start()
        theirs.close()


def _hear(clients: list[_Client]) -> list[Any]:
    """Receive one message of each client, in their order; raise the error that a client sent instead."""
    heard: dict[int, Any] = {}
    while len(heard) < len(clients):
        silent = {client.connection: client for client in clients if client.number not in heard}
        for ready in wait(list(silent)):
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
    return [heard[client.number] for client in clients]


def _how(status: int | None) -> str:
    if status is not None and status < 0:
        return signal.Signals(-status).name
    return f"status {status}"


def _end(clients: list[_Client]) -> None:
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
    done: Sequence[memoryview],
    station: MakeStation | None,
    cold: bool,
) -> None:
    signal.signal(signal.SIGTERM, _raising(Interrupted("stopped")))
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # a terminal sends it to the parent too, which ends this process
    die_with_parent(parent)
    try:
        taken = time.time()
        prepare_tree(program, target, client=number)
        dropped = drop_own(program, target, client=number) if cold else None
        filer = None if station is None else station()
        waits, started = RunQueueMeter(), [0.0, 0.0]  # wall clock, run-queue seconds

        def start() -> int:
            plain = None if dropped is None else dataclasses.asdict(dropped)
            connection.send({"taken": taken, "ready": time.time(), "dropped": plain})
            start_ns = int(connection.recv())
            started[:] = time.time() + (start_ns - time.monotonic_ns()) / 1e9, waits.look([os.getpid()])
            return start_ns

        steps = done[program.plan.seat(number).clone.number]
        found = run_client(program, target, client=number, done=steps, start_ns=start, station=filer)
        waited = waits.look([os.getpid()]) - started[1]
        reading: dict[str, Any] = {"busy_s": found.elapsed_s, "slot_wait_s": [waited]}
        if isinstance(filer, EmulatedFiler):
            queued_ns, over_ns, *_ = served = filer.served
            reading |= {"slot_queued_s": [queued_ns / 1e9], "slot_over_s": [over_ns / 1e9]}
            reading["mostly_over"] = mostly_over(served)
        connection.send({"found": found.to_json(), "start": started[0], "run_queue_s": waited, "reading": reading})
    except (Interrupted, EOFError, ConnectionError):  # the parent closed the connection, or died
        return
    except EdbenchError as e:
        with contextlib.suppress(ConnectionError):
            connection.send(e)


def _raising(error: BaseException) -> Callable[[int, object], NoReturn]:
    """Return a handler of signals."""

    def handler(_number: int, _frame: object) -> NoReturn:
        raise error

    return handler


PLACE = Path("/dev/shm")
MARK = 0.8  # share of the ceiling above which figures are the generator's
_SHARE = 0.6  # share of free memory that may be used
_NAME_BYTES = 2_048  # memory of a file without data, with its name
_LEAST_RATE = 5_000  # calls a second that every host makes …
_MOST_SECONDS = 600.0  # … so that a replay on null storage would take longer than this at most


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """Order to play clients of a replay in a process of their own."""

    trace: str
    scratch: str  # a directory in which it is compiled
    program: str = ""  # a directory in which it has been compiled (replay.program)
    choice: ReplayChoice
    null: bool = False  # the paths are null storage; without paths, in a directory of its own
    # Of the directories on the paths, which stay at the end; empty: a new one, whose directories are removed.
    replay_id: str = ""
    numbers: tuple[int, ...] = ()  # clients that play here; empty: all
    cold: bool = False
    emulated: bool = False  # use the filer that the environment names


@dataclass(frozen=True, slots=True, kw_only=True)
class Ready:
    """Message that all clients have prepared their files."""

    data_sets: int  # clones of the trace
    touched: int  # bytes that were prepared
    adapted: int  # calls whose outcome the trace does not explain


@dataclass(frozen=True, slots=True, kw_only=True)
class Played:
    """Message that all clients have finished."""

    clients: tuple[ReplayClient, ...]
    wire_read_bytes: int | None  # read meanwhile by the NFS mounts below the paths; None: there are none

    @property
    def merged(self) -> ClientResult:
        """Results of all clients, merged."""
        return merge_results(ClientResult.from_json(one.result["found"]) for one in self.clients)


class Players:
    """Clients on this host, below a process of their own. `between` is called about once a second during waits."""

    def __init__(
        self, order: Order, between: Callable[[], None] = lambda: None, env: Mapping[str, str] | None = None
    ) -> None:
        self._order, self._between = order, between
        self._process = LineProcess(MODULE, "the replay", env)

    def ready(self) -> Ready:
        """Wait until all clients are ready. Raises UsageError, RunFailed, StorageFault and the errors of `between`."""
        return msgspec.convert(self._ask(self._order), Ready)

    def play(self, start_ns: int | None = None) -> Played:
        """Start them at a monotonic time (None: at once), and wait for their ends. Raises the errors of `ready`."""
        return msgspec.convert(self._ask(start_ns), Played)

    def _ask(self, what: object) -> Any:
        self._process.send(what)
        return answers([self._process], self._between)[0]

    def end(self) -> None:
        """End all clients."""
        self._process.end(_END_S)


@contextlib.contextmanager
def players(
    order: Order, between: Callable[[], None] = lambda: None, env: Mapping[str, str] | None = None
) -> Iterator[tuple[Ready, Callable[[], Played]]]:
    """Yield `Players` that are ready; the yielded function starts them. All are ended at the end."""
    clients = Players(order, between, env)
    try:
        yield clients.ready(), clients.play
    finally:
        clients.end()


def no_room(program: Program) -> str | None:
    """Return the reason why null storage is not available here; None if it is."""
    if not in_memory(PLACE):
        return f"{PLACE} is not a memory file system"
    names = sum(room.inodes for room in program.rooms)
    room = min(shutil.disk_usage(PLACE).free, int(free_memory() * _SHARE))
    if names * _NAME_BYTES > room or names > os.statvfs(PLACE).f_favail:
        return f"the names of {names:,} files do not fit into {room / 1e9:,.2f} GB of memory in {PLACE}"
    if program.calls > _MOST_SECONDS * _LEAST_RATE:
        return f"{program.calls:,} calls would take too long"
    return None


def _obey(order: Order) -> None:
    """Obey an order and answer. Raises EdbenchError, OSError."""
    scratch, choice, null = Path(order.scratch), order.choice, order.null
    scratch.mkdir(parents=True, exist_ok=True)

    def station() -> Station | None:  # of the emulated filer, for the clients on all members of this host
        return emulated_filer(dataclasses.replace(read_settings(os.environ), run=order.replay_id))

    with contextlib.ExitStack() as stack:
        if not choice.paths:
            own = stack.enter_context(tempfile.TemporaryDirectory(prefix=f"edbench-null-{os.getpid()}-", dir=PLACE))
            choice = dataclasses.replace(choice, paths=(own,))
        if order.program:
            program = open_program(Path(order.program))
        else:
            directory = stack.enter_context(tempfile.TemporaryDirectory(prefix="replay-", dir=scratch))
            with open_trace(Path(order.trace)) as opened:
                program = compile_replay(opened, choice.plan(opened.header), Path(directory) / "program")
        if null and (reason := no_room(program)) is not None:
            raise RunFailed(reason)
        paths = tuple(map(Path, choice.paths))
        target = Target(paths=paths, replay_id=order.replay_id or uuid.uuid4().hex, null=null)
        play = stack.enter_context(
            waiting_clients(program, target, order.numbers, keep=bool(order.replay_id), cold=order.cold,
                            station=station if order.emulated else None)
        )  # fmt: skip
        touched = sum(room.bytes for room in program.rooms)
        answer(Ready(data_sets=len(program.plan.clones), touched=touched, adapted=program.adapted))
        start = sys.stdin.buffer.readline()
        if not start:
            return
        before = _read_over(paths)
        clients = tuple(play(msgspec.json.decode(start, type=int | None)))
        after = _read_over(paths)
    # Answer now that everything is removed: this process may be ended at any time, also while Python ends.
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    answer(Played(clients=clients, wire_read_bytes=None if before is None or after is None else after - before))


def _read_over(paths: Sequence[Path]) -> int | None:
    """Return the bytes that the NFS mounts of the paths have read over the wire; None if they are on none."""
    seen = {one.source: int(one.values["read_bytes"]) for path in paths for one in WireSampler(path).sample()
            if one.values["storage"]}  # fmt: skip
    return sum(seen.values()) if seen else None


def main() -> int:
    """Obey the order on standard input; return the exit status."""
    signal.signal(signal.SIGTERM, _raising(SystemExit(1)))  # clients end and files are removed on the way out
    try:
        _obey(msgspec.json.decode(sys.stdin.buffer.readline(), type=Order))
    except (EdbenchError, OSError) as error:
        answer_error(error)
    return 0


if __name__ == "__main__":
    sys.exit(main())
