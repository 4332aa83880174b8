"""Queues in shared memory that processes of one host book work in: stations of equal servers, first come first served.

Each station keeps, for every server, the time until which it is booked. Work takes the server that is free first, in
the order in which it comes (FIFO by virtual finish time), and the process that brought it waits until its finish.

The lock is an fcntl(2) record lock: the kernel releases it when a process is killed. Every number is an aligned 8-byte
store, so what a killed process leaves behind is whole: at worst one booking without its count.
"""

from __future__ import annotations

import fcntl
import mmap
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from core.filer.use import attach, let_go

_MAGIC = 0x45_44_46_49_4C_45_52_03  # "EDFILER", layout 3
_LOCK_BYTE = 0  # of the record lock of a booking; the next one is that of being in use (`core.filer.use`)
_BUSY, _WAITED, _CALLS, _OPS = range(4)
_COUNTS = 4
_FIRST = 1  # word 0 is the magic number
OPS_UNIT = 1000  # filer ops are counted in thousandths: their numbers are means


@dataclass(frozen=True, slots=True, kw_only=True)
class StationCounts:
    """Of one station since it was made."""

    servers: int
    calls: int
    busy_ns: int  # service booked, over all servers
    waited_ns: int  # in its queue, over all calls
    filer_ops: float = 0.0


class SharedQueues:
    """One process's access to the stations, which are created where no other process uses them. Not thread-safe.

    The process must open it after its fork, and only once: record locks belong to the process. Raises StorageFault.
    """

    def __init__(self, path: Path, servers: Sequence[int], more_words: int = 0) -> None:
        """`servers`: of each station; `more_words`: extra words from `more` on, initially zero."""
        self.path = path
        self.servers = tuple(servers)
        places = [_FIRST + _COUNTS * len(self.servers)]
        for number in self.servers:
            places.append(places[-1] + number)
        self._free = places[:-1]
        self.more = places[-1]
        self._bytes = -(-(self.more + more_words) * 8 // mmap.PAGESIZE) * mmap.PAGESIZE
        self._fd = attach(path, self._bytes)
        self._map = mmap.mmap(self._fd, self._bytes)
        self.words = memoryview(self._map).cast("q")
        self.words[0] = _MAGIC

    def lock(self) -> None:
        """Before any booking; `unlock` after it, whatever happens."""
        fcntl.lockf(self._fd, fcntl.LOCK_EX, 1, _LOCK_BYTE)

    def unlock(self) -> None:
        fcntl.lockf(self._fd, fcntl.LOCK_UN, 1, _LOCK_BYTE)

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Hold the lock for the block; for callers that book seldom."""
        self.lock()
        try:
            yield
        finally:
            self.unlock()

    def book(self, station: int, service: int, arrived: int, ready: int, ops: int = 0) -> int:
        """Book `service` at a station from `arrived` on, for work that ends no sooner than `ready` + service; its end.

        It is booked from the arrival, whatever else the work has to wait for: a gap before it that no work could use
        would take away from the station's ceiling. Times are monotonic nanoseconds, `ops` in thousandths. Only under
        the lock.
        """
        words, first = self.words, self._free[station]
        number = self.servers[station]
        if number == 1:
            begin = max(words[first], arrived)
            words[first] = begin + service
        else:
            free = words[first : first + number].tolist()
            soonest = min(free)
            begin = max(soonest, arrived)
            words[first + free.index(soonest)] = begin + service
        end = max(begin, ready) + service
        at = _FIRST + station * _COUNTS
        words[at + _BUSY] += service
        words[at + _WAITED] += end - service - ready
        words[at + _CALLS] += 1
        words[at + _OPS] += ops
        return end

    def pass_by(self, station: int, ops: int) -> None:
        """Count a call that takes no time there: without service there is no queue, not even behind a call that came a
        moment later. Only under the lock."""
        at = _FIRST + station * _COUNTS
        self.words[at + _CALLS] += 1
        self.words[at + _OPS] += ops

    def counts(self, station: int) -> StationCounts:
        """Now; without the lock, so work under way may be half in them."""
        at = _FIRST + station * _COUNTS
        busy, waited, calls, ops = self.words[at : at + _COUNTS].tolist()
        return StationCounts(
            servers=self.servers[station], calls=calls, busy_ns=busy, waited_ns=waited, filer_ops=ops / OPS_UNIT
        )

    def close(self) -> None:
        """Let go of it; it stays while others use it."""
        self._close(remove=False)

    def close_and_remove(self) -> None:
        """Let go of it, and remove it unless another process uses it still."""
        self._close(remove=True)

    def _close(self, *, remove: bool) -> None:
        self.words.release()
        self._map.close()
        let_go(self.path, self._fd, remove=remove)
