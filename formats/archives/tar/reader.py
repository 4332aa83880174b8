"""The entries of a tar archive (POSIX.1-2017 pax, ustar, GNU, seventh edition), read forwards from any stream.

Own reading, because the standard library decodes names, follows negative sizes on older Python versions and turns
damage into a silent end.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from core.errors import DocumentError, ExceptionCode
from formats.archives.tar.byte_reader import ByteReader
from formats.archives.tar.header import is_tar_header

BLOCK = 512
_MAX_EXTENSION = 1 << 20  # bytes of a pax header or GNU long name; names are at most 4 KiB on any system
_MAX_FOR_ALL = 4096  # bytes of a value that holds for all entries that follow
_ZERO = bytes(BLOCK)
_SPECIAL = frozenset(b"346")
_LINKS = frozenset(b"12")
_EXTENSIONS = frozenset(b"xgLK")
_VOLUME = ord("V")  # GNU: the label of the archive, not an entry


@dataclass(slots=True)
class TarEntry:
    """One entry; its data follows in the stream."""

    position: int
    name: bytes
    type: int  # the type flag as a byte
    size: int  # bytes of data in the stream
    sparse: bool

    @property
    def directory(self) -> bool:
        return self.type in b"5D" or (self.type in (0, ord("0")) and self.name.endswith(b"/"))

    @property
    def link(self) -> bool:
        return self.type in _LINKS

    @property
    def special(self) -> bool:
        return self.type in _SPECIAL

    @property
    def padding(self) -> int:
        """Bytes after the data up to the next block."""
        return -self.size % BLOCK


@dataclass(slots=True)
class _Extensions:
    """What extension headers say of the next entry (pax 'x', GNU 'L') and of all that follow (pax 'g')."""

    one: dict[bytes, bytes] = field(default_factory=dict)
    everything: dict[bytes, bytes] = field(default_factory=dict)

    def get(self, key: bytes) -> bytes | None:
        return self.one.get(key, self.everything.get(key))


def iter_tar(reader: ByteReader) -> Iterator[TarEntry]:
    """The entries in order. Who iterates reads an entry's data (or some of it) before asking for the next one; the
    rest is skipped. `truncated` when the stream ends without a zero block, `corrupt` at a damaged header."""
    extensions = _Extensions()
    position = 0
    while True:
        header = reader.read(BLOCK)
        if header == _ZERO:
            return
        if len(header) < BLOCK:
            raise DocumentError(ExceptionCode.TRUNCATED, f"the tar archive breaks off after {position} entries")
        if not is_tar_header(header):
            raise DocumentError(ExceptionCode.CORRUPT, f"damaged tar header after {position} entries")
        entry = _entry(header, position, extensions)
        if entry.type in _EXTENSIONS:
            _extend(extensions, entry, reader)
            continue
        extensions.one = {}
        end = reader.position + entry.size + entry.padding
        if entry.type != _VOLUME:
            yield entry
            position += 1
        reader.skip_to(end)


def _entry(header: bytes, position: int, extensions: _Extensions) -> TarEntry:
    kind = header[156]
    size = _number(header[124:136])
    name = header[:100].partition(b"\0")[0]
    if header[257:263] == b"ustar\0":
        prefix = header[345:500].partition(b"\0")[0]
        if prefix:
            name = prefix + b"/" + name
    sparse = kind == ord("S")
    if kind not in _EXTENSIONS:
        name = extensions.get(b"path") or name
        if wide := extensions.get(b"size"):
            size = int(wide) if wide.isdigit() and len(wide) < 20 else -1
        name = extensions.get(b"GNU.sparse.name") or name
        sparse = sparse or any(key.startswith(b"GNU.sparse.") for key in extensions.one)
    if size < 0:
        raise DocumentError(ExceptionCode.CORRUPT, f"impossible size in the tar header after {position} entries")
    if kind in b"123456":
        size = 0  # links, special files and directories have no data, whatever the field says
    return TarEntry(position=position, name=name, type=kind, size=size, sparse=sparse)


def _number(raw: bytes) -> int:
    """Octal digits, or base 256 when the first bit is set; -1 when it is neither."""
    if raw[0] == 0x80:
        return int.from_bytes(raw[1:], "big")
    digits = raw.strip(b" \0").partition(b"\0")[0].strip()
    if not digits:
        return 0
    try:
        return int(digits, 8)
    except ValueError:
        return -1


def _extend(extensions: _Extensions, entry: TarEntry, reader: ByteReader) -> None:
    """Read the data of an extension header."""
    if entry.size > _MAX_EXTENSION:
        raise DocumentError(ExceptionCode.CORRUPT, f"tar extension header of {entry.size} bytes")
    data = reader.read(entry.size)
    if len(data) < entry.size:
        raise DocumentError(ExceptionCode.TRUNCATED, f"the tar archive breaks off after {entry.position} entries")
    reader.skip_to(reader.position + entry.padding)
    if entry.type == ord("L"):
        extensions.one[b"path"] = data.rstrip(b"\0")
    elif entry.type in b"xg":
        target = extensions.one if entry.type == ord("x") else extensions.everything
        target.update(
            (key, value) for key, value in _records(data) if entry.type == ord("x") or len(value) <= _MAX_FOR_ALL
        )


def _records(data: bytes) -> Iterator[tuple[bytes, bytes]]:
    """Records `length key=value newline` of a pax header; what does not follow that ends the reading."""
    at = 0
    while at < len(data):
        digits, space, _ = data[at : at + 20].partition(b" ")
        if not space or not digits.isdigit():
            return
        end = at + int(digits)
        record = data[at + len(digits) + 1 : end]
        if end <= at or end > len(data) or not record.endswith(b"\n"):
            return
        key, _, value = record[:-1].partition(b"=")
        yield key, value
        at = end
