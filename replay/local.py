"""A replay on this host alone: as many processes as the plan has clients, started together."""

from __future__ import annotations

import contextlib
import ctypes
import multiprocessing
import os
import shutil
import signal
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any, Final, NoReturn

from core.errors import EdbenchError, Interrupted, RunFailed
from core.filer.use import SHARED_MEMORY
from core.services.launch import PR_SET_PDEATHSIG
from core.storage.files import Station
from replay.client import run_client
from replay.cold import drop_own
from replay.program import Program
from replay.result import ClientResult, merge_results
from replay.tree import Target, prepare_tree, remove_trees

_START_AFTER_NS: Final = 50_000_000  # the last is told by then
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

    `cold`: this host's page cache is asked to forget the prepared files before the first call (replay.cold).
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
