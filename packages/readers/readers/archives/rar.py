"""RAR archives, version 4 and 5: our own reader lists the members from the headers, libarchive unpacks them.

Each member of an archive that is not solid is unpacked separately, so that damage affects only the damaged member."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator
from contextlib import closing
from typing import BinaryIO

from msgspec import Struct

from readers.archives.libarchive import ArchiveReader, Members, library
from readers.archives.names import shown
from readers.archives.zip.handler import failed_member, link_member
from readers.base import Child, ContainerHandler, Declared, Part, Source
from readers.errors import DocumentError, corrupt, encrypted, truncated, unsupported
from readers.records import Kind, Limits
from readers.rest import rest
from readers.streams import RangeStream, as_binary

SIGNATURE_4, SIGNATURE_5 = b"Rar!\x1a\x07\x00", b"Rar!\x1a\x07\x01\x00"
_SMALLEST_4 = 7
_MAX_HEADER_5 = 1 << 21  # the format's own bound
_MAIN_4, _FILE_4, _END_4 = 0x73, 0x74, 0x7B
_MAIN_5, _FILE_5, _ENCRYPTION_5, _END_5 = 1, 2, 4, 5
_UNIX_4 = 3


class Member(Struct, frozen=True, kw_only=True):
    """One file header. `start` is where its block begins, `end` where its data ends."""

    name: bytes  # UTF-8 in version 5 and where version 4 marks it, else as stored
    start: int
    end: int
    size: int | None  # unpacked; None where the writer did not know
    crc: int | None  # CRC-32 of the unpacked data; None where there is none, or a hash of another kind
    directory: bool
    link: bool
    encrypted: bool
    split: bool  # begins in the part before or continues in the next


class Layout(Struct, frozen=True, kw_only=True):
    """Fields of the main header, and the length of everything up to its end."""

    prefix: int
    solid: bool
    volume: bool
    version: int


def read_layout(file: BinaryIO) -> Layout:
    """Return the main header. Raises DocumentError `encrypted` if the headers are, `corrupt` if there is none."""
    file.seek(0)
    head = file.read(len(SIGNATURE_5))
    if head == SIGNATURE_5:
        return _layout_5(file)
    if not head.startswith(SIGNATURE_4):
        raise corrupt("not the signature of a RAR archive")
    file.seek(len(SIGNATURE_4))
    block = _block_4(file, len(SIGNATURE_4))
    if block is None or block.type != _MAIN_4:
        raise _damaged(0)
    if block.flags & 0x80:
        raise _hidden()
    return Layout(prefix=block.end, solid=bool(block.flags & 8), volume=bool(block.flags & 1), version=4)


def members(file: BinaryIO, size: int, layout: Layout, ends: list[int] | None = None) -> Iterator[Member]:
    """Yield every file header in order and append the end of the last block to `ends`. Raises DocumentError `truncated`
    or `corrupt` if the chain of headers breaks."""
    read, end_type = (_block_4, _END_4) if layout.version == 4 else (_block_5, _END_5)
    at, count = layout.prefix, 0
    while at < size:
        file.seek(at)
        block = read(file, at)
        if block is None:
            raise _damaged(count)
        if block.type == end_type:
            if ends is not None:
                ends.append(block.end)
            return
        member = _member_4(block) if layout.version == 4 else _member_5(block)
        if member is not None:
            yield member
            count += 1
        at = block.end
    if at > size:
        raise truncated(f"the RAR archive breaks off in member {count}")
    # Version 4 may lack the block that marks the end of the archive.
    if layout.version == 5:
        raise truncated(f"the RAR archive breaks off after {count} members")


def _damaged(count: int) -> DocumentError:
    return corrupt(f"damaged RAR header after {count} members")


def _hidden() -> DocumentError:
    return encrypted("the names in this RAR archive need a password")


class _Block(Struct, frozen=True):
    """One block: its header after the fields that all blocks have, and its position."""

    type: int
    flags: int
    body: bytes
    start: int
    end: int
    extra: bytes = b""


def _block_4(file: BinaryIO, start: int) -> _Block | None:
    """Return the block that begins here; None if its CRC is wrong or it is cut."""
    head = file.read(_SMALLEST_4)
    if len(head) < _SMALLEST_4:
        return None
    crc, kind, flags, length = struct.unpack("<HBHH", head)
    rest = file.read(max(0, length - _SMALLEST_4))
    if length < _SMALLEST_4 or len(rest) < length - _SMALLEST_4 or zlib.crc32(head[2:] + rest) & 0xFFFF != crc:
        return None
    data = 0
    if flags & 0x8000:
        if len(rest) < 4:
            return None
        data = int.from_bytes(rest[:4], "little")
        if kind in (_FILE_4, 0x7A) and flags & 0x100 and len(rest) >= 29:
            data |= int.from_bytes(rest[25:29], "little") << 32
    return _Block(kind, flags, rest, start, start + length + data)


def _member_4(block: _Block) -> Member | None:
    body, flags = block.body, block.flags
    if block.type != _FILE_4 or len(body) < 25:
        return None
    size, system, crc = struct.unpack_from("<4xLBL", body)
    name_length, attributes = struct.unpack_from("<HL", body, 19)
    at = 25
    if flags & 0x100:
        size |= int.from_bytes(body[29:33], "little") << 32
        at = 33
    name = body[at : at + name_length]
    return Member(
        name=_unicode_name(name) if flags & 0x200 else name.replace(b"\\", b"/"),
        start=block.start,
        end=block.end,
        size=None if size & 0xFFFFFFFF == 0xFFFFFFFF else size,
        crc=crc,
        directory=flags & 0xE0 == 0xE0,
        link=system == _UNIX_4 and attributes & 0o170000 == 0o120000,
        encrypted=bool(flags & 4),
        split=bool(flags & 3),
    )


def _unicode_name(stored: bytes) -> bytes:
    """Return a name of version 4 in UTF-8. It is stored as an 8-bit name, NUL, and the differences in UTF-16 (or
    nothing, if the first is UTF-8 already)."""
    plain, zero, packed = stored.partition(b"\0")
    if not zero or not packed:
        return plain.replace(b"\\", b"/")
    high, at, out = packed[0], 1, bytearray()
    flags = bits = 0
    while at < len(packed):
        if bits == 0:
            flags, bits, at = packed[at], 8, at + 1
            if at >= len(packed):
                break
        bits -= 2
        kind, at, byte = flags >> bits & 3, at + 1, packed[at]
        if kind == 0:
            out += bytes((byte, 0))
        elif kind == 1:
            out += bytes((byte, high))
        elif kind == 2:
            out += bytes((byte, packed[at] if at < len(packed) else 0))
            at += 1
        else:
            count, add = (byte & 0x7F) + 2, None
            if byte & 0x80:
                add, at = packed[at] if at < len(packed) else 0, at + 1
            for one in plain[len(out) // 2 : len(out) // 2 + count]:
                out += bytes((one, 0)) if add is None else bytes(((one + add) & 0xFF, high))
    return out.decode("utf-16-le", "replace").replace("\\", "/").encode()


def _layout_5(file: BinaryIO) -> Layout:
    start = len(SIGNATURE_5)
    block = _block_5(file, start)
    if block is not None and block.type == _ENCRYPTION_5:
        raise _hidden()
    if block is None or block.type != _MAIN_5:
        raise _damaged(0)
    try:
        flags, _ = _number(block.body, 0)
    except IndexError:
        raise _damaged(0) from None
    return Layout(prefix=block.end, solid=bool(flags & 4), volume=bool(flags & 1), version=5)


def _number(data: bytes, at: int) -> tuple[int, int]:
    """Return a number of seven bits a byte, and the position after it. Raises LookupError if it does not end."""
    value = shift = 0
    while shift < 70:
        byte = data[at]
        value |= (byte & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if byte < 0x80:
            return value, at
    raise IndexError("a number of more than ten bytes")


def _block_5(file: BinaryIO, start: int) -> _Block | None:
    """Return the block that begins here; None if its CRC is wrong or it is cut."""
    head = file.read(7)
    try:
        length, at = _number(head, 4)
        if not 2 <= length <= _MAX_HEADER_5:
            return None
        raw = (head + file.read(max(0, length + at - len(head))))[: at + length]
        if len(raw) < at + length or zlib.crc32(raw[4:]) != int.from_bytes(raw[:4], "little"):
            return None
        kind, at = _number(raw, at)
        flags, at = _number(raw, at)
        extra = data = 0
        if flags & 1:
            extra, at = _number(raw, at)
        if flags & 2:
            data, at = _number(raw, at)
    except IndexError:
        return None
    split = max(at, len(raw) - extra)
    return _Block(kind, flags, raw[at:split], start, start + len(raw) + data, raw[split:])


def _member_5(block: _Block) -> Member | None:
    if block.type != _FILE_5:
        return None
    body = block.body
    try:
        flags, at = _number(body, 0)
        size, at = _number(body, at)
        _, at = _number(body, at)  # attributes
        at += 4 * bool(flags & 2)
        crc = int.from_bytes(body[at : at + 4], "little") if flags & 4 else None
        at += 4 * bool(flags & 4)
        _, at = _number(body, at)  # compression
        _, at = _number(body, at)  # system
        length, at = _number(body, at)
        records = set(_records(block.extra))
    except IndexError:
        return None
    return Member(
        name=body[at : at + length].partition(b"\0")[0],
        start=block.start,
        end=block.end,
        size=None if flags & 8 else size,
        crc=crc,
        directory=bool(flags & 1),
        link=5 in records,
        encrypted=1 in records,
        split=bool(block.flags & 0x18),
    )


def _records(extra: bytes) -> Iterator[int]:
    """Yield the types of the records in a file header's extra area: 1 encryption, 5 a link or copy."""
    at = 0
    while at < len(extra):
        length, at = _number(extra, at)
        kind, _ = _number(extra, at)
        yield kind
        at += length


_FORMATS = {4: "rar", 5: "rar5"}
_MOST_PREFIX = 4096  # bytes up to the end of the main header that are read again for each member
_BEHIND = 1024  # bytes after a member that libarchive may read; it needs some even at the end


class RarHandler(ContainerHandler):
    """A RAR archive; its members are its children, with the position among the file headers as ordinal. Directories are
    counted in the position and are not items."""

    name = "rar"
    declared = Declared(
        title="RAR archives, versions 4 and 5, including solid ones",
        extensions=("rar",),
        children="members in the order of their headers; symbolic links, hard links and copies of another member "
        "as items without bytes",
        announces="the chain of file headers, if it is complete",
        leaves_out=(
            "times, owners and permissions of members",
            "members that need a password; the whole archive if its names need one",
            "members that continue in another part of a split archive, and the members of that part",
            "compression of versions before 2.9, and dictionaries of more than 64 MB",
            "members after a damaged one in a solid archive",
            "directory entries, which are not items",
        ),
    ).alone()

    def announced(self, source: Source) -> int | None:
        """Count file headers other than directories; None if the chain breaks off or continues in another part."""
        try:
            with source.open() as file:
                layout = read_layout(file)
                if layout.volume:
                    return None
                return sum(not member.directory for member in members(file, source.size, layout))
        except DocumentError:
            return None

    def children(self, source: Source, limits: Limits, part: Part | None = None) -> Iterator[Child]:
        """Yield the members in order. A member that cannot be read is a Child with an error that is not emitted. Raises
        `encrypted` if the headers are, `unsupported` after the last member of one part of a split archive."""
        library()
        with source.open() as file:
            layout = read_layout(file)
            ends: list[int] = []
            headers = members(file, source.size, layout, ends)
            at_once = layout.solid or layout.prefix > _MOST_PREFIX
            ordinal = 0
            for child in shown((_solid if at_once else _single)(file, source.size, layout, headers, limits)):
                ordinal = child.ordinal + 1
                yield child
            for end in ends:
                yield from rest(file, end, source.size, ordinal, "RAR archive")
            if layout.volume:
                raise unsupported("one part of a split RAR archive; join the parts or repack it")


def _without_data(member: Member, position: int) -> Child | None:
    """Return the child for a member that has no data or whose data cannot be read."""
    if member.link:
        return link_member(member.name, position)
    if member.split:
        why = unsupported("it continues in another part of a split archive")
        return failed_member(member.name, position, why)
    if member.encrypted:
        why = encrypted("the member needs a password")
        return failed_member(member.name, position, why)
    if member.size == 0:
        return Child(name=member.name, kind=Kind.ARCHIVE_MEMBER, ordinal=position, data=b"")
    return None


def _single(file: BinaryIO, size: int, layout: Layout, members: Iterator[Member], limits: Limits) -> Iterator[Child]:
    """Read each member as if it were the only one: the main header and then its block."""
    file.seek(0)
    prefix = file.read(layout.prefix)
    for position, member in enumerate(members):
        if member.directory:
            continue
        child = _without_data(member, position)
        if child is not None:
            yield child
            continue
        stop = min(size, member.end + _BEHIND)
        joined = RangeStream(file, member.start, stop - member.start, prefix)
        try:
            reader = ArchiveReader(as_binary(joined), joined.size, _FORMATS[layout.version])
        except DocumentError as error:
            yield failed_member(member.name, position, error)
            continue
        with closing(reader):
            yield _read(Members(reader, size, limits, solid=False), member, position)


def _solid(file: BinaryIO, size: int, layout: Layout, members: Iterator[Member], limits: Limits) -> Iterator[Child]:
    """Read all members in one pass; those after one that could not be decoded are lost, and reported as failed."""
    joined = as_binary(RangeStream(file, 0, size))
    lost: DocumentError | None = None
    with closing(ArchiveReader(joined, size, _FORMATS[layout.version])) as reader:
        passing = Members(reader, size, limits, solid=True)
        for position, member in enumerate(members):
            without = _without_data(member, position)
            child = failed_member(member.name, position, lost) if lost else _read(passing, member, position)
            if child.error is not None and not child.emit:
                lost = child.error if without is None or without.emit else without.error
            if not member.directory:
                yield without or child


def _read(passing: Members, member: Member, position: int) -> Child:
    """Return the next member of libarchive, which is `member`."""
    try:
        entry = passing.next()
        if entry is None:
            raise truncated("the archive ends before the member")
    except DocumentError as error:
        return failed_member(member.name, position, error)
    if entry.directory or member.link or member.directory:
        return Child(name=member.name, kind=Kind.ARCHIVE_MEMBER, ordinal=position, data=b"")
    return passing.child(entry, position, member.name, member.crc)
