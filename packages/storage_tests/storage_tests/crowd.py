"""Clients that act together: processes with threads, on this host or at members of the crew, which receive orders.

A client is a thread; a host has as many processes as CPUs, so that no interpreter lock blocks all of them. With an
emulated filer a client is a process, because the filer's arbiter serves one per process. Clients end with their parent.
Limit: at most MOST clients."""

from __future__ import annotations

import contextlib
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path

import msgspec

from core.errors import UsageError
from core.services.process import LineProcess, answers
from core.settings import Settings
from monitoring.machine import processors
from storage_tests.clients import Deed, Order, ProcessDone, Spec
from storage_tests.tally import added, merged

MOST = 1_000
_PROCESS = "storage_tests.clients"
_AHEAD_NS = 20_000_000  # time for an order to reach all clients before it starts
_AHEAD_EACH_NS = 200_000  # and for each client

Elsewhere = Callable[["Place", int], AbstractContextManager["Crowd"]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Resources that clients use, and how; see Spec."""

    roots: tuple[Path, ...] = ()
    s3: str | None = None
    seed: int = 1
    fsync: str = "none"
    io_bytes: int = 1 << 20
    filer: Settings | None = None  # name the emulated filer that delays the calls
    counters: Path | None = None  # file in which they count for the live view (storage_tests.tally)
    elsewhere: Elsewhere | None = None  # starts the clients elsewhere instead of on this host; without a live view


class Crowd(ABC):
    """Clients that `crowd` has started."""

    def __init__(self, clients: Sequence[int], processors: float, ahead_ns: int = _AHEAD_NS) -> None:
        """`clients`: the number of each process; `processors`: CPUs that all may use; `ahead_ns`: time between an order
        and its start."""
        self.clients, self.processors = clients, processors
        self._ahead_ns = ahead_ns + _AHEAD_EACH_NS * sum(clients)

    @abstractmethod
    def obeyed(self, orders: Sequence[Order]) -> Sequence[ProcessDone]:
        """Carry out one order for each process; return their results."""

    def do(
        self, deed: Deed, numbers: range, size: int, *, shared_directory: bool = False, together: bool = False,
        delays_s: Sequence[float] = (),
    ) -> ProcessDone:  # fmt: skip
        """Have each client carry out `deed` for all these numbers or, if `together`, all clients for each number once.

        They begin at the same moment, or each after its delay. Raises RunFailed if a process dies, HostLost if a member
        of the crew is lost."""
        start = time.monotonic_ns() + self._ahead_ns
        delays = tuple(round(delay * 1e9) for delay in delays_s)
        shares = self._shares(numbers) if together else [numbers] * len(self.clients)
        results = self.obeyed(
            [
                Order(deed=deed, first=share.start, last=share.stop, size=size, shared_directory=shared_directory,
                      shared_numbers=together, start_ns=start, delays_ns=delays)
                for share in shares
            ]
        )  # fmt: skip
        return ProcessDone(
            clients=tuple(sorted((c for one in results for c in one.clients), key=lambda c: c.client)),
            counted=merged(one for each in results for one in each.counted),
            bytes_by_second=added(one.bytes_by_second for one in results),
            cpu_s=sum(one.cpu_s for one in results),
        )

    def _shares(self, numbers: range) -> list[range]:
        """Divide the numbers among the processes in proportion to their clients."""
        out, first, clients = [], numbers.start, 0
        for its in self.clients:
            clients += its
            last = numbers.start + len(numbers) * clients // sum(self.clients)
            out.append(range(first, last))
            first = last
        return out


class Here(Crowd):
    """Clients in processes of this host."""

    def __init__(self, processes: Sequence[LineProcess], clients: Sequence[int]) -> None:
        super().__init__(clients, processors())
        self._processes = processes

    def obeyed(self, orders: Sequence[Order]) -> Sequence[ProcessDone]:
        for process, order in zip(self._processes, orders, strict=True):
            process.send(order)
        return msgspec.convert(answers(self._processes), list[ProcessDone])


@contextlib.contextmanager
def crowd(place: Place, clients: int) -> Iterator[Crowd]:
    """Start so many clients, which then wait for orders; end all of them when the block ends.

    Raises UsageError, RunFailed."""
    if not 1 <= clients <= MOST:
        raise UsageError(f"{clients:,} clients of one test; use 1 to {MOST:,}")
    if place.elsewhere is not None:
        with place.elsewhere(place, clients) as people:
            yield people
        return
    with here(place, range(clients)) as people:
        yield people


@contextlib.contextmanager
def here(place: Place, clients: Sequence[int]) -> Iterator[Here]:
    """Start clients with these numbers on this host."""
    parts = min(len(clients), processors()) if place.filer is None else len(clients)
    numbers = [tuple(clients[part::parts]) for part in range(parts)]
    processes: list[LineProcess] = []
    try:
        for own in numbers:
            env = None if place.filer is None else place.filer.environment()
            processes.append(LineProcess(_PROCESS, "clients", env))
            processes[-1].send(_spec(place, own))
        answers(processes)
        yield Here(processes, [len(own) for own in numbers])
    finally:
        for process in processes:
            process.end()


def _spec(place: Place, numbers: tuple[int, ...]) -> Spec:
    return Spec(
        clients=numbers,
        roots=tuple(str(root.absolute()) for root in place.roots),
        s3=place.s3,
        seed=place.seed,
        fsync=place.fsync,
        io_bytes=place.io_bytes,
        emulated=place.filer is not None,
        counters=None if place.counters is None else str(place.counters),
    )
