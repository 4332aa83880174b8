"""The header of a 7z archive (7zFormat.txt of the LZMA SDK): its folders (`sevenz_folders`) and its entries.

Own reading, because py7zr pushes members into sinks and decodes names beforehand; what is needed here is a member at
a time, pulled, in bounded memory. The decoders of its makers are used (`sevenz_codecs`).
"""

from __future__ import annotations

import zlib
from collections.abc import Callable
from dataclasses import dataclass, replace

from readers.archives.sevenz.folders import END, NAMELESS, START, Cursor, Folder, corrupt, read_folders
from readers.errors import DocumentError, ExceptionCode

_HEADER, _ARCHIVE_PROPERTIES, _ADDITIONAL, _MAIN, _FILES = range(1, 6)
_EMPTY_STREAM, _EMPTY_FILE, _ANTI, _NAMES = range(14, 18)
_ATTRIBUTES, _ENCODED = 0x15, 0x17
_MOST_PACKED = 4  # headers packed into one another
_WINDOWS_DIRECTORY, _UNIX, _UNIX_TYPE, _UNIX_LINK = 0x10, 0x8000, 0o170000, 0o120000


@dataclass(frozen=True, slots=True)
class SevenZipEntry:
    """One entry of the archive; `has_data` means that it is the next file of a folder."""

    position: int
    name: bytes  # UTF-8 of the stored UTF-16
    has_data: bool
    directory: bool  # or a mark that something was deleted (an anti-item)
    link: bool


@dataclass(frozen=True, slots=True)
class Archive:
    """All folders and entries."""

    folders: list[Folder]
    entries: list[SevenZipEntry]
    end: int = START.size  # where the header ends, which is the last part of an archive


def read_archive(
    read_at: Callable[[int, int], bytes], size: int, limit: int, decode: Callable[[Folder], bytes]
) -> Archive:
    """The whole header; `decode` unpacks a packed one. Over `limit` bytes it is `too_large`. Raises `truncated` when
    the archive ends before its header, `encrypted` when the header is, `unsupported`, `corrupt`."""
    start = read_at(0, START.size)
    if len(start) < START.size:
        raise DocumentError(ExceptionCode.TRUNCATED, "the 7z archive ends in its first bytes")
    _, _, start_crc, offset, length, crc = START.unpack(start)
    if zlib.crc32(start[12:]) != start_crc:
        raise corrupt("the CRC of its place does not match")
    if length == 0:
        return Archive([], [])
    if START.size + offset + length > size:
        raise DocumentError(ExceptionCode.TRUNCATED, "the 7z archive ends before its header")
    _check_size(length, limit)
    data = read_at(START.size + offset, length)
    for _ in range(_MOST_PACKED):
        if zlib.crc32(data) != crc:
            raise corrupt("its CRC does not match")
        cursor = Cursor(data)
        kind = cursor.byte()
        if kind == _HEADER:
            return replace(_header(cursor), end=START.size + offset + length)
        if kind != _ENCODED:
            break
        folders = read_folders(cursor)
        if len(folders) != 1:
            raise corrupt("a packed header of several folders")
        _check_size(folders[0].size, limit)
        data = decode(folders[0])
        crc = folders[0].crc if folders[0].crc is not None else zlib.crc32(data)
    raise corrupt("no header at the position that the archive gives")


def _check_size(size: int, limit: int) -> None:
    if size > limit:
        raise DocumentError(ExceptionCode.TOO_LARGE, f"the 7z header has {size} bytes; the limit is {limit}")


def is_header(data: bytes) -> bool:
    """Whether these bytes are a header, packed or not, and nothing else. What a wrong password gives is none: one in
    256 begins like a header, but none of them has files and ends where it should."""
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
        raise corrupt("files and their data differ in number")
    return Archive(folders, entries)


def _entries(cursor: Cursor) -> list[SevenZipEntry]:
    """FilesInfo."""
    count = cursor.number()
    if count > max(NAMELESS, cursor.left):
        raise corrupt("more files than it has room for")
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
        raise DocumentError(ExceptionCode.UNSUPPORTED, "a 7z archive with names outside the header")
    names = inside.take(inside.left & ~1).decode("utf-16-le", "surrogatepass").split("\0")
    if len(names) < count:
        raise corrupt("fewer names than files")
    return [name.encode("utf-8", "backslashreplace") for name in names[:count]]


def _attributes(inside: Cursor, count: int) -> list[int]:
    there = inside.some(count)
    if inside.byte():
        raise DocumentError(ExceptionCode.UNSUPPORTED, "a 7z archive with attributes outside the header")
    return [int.from_bytes(inside.take(4), "little") if has else 0 for has in there]
