"""Members of a zip archive without its central directory: the complete ones, in file order."""

from __future__ import annotations

from collections.abc import Iterator
from typing import BinaryIO

from isal import isal_zlib
from msgspec.structs import replace

from readers.archives.zip.directory import LOCAL, LOCAL_SIGNATURE, ZipEntry, shown_name, zip64_sizes
from readers.archives.zip.member import MemberReader
from readers.base import Child
from readers.errors import DocumentError, ExceptionCode, corrupt, encrypted, expansion_limit, unsupported
from readers.inflate import DECODE_ERRORS, DEFLATED, METHODS, Inflater
from readers.records import Kind, Limits
from readers.streams import CHUNK

_DESCRIPTOR_SIGNATURE = b"PK\x07\x08"
_FIRST_STEP = 1 << 10  # bytes; twice as many each time, so that tiny members cost no more than their bytes


class _Bound:
    """The bytes that one archive may inflate to while lengths are unknown and have to be found by inflating."""

    def __init__(self, archive_size: int, limits: Limits) -> None:
        self.left = max(limits.expansion_floor, int(archive_size * limits.expansion_ratio))
        self.fruitless = 4 * archive_size + CHUNK  # bytes of members that turned out damaged: they may overlap

    def spend(self, count: int) -> None:
        self.left -= count
        if self.left < 0:
            raise expansion_limit("the archive inflates beyond the allowed ratio")

    def waste(self, count: int) -> None:
        self.fruitless -= count
        if self.fruitless < 0:
            raise expansion_limit("the damaged members of the archive overlap")


def salvage(file: BinaryIO, size: int, limits: Limits) -> Iterator[Child]:
    """Yield complete members in order; the ordinal is the position of the local header among all local headers. Members
    that are complete but cannot be read are failed; the caller reports the one that is cut."""
    bound = _Bound(size, limits)
    at = _next_header(file, 0, size)
    position = 0
    while at is not None:
        entry, data_at, known = _local_entry(file, at, position)
        if entry is None:
            return
        end = data_at
        try:
            if entry.encrypted:
                raise encrypted(f"{entry.name[:80]!r}: the member needs a password")
            if entry.method not in METHODS:
                raise unsupported(f"compression method {entry.method} cannot be read")
            if not known:
                entry = _measured(file, size, entry, data_at, bound)
            if entry is None or data_at + entry.compressed > size:
                return
            end = data_at + entry.compressed
            if not entry.directory:
                yield _child(file, entry, data_at)
        except DocumentError as error:
            if error.code is ExceptionCode.EXPANSION_LIMIT:
                raise
            if known and entry is not None:
                if data_at + entry.compressed > size:
                    return
                end = data_at + entry.compressed
            yield Child(
                name=entry.name if entry else b"",
                kind=Kind.ARCHIVE_MEMBER,
                ordinal=position,
                data=b"",
                error=error,
                emit=False,
            )
        position += 1
        at = _next_header(file, end, size)


def local_entries(file: BinaryIO, size: int, limits: Limits) -> Iterator[ZipEntry]:
    """The entries of the local headers, in file order. A member that is cut or damaged is included, with its available
    bytes: reading it yields the readable ones and then DocumentError. Raises DocumentError `expansion_limit`."""
    bound = _Bound(size, limits)
    at, position = _next_header(file, 0, size), 0
    while at is not None:
        entry, data_at, known = _local_entry(file, at, position)
        if entry is None:
            return
        measured = entry if known else _measurable(file, size, entry, data_at, bound)
        room = size - data_at
        if measured is None:
            yield replace(entry, compressed=room, size=limits.parse_bytes)
            end = data_at
        else:
            end = data_at + measured.compressed
            if not measured.directory:
                yield replace(measured, compressed=min(measured.compressed, room))
        position += 1
        at = _next_header(file, end, size)


def _measurable(file: BinaryIO, size: int, entry: ZipEntry, data_at: int, bound: _Bound) -> ZipEntry | None:
    """Return the entry as `_measured` does; None if it cannot be inflated to its end."""
    if entry.encrypted:
        return None
    try:
        return _measured(file, size, entry, data_at, bound)
    except DocumentError as error:
        if error.code is ExceptionCode.EXPANSION_LIMIT:
            raise
        return None


def _child(file: BinaryIO, entry: ZipEntry, data_at: int) -> Child:
    reader = MemberReader(file, data_at, entry.compressed, entry.size, entry.crc, entry.method)
    child = reader.child(entry, Kind.ARCHIVE_MEMBER, whole=entry.small)
    child.shown = entry.shown
    return child


def _next_header(file: BinaryIO, start: int, size: int) -> int | None:
    """Return the position of the next local header at or after `start`; a data descriptor may come before it."""
    at, carry, step = start, b"", _FIRST_STEP
    while at < size:
        file.seek(at)
        data = file.read(step)
        if not data:
            return None
        window = carry + data
        offset = window.find(LOCAL_SIGNATURE)
        if offset >= 0:
            return at - len(carry) + offset
        carry = window[-3:]
        at, step = at + len(data), min(CHUNK, 2 * step)
    return None


def _local_entry(file: BinaryIO, at: int, position: int) -> tuple[ZipEntry | None, int, bool]:
    """Return the member at this local header, the position of its data, and whether its length is known."""
    file.seek(at)
    header = file.read(LOCAL.size)
    if len(header) < LOCAL.size:
        return None, at, False
    _, _, flags, method, _, _, crc, compressed, size, name_length, extra_length = LOCAL.unpack(header)
    name = file.read(name_length)
    extra = file.read(extra_length)
    if len(name) < name_length or len(extra) < extra_length:
        return None, at, False
    size, compressed = zip64_sizes(extra, size, compressed)
    known = not (flags & 8 and compressed == 0)
    data_at = at + LOCAL.size + name_length + extra_length
    shown = shown_name(name, extra)
    entry = ZipEntry(
        position, name, flags, method, crc, compressed, size, at, known and not size and name.endswith(b"/"), shown
    )
    return entry, data_at, known


def _measured(file: BinaryIO, size: int, entry: ZipEntry, data_at: int, bound: _Bound) -> ZipEntry | None:
    """Return the entry with sizes and CRC found by inflating it; None if it is cut short."""
    if entry.method != DEFLATED:
        raise unsupported("a member of unknown length that is not deflated")
    inflater = Inflater(entry.method)
    at, made, crc, step = data_at, 0, 0, _FIRST_STEP
    while not inflater.ended:
        data = b""
        if inflater.wants_more:
            file.seek(at)
            data = file.read(min(step, size - at))
            if not data:
                return None
            at, step = at + len(data), min(CHUNK, 2 * step)
        try:
            out = inflater.feed(data, CHUNK)
        except DECODE_ERRORS as error:
            bound.waste(at - data_at)
            raise corrupt(f"the member's data is damaged: {error}") from error
        bound.spend(len(out))
        made += len(out)
        crc = isal_zlib.crc32(out, crc)
    compressed = at - inflater.unused - data_at
    file.seek(data_at + compressed)
    descriptor = file.read(8).removeprefix(_DESCRIPTOR_SIGNATURE)[:4]
    if len(descriptor) == 4 and int.from_bytes(descriptor, "little") != crc:
        bound.waste(compressed)
        raise corrupt("the member's CRC does not match")
    return replace(entry, crc=crc, compressed=compressed, size=made)
