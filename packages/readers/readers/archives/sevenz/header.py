"""The header of a 7z archive (7zFormat.txt of the LZMA SDK): its folders and its entries.

This is our own reader, because py7zr pushes members into sinks and decodes names beforehand; here members are pulled
one at a time, in bounded memory. The decoders of its authors are used (`codecs`)."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Callable

from msgspec import Struct, field
from msgspec.structs import replace

from readers.errors import DocumentError, corrupt, encrypted, too_large, truncated, unsupported

# The folders of a 7z archive (7zFormat.txt of the LZMA SDK): packed streams, their decoders, the files in them.

START = struct.Struct("<6sHLQQL")  # signature, version, CRC of the rest; then of the header: offset, size, CRC
AES = bytes.fromhex("06f10701")
NAMELESS = 1000  # the most entries that may each have no byte in the header
END = 0
_PACK, _UNPACK, _SUBSTREAMS, _SIZE, _CRC, _FOLDER, _UNPACK_SIZE, _NUMBER = range(6, 14)
_MOST_CODERS = 8


class Coder(Struct, frozen=True):
    """One decoder of a chain."""

    method: bytes
    properties: bytes
    size: int  # bytes that it gives


class Folder(Struct):
    """One packed stream, the chain that decodes it, and the lengths and CRCs of the files in it, in order."""

    chain: tuple[Coder, ...]  # in order of decoding; empty when `problem` is set
    position: int  # of the packed bytes in the archive
    packed: int  # bytes
    size: int  # bytes after decoding
    crc: int | None
    problem: DocumentError | None = None
    sizes: list[int] = field(default_factory=list)
    crcs: list[int | None] = field(default_factory=list)

    @property
    def aes(self) -> Coder | None:
        """The coder that takes a password."""
        return next((coder for coder in self.chain if coder.method == AES), None)


def _damaged(detail: str) -> DocumentError:
    """Return the error for a header that does not follow the format."""
    return corrupt(f"the 7z header is damaged: {detail}")


class Cursor:
    """A position in a header that moves forwards; DocumentError `corrupt` at its end."""

    def __init__(self, data: bytes) -> None:
        self._data, self._at = data, 0

    @property
    def left(self) -> int:
        return len(self._data) - self._at

    def take(self, count: int) -> bytes:
        if count > self.left:
            raise _damaged("it breaks off")
        self._at += count
        return self._data[self._at - count : self._at]

    def byte(self) -> int:
        return self.take(1)[0]

    def number(self) -> int:
        """Read a number of one to nine bytes; the high bits of the first give the number of bytes after it."""
        first, mask, value = self.byte(), 0x80, 0
        for shift in range(0, 64, 8):
            if not first & mask:
                return value | (first & (mask - 1)) << shift
            value |= self.byte() << shift
            mask >>= 1
        return value

    def bits(self, count: int) -> list[bool]:
        """Read a bit vector, the highest bit first."""
        raw = self.take(-(-count // 8))
        return [bool(raw[i >> 3] & 0x80 >> (i & 7)) for i in range(count)]

    def some(self, count: int) -> list[bool]:
        """Read which of `count` entries are defined: all, or those of a bit vector."""
        if self.byte():
            if count > max(NAMELESS, 8 * self.left):
                raise _damaged("more entries than it has room for")
            return [True] * count
        return self.bits(count)

    def crcs(self, count: int) -> list[int | None]:
        return [int.from_bytes(self.take(4), "little") if there else None for there in self.some(count)]

    def expect(self, wanted: int) -> None:
        if self.byte() != wanted:
            raise _damaged(f"property {wanted} is missing")


def read_folders(cursor: Cursor) -> list[Folder]:
    """Read StreamsInfo: where the packed bytes are, how they are decoded, how they are divided into files."""
    position, packed = START.size, []
    folders: list[Folder] = []
    kind = cursor.byte()
    if kind == _PACK:
        position += cursor.number()
        packed = _packed_sizes(cursor)
        kind = cursor.byte()
    if kind == _UNPACK:
        folders = _folders(cursor, position, packed)
        kind = cursor.byte()
    if kind == _SUBSTREAMS:
        _substreams(cursor, folders)
        kind = cursor.byte()
    else:
        for folder in folders:
            folder.sizes, folder.crcs = [folder.size], [folder.crc]
    if kind != END:
        raise _damaged(f"property {kind} among the streams")
    return folders


def _packed_sizes(cursor: Cursor) -> list[int]:
    count, sizes = cursor.number(), []
    while (kind := cursor.byte()) != END:
        if kind == _SIZE:
            if count > cursor.left:
                raise _damaged("more packed streams than it has room for")
            sizes = [cursor.number() for _ in range(count)]
        elif kind == _CRC:
            cursor.crcs(count)
        else:
            raise _damaged(f"property {kind} among the packed streams")
    return sizes


class _Wiring(Struct, frozen=True):
    """A folder as stored in the header."""

    coders: list[tuple[bytes, bytes]]  # method, properties
    simple: bool  # each coder has one stream in and one out
    outs: int
    bound: dict[int, int]  # stream in → stream out that feeds it
    packed: list[int]  # streams in that are packed streams


def _folders(cursor: Cursor, position: int, packed: list[int]) -> list[Folder]:
    cursor.expect(_FOLDER)
    count = cursor.number()
    if cursor.byte():
        raise unsupported("a 7z archive with folders outside the header")
    if count > cursor.left:
        raise _damaged("more folders than it has room for")
    wirings = [_wiring(cursor) for _ in range(count)]
    cursor.expect(_UNPACK_SIZE)
    sizes = [[cursor.number() for _ in range(wiring.outs)] for wiring in wirings]
    crcs: list[int | None] = [None] * count
    while (kind := cursor.byte()) != END:
        if kind != _CRC:
            raise _damaged(f"property {kind} among the folders")
        crcs = cursor.crcs(count)
    out, stream = [], 0
    for wiring, given, crc in zip(wirings, sizes, crcs, strict=True):
        mine = packed[stream : stream + len(wiring.packed)]
        if len(mine) < len(wiring.packed):
            raise _damaged("a folder without packed bytes")
        stream += len(mine)
        out.append(_folder(wiring, given, crc, position, sum(mine)))
        position += sum(mine)
    return out


def _wiring(cursor: Cursor) -> _Wiring:
    count = cursor.number()
    if not 1 <= count <= _MOST_CODERS:
        raise _damaged(f"a folder of {count} coders")
    coders, ins, outs, simple = [], 0, 0, True
    for _ in range(count):
        flags = cursor.byte()
        method = cursor.take(flags & 15)
        inputs, outputs = (cursor.number(), cursor.number()) if flags & 0x10 else (1, 1)
        if not (1 <= inputs <= 32 and 1 <= outputs <= 32):
            raise _damaged("a coder with too many streams")
        coders.append((method, cursor.take(cursor.number()) if flags & 0x20 else b""))
        simple = simple and (inputs, outputs) == (1, 1)
        ins, outs = ins + inputs, outs + outputs
    bound = {}
    for _ in range(outs - 1):
        stream = cursor.number()
        bound[stream] = cursor.number()
    left = ins - len(bound)
    if left < 1:
        raise _damaged("a folder without packed streams")
    packed = [cursor.number() for _ in range(left)] if left > 1 else [s for s in range(ins) if s not in bound][:1]
    return _Wiring(coders, simple, outs, bound, packed)


def _folder(wiring: _Wiring, sizes: list[int], crc: int | None, position: int, packed: int) -> Folder:
    """Return the folder with its coders in the order in which they decode."""
    fed = set(wiring.bound.values())
    free_outs = [out for out in range(wiring.outs) if out not in fed]
    if len(free_outs) != 1:
        raise _damaged("a folder whose streams do not connect")
    folder = Folder((), position, packed, sizes[free_outs[0]], crc)
    if not wiring.simple and any(method == AES for method, _ in wiring.coders):
        folder.problem = encrypted("encrypted behind a coder that cannot be read (BCJ2)")
    elif not wiring.simple:
        folder.problem = unsupported("a coder of several streams (BCJ2) cannot be read")
    else:
        chain, at = [free_outs[0]], wiring.bound.get(free_outs[0])
        while at is not None:
            if at in chain or at >= len(wiring.coders):
                raise _damaged("a folder whose coders form a cycle")
            chain.append(at)
            at = wiring.bound.get(at)
        folder.chain = tuple(Coder(*wiring.coders[i], sizes[i]) for i in reversed(chain))
    return folder


def _substreams(cursor: Cursor, folders: list[Folder]) -> None:
    counts = [1] * len(folders)
    kind = cursor.byte()
    if kind == _NUMBER:
        counts = [cursor.number() for _ in folders]
        kind = cursor.byte()
    for folder, count in zip(folders, counts, strict=True):
        if count > max(NAMELESS, cursor.left + 1):
            raise _damaged("more files than it has room for")
        folder.sizes = [cursor.number() for _ in range(count - 1)] if kind == _SIZE else []
        if count and len(folder.sizes) == count - 1:
            folder.sizes.append(folder.size - sum(folder.sizes))
        if len(folder.sizes) != count or min(folder.sizes, default=0) < 0:
            raise _damaged("files longer than their folder")
    if kind == _SIZE:
        kind = cursor.byte()
    whole = [len(folder.sizes) == 1 and folder.crc is not None for folder in folders]
    missing = sum(len(f.sizes) for f, known in zip(folders, whole, strict=True) if not known)
    crcs: list[int | None] = []
    while kind != END:
        if kind == _CRC:
            crcs = cursor.crcs(missing)
        else:
            cursor.take(cursor.number())
        kind = cursor.byte()
    given = iter(crcs)
    for folder, known in zip(folders, whole, strict=True):
        folder.crcs = [folder.crc] if known else [next(given, None) for _ in folder.sizes]


_HEADER, _ARCHIVE_PROPERTIES, _ADDITIONAL, _MAIN, _FILES = range(1, 6)
_EMPTY_STREAM, _EMPTY_FILE, _ANTI, _NAMES = range(14, 18)
_ATTRIBUTES, _ENCODED = 0x15, 0x17
_MOST_PACKED = 4  # headers packed into one another
_WINDOWS_DIRECTORY, _UNIX, _UNIX_TYPE, _UNIX_LINK = 0x10, 0x8000, 0o170000, 0o120000


class SevenZipEntry(Struct, frozen=True):
    """One entry of the archive; `has_data` means that it is the next file of a folder."""

    position: int
    name: bytes  # UTF-8 of the stored UTF-16
    has_data: bool
    directory: bool  # or a mark that something was deleted (an anti-item)
    link: bool


class Archive(Struct, frozen=True):
    """All folders and entries."""

    folders: list[Folder]
    entries: list[SevenZipEntry]
    end: int = START.size  # the end of the header, which is the last part of an archive


def read_archive(
    read_at: Callable[[int, int], bytes], size: int, limit: int, decode: Callable[[Folder], bytes]
) -> Archive:
    """Read the whole header; `decode` unpacks a packed one. Raises `too_large` if it has more than `limit` bytes,
    `truncated` if the archive ends before its header, `encrypted` if the header is, `unsupported`, `corrupt`."""
    start = read_at(0, START.size)
    if len(start) < START.size:
        raise truncated("the 7z archive ends in its first bytes")
    _, _, start_crc, offset, length, crc = START.unpack(start)
    if zlib.crc32(start[12:]) != start_crc:
        raise _damaged("the CRC of its position does not match")
    if length == 0:
        return Archive([], [])
    if START.size + offset + length > size:
        raise truncated("the 7z archive ends before its header")
    _check_size(length, limit)
    data = read_at(START.size + offset, length)
    for _ in range(_MOST_PACKED):
        if zlib.crc32(data) != crc:
            raise _damaged("its CRC does not match")
        cursor = Cursor(data)
        kind = cursor.byte()
        if kind == _HEADER:
            return replace(_header(cursor), end=START.size + offset + length)
        if kind != _ENCODED:
            break
        folders = read_folders(cursor)
        if len(folders) != 1:
            raise _damaged("a packed header of several folders")
        _check_size(folders[0].size, limit)
        data = decode(folders[0])
        crc = folders[0].crc if folders[0].crc is not None else zlib.crc32(data)
    raise _damaged("no header at the position given in the archive")


def _check_size(size: int, limit: int) -> None:
    if size > limit:
        raise too_large(f"the 7z header has {size} bytes; the limit is {limit}")


def is_header(data: bytes) -> bool:
    """Return whether these bytes are a header, packed or not, and nothing else. A wrong password gives none: one in 256
    begins like a header, but none of them has files and ends where it should."""
    cursor = Cursor(data)
    try:
        kind = cursor.byte()
        if kind == _HEADER:
            return bool(_header(cursor).entries) and cursor.byte() == END and not cursor.left
        return kind == _ENCODED and len(read_folders(cursor)) == 1 and not cursor.left
    except (DocumentError, UnicodeDecodeError):
        return False


def _header(cursor: Cursor) -> Archive:
    kind = cursor.byte()
    if kind == _ARCHIVE_PROPERTIES:
        while cursor.number() != END:
            cursor.take(cursor.number())
        kind = cursor.byte()
    if kind == _ADDITIONAL:
        read_folders(cursor)
        kind = cursor.byte()
    folders: list[Folder] = []
    if kind == _MAIN:
        folders = read_folders(cursor)
        kind = cursor.byte()
    entries = _entries(cursor) if kind == _FILES else []
    if sum(len(folder.sizes) for folder in folders) != sum(entry.has_data for entry in entries):
        raise _damaged("files and their data differ in number")
    return Archive(folders, entries)


def _entries(cursor: Cursor) -> list[SevenZipEntry]:
    """Read FilesInfo."""
    count = cursor.number()
    if count > max(NAMELESS, cursor.left):
        raise _damaged("more files than it has room for")
    empty, without, no_directory, anti = [False] * count, 0, [], []
    names = [b""] * count
    attributes = [0] * count
    while (kind := cursor.number()) != END:
        inside = Cursor(cursor.take(cursor.number()))
        if kind == _EMPTY_STREAM:
            empty = inside.bits(count)
            without = sum(empty)
        elif kind == _EMPTY_FILE:
            no_directory = inside.bits(without)
        elif kind == _ANTI:
            anti = inside.bits(without)
        elif kind == _NAMES:
            names = _names(inside, count)
        elif kind == _ATTRIBUTES:
            attributes = _attributes(inside, count)
    files, marks = iter(no_directory), iter(anti)
    out = []
    for position, (name, attribute) in enumerate(zip(names, attributes, strict=True)):
        directory = bool(attribute & _WINDOWS_DIRECTORY)
        if empty[position]:
            directory = not next(files, False) or next(marks, False)
        link = bool(attribute & _UNIX) and (attribute >> 16) & _UNIX_TYPE == _UNIX_LINK
        out.append(SevenZipEntry(position, name, not empty[position], directory, link))
    return out


def _names(inside: Cursor, count: int) -> list[bytes]:
    if inside.byte():
        raise unsupported("a 7z archive with names outside the header")
    names = inside.take(inside.left & ~1).decode("utf-16-le", "surrogatepass").split("\0")
    if len(names) < count:
        raise _damaged("fewer names than files")
    return [name.encode("utf-8", "backslashreplace") for name in names[:count]]


def _attributes(inside: Cursor, count: int) -> list[int]:
    there = inside.some(count)
    if inside.byte():
        raise unsupported("a 7z archive with attributes outside the header")
    return [int.from_bytes(inside.take(4), "little") if has else 0 for has in there]
