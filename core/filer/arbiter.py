"""The arbiter of an emulated filer: the queues in shared memory that every slot of the host books its calls in.

A call asks the filer's metadata unit, its data unit and the link for what its filer ops take, and ends when all of them
would have had it, one after the other. Disk delays and the wire's round trips are added to it: they are no queues."""

from __future__ import annotations

import fcntl
import hashlib
import mmap
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import NamedTuple, Self

from core.filer.model import STATIONS, CallCost, FilerModel
from core.filer.use import attach, let_go
from core.operations import Op

_MAGIC = 0x45_44_46_49_4C_45_52_03  # "EDFILER", layout 3
_LOCK_BYTE = 0  # locked during a booking; the next byte is locked while in use (`core.filer.use`)
_BUSY, _WAITED, _CALLS, _OPS = range(4)
_COUNTS = 4
_FIRST = 1  # word 0 is the magic number
OPS_UNIT = 1000  # filer ops are counted in thousandths: their numbers are means


@dataclass(frozen=True, slots=True, kw_only=True)
class StationCounts:
    """Counters of one station since it was created."""

    servers: int
    calls: int
    busy_ns: int  # service booked, over all servers
    waited_ns: int  # in its queue, over all calls
    filer_ops: float = 0.0


class SharedQueues:
    """One process's access to the stations, which are created where no other process uses them. Not thread-safe.

    The process must open it after its fork, and only once: record locks belong to the process. Raises StorageFault."""

    def __init__(self, path: Path, servers: Sequence[int], more_words: int = 0) -> None:
        """Open the stations. `servers`: of each station; `more_words`: extra words from `more` on, initially zero."""
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
        """Take the lock, which every booking needs. The caller must `unlock` it, even after an error."""
        fcntl.lockf(self._fd, fcntl.LOCK_EX, 1, _LOCK_BYTE)

    def unlock(self) -> None:
        fcntl.lockf(self._fd, fcntl.LOCK_UN, 1, _LOCK_BYTE)

    def book(self, station: int, service: int, arrived: int, ready: int, ops: int = 0) -> int:
        """Book `service` at a station from `arrived` on, for work that ends no sooner than `ready` + service; return
        its end.

        It is booked from the arrival, whatever else the work has to wait for: a gap before it that no work could use
        would take away from the station's ceiling. Times are monotonic nanoseconds, `ops` in thousandths. Only under
        the lock."""
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
        """Count a call that takes no time at a station: without service there is no queue, not even for a call that
        came a moment later. Only under the lock."""
        at = _FIRST + station * _COUNTS
        self.words[at + _CALLS] += 1
        self.words[at + _OPS] += ops

    def counts(self, station: int) -> StationCounts:
        """The counters now, read without the lock: a booking in progress may be half included."""
        at = _FIRST + station * _COUNTS
        busy, waited, calls, ops = self.words[at : at + _COUNTS].tolist()
        return StationCounts(
            servers=self.servers[station], calls=calls, busy_ns=busy, waited_ns=waited, filer_ops=ops / OPS_UNIT
        )

    def close(self) -> None:
        """Release the stations; they stay while others use them."""
        self._close(remove=False)

    def close_and_remove(self) -> None:
        """Release the stations, and remove them unless another process uses them."""
        self._close(remove=True)

    def _close(self, *, remove: bool) -> None:
        self.words.release()
        self._map.close()
        let_go(self.path, self._fd, remove=remove)


_WAYS = 4
_CLIENT_CACHE_SETS = 1 << 15
FILES = _WAYS * _CLIENT_CACHE_SETS
_KEY, _STAMP, _EXTENT = range(3)
_CLIENT_CACHE_WORDS = 3
_CAME, _ANSWERED, _TABLE = 0, 1, 3  # bytes cached so far; reads answered and their bytes


class _Place(NamedTuple):
    """An entry of a table in shared memory, or the place that a new one may take."""

    place: int  # of its words
    key: int
    value: int  # bytes of a file that are cached from its beginning, or entries of a directory; 0 without an entry


def _look(
    words: memoryview, first: int, sets: int, width: int, name: bytes, worth: Callable[[int], object]
) -> tuple[int, int, bool]:
    """Return where the entry of this name is or may be, its key, and whether it is there. `width`: words of an entry, of
    which the first is the key. A new one takes the place of the one of its set with the least `worth`."""
    key = int.from_bytes(hashlib.blake2b(name, digest_size=8).digest(), "little", signed=True) or 1
    first += key % sets * _WAYS * width
    places = range(first, first + _WAYS * width, width)
    for place in places:
        if words[place] == key:
            return place, key, True
    return min(places, key=worth), key, False  # type: ignore[arg-type]


class ClientCache:
    """The emulated client cache, in words of shared memory. Call every method only under the lock of the queues."""

    def __init__(self, words: memoryview, at: int, size: int) -> None:
        """Use `words()` words from `words[at:]` on, initially zero; `size` in bytes."""
        self._words, self._at, self._size = words, at, size
        self._came = at + _CAME

    @staticmethod
    def words(size: int) -> int:
        """Number of words that a cache of this size needs."""
        return _TABLE + FILES * _CLIENT_CACHE_WORDS if size else 0

    def wire_bytes(self, op: Op, path: bytes, offset: int, nbytes: int, other: bytes) -> int:
        """Return how many of a call's bytes went over the wire, and update the cache."""
        if op is Op.READ and nbytes:
            return self._read(path, offset, nbytes)
        if op is Op.WRITE and nbytes:
            self._keep(self._look(path), offset, offset + nbytes, nbytes)
        elif op is Op.RENAME:
            known = self._forget(other)
            if known:
                self._keep(self._look(path), 0, known, 0)
            else:
                self._forget(path)
        elif op is Op.REMOVE:
            self._forget(path)
        return nbytes

    def answered(self) -> tuple[int, int]:
        """Number of reads of which no byte went over the wire, and the bytes of all reads that did not go over it."""
        at = self._at + _ANSWERED
        return self._words[at], self._words[at + 1]

    def _read(self, path: bytes, offset: int, nbytes: int) -> int:
        at = self._look(path)
        had = max(0, min(at.value, offset + nbytes) - offset)
        missing = nbytes - had
        counts = self._at + _ANSWERED
        self._words[counts] += not missing
        self._words[counts + 1] += had
        self._keep(at, offset, offset + nbytes, missing)
        return missing

    def _keep(self, at: _Place, offset: int, end: int, came: int) -> None:
        """Cache the file from `offset` to `end`, of which `came` bytes are new. Nothing is kept after a gap, or of a
        file that is larger than the cache: by its end, its beginning has been pushed out."""
        words = self._words
        words[self._came] += came
        if offset > at.value:
            return
        if max(at.value, end) > self._size:
            if words[at.place + _KEY] == at.key:
                words[at.place + _KEY] = 0
            return
        words[at.place + _KEY] = at.key
        words[at.place + _STAMP] = words[self._came]
        words[at.place + _EXTENT] = max(at.value, end)

    def _forget(self, path: bytes) -> int:
        """Drop a file from the cache; return how many bytes were cached."""
        at = self._look(path)
        if self._words[at.place + _KEY] == at.key:
            self._words[at.place + _KEY] = 0
        return at.value

    def _look(self, path: bytes) -> _Place:
        """The file's entry, or the one that it may take: the free or the least recently used one of its set."""
        words, first = self._words, self._at + _TABLE
        place, key, there = _look(
            words, first, _CLIENT_CACHE_SETS, _CLIENT_CACHE_WORDS, path, lambda at: (words[at] != 0, words[at + _STAMP])
        )
        there = there and words[self._came] - words[place + _STAMP] <= self._size
        return _Place(place, key, words[place + _EXTENT] if there else 0)


_SETS = 1 << 12
MOST = _WAYS * _SETS
_WORDS = 2  # key, entries
_MAKES = frozenset({Op.CREATE, Op.MKDIR})


class Directories:
    """Sizes of directories, in words of shared memory. Call every method only under the lock of the queues."""

    def __init__(self, words: memoryview, at: int, entry_ns: float) -> None:
        """Use `words()` words from `words[at:]` on, initially zero; `entry_ns`: time that each existing entry adds to
        the creation of one."""
        self._words, self._at, self._entry_ns = words, at, entry_ns

    @staticmethod
    def words(entry_us: float) -> int:
        """Number of words that the table needs; 0 where the size of a directory costs nothing."""
        return MOST * _WORDS if entry_us else 0

    def asked_ns(self, op: Op, path: bytes, other: bytes) -> int:
        """Return the time that the size of the directory adds to a call, and update the table. The arguments are those
        of the call's record."""
        if op in _MAKES:
            return self._made(path)
        if op is Op.REMOVE:
            self._gone(path)
        elif op is Op.RENAME:
            self._gone(other)
            return self._made(path)
        return 0

    def _made(self, path: bytes) -> int:
        at = self._look(path)
        self._words[at.place] = at.key
        self._words[at.place + 1] = at.value + 1
        return int(at.value * self._entry_ns)

    def _gone(self, path: bytes) -> None:
        at = self._look(path)
        if at.value:
            self._words[at.place + 1] = at.value - 1

    def _look(self, path: bytes) -> _Place:
        """The entry of a name's directory, or the one that it may take: the free or the smallest one of its set."""
        words = self._words
        place, key, there = _look(words, self._at, _SETS, _WORDS, path.rpartition(b"/")[0], lambda at: words[at + 1])
        return _Place(place, key, words[place + 1] if there else 0)


_METADATA, _DATA, _LINK = range(len(STATIONS))
_MISS_DEBT = 0  # reads, then writes: misses due, in 10^-9
_DISK = 2  # calls that missed, and nanoseconds added to them
_CACHE = 4
_WHOLE = 1_000_000_000
_Asked = tuple[
    int, float, float, float, float, float, float
]  # station; ns a call, entry, transfer; the same in filer ops


@dataclass(frozen=True, slots=True, kw_only=True)
class ArbiterCounts:
    """The counters of all stations."""

    stations: dict[str, StationCounts]
    misses: int
    missed_ns: int  # added to calls by misses
    cached_calls: int = 0  # reads that a client's cache answered whole
    cached_bytes: int = 0


class Arbiter:
    """One process's access to the arbiter, which is created, empty, where no other process uses it. Not thread-safe.

    The process must open it after its fork, and only once: record locks belong to the process. Raises StorageFault."""

    def __init__(self, path: Path, model: FilerModel) -> None:
        self.path = path
        self.digest = model.digest
        cache_words, entry_us = ClientCache.words(model.client.cache_bytes), model.directory.entry_us
        words = _CACHE + cache_words + Directories.words(entry_us)
        self._stations = [name for name, _ in model.stations]
        self._queues = SharedQueues(path, [servers for _, servers in model.stations], words)
        self._words, more = self._queues.words, self._queues.more
        self._more = more
        self._costs_of = [[_units(model.cost(op, indexing=indexing)) for op in Op] for indexing in (False, True)]
        self._costs = self._costs_of[False]
        self._transfer_bytes = model.protocol.transfer_bytes if model.protocol else 0
        self._link = model.link_ns_per_byte
        self._round_trip = model.client.round_trip_us * 1000 / OPS_UNIT
        self._reread_ns = round(model.client.reread_us * 1000)
        cached = model.client.cache_bytes
        self._cache = ClientCache(self._words, more + _CACHE, cached) if cached else None
        at = more + _CACHE + cache_words
        self._directories = Directories(self._words, at, entry_us * 1000 * model.scale) if entry_us else None
        disk = model.disk
        self._disk = {
            Op.READ: (0, round(disk.read_miss * _WHOLE), round(disk.read_ms * 1e6)),
            Op.WRITE: (1, round(disk.write_miss * _WHOLE), round(disk.write_ms * 1e6)),
        }
        self._disk = {op: miss for op, miss in self._disk.items() if miss[1] and miss[2]}
        self.waited_ns = 0  # in queues, of the call that was booked last

    def set_phase(self, *, indexing: bool) -> None:
        """Set whether the calls that this process books from now on are of phase index."""
        self._costs = self._costs_of[indexing]

    def book(
        self, op: Op, nbytes: int, arrived_ns: int, path: bytes = b"", argument: int = 0, other: bytes = b""
    ) -> int:
        """Book a call that came at `arrived_ns` (monotonic); return when it ends, on the same clock.

        `path`, `argument`, `other` are those of its record: the offset of reads and writes, the entries found by a
        scan."""
        self._queues.lock()
        try:
            wire = nbytes
            if self._cache is not None:
                wire = self._cache.wire_bytes(op, path, argument, nbytes, other)
                if op is Op.READ and nbytes and not wire:
                    self.waited_ns = 0
                    return arrived_ns + self._reread_ns
            grown = 0 if self._directories is None else self._directories.asked_ns(op, path, other)
            end, worked, trips = self._book_units(op, wire, arrived_ns, argument if op is Op.SCAN else 0, grown)
            transfer = int(wire * self._link)
            if transfer:
                end = self._queues.book(_LINK, transfer, arrived_ns, end)
            self.waited_ns = end - arrived_ns - worked - transfer
            disk = self._disk.get(op)
            return end + int(trips * self._round_trip) + (self._miss(*disk) if disk else 0)
        finally:
            self._queues.unlock()

    def _book_units(self, op: Op, wire: int, arrived: int, entries: int, grown: int) -> tuple[int, int, int]:
        """Book a call at both units. Return when it ends, nanoseconds of their servers, and round trips in thousandths:
        one for each metadata op, which the next one waits for, and one for all data ops, which are sent together.
        `grown`: nanoseconds that the size of a directory adds at the metadata unit."""
        begun = -(-wire // self._transfer_bytes) if self._transfer_bytes else 0
        end, worked, trips = arrived, 0, 0
        for station, each_ns, entry_ns, transfer_ns, each, entry, transfer in self._costs[op]:
            ops = int(each + entry * entries + transfer * begun)
            service = int(each_ns + entry_ns * entries + transfer_ns * begun) + (grown if station == _METADATA else 0)
            if service:
                end = self._queues.book(station, service, arrived, end, ops)
                worked += service
            elif ops:
                self._queues.pass_by(station, ops)
            trips += ops if station == _METADATA else min(ops, OPS_UNIT)
        return end, worked, trips

    def _miss(self, kind: int, share: int, delay: int) -> int:
        """Return the delay of a call that misses, else 0. Misses are spread evenly: the same share in every run."""
        words, debt, disk = self._words, self._more + _MISS_DEBT + kind, self._more + _DISK
        due = words[debt] + share
        if due < _WHOLE:
            words[debt] = due
            return 0
        words[debt] = due - _WHOLE
        words[disk] += 1
        words[disk + 1] += delay
        return delay

    def snapshot(self) -> ArbiterCounts:
        """The counters now, read without the lock: a call in progress may be half included."""
        answered = (0, 0) if self._cache is None else self._cache.answered()
        return ArbiterCounts(
            stations={name: self._queues.counts(number) for number, name in enumerate(self._stations)},
            misses=self._words[self._more + _DISK],
            missed_ns=self._words[self._more + _DISK + 1],
            cached_calls=answered[0],
            cached_bytes=answered[1],
        )

    def close(self) -> None:
        """Release the arbiter; it stays while others use it."""
        self._queues.close()

    def close_and_remove(self) -> None:
        """Release the arbiter, and remove it unless another process uses it."""
        self._queues.close_and_remove()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        self.close()


def _units(cost: CallCost) -> tuple[_Asked, ...]:
    """The demand of a call at each unit that it needs."""
    asked = ((_METADATA, cost.metadata_ns, cost.metadata_ops), (_DATA, cost.data_ns, cost.data_ops))
    return tuple(
        (station, ns.each, ns.entry, ns.transfer, ops.each * OPS_UNIT, ops.entry * OPS_UNIT, ops.transfer * OPS_UNIT)
        for station, ns, ops in asked
        if any((ops.each, ops.entry, ops.transfer))
    )
