"""Clients that act together: processes with threads on this host, told what to do and when, heard when they have done it.

A client is a thread; a host has as many processes as processors, so that no interpreter lock holds all of them. With an
emulated filer a client is a process: its arbiter takes one of each process.

They die with their parent, and end on the way out. Limits: one host; at most MOST clients.
"""

from __future__ import annotations

import contextlib
import os
import selectors
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import msgspec

import core
from core.errors import RunFailed, UsageError
from core.services import process as launch
from core.settings import Settings
from experiments.clients.orders import ClientDone, Deed, Order, ProcessDone, Spec, Trouble
from experiments.clients.tally import Counted, merged
from monitoring.machine import processors

MOST = 1_000
_AHEAD_NS = 20_000_000  # that all know of an order before it begins
_AHEAD_EACH_NS = 200_000  # and for each client
_LOOK_S = 1.0
_END_S = 10.0
_SIZE = 1 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """What they use, and how; see Spec."""

    roots: tuple[Path, ...] = ()
    s3: str | None = None
    seed: int = 1
    fsync: str = "none"
    io_bytes: int = 1 << 20
    part_bytes: int = 8 << 20
    filer: Settings | None = None  # that name the emulated filer which delays the calls
    compressible: float = 0.0
    counters: Path | None = None  # where they count for whoever watches (experiments.clients.counters)


@dataclass(frozen=True, slots=True, kw_only=True)
class Done:
    """What became of an order, over all clients."""

    start_ns: int  # monotonic: when the first was to begin
    clients: tuple[ClientDone, ...]  # by their numbers
    counted: tuple[Counted, ...]
    bytes_by_second: tuple[int, ...]  # since the start
    cpu_s: float

    @property
    def elapsed_s(self) -> float:
        """From the start to the last client's end."""
        return (max(one.ended_ns for one in self.clients) - self.start_ns) / 1e9

    @property
    def files(self) -> int:
        return sum(one.done for one in self.clients)


class Crowd:
    """Use `crowd`."""

    def __init__(self, processes: Sequence[_Process], clients: int, between: Callable[[], None]) -> None:
        self._processes, self._clients, self._between = processes, clients, between

    def do(
        self, deed: Deed, numbers: range, size: int, *, shared_directory: bool = False, together: bool = False,
        delays_s: Sequence[float] = (),
    ) -> Done:  # fmt: skip
        """Each client does it with all these numbers, or all clients `together`, each number once.

        They begin at the same moment, or each so much later. Raises RunFailed when a process dies, what `between` raises.
        """
        start = time.monotonic_ns() + _AHEAD_NS + _AHEAD_EACH_NS * self._clients
        delays = tuple(round(delay * 1e9) for delay in delays_s)
        shares = self._shares(numbers) if together else [numbers] * len(self._processes)
        for process, share in zip(self._processes, shares, strict=True):
            process.tell(
                Order(deed=deed, first=share.start, last=share.stop, size=size, shared_directory=shared_directory,
                      shared_numbers=together, start_ns=start, delays_ns=delays)
            )  # fmt: skip
        said = [msgspec.json.decode(line, type=ProcessDone) for line in _heard(self._processes, self._between)]
        by_second = [one.bytes_by_second for one in said]
        longest = max(map(len, by_second))
        return Done(
            start_ns=start,
            clients=tuple(sorted((c for one in said for c in one.clients), key=lambda c: c.client)),
            counted=merged(one for each in said for one in each.counted),
            bytes_by_second=tuple(sum(s[n] for s in by_second if n < len(s)) for n in range(longest)),
            cpu_s=sum(one.cpu_s for one in said),
        )

    def _shares(self, numbers: range) -> list[range]:
        """As many for each process as it has of the clients."""
        out, first, clients = [], numbers.start, 0
        for process in self._processes:
            clients += process.clients
            last = numbers.start + len(numbers) * clients // self._clients
            out.append(range(first, last))
            first = last
        return out


class _Process:
    """The parent's side of one."""

    def __init__(self, spec: Spec, filer: Settings | None) -> None:
        self.clients = len(spec.clients)
        command = [sys.executable, "-I", "-S", launch.__file__, str(os.getpid()), str(int(signal.SIGKILL)), "-1", "-1",
                   "", sys.executable, "-m", "experiments.clients.process"]  # fmt: skip
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=Path(core.__file__).parents[1],
            start_new_session=True, env=None if filer is None else os.environ | filer.environment(),
        )  # fmt: skip
        self._unread = b""
        self.tell(spec)

    @property
    def out(self) -> IO[bytes]:
        assert self.process.stdout is not None
        return self.process.stdout

    def tell(self, what: object) -> None:
        """One line; raises RunFailed."""
        assert self.process.stdin is not None
        try:
            self.process.stdin.write(msgspec.json.encode(what) + b"\n")
            self.process.stdin.flush()
        except BrokenPipeError as error:
            raise self.died() from error

    def hear(self) -> bytes | None:
        """A whole line, when there is one; raises RunFailed."""
        more = os.read(self.out.fileno(), _SIZE)
        if not more:
            raise self.died()
        self._unread += more
        if not self._unread.endswith(b"\n"):
            return None
        line, self._unread = self._unread, b""
        return line

    def died(self) -> RunFailed:
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(_END_S)
        return RunFailed(f"a process of clients died (status {self.process.returncode}); the run has ended")

    def end(self) -> None:
        self.process.kill()
        self.process.wait()
        for pipe in (self.process.stdin, self.process.stdout):
            with contextlib.suppress(OSError):
                if pipe is not None:
                    pipe.close()


@contextlib.contextmanager
def crowd(place: Place, clients: int, between: Callable[[], None] = lambda: None) -> Iterator[Crowd]:
    """So many clients, ready to be told; none is left at the end. `between` is called about once a second while they work.

    Raises UsageError, RunFailed.
    """
    if not 1 <= clients <= MOST:
        raise UsageError(f"{clients:,} clients on one host; use 1 to {MOST:,}")
    parts = min(clients, processors()) if place.filer is None else clients
    processes: list[_Process] = []
    try:
        for part in range(parts):
            numbers = tuple(range(part, clients, parts))
            processes.append(_Process(_spec(place, numbers), place.filer))
        _heard(processes, between)
        yield Crowd(processes, clients, between)
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
        part_bytes=place.part_bytes,
        emulated=place.filer is not None,
        compressible=place.compressible,
        counters=None if place.counters is None else str(place.counters),
    )


def _heard(processes: Sequence[_Process], between: Callable[[], None]) -> list[bytes]:
    """A line of each, in their order."""
    said: dict[int, bytes] = {}
    with selectors.DefaultSelector() as waiting:
        for number, process in enumerate(processes):
            waiting.register(process.out, selectors.EVENT_READ, number)
        while len(said) < len(processes):
            for key, _ in waiting.select(_LOOK_S):
                line = processes[key.data].hear()
                if line is not None:
                    said[key.data] = _checked(line)
                    waiting.unregister(key.fileobj)
            between()
    return [said[number] for number in range(len(processes))]


def _checked(line: bytes) -> bytes:
    said: Any = msgspec.json.decode(line)
    if isinstance(said, dict) and "error" in said:
        trouble = msgspec.convert(said, Trouble)
        raise (UsageError if trouble.usage else RunFailed)(trouble.error)
    return line
