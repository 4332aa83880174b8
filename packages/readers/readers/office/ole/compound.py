"""The compound file ([MS-CFB]): a directory of storages and streams over chains of sectors, read from memory.

Nothing in it is trusted: chains are not longer than the file, entries are visited once, and all reads together return
at most `_BUDGET` times the file."""

from __future__ import annotations

import struct
import sys
from array import array
from collections.abc import Iterator
from dataclasses import dataclass, field

from readers.errors import DocumentError, corrupt, expansion_limit, truncated

MAGIC = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
_HEADER = struct.Struct("<8s16sHHHHH6sIIIIIIIIII")  # 2.2, without the table of 109 FAT sectors after it
_ENTRY = struct.Struct("<64sHBBIII16sIQQIQ")  # 2.6.1
_NO_SECTOR = 0xFFFFFFFA  # this number and larger ones are no sectors
_NO_ENTRY = 0xFFFFFFFF
_STORAGE, _STREAM, _ROOT = 1, 2, 5
_MAX_ENTRIES = 200_000
_MAX_DEPTH = 64  # storages inside one another
_BUDGET = 4


@dataclass(slots=True)
class DirectoryEntry:
    """A stream or storage. Names are compared without regard to case."""

    name: str
    kind: int
    start: int
    size: int  # bytes, as announced
    class_id: bytes
    children: list[DirectoryEntry] = field(default_factory=list)
    plain: bytes | None = None  # replaces the stream's bytes, which are encrypted
    _names: tuple[list[DirectoryEntry], dict[str, DirectoryEntry]] | None = field(
        default=None, repr=False, compare=False
    )

    @property
    def storage(self) -> bool:
        return self.kind != _STREAM

    def find(self, *path: str) -> DirectoryEntry | None:
        """Return the entry at this path below here."""
        at: DirectoryEntry | None = self
        for name in path:
            at = at._named(name.lower()) if at is not None else None
        return at

    def _named(self, name: str) -> DirectoryEntry | None:
        """Return the first child of this name, in lower case."""
        if self._names is None or self._names[0] is not self.children:  # decryption replaces the list
            self._names = self.children, {entry.name.lower(): entry for entry in reversed(self.children)}
        return self._names[1].get(name)

    def stream(self, *path: str) -> DirectoryEntry | None:
        """Return the stream at this path below here; None for a storage."""
        entry = self.find(*path)
        return None if entry is None or entry.storage else entry


class CompoundFile:
    """An open compound file. `error` reports damage in the parts read so far; their readable data is kept."""

    def __init__(self, data: bytes) -> None:
        """Read the directory. Raises DocumentError if it is not readable."""
        self._data = data
        self._left = _BUDGET * len(data) + 1_000_000
        self.error: DocumentError | None = None
        if len(data) < 512 or not data.startswith(MAGIC):
            raise corrupt("not a compound file")
        header = _HEADER.unpack_from(data)
        self._shift, mini_shift = header[5], header[6]
        if self._shift not in (9, 12) or mini_shift != 6:
            raise corrupt("a compound file of impossible sector sizes")
        self._sectors = max(0, -(-len(data) >> self._shift)) - 1
        directory, self._cutoff, mini_fat, difat = header[10], header[12], header[13], header[15]
        self._fat = self._load_fat(difat)
        raw = self._chained(directory, None)
        self.root = _tree(raw[: _MAX_ENTRIES * _ENTRY.size], wide=self._shift == 12)
        self._mini_fat = _words(self._chained(mini_fat, None))
        self._mini_stream: bytes | None = None

    @property
    def end(self) -> int:
        """End of the last sector in use by the FAT, which includes its own sectors."""
        used = len(self._fat)
        while used and self._fat[used - 1] == _NO_ENTRY:
            used -= 1
        end: int = (max(used, self._fat_ends) + 1) << self._shift
        return end

    def _sector(self, number: int, count: int = 1) -> bytes:
        start = (number + 1) << self._shift
        return self._data[start : start + (count << self._shift)]

    def _load_fat(self, difat: int) -> array[int]:
        """Return the FAT, limited to the number of sectors in the file (2.3, 2.5)."""
        per_sector = 1 << (self._shift - 2)
        wanted = -(-self._sectors // per_sector)
        sectors: dict[int, None] = {}
        more = _words(self._data[76:512])
        seen: set[int] = set()
        while True:
            sectors.update((n, None) for n in more if n < self._sectors)
            if len(sectors) >= wanted or difat >= self._sectors or difat in seen:
                break
            seen.add(difat)
            block = _words(self._sector(difat))
            more, difat = block[:-1], block[-1] if block else _NO_SECTOR
        fat: array[int] = array("I")
        self._fat_ends = max(list(sectors)[:wanted], default=-1) + 1
        for n in list(sectors)[:wanted]:
            fat.extend(_words(self._sector(n)))
        return fat[: self._sectors]

    def _runs(self, start: int, most: int, fat: array[int]) -> Iterator[tuple[int, int]]:
        """Yield a chain as (first sector, number of consecutive sectors), at most `most` sectors in all."""
        at, first, count = start, start, 0
        for _ in range(min(most, len(fat))):
            if at >= len(fat):
                break
            if at == first + count:
                count += 1
            else:
                yield first, count
                first, count = at, 1
            at = fat[at]
        if count:
            yield first, count

    def _chained(self, start: int, size: int | None) -> bytes:
        """Return the bytes of a chain in the FAT; to its end if `size` is None."""
        most = self._sectors if size is None else -(-size >> self._shift)
        data = b"".join([self._sector(first, count) for first, count in self._runs(start, most, self._fat)])
        return data if size is None else data[:size]

    def read(self, entry: DirectoryEntry | None) -> bytes:
        """Return the readable bytes of a stream; b"" for None. Raises DocumentError if far more was read than the file
        contains."""
        if entry is None or entry.storage:
            return b""
        if entry.plain is not None:
            return entry.plain
        size = min(entry.size, len(self._data))
        if self._left >= 0:  # once the budget is exceeded, nothing is read again
            data = self._mini(entry.start, size) if size < self._cutoff else self._chained(entry.start, size)
            self._left -= len(data)
        if self._left < 0:
            raise expansion_limit("the streams of the compound file overlap")
        if len(data) < entry.size and self.error is None:
            self.error = truncated(f"a stream ends after {len(data)} of {entry.size} bytes")
        return data

    def head(self, entry: DirectoryEntry | None, size: int) -> bytes:
        """Return the first bytes of a stream, as many as are readable; b"" for None."""
        if entry is None or entry.storage:
            return b""
        size = min(size, entry.size, len(self._data))
        return self._mini(entry.start, size) if entry.size < self._cutoff else self._chained(entry.start, size)

    def _mini(self, start: int, size: int) -> bytes:
        """Read a short stream, which is stored in 64-byte sectors of the root entry's stream (2.4)."""
        if self._mini_stream is None:
            self._mini_stream = self._chained(self.root.start, min(self.root.size, len(self._data)))
            del self._mini_fat[-(-len(self._mini_stream) >> 6) :]  # so that every entry of a chain has bytes
        whole = self._mini_stream
        runs = self._runs(start, -(-size >> 6), self._mini_fat)
        return b"".join([whole[first << 6 : (first + count) << 6] for first, count in runs])[:size]


def _words(data: bytes) -> array[int]:
    """Return little-endian 32-bit words."""
    out = array("I")
    out.frombytes(data[: len(data) // 4 * 4])
    if sys.byteorder == "big":
        out.byteswap()
    return out


def _tree(raw: bytes, *, wide: bool) -> DirectoryEntry:
    """Return the root with everything below it, siblings in the order of their tree (2.6.4), without repeated entries
    and those out of range."""
    if len(raw) < _ENTRY.size or raw[66] not in (_ROOT, _STORAGE):
        raise corrupt("the compound file has no directory")
    root, _, _, below = _entry(raw, 0, wide)
    met = {0}
    open_storages = [(root, below, 1)]
    while open_storages:
        parent, at, depth = open_storages.pop()
        for entry, child in _siblings(raw, at, met, wide):
            parent.children.append(entry)
            if entry.storage and depth < _MAX_DEPTH:
                open_storages.append((entry, child, depth + 1))
    return root


def _siblings(raw: bytes, top: int, met: set[int], wide: bool) -> Iterator[tuple[DirectoryEntry, int]]:
    """Yield the entries of one storage in order, each with the top of the tree below it."""
    waiting: list[tuple[DirectoryEntry, int, int]] = []
    at = top
    while True:
        while at not in met and (at + 1) * _ENTRY.size <= len(raw):
            met.add(at)
            entry, left, right, below = _entry(raw, at, wide)
            waiting.append((entry, right, below))
            at = left
        if not waiting:
            return
        entry, at, below = waiting.pop()
        if entry.kind in (_STORAGE, _STREAM):
            yield entry, below


def _entry(raw: bytes, number: int, wide: bool) -> tuple[DirectoryEntry, int, int, int]:
    """Return one directory entry, its left and right siblings, the top of the tree below it."""
    name, length, kind, _, left, right, below, class_id, _, _, _, start, size = _ENTRY.unpack_from(
        raw, number * _ENTRY.size
    )
    if not wide:
        size &= 0xFFFFFFFF  # 2.6.3: the high part may hold anything in files of 512-byte sectors
    text = name[: max(0, min(length, 64) - 2)].decode("utf-16-le", "replace")
    return DirectoryEntry(text, kind, start, size, class_id), left, right, below if kind != _STREAM else _NO_ENTRY
