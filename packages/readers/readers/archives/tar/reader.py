"""The entries of a tar archive (POSIX.1-2017 pax, ustar, GNU, seventh edition), read forwards from any stream.

This is our own reader, because the standard library decodes names, follows negative sizes on older Python versions and
turns damage into a silent end."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import BinaryIO

from msgspec import Struct, field

from readers.archives.tar.header import is_tar_header
from readers.errors import DocumentError, corrupt, expansion_limit, truncated
from readers.streams import CHUNK, SMALL_MEMBER

# Forward reading of a file or of a stream that is being decompressed.

_CHUNK = 1 << 18
_PADDING = 512


class ByteReader:
    """A stream with a position. Skipping seeks where the stream can, else it reads. A DocumentError of the stream
    counts as its end; `error` keeps it.

    `skippable` is how many bytes may be read only to skip them, in total: skipping compressed data costs as much as
    decompressing it, and nothing else counts it. Padding between entries is not counted."""

    def __init__(self, stream: BinaryIO, *, seeks: bool, skippable: int | None = None) -> None:
        self._stream = stream
        self._seeks = seeks
        self._skippable = skippable
        self._pushed = b""  # read and given back
        self.position = 0
        self.error: DocumentError | None = None

    def read(self, count: int) -> bytes:
        """Return `count` bytes; fewer only at the end."""
        pieces: list[bytes] = []
        left = count
        if self._pushed:
            pieces.append(self._pushed[:count])
            self._pushed = self._pushed[count:]
            left -= len(pieces[0])
        while left > 0 and self.error is None:
            try:
                piece = self._stream.read(min(left, 1 << 20))
            except DocumentError as error:
                self.error = error
                break
            if not piece:
                break
            pieces.append(piece)
            left -= len(piece)
        self.position += count - left
        return pieces[0] if len(pieces) == 1 else b"".join(pieces)

    def give_back(self, data: bytes) -> None:
        """Take the last bytes read back, so that the next read returns them again."""
        self._pushed = data + self._pushed
        self.position -= len(data)

    def skip_to(self, position: int) -> None:
        """Continue at a later position; beyond the end the next read returns nothing. Raises DocumentError
        `expansion_limit` if that skips too much."""
        if self._pushed and position > self.position:
            self.read(min(len(self._pushed), position - self.position))
        if position <= self.position:
            return
        if self._seeks:
            self._stream.seek(position)
            self.position = position
            return
        counted = position - self.position > _PADDING
        while self.position < position and (skipped := len(self.read(min(_CHUNK, position - self.position)))):
            if counted:
                self.pass_over(skipped)

    def pass_over(self, count: int) -> None:
        """Count bytes that were read only to skip them. Raises DocumentError `expansion_limit` if they are too many."""
        if self._skippable is None:
            return
        self._skippable -= count
        if self._skippable < 0:
            raise expansion_limit("the rest follows more data than the archive may expand to")


# Sparse files in tar archives: where their data belongs (GNU tar manual, "Storing Sparse Files").

_BLOCK = 512
_MOST_PIECES = 1 << 20
_NUMBER = re.compile(rb"[0-9]{1,19}")


class Map(Struct):
    """Pieces of data as (offset, length), and how large the whole is. `in_data`: the map is at the start of the data
    (version 1.0); `extended`: further blocks of it are (old GNU format)."""

    pieces: list[tuple[int, int]] = field(default_factory=list)
    size: int = 0
    in_data: bool = False
    extended: bool = False


def from_header(header: bytes) -> Map:
    """Return the map of an old GNU header (type S): four pieces in the header."""
    found = Map(size=max(0, _octal(header[483:495])), extended=bool(header[482]))
    found.pieces += _pieces(header[386:482])
    return found


def from_records(records: Mapping[bytes, bytes], several: Sequence[bytes]) -> Map | None:
    """Return the map in pax records, versions 0.0 (`several`: offsets and lengths), 0.1 and 1.0; else None."""
    size = records.get(b"GNU.sparse.realsize") or records.get(b"GNU.sparse.size")
    if size is None or not _NUMBER.fullmatch(size):
        return None
    if records.get(b"GNU.sparse.major") == b"1":
        return Map(size=int(size), in_data=True)
    numbers = [int(n) for n in several or records.get(b"GNU.sparse.map", b"").split(b",") if _NUMBER.fullmatch(n)]
    return Map(pieces=list(zip(numbers[::2], numbers[1::2], strict=False)), size=int(size))


def expanded(found: Map, stored: int, read: Callable[[int], bytes]) -> Iterator[bytes]:
    """Yield the whole file: its data with the zeros between. `read` returns up to so many of its `stored` bytes. Raises
    DocumentError `corrupt` if the map does not fit them."""
    pieces, left = _in_data(read, stored) if found.in_data else (found.pieces, stored)
    at = 0
    for offset, length in pieces:
        if offset < at or length > left or offset + length > found.size:
            raise corrupt("the map of a sparse file does not fit its data")
        yield from _zeros(offset - at)
        left -= length
        at = offset + length
        while length:
            data = read(min(CHUNK, length))
            length -= len(data)
            yield data
    yield from _zeros(found.size - at)
    if left:
        raise corrupt(f"{left:,} bytes of a sparse file are missing from its map")


def _zeros(count: int) -> Iterator[bytes]:
    while count > 0:
        yield bytes(min(CHUNK, count))
        count -= CHUNK


def more_pieces(found: Map, block: bytes) -> None:
    """Add the pieces of one further block of the old GNU format."""
    found.pieces += _pieces(block[:504])
    found.extended = bool(block[504:505].strip(b"\0")) and len(found.pieces) < _MOST_PIECES


def _pieces(raw: bytes) -> Iterator[tuple[int, int]]:
    for at in range(0, len(raw) - 23, 24):
        if not raw[at : at + 24].strip(b"\0 "):
            return
        yield _octal(raw[at : at + 12]), _octal(raw[at + 12 : at + 24])


def _octal(raw: bytes) -> int:
    if raw[0] & 0x80:
        return int.from_bytes(raw[1:], "big")
    digits = raw.strip(b" \0")
    return int(digits, 8) if digits and not digits.strip(b"01234567") else 0


def _in_data(read: Callable[[int], bytes], stored: int) -> tuple[list[tuple[int, int]], int]:
    """Return the pieces of version 1.0 (decimal numbers in lines that fill blocks), and how many bytes are data."""
    numbers: list[int] = []
    text, wanted, used = b"", 1, 0
    while len(numbers) < wanted:
        line, newline, rest = text.partition(b"\n")
        if not newline:
            if used >= stored or len(text) > _BLOCK:
                raise corrupt("the map of a sparse file breaks off")
            text += read(_BLOCK)
            used += _BLOCK
            continue
        if not _NUMBER.fullmatch(line):
            raise corrupt("the map of a sparse file contains something that is not a number")
        numbers.append(int(line))
        text = rest
        if len(numbers) == 1:
            wanted = 1 + 2 * min(numbers[0], _MOST_PIECES)
    return list(zip(numbers[1::2], numbers[2::2], strict=True)), max(0, stored - used)


BLOCK = 512
_MAX_EXTENSION = 1 << 20  # bytes of a pax header or GNU long name; names are at most 4 KiB on any system
_MAX_FOR_ALL = 4096  # bytes of a value that holds for all entries that follow
_SPECIAL = frozenset(b"346")
_LINKS = frozenset(b"12")
_DIRECTORIES = frozenset(b"5D")
_EXTENSIONS = frozenset(b"xgXLK")
_VOLUME = ord("V")  # GNU: the label of the archive, not an entry
_CONTINUED = ord("M")


class TarEntry(Struct):
    """One entry; its data follows in the stream."""

    position: int
    name: bytes
    type: int  # the type flag as a byte
    size: int  # bytes of data in the stream
    sparse: Map | None = None  # where the data belongs, if it is not contiguous
    file: bool = False  # has data although its type is not a file's

    @property
    def directory(self) -> bool:
        return not self.file and (
            self.type in _DIRECTORIES or (not self.size and self.type in (0, ord("0")) and self.name.endswith(b"/"))
        )

    @property
    def link(self) -> bool:
        return not self.file and self.type in _LINKS

    @property
    def special(self) -> bool:
        return not self.file and self.type in _SPECIAL

    @property
    def continued(self) -> bool:
        return self.type == _CONTINUED

    @property
    def padding(self) -> int:
        """Bytes after the data up to the next block."""
        return -self.size % BLOCK


class _Extensions(Struct):
    """Values of extension headers for the next entry (pax 'x', GNU 'L') and for all that follow (pax 'g')."""

    one: dict[bytes, bytes] = field(default_factory=dict)
    everything: dict[bytes, bytes] = field(default_factory=dict)
    pieces: list[bytes] = field(default_factory=list)  # of the map of a sparse file, whose keys may repeat

    def get(self, key: bytes) -> bytes | None:
        return self.one.get(key, self.everything.get(key))


class Outside(Struct):
    """Bytes that are in no entry and not zero."""

    damaged: int = 0  # before the end of the archive
    entries: int = 0  # that came before the damage
    after: int = 0  # after it
    last: bytearray = field(default_factory=bytearray)  # the first of the bytes after it

    def error(self) -> DocumentError | None:
        """Return the error of an archive that was read to its end, if any."""
        if self.damaged:
            return corrupt(f"damaged tar header after {self.entries} entries; {self.damaged:,} bytes were not read")
        if self.after:
            detail = f"{self.after:,} bytes follow the end of the tar archive and are not part of an entry"
            return corrupt(detail, missing=0)
        return None


def iter_tar(reader: ByteReader, outside: Outside) -> Iterator[TarEntry]:
    """Yield the entries in order, of concatenated archives too. The caller reads an entry's data (or some of it) before
    it takes the next entry; the rest is skipped. Blocks that are not an entry are skipped up to the next header and
    counted. Raises DocumentError `truncated` if the stream ends without a zero block."""
    extensions = _Extensions()
    position, ended = 0, False
    while True:
        header = reader.read(BLOCK)
        if not header.strip(b"\0"):
            if len(header) < BLOCK:
                if ended or outside.damaged:
                    return
                raise truncated(f"the tar archive breaks off after {position} entries")
            ended = True
            reader.pass_over(BLOCK)
            continue
        entry = _entry(header, position, extensions) if is_tar_header(header) else None
        if entry is not None and entry.type in _EXTENSIONS and _extend(extensions, entry, reader):
            ended = False
            continue
        if entry is None or entry.type in _EXTENSIONS:
            if len(header) < BLOCK and not ended:
                raise truncated(f"the tar archive breaks off after {position} entries")
            extensions = _Extensions()
            _pass_over(reader, header, outside, ended, position)
            continue
        extensions.one, extensions.pieces, ended = {}, [], False
        if entry.size and (entry.directory or entry.link or entry.special):
            _settle(entry, reader)
        while entry.sparse is not None and entry.sparse.extended:  # these blocks are no part of the size
            more_pieces(entry.sparse, reader.read(BLOCK))
        end = reader.position + entry.size + entry.padding
        if entry.type != _VOLUME:
            yield entry
            position += 1
        reader.skip_to(end)


def _settle(entry: TarEntry, reader: ByteReader) -> None:
    """Find out whether data follows a link, a directory or a special file that has a size: pax writes it after hard
    links, other programs record the size without data. In the second case a header follows, or the end."""
    behind = reader.read(BLOCK)
    reader.give_back(behind)
    if not behind.strip(b"\0") or is_tar_header(behind):
        entry.size = 0
    elif entry.type != ord("D"):  # GNU's list of what was in the directory
        entry.file = True


def _pass_over(reader: ByteReader, block: bytes, outside: Outside, ended: bool, position: int) -> None:
    """Skip to the next header, or to the end."""
    found = bytearray()
    count = solid = 0  # bytes; those of them up to the last that is not zero
    while block and not (count and is_tar_header(block)):
        reader.pass_over(len(block))
        if len(found) < SMALL_MEMBER:
            found += block
        if filled := len(block.rstrip(b"\0")):
            solid = count + filled
        count += len(block)
        block = reader.read(BLOCK)
    reader.give_back(block)
    if ended:
        outside.after += solid
        outside.last = found[: solid + -solid % BLOCK]
    else:
        outside.entries = outside.entries or position
        outside.damaged += solid


def _entry(header: bytes, position: int, extensions: _Extensions) -> TarEntry | None:
    """Parse a header; return None if its size is impossible."""
    kind = header[156]
    size = _number(header[124:136])
    name = header[:100].partition(b"\0")[0]
    if header[257:263] == b"ustar\0":
        prefix = header[345:500].partition(b"\0")[0]
        if prefix:
            name = prefix + b"/" + name
    sparse = None
    if kind not in _EXTENSIONS:
        name = extensions.get(b"path") or name
        sparse = from_header(header) if kind == ord("S") else from_records(extensions.one, extensions.pieces)
        # Some programs store there the expanded size of a sparse file.
        if (wide := extensions.get(b"size")) and (sparse is None or size < 0):
            size = int(wide) if wide.isdigit() and len(wide) < 20 else -1
        name = extensions.get(b"GNU.sparse.name") or name
    return TarEntry(position=position, name=name, type=kind, size=size, sparse=sparse) if size >= 0 else None


def _number(raw: bytes) -> int:
    """Parse octal digits, or base 256 if the first bit is set; return -1 if it is neither."""
    if raw[0] == 0x80:
        return int.from_bytes(raw[1:], "big")
    digits = raw.strip(b" \0").partition(b"\0")[0].strip()
    if not digits:
        return 0
    try:
        return int(digits, 8)
    except ValueError:
        return -1


def _extend(extensions: _Extensions, entry: TarEntry, reader: ByteReader) -> bool:
    """Read the data of an extension header; return False if it is too large to be one."""
    if entry.size > _MAX_EXTENSION:
        return False
    data = reader.read(entry.size)
    if len(data) < entry.size:
        raise truncated(f"the tar archive breaks off after {entry.position} entries")
    reader.skip_to(reader.position + entry.padding)
    if entry.type == ord("L"):
        extensions.one[b"path"] = data.rstrip(b"\0")
    elif entry.type in b"xgX":
        target = extensions.everything if entry.type == ord("g") else extensions.one
        for key, value in _records(data):
            if entry.type != ord("g") or len(value) <= _MAX_FOR_ALL:
                target[key] = value
            if key in (b"GNU.sparse.offset", b"GNU.sparse.numbytes"):
                extensions.pieces.append(value)
    return True


def _records(data: bytes) -> Iterator[tuple[bytes, bytes]]:
    """Yield the records `length key=value newline` of a pax header; stop at the first malformed one."""
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
