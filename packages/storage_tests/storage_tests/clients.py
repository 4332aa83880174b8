"""Processes of clients, each a thread that writes, reads and removes files or objects: `python -m
storage_tests.clients`.

A process reads JSON lines: first its Spec, then Orders, each answered by a ProcessDone. It ends with its input."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import msgspec

from core.content import CONTENT_CLASSES, Content
from core.errors import EdbenchError
from core.filer.emulation import emulated_filer
from core.records import FsyncPolicy
from core.services.process import answer, answer_error
from core.settings import read_settings
from core.storage.files import Station
from storage_tests.stores import MOVES, Failed, ObjectStore, PathStore, Refused, Store, place_of
from storage_tests.tally import WHOLE_READ, WHOLE_REMOVE, WHOLE_WRITE, Counted, Counters, Tally, added, merged

if TYPE_CHECKING:
    from typing_extensions import Buffer


Deed = Literal[
    "write", "read", "mixed", "remove", "forget"
]  # mixed: even clients write, odd ones read as many of before


@dataclass(frozen=True, slots=True, kw_only=True)
class Spec:
    """Clients of one process; sent to it once."""

    clients: tuple[int, ...]  # their numbers, of all clients
    roots: tuple[str, ...]  # directories that clients take in turn, or …
    s3: str | None  # … a bucket and prefix
    seed: int
    fsync: str  # none or file
    io_bytes: int  # of one call
    emulated: bool  # whether calls are delayed by the filer that the settings name
    counters: str | None = None  # a file that they count in for the live view


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """The next operation of each client. `shared_numbers`: a process's clients take the numbers from one heap, else
    each has all."""

    deed: Deed
    first: int  # numbers of the files or objects
    last: int  # one past
    size: int
    shared_directory: bool
    shared_numbers: bool
    start_ns: int  # monotonic; all begin then, or …
    delays_ns: tuple[int, ...] = ()  # … so much later, each by its number


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientDone:
    """One client's part of an order; times are seconds since the order's start."""

    client: int = 0  # its number; packages of older versions name none
    began_s: float
    ended_s: float
    done: int  # files or objects that succeeded
    bytes: int
    refused: int  # connections that the storage did not take
    failed: int  # other errors
    said: tuple[str, ...] = ()  # the first refusal and the first other error, in words


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessDone:
    """Result of an order: one process's part, or over all clients."""

    clients: tuple[ClientDone, ...]  # by their numbers
    counted: tuple[Counted, ...]
    bytes_by_second: tuple[int, ...]  # since the start
    cpu_s: float

    @property
    def elapsed_s(self) -> float:
        """Seconds from the start to the last client's end."""
        return max(one.ended_s for one in self.clients)


_KINDS = {"write": WHOLE_WRITE, "read": WHOLE_READ, "remove": WHOLE_REMOVE}


def directory_of(client: int, *, shared: bool) -> str:
    """Return the directory of a client's files."""
    return "shared" if shared else f"client-{client:04d}"


class Client:
    """One thread that writes, reads and removes files without filler."""

    def __init__(self, number: int, store: Store, tally: Tally, seed: int, io_bytes: int) -> None:
        self.number, self.tally = number, tally
        self._store, self._io_bytes = store, io_bytes
        self._content = Content(seed, number, io_bytes)
        self._content.make((CONTENT_CLASSES,))
        self._made: set[str] = set()

    def work(self, order: Order, numbers: Iterator[int]) -> ClientDone:
        """Carry out an order from its start to its last number; count errors instead of raising them."""
        directory = directory_of(self.number, shared=order.shared_directory)
        self.tally.begin(order.start_ns)
        done = moved = refused = failed = 0
        messages: dict[type, str] = {}
        self._wait(order)
        began = time.monotonic_ns() - order.start_ns
        for number in numbers:
            try:
                moved += self._one(order, directory, number)
                done += 1
            except Refused as error:
                refused += 1
                messages.setdefault(Refused, str(error))
            except Failed as error:
                failed += 1
                messages.setdefault(Failed, str(error))
        ended = time.monotonic_ns() - order.start_ns
        return ClientDone(client=self.number, began_s=began / 1e9, ended_s=ended / 1e9, done=done, bytes=moved,
                          refused=refused, failed=failed, said=tuple(messages.values()))  # fmt: skip

    def _wait(self, order: Order) -> None:
        start = order.start_ns + (order.delays_ns[self.number] if order.delays_ns else 0)
        while (left := start - time.monotonic_ns()) > 0:
            time.sleep(left / 1e9)

    def _one(self, order: Order, directory: str, number: int) -> int:
        deed = order.deed
        if deed == "mixed":
            deed = "read" if self.number % 2 else "write"
            number -= (order.last - order.first) * (self.number % 2)
        name = f"{directory}/{number:09d}" if order.shared_numbers else f"{directory}/{self.number:04d}-{number:06d}"
        if deed == "forget":
            self._store.forget(name)
            return 0
        if deed == "write" and directory not in self._made:
            self._store.make(directory)
            self._made.add(directory)
        start, moved, error = time.monotonic_ns(), 0, 1
        try:
            moved = self._done(deed, order.size, name, number)
            error = 0
        finally:
            self.tally.whole(_KINDS[deed], start, time.monotonic_ns() - start, moved, error)
        return moved

    def _done(self, deed: Deed, size: int, name: str, number: int) -> int:
        if deed == "write":
            return self._store.write(name, size, self._pieces(number, size))
        if deed == "read":
            return self._store.read(name)
        self._store.remove(name)
        return 0

    def _pieces(self, number: int, size: int) -> Iterator[Buffer]:
        bounds = (*range(0, size, self._io_bytes), size)
        for offset, end in pairwise(bounds):
            yield self._content.piece(CONTENT_CLASSES, number, offset, end - offset)


def client_of(spec: Spec, number: int, station: Station | None = None) -> Client:
    """Return one client of a spec. Raises UsageError."""
    counter = None if spec.counters is None else Counters(Path(spec.counters), max(spec.clients) + 1).of(number)
    tally = Tally(MOVES if spec.s3 is None else (WHOLE_WRITE, WHOLE_READ), counter)
    store: Store
    if spec.s3 is not None:
        store = ObjectStore(place_of(spec.s3))
    else:
        root = Path(spec.roots[number % len(spec.roots)])
        store = PathStore(root, tally, fsync=FsyncPolicy(spec.fsync), io_bytes=spec.io_bytes, station=station)
    return Client(number, store, tally, spec.seed, spec.io_bytes)


def obeyed(order: Order, clients: list[Client], pool: ThreadPoolExecutor) -> ProcessDone:
    """Have all clients carry out an order; return the result."""
    cpu = time.process_time()
    heap = iter(range(order.first, order.last))
    own = (heap if order.shared_numbers else iter(range(order.first, order.last)) for _ in clients)
    done = list(pool.map(lambda client, numbers: client.work(order, numbers), clients, own))
    return ProcessDone(
        clients=tuple(done),
        counted=merged(one for client in clients for one in client.tally.counted()),
        bytes_by_second=added(client.tally.bytes_by_second() for client in clients),
        cpu_s=time.process_time() - cpu,
    )


def main() -> int:
    """Run the process; return the exit status: 1 after an error."""
    spec = msgspec.json.decode(sys.stdin.buffer.readline(), type=Spec)
    try:
        station = emulated_filer(read_settings(os.environ)) if spec.emulated else None
        clients = [client_of(spec, number, station) for number in spec.clients]
    except EdbenchError as error:
        answer_error(error)
        return 1
    answer(None)
    with ThreadPoolExecutor(len(clients)) as pool:
        for line in sys.stdin.buffer:
            answer(obeyed(msgspec.json.decode(line, type=Order), clients, pool))
    return 0


if __name__ == "__main__":
    sys.exit(main())
