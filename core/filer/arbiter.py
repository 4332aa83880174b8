"""The arbiter of an emulated filer: queues in shared memory that every slot of the host books its calls in.

Each station keeps, for every server, the time until which it is booked. A call takes the server that is free first,
in the order in which calls come to the arbiter (FIFO by virtual finish time), and waits until its own finish. The
link is booked from the call's arrival on, beside the processor, because a gap between the two bookings that nobody
could use would take away from its ceiling; a call ends when both would have had it, one after the other.

The lock is an fcntl(2) record lock: the kernel releases it when a slot is killed. Every number is an aligned 8-byte
store, so what a killed slot leaves behind is whole: at worst one booking without its count.
"""

from __future__ import annotations

import errno
import fcntl
import mmap
import os
import stat
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self

from core.errors import StorageFault
from core.filer.model import DATA_OPS, MAX_SERVERS, STATIONS, FilerModel
from core.operations import Op

_MAGIC = 0x45_44_46_49_4C_45_52_01  # "EDFILER", layout 1
_LOCK_BYTE, _USE_BYTE = 0, 1  # byte ranges of the two record locks: of a booking, and of being in use
_BUSY, _WAITED, _CALLS = 0, 1, 2
_STATION_WORDS = 3
_FIRST_COUNTS = 1  # word 0 is the magic number
_MISS_DEBT = _FIRST_COUNTS + _STATION_WORDS * len(STATIONS)  # reads, then writes: misses due, in 10^-9
_DISK = _MISS_DEBT + 2  # calls that missed, and nanoseconds added to them
_FREE = _DISK + 2
_WORDS = _FREE + 2 * MAX_SERVERS + 1
_BYTES = -(-_WORDS * 8 // mmap.PAGESIZE) * mmap.PAGESIZE
_WHOLE = 1_000_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class StationCounts:
    """Of one station since the arbiter was made."""

    servers: int
    calls: int
    busy_ns: int  # service booked, over all servers
    waited_ns: int  # in its queue, over all calls


@dataclass(frozen=True, slots=True, kw_only=True)
class ArbiterCounts:
    """A look at all stations."""

    stations: dict[str, StationCounts]
    misses: int
    missed_ns: int  # added to calls by misses


def _open(path: Path, flags: int) -> int:
    try:
        fd = os.open(path, flags | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    except OSError as e:
        raise StorageFault(
            f"the emulated filer's arbiter {path} cannot be opened: {e.strerror}", errno=e.errno or 0
        ) from e
    info = os.fstat(fd)
    if not stat.S_ISREG(info.st_mode) or info.st_uid != os.geteuid():
        os.close(fd)
        raise StorageFault(f"the emulated filer's arbiter {path} is not ours; remove it, then try again")
    return fd


class Arbiter:
    """One process's way to the arbiter, made when there is none. Not for several threads at once.

    The process must open it after its fork, and only once: record locks belong to the process. Raises StorageFault.
    """

    def __init__(self, path: Path, model: FilerModel) -> None:
        self.path = path
        self.digest = model.digest
        self._servers = (model.metadata.servers, model.data.servers)
        self._station = [1 if op in DATA_OPS else 0 for op in Op]
        self._service = [model.service_ns(op) for op in Op]
        self._link = model.link_ns_per_byte
        disk = model.disk
        self._disk = {
            Op.READ: (0, round(disk.read_miss * _WHOLE), round(disk.read_ms * 1e6)),
            Op.WRITE: (1, round(disk.write_miss * _WHOLE), round(disk.write_ms * 1e6)),
        }
        self._disk = {op: found for op, found in self._disk.items() if found[1] and found[2]}
        self._fd = self._attach()
        self._map = mmap.mmap(self._fd, _BYTES)
        self._words = memoryview(self._map).cast("q")
        self._words[0] = _MAGIC
        self.waited_ns = 0  # in queues, of the call that was booked last

    def _attach(self) -> int:
        """The file, marked as in use; another process may be removing it at this moment."""
        while True:
            fd = _open(self.path, os.O_RDWR | os.O_CREAT)
            try:
                fcntl.lockf(fd, fcntl.LOCK_SH, 1, _USE_BYTE)
                if os.fstat(fd).st_nlink:
                    os.posix_fallocate(fd, 0, _BYTES)  # full memory shows here, not as SIGBUS later
                    return fd
            except OSError as e:
                os.close(fd)
                raise StorageFault(f"the emulated filer's arbiter {self.path}: {e.strerror}", errno=e.errno or 0) from e
            os.close(fd)

    def book(self, op: Op, nbytes: int, arrived_ns: int) -> int:
        """Book a call that came at `arrived_ns` (monotonic); when it ends, in the same time."""
        number = self._station[op]
        service = self._service[op]
        transfer = int(nbytes * self._link)
        words = self._words
        first = _FREE + number * MAX_SERVERS
        fcntl.lockf(self._fd, fcntl.LOCK_EX, 1, _LOCK_BYTE)
        try:
            begin = arrived_ns
            if service:  # without one there is no queue, not even behind a call that came a moment later
                free = words[first : first + self._servers[number]].tolist()
                soonest = min(free)
                begin = max(soonest, arrived_ns)
                words[first + free.index(soonest)] = begin + service
            end = begin + service
            self._count(number, service, begin - arrived_ns)
            if transfer:
                end = self._book_link(transfer, arrived_ns, end)
            self.waited_ns = end - arrived_ns - service - transfer
            disk = self._disk.get(op)
            return end if disk is None else end + self._miss(*disk)
        finally:
            fcntl.lockf(self._fd, fcntl.LOCK_UN, 1, _LOCK_BYTE)

    def _book_link(self, transfer: int, arrived_ns: int, ready: int) -> int:
        at = _FREE + 2 * MAX_SERVERS
        booked = max(self._words[at], arrived_ns) + transfer
        self._words[at] = booked
        end = max(ready + transfer, booked)
        self._count(2, transfer, end - transfer - ready)
        return end

    def _count(self, station: int, service: int, waited: int) -> None:
        words = self._words
        at = _FIRST_COUNTS + station * _STATION_WORDS
        words[at + _BUSY] += service
        words[at + _WAITED] += waited
        words[at + _CALLS] += 1

    def _miss(self, kind: int, share: int, delay: int) -> int:
        """Every so many calls one misses: spread evenly, the same share in every run."""
        words = self._words
        due = words[_MISS_DEBT + kind] + share
        if due < _WHOLE:
            words[_MISS_DEBT + kind] = due
            return 0
        words[_MISS_DEBT + kind] = due - _WHOLE
        words[_DISK] += 1
        words[_DISK + 1] += delay
        return delay

    def snapshot(self) -> ArbiterCounts:
        """The counters now; without the lock, so a call under way may be half in them."""
        stations = {}
        for number, name in enumerate(STATIONS):
            at = _FIRST_COUNTS + number * _STATION_WORDS
            busy, waited, calls = self._words[at : at + _STATION_WORDS].tolist()
            servers = (*self._servers, 1)[number]
            stations[name] = StationCounts(servers=servers, calls=calls, busy_ns=busy, waited_ns=waited)
        return ArbiterCounts(stations=stations, misses=self._words[_DISK], missed_ns=self._words[_DISK + 1])

    def close(self) -> None:
        """Let go of it; it stays while others use it."""
        self._words.release()
        self._map.close()
        os.close(self._fd)

    def close_and_remove(self) -> None:
        """Let go of it, and remove it unless another process uses it still."""
        try:
            fcntl.lockf(self._fd, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, _USE_BYTE)
        except OSError as e:
            if e.errno not in (errno.EACCES, errno.EAGAIN):
                raise StorageFault(f"the emulated filer's arbiter {self.path}: {e.strerror}") from e
        else:
            if os.fstat(self._fd).st_nlink:
                self.path.unlink(missing_ok=True)
        self.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        self.close()
