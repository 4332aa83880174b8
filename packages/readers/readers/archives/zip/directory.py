"""The central directory of a zip archive, read lazily and leniently (APPNOTE 6.3.10, sections 4.3.6 to 4.5).

The standard library's reader builds every entry at once, decodes names (losing raw bytes) and gives up on archives that
can partly be read; this one yields entries as stored, in constant memory."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator
from typing import BinaryIO

import msgspec

from readers.charset_guess import is_utf8
from readers.errors import DocumentError, corrupt, truncated, unsupported
from readers.streams import SMALL_MEMBER

_END = struct.Struct("<4s4H2LH")  # end of central directory
_END64 = struct.Struct("<4sQ2H2L4Q")  # zip64 end of central directory
_LOCATOR64 = struct.Struct("<4sLQL")
_CENTRAL = struct.Struct("<4s6H3L5H2L")
LOCAL = struct.Struct("<4s5H3L2H")
LOCAL_TIME, LOCAL_EXTRA = 4, 10  # places of the time and of the length of the extra fields in it
LOCAL_SIGNATURE = b"PK\x03\x04"
_CENTRAL_SIGNATURE = b"PK\x01\x02"
_END_SIGNATURE = b"PK\x05\x06"
_MASK32, _MASK16 = 0xFFFFFFFF, 0xFFFF
_ZIP64, _UNICODE_NAME = 0x0001, 0x7075  # kinds of extra fields
_CHUNK = 1 << 18
_MOST_DISKS = 4096
SPLIT = "one part of a split zip archive; join the parts first"


class ZipEntry(msgspec.Struct, frozen=True):
    """One entry of the central directory."""

    index: int
    name: bytes  # raw
    flags: int
    method: int
    crc: int
    compressed: int  # bytes in the archive
    size: int  # bytes announced after inflating
    offset: int  # absolute position of the local header
    directory: bool
    shown: str | None = None  # the name as text, where its bytes are not UTF-8 or an extra field has it
    at: int = 0  # absolute position of this entry in the directory
    link: bool = False  # a symbolic link, as Unix programs store it; its data is where it leads

    @property
    def encrypted(self) -> bool:
        """Whether it needs a password (traditional, strong or AES)."""
        return bool(self.flags & 0x41) or self.method == 99

    @property
    def small(self) -> bool:
        """Whether its bytes are handed out all at once."""
        return self.size <= SMALL_MEMBER and self.compressed <= SMALL_MEMBER


class Directory(msgspec.Struct, frozen=True):
    """The location of the central directory."""

    position: int
    length: int
    entries: int  # as announced
    shift: int  # bytes in front of the archive (self-extracting programs)
    end: int  # where the end record and its comment end


def find_directory(file: BinaryIO, size: int) -> Directory:
    """Locate the directory. Raises DocumentError `truncated` if there is none, `unsupported` if split."""
    tail_at = max(0, size - (1 << 16) - _END.size - _LOCATOR64.size - _END64.size)
    file.seek(tail_at)
    tail = file.read(size - tail_at)
    at = len(tail)
    while (at := tail.rfind(_END_SIGNATURE, 0, at)) >= 0:
        if at + _END.size <= len(tail):
            directory = _check_end(file, tail, tail_at, at)
            if directory is not None:
                return directory
    raise truncated("the zip archive has no readable central directory")


def _check_end(file: BinaryIO, tail: bytes, tail_at: int, at: int) -> Directory | None:
    """Return the directory that this end record describes; None if it is not such a record."""
    _, disk, first_disk, _, entries, length, offset, comment = _END.unpack_from(tail, at)
    end = tail_at + at
    if _MASK16 in (entries, disk) or _MASK32 in (length, offset):
        locator = at - _LOCATOR64.size
        if locator >= 0 and tail.startswith(b"PK\x06\x07", locator):
            record = _end64(file, _LOCATOR64.unpack_from(tail, locator), tail_at + locator)
            if record is not None:
                end, disk, first_disk, entries, length, offset = record
    if disk or first_disk:
        if at + _END.size + comment != len(tail) or not first_disk <= disk <= _MOST_DISKS:
            return None  # bytes of a member that look like it
        raise unsupported(SPLIT)
    shift = end - length - offset
    position = end - length
    if shift < 0 or position < 0:
        return None
    if shift:
        file.seek(0)
        if file.read(4) == LOCAL_SIGNATURE:
            return None  # the directory of an archive stored as a member of this one, which is cut
    if entries:
        file.seek(position)
        if file.read(4) != _CENTRAL_SIGNATURE:
            return None
    stop = min(tail_at + at + _END.size + comment, tail_at + len(tail))
    return Directory(position=position, length=length, entries=entries, shift=shift, end=stop)


def _end64(
    file: BinaryIO, locator: tuple[bytes, int, int, int], before: int
) -> tuple[int, int, int, int, int, int] | None:
    """Return the zip64 record: its position, then the fields of the end record. It is at the locator's offset, or right
    before the locator if something was prepended to the archive."""
    _, _, offset, disks = locator
    if disks > 1:
        raise unsupported(SPLIT)
    for position in (offset, before - _END64.size):
        if position < 0 or position > before:
            continue
        file.seek(position)
        raw = file.read(_END64.size)
        if len(raw) == _END64.size and raw.startswith(b"PK\x06\x06"):
            _, _, _, _, disk, first_disk, _, entries, length, start = _END64.unpack(raw)
            return position, disk, first_disk, entries, length, start
    return None


def iter_entries(file: BinaryIO, directory: Directory, index: int = 0, start: int | None = None) -> Iterator[ZipEntry]:
    """Yield entries in directory order, from the one with this index, which is at `start`. Raises DocumentError
    `corrupt` if the directory breaks off or is not one."""
    position, stop = directory.position if start is None else start, directory.position + directory.length
    buffer, at = b"", 0
    while position < stop or at < len(buffer):
        if len(buffer) - at < _CENTRAL.size + 3 * _MASK16 and position < stop:
            file.seek(position)
            more = file.read(min(_CHUNK, stop - position))
            if not more:
                raise _broken(index, directory)
            position += len(more)
            buffer, at = buffer[at:] + more, 0
        entry, at = _entry(buffer, at, index, directory, position - len(buffer) + at)
        if entry is None:
            return
        yield entry
        index += 1
    if index != directory.entries and (index & _MASK16) != directory.entries:
        raise _broken(index, directory)


def _broken(index: int, directory: Directory) -> DocumentError:
    missing = directory.entries - index
    return corrupt(
        f"the zip directory breaks off after {index} of {directory.entries} entries",
        missing=missing if missing > 0 else None,
    )


def _entry(buffer: bytes, at: int, index: int, directory: Directory, place: int) -> tuple[ZipEntry | None, int]:
    """Return the entry at `at` and the next position; no entry at a digital signature, which ends it."""
    if len(buffer) - at < _CENTRAL.size or not buffer.startswith(_CENTRAL_SIGNATURE, at):
        if buffer.startswith(b"PK\x05\x05", at) and index == directory.entries:
            return None, at
        raise _broken(index, directory)
    fields = _CENTRAL.unpack_from(buffer, at)
    _, made_by, _, flags, method, _, _, crc, compressed, size, name_length, extra_length, note_length = fields[:13]
    external, offset = fields[15], fields[16]
    name_at = at + _CENTRAL.size
    end = name_at + name_length + extra_length + note_length
    if end > len(buffer):
        raise _broken(index, directory)
    name = buffer[name_at : name_at + name_length]
    extra = buffer[name_at + name_length : name_at + name_length + extra_length]
    if _MASK32 in (compressed, size, offset):
        size, compressed, offset = _zip64(extra, size, compressed, offset)
    is_directory = size == 0 and (name.endswith(b"/") or (made_by >> 8 == 0 and bool(external & 0x10)))
    link = made_by >> 8 == 3 and external >> 28 == 0o12
    start, shown = offset + directory.shift, shown_name(name, extra)
    return ZipEntry(index, name, flags, method, crc, compressed, size, start, is_directory, shown, place, link), end


def shown_name(name: bytes, extra: bytes) -> str | None:
    """Return the name as text if it is not plain UTF-8, which many programs write without a flag: from Info-ZIP's extra
    field (APPNOTE 4.6.9) if it belongs to this name, else from code page 437 (APPNOTE, appendix D) if that gives
    letters. Return None if the charset is unknown, or UTF-8."""
    unicode_name = next(extra_fields(extra, _UNICODE_NAME), b"")
    if (
        len(unicode_name) > 5
        and unicode_name[0] == 1
        and int.from_bytes(unicode_name[1:5], "little") == zlib.crc32(name)
    ):
        return unicode_name[5:].decode("utf-8", "replace")
    if name.isascii():
        return None
    if is_utf8(name):
        return None
    text = name.decode("cp437")
    return text if all(c.isalpha() for c in text if c > "\x7f") else None


def lacks_charset(entry: ZipEntry) -> bool:
    """Return whether the bytes of its name may be in any charset but ASCII and UTF-8."""
    if entry.name.isascii():
        return False
    return entry.shown == entry.name.decode("cp437") if entry.shown else not is_utf8(entry.name)


def extra_fields(extra: bytes, wanted: int) -> Iterator[bytes]:
    """Yield the extra fields of this kind."""
    at = 0
    while at + 4 <= len(extra):
        kind, length = struct.unpack_from("<HH", extra, at)
        if kind == wanted:
            yield extra[at + 4 : at + 4 + length]
        at += 4 + length


def _zip64(extra: bytes, size: int, compressed: int, offset: int) -> tuple[int, int, int]:
    """Take the 64-bit values of extra field 0x0001 for those fields that are full, in this order."""
    values = [size, compressed, offset]
    field = next(extra_fields(extra, _ZIP64), b"")
    wide = [field[i : i + 8] for i in range(0, len(field) - 7, 8)]
    for i, value in enumerate(values):
        if value == _MASK32 and wide:
            values[i] = int.from_bytes(wide.pop(0), "little")
    return values[0], values[1], values[2]


def zip64_sizes(extra: bytes, size: int, compressed: int) -> tuple[int, int]:
    """Return size and compressed size of a local header, from its zip64 field if they are full."""
    if _MASK32 in (size, compressed):
        size, compressed, _ = _zip64(extra, size, compressed, 0)
    return size, compressed


def overlapping(file: BinaryIO, directory: Directory) -> frozenset[int] | None:
    """Return the indexes of members whose data begins inside an earlier member's, as in zip bombs. None, in constant
    memory, for archives whose members are in directory order, as in nearly all."""
    reached = 0
    for entry in iter_quietly(file, directory):
        if entry.offset < reached:
            break
        reached = least_end(entry)
    else:
        return None
    spans = sorted((e.offset, least_end(e), e.index) for e in iter_quietly(file, directory))
    overlaps: set[int] = set()
    reached = 0
    for offset, end, index in spans:
        if offset < reached:
            overlaps.add(index)
        reached = max(reached, end)
    return frozenset(overlaps)


def iter_quietly(file: BinaryIO, directory: Directory) -> Iterator[ZipEntry]:
    """Yield the entries up to where the directory breaks off, without an error."""
    try:
        yield from iter_entries(file, directory)
    except DocumentError:
        return


def least_end(entry: ZipEntry) -> int:
    """Return the lowest possible end of a member's data (its local extra field is not known yet)."""
    return entry.offset + LOCAL.size + len(entry.name) + entry.compressed
