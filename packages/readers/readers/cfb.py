"""Compound files ([MS-CFB] 9.0): the file system in a file that contains .msg, .doc, .xls, .ppt and OLE objects.

write(Storage(streams={"WordDocument": data}, storages=[Storage("ObjectPool")]))

The bytes depend on the arguments only: no clock is read. The structures that locate the rest of the file (DIFAT, FAT,
directory, mini FAT, mini stream) are at its start, followed by the streams."""

from __future__ import annotations

import functools
import itertools
import struct
import sys
from array import array
from collections.abc import Iterable, Sequence

from msgspec import Struct, field

SIGNATURE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
_ENTRY = struct.Struct("<64sHBBIII16sIQQIQ")  # 2.6.1, 128 bytes
_HEADER = struct.Struct("<8s16sHHHHHHIIIIIIIIII")  # 2.2, up to the DIFAT
_FREE, _END, _FAT, _DIFAT = 0xFFFFFFFF, 0xFFFFFFFE, 0xFFFFFFFD, 0xFFFFFFFC  # 2.1
_NONE = 0xFFFFFFFF  # no sibling, no child
_RED, _BLACK = 0, 1
_STORAGE, _STREAM, _ROOT = 1, 2, 5
_MINI = 64  # bytes of a mini sector
_CUTOFF = 4096  # a stream of fewer bytes is in the mini stream
_IN_HEADER = 109  # FAT sectors named in the header
_LARGEST = 0x80000000  # bytes of a stream in version 3 (2.6.1)
_FORBIDDEN = frozenset("/\\:!")
# What readers of documents in compound files ignore.
LEFT_OUT = (
    "free sectors of the compound file between those in use (often older copies of its directory), and streams "
    "that other programs added"
)


class Storage(Struct):
    """A storage: what a directory is to a file system. The root's name is ignored; "Root Entry" is written instead."""

    name: str = ""  # 1 to 31 UTF-16 units, none of / \ : !
    clsid: bytes = bytes(16)  # class of the object, as a GUID is stored on disk
    streams: dict[str, bytes] = field(default_factory=dict)
    storages: list[Storage] = field(default_factory=list)
    created: int = 0  # FILETIME: 100 ns since 1601; 0 for none
    modified: int = 0


class _Entry(Struct):
    """A directory entry; `left`, `right` and `child` are entry numbers."""

    name: bytes  # UTF-16-LE without its terminator
    kind: int
    storage: Storage | None
    data: bytes = b""
    left: int = _NONE
    right: int = _NONE
    child: int = _NONE
    colour: int = _BLACK
    start: int = 0
    size: int = 0


def write(root: Storage, *, version: int = 3) -> bytes:
    """Return the file; `version` 3 has sectors of 512 bytes, 4 of 4096. Raises ValueError for an invalid name, two
    names in one storage that differ in case only, a CLSID that is not 16 bytes, and a stream of over 2 GB in version
    3."""
    if version not in (3, 4):
        raise ValueError(f"version {version} of compound files is neither 3 nor 4")
    sector = 512 if version == 3 else 4096
    entries = _directory(root)
    big = [e for e in entries if len(e.data) >= _CUTOFF]
    if version == 3 and any(len(e.data) > _LARGEST for e in big):
        raise ValueError("a stream of over 2 GB needs version 4")
    mini, mini_fat = _mini_stream(entries)
    sizes = [len(entries) * _ENTRY.size, len(mini_fat) * 4, len(mini), *(len(e.data) for e in big)]
    counts = [-(-size // sector) for size in sizes]
    fats, difats = _table_sizes(sum(counts), sector // 4)
    starts = _starts(difats + fats, counts)
    for entry, start in zip((entries[0], *big), starts[2:], strict=True):
        entry.start = start
    entries[0].size = len(mini)
    fat = _chains(fats, difats, counts, sector // 4)
    named = list(range(difats, difats + fats))
    header = _HEADER.pack(
        SIGNATURE, bytes(16), 0x3E, version, 0xFFFE, 9 if version == 3 else 12, 6, 0, 0,
        0 if version == 3 else counts[0], fats, starts[0], 0, _CUTOFF, starts[1], counts[1],
        0 if difats else _END, difats,
    )  # fmt: skip
    out = [_padded(header + _numbers(_filled(named[:_IN_HEADER], _IN_HEADER)), sector)]
    out += _difat_sectors(named[_IN_HEADER:], difats, sector // 4)
    out.append(fat)
    out.append(_padded(b"".join(map(_packed, entries)), sector, _UNUSED))
    out.append(_padded(_numbers(mini_fat), sector, b"\xff"))
    out.append(_padded(mini, sector))
    for entry in big:
        out.append(entry.data)
        out.append(bytes(-len(entry.data) % sector))
    return b"".join(out)


def _directory(root: Storage) -> list[_Entry]:
    """Return all entries, the root first; the children of each storage as a binary tree (2.6.4)."""
    entries = [_Entry(name="Root Entry".encode("utf-16-le"), kind=_ROOT, storage=root, start=_END)]
    waiting = [(entries[0], root)]
    while waiting:
        owner, storage = waiting.pop()
        if len(storage.clsid) != 16:
            raise ValueError(f"the CLSID of storage {storage.name!r} has {len(storage.clsid)} bytes, not 16")
        members: list[tuple[tuple[int, bytes], _Entry]] = []
        for name, data in storage.streams.items():
            key, raw = _spelled(name)
            start = 0 if data else _END
            members.append((key, _Entry(name=raw, kind=_STREAM, storage=None, data=data, start=start, size=len(data))))
        for inner in storage.storages:
            key, raw = _spelled(inner.name)
            members.append((key, _Entry(name=raw, kind=_STORAGE, storage=inner)))
            waiting.append((members[-1][1], inner))
        members.sort(key=lambda member: member[0])
        for (one, entry), (other, _) in itertools.pairwise(members):
            if one == other:
                raise ValueError(f"storage {storage.name!r} holds {entry.name.decode('utf-16-le')!r} twice")
        first = len(entries)
        entries += [entry for _, entry in members]
        owner.child = _balance(entries, first, len(members))
    return entries


@functools.lru_cache(maxsize=4096)
def _spelled(name: str) -> tuple[tuple[int, bytes], bytes]:
    """Return a name's sort key among its siblings (by length, then upper-case code units) and its UTF-16."""
    raw = name.encode("utf-16-le", "surrogatepass")
    if not 2 <= len(raw) <= 62 or "\0" in name or not _FORBIDDEN.isdisjoint(name):
        raise ValueError(f"{name!r} cannot be a name in a compound file")
    upper = "".join(c.upper() if len(c.upper()) == 1 else c for c in name)
    # Big-endian bytes compare like the 16-bit units they are.
    return (len(raw), upper.encode("utf-16-be", "surrogatepass")), raw


def _balance(entries: list[_Entry], first: int, count: int) -> int:
    """Make a red-black tree of `count` sorted entries by halving, so that only the deepest level can have gaps: it is
    red, all above are black. Return the number of the top entry."""
    deepest = count.bit_length()
    if count & (count + 1) == 0:
        deepest = 0  # every level is full: all black

    def top(low: int, high: int, level: int) -> int:
        if low >= high:
            return _NONE
        middle = (low + high) // 2
        entry = entries[middle]
        entry.left = top(low, middle, level + 1)
        entry.right = top(middle + 1, high, level + 1)
        entry.colour = _RED if level == deepest else _BLACK
        return middle

    return top(first, first + count, 1)


def _mini_stream(entries: Iterable[_Entry]) -> tuple[bytes, list[int]]:
    """Return the small streams one after the other in sectors of 64 bytes, and the chain of each (2.4)."""
    pieces: list[bytes] = []
    chains: list[int] = []
    for entry in entries:
        if 0 < len(entry.data) < _CUTOFF:
            entry.start = len(chains)
            count = -(-len(entry.data) // _MINI)
            chains += range(entry.start + 1, entry.start + count)
            chains.append(_END)
            pieces.append(entry.data.ljust(count * _MINI, b"\0"))
    return b"".join(pieces), chains


def _table_sizes(sectors: int, numbers: int) -> tuple[int, int]:
    """Return the sectors of FAT and DIFAT with `sectors` others; a sector holds `numbers` numbers."""
    fats, difats = 0, 0
    while True:
        need = -(-(sectors + fats + difats) // numbers)
        more = -(-max(0, need - _IN_HEADER) // (numbers - 1))
        if (need, more) == (fats, difats):
            return fats, difats
        fats, difats = need, more


def _starts(first: int, counts: Sequence[int]) -> list[int]:
    """Return the first sector of each run of sectors; the end of a chain for an empty run."""
    out: list[int] = []
    for count in counts:
        out.append(first if count else _END)
        first += count
    return out


def _chains(fats: int, difats: int, counts: Sequence[int], numbers: int) -> bytes:
    """Return the FAT: its own sectors and the DIFAT's, then each run as a chain (2.3)."""
    fat = array("I", [_DIFAT] * difats + [_FAT] * fats)
    for count in counts:
        if count:
            fat.extend(range(len(fat) + 1, len(fat) + count))
            fat.append(_END)
    fat.extend([_FREE] * (fats * numbers - len(fat)))
    return _numbers(fat)


def _difat_sectors(rest: Sequence[int], difats: int, numbers: int) -> Iterable[bytes]:
    """Yield sectors with the FAT's sectors beyond the header's 109; each ends with the next one (2.5)."""
    for index in range(difats):
        some = _filled(rest[index * (numbers - 1) : (index + 1) * (numbers - 1)], numbers - 1)
        yield _numbers([*some, index + 1 if index + 1 < difats else _END])


def _filled(numbers: Sequence[int], count: int) -> list[int]:
    return [*numbers, *[_FREE] * (count - len(numbers))]


def _numbers(numbers: Iterable[int]) -> bytes:
    raw = array("I", numbers)  # 4 bytes each on every platform Python 3.11 runs on
    if sys.byteorder == "big":
        raw.byteswap()
    return raw.tobytes()


def _padded(data: bytes, sector: int, filling: bytes = b"\0") -> bytes:
    return data + filling * (-len(data) % sector // len(filling))


def _packed(entry: _Entry) -> bytes:
    storage = entry.storage
    name = (entry.name, len(entry.name) + 2, entry.kind, entry.colour, entry.left, entry.right, entry.child)
    if storage is None:
        return _ENTRY.pack(*name, bytes(16), 0, 0, 0, entry.start, entry.size)
    created = 0 if entry.kind == _ROOT else storage.created  # 2.6.1: zero for the root
    return _ENTRY.pack(*name, storage.clsid, 0, created, storage.modified, entry.start, entry.size)


_UNUSED = _ENTRY.pack(b"", 0, 0, 0, _NONE, _NONE, _NONE, bytes(16), 0, 0, 0, 0, 0)
