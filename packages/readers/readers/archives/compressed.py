"""Files compressed by bzip2, xz and Zstandard (RFC 8878), and tar archives in them."""

from __future__ import annotations

import bz2
import lzma
import re
import struct
from collections.abc import Callable, Iterator
from typing import Any, BinaryIO

from isal import isal_zlib

from readers.archives.names import shown
from readers.archives.tar.handler import tar_children
from readers.archives.tar.header import is_tar_header
from readers.base import Child, ContainerHandler, Declared, Handler, Part, Source
from readers.errors import DocumentError, corrupt, truncated, unsupported
from readers.inflate import DECODE_ERRORS, DEFLATED, ISAL_ERROR, Inflater, zstd_decompressor
from readers.records import Kind, Limits
from readers.rest import AFTER_CONTENT, rest
from readers.streams import CHUNK, PieceStream, as_binary

_SMALL = 1 << 20  # content up to this size is handed out as bytes
_FIRST_READ = 1 << 12  # bytes of a stream; doubled up to CHUNK, so that many tiny streams cost no more than their bytes
_MEMORY = 1 << 28  # bytes a decompressor may take
_ZSTD = b"\x28\xb5\x2f\xfd"
_SKIPPABLE = re.compile(rb"[\x50-\x5f]\x2a\x4d\x18.{4}", re.DOTALL)  # RFC 8878, 3.1.2: of other programs' data
_SKIPPABLE_HEAD = 8


def _unxz() -> Any:
    return lzma.LZMADecompressor(lzma.FORMAT_AUTO, memlimit=_MEMORY)


class StreamReader:
    """Content of consecutive streams in a file. `rest` is the position of the bytes after the last whole stream that
    are not a stream; it is set when they are reached."""

    def __init__(self, file: BinaryIO, make: Callable[[], Any], magic: bytes, what: str) -> None:
        self._file, self._make, self._magic, self._what = file, make, magic, what
        self._codec = make()
        self._step = _FIRST_READ
        self.rest: int | None = None

    def piece(self) -> bytes:
        """Return the next bytes; b"" at the end. Raises DocumentError `truncated` or `corrupt` if the file is,
        `unsupported` if it takes more memory than a slot may give."""
        while True:
            if self._codec.eof and not self._next_stream():
                return b""
            data = b""
            if self._codec.needs_input:
                data = self._file.read(self._step)
                self._step = min(CHUNK, 2 * self._step)
                if not data:
                    raise truncated(f"the {self._what} file ends in the middle")
            try:
                out: bytes = self._codec.decompress(data, CHUNK)
            except DECODE_ERRORS as error:
                raise self._failed(error) from error
            if out:
                return out

    def _next_stream(self) -> bool:
        """Start the next stream; return False if there is none."""
        rest = bytes(self._codec.unused_data)
        while True:
            while len(rest := rest.lstrip(b"\0")) < _SKIPPABLE_HEAD and (more := self._file.read(_FIRST_READ)):
                rest += more
            if self._magic != _ZSTD or not _SKIPPABLE.match(rest):
                break
            self._file.seek(_SKIPPABLE_HEAD + int.from_bytes(rest[4:8], "little") - len(rest), 1)
            rest = b""
        if not rest.startswith(self._magic):
            self.rest = self._file.tell() - len(rest)
            return False
        self._codec, self._step = self._make(), _FIRST_READ
        self._file.seek(-len(rest), 1)
        return True

    def _failed(self, error: Exception) -> DocumentError:
        text = str(error)
        if "emory" in text:
            return unsupported(f"the {self._what} file takes too much memory to decode: {text}")
        return corrupt(f"the {self._what} data is damaged: {text}")


def content_children(piece: Callable[[], bytes], name: bytes, skippable: int) -> Iterator[Child]:
    """Yield the members of the tar archive that is decompressed, of which `skippable` bytes may be skipped; otherwise
    the content as one child. What was decompressed before the file is cut or damaged is handed out; the error comes
    after it."""
    content = as_binary(PieceStream(piece))
    first, error = _first(content)
    if error is not None and not first:
        raise error
    rest = as_binary(PieceStream(lambda: content.read(CHUNK), first, error))
    if is_tar_header(first[:512]):
        yield from shown(tar_children(rest, size=None, skippable=skippable))
        return
    whole = error is None and len(first) < _SMALL
    yield Child(
        name=name,
        kind=Kind.ARCHIVE_MEMBER,
        ordinal=0,
        data=first if whole else None,
        stream=None if whole else rest,
    )


def after_streams(file: BinaryIO, start: int | None, size: int, what: str) -> Iterator[Child]:
    """Yield children after the streams (see `rest`); none if the streams were not read to their end."""
    if start is not None:
        yield from rest(file, start, size, AFTER_CONTENT, what)


def _first(content: BinaryIO) -> tuple[bytes, DocumentError | None]:
    """Return the first bytes, and the error that ended them, if any."""
    pieces: list[bytes] = []
    left = _SMALL
    try:
        while left > 0 and (piece := content.read(left)):
            pieces.append(piece)
            left -= len(piece)
    except DocumentError as error:
        return b"".join(pieces), error
    return b"".join(pieces), None


def skippable(size: int, limits: Limits) -> int:
    """Return how many bytes of an archive may be decompressed only to skip them: its expansion limit."""
    return max(limits.expansion_floor, int(limits.expansion_ratio * size))


def bare_name(own: bytes, suffixes: tuple[bytes, ...]) -> bytes:
    """Return the file's own name without the suffix that the program added; `.tbz2` and the like are removed whole."""
    for suffix in suffixes:
        if own.lower().endswith(suffix) and len(own) > len(suffix):
            return own[: -len(suffix)]
    return own or b"content"


class CompressedHandler(ContainerHandler):
    """One compressed file, or the members of a compressed tar."""

    def __init__(
        self,
        name: str,
        media_type: str,
        make: Callable[[], Any],
        magic: bytes,
        suffixes: tuple[bytes, ...],
        left_out: tuple[str, ...] = (),
    ) -> None:
        self.name, self.media_types = name, (media_type,)
        self.declared: tuple[Declared, ...] = (
            Declared(
                title=f"{name} files, and tar archives in them",
                extensions=tuple(suffix[1:].decode() for suffix in suffixes),
                children="the file inside, named without the extension; for a tar archive, its members",
                leaves_out=(*left_out, "data of no known type after the last stream"),
            ),
        )
        self._make, self._magic, self._suffixes = make, magic, suffixes

    def children(self, source: Source, limits: Limits, part: Part | None = None) -> Iterator[Child]:
        """See `content_children`."""
        with source.open() as file:
            reader = StreamReader(file, self._make, self._magic, self.name)
            name = bare_name(source.name, self._suffixes)
            yield from content_children(reader.piece, name, skippable(source.size, limits))
            yield from after_streams(file, reader.rest, source.size, f"{self.name} file")


_MUCH_MEMORY = "streams that take more than 256 MB to decode"


# Gzip files (RFC 1952), of several members too; a tar inside one is opened with it.

_MAGIC = b"\x1f\x8b"
_MAX_HEADER = 1 << 20
_FIRST_STEP = 1 << 8  # bytes of a member that are looked at first; then twice as many, so that tiny ones cost little
_ZEROS = re.compile(rb"\0++")


class GzipReader:
    """Members of a gzip file one after another. The frame is read here and the CRC is checked separately from
    inflating, so that everything inflated is handed out before an error."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._buffer, self._at = b"", 0  # bytes read, and how many of them are used
        self._step = _FIRST_STEP
        self._inflater: Inflater | None = None
        self._members = 0
        self.rest: int | None = None  # position of the bytes after the last member, when it is reached
        self._crc = self._size = 0

    def piece(self) -> bytes:
        """Return the next bytes; b"" at the end. Raises DocumentError `truncated` or `corrupt` if the file is."""
        while True:
            if self._inflater is None and not self._start():
                return b""
            out = self._inflate()
            if out:
                return out

    def _fill(self, count: int) -> bool:
        """Fill the buffer up to `count` bytes; return False if the file ends before."""
        while len(self._buffer) - self._at < count:
            more = self._file.read(CHUNK)
            if not more:
                return False
            self._buffer, self._at = self._buffer[self._at :] + more, 0
        return True

    def _start(self) -> bool:
        """Skip the header of the next member; return False if there is no member."""
        if self._members and not self._at_next_member():
            self.rest = self._file.tell() - len(self._buffer) + self._at
            return False
        most = _FIRST_STEP
        while (length := self._header_length(most)) is None:
            if most > _MAX_HEADER:
                raise corrupt("the gzip header does not end")
            most *= 4
        self._at += length
        self._inflater, self._crc, self._size, self._step = Inflater(DEFLATED), 0, 0, _FIRST_STEP
        return True

    def _header_length(self, most: int) -> int | None:
        """Return the length of the member's header; None if it has more than `most` bytes."""
        there = self._fill(most)
        length = header_length(self._buffer[self._at : self._at + most])
        if length is None and not there:
            raise _cut()
        return length

    def _at_next_member(self) -> bool:
        """Skip zero padding and return whether a member follows; other bytes after the first member are not damage."""
        while self._fill(1):
            padding = _ZEROS.match(self._buffer, self._at)
            self._at = padding.end() if padding else self._at
            if self._at < len(self._buffer):
                return self._fill(2) and self._buffer.startswith(_MAGIC, self._at)
        return False

    def _inflate(self) -> bytes:
        inflater = self._inflater
        assert inflater is not None  # `piece` has started it
        if inflater.ended:
            self._finish(inflater)
            return b""
        data = b""
        if inflater.wants_more:
            if not self._fill(1):
                raise _cut()
            data = self._buffer[self._at : self._at + self._step]
            self._at, self._step = self._at + len(data), min(CHUNK, 2 * self._step)
        try:
            out = inflater.feed(data, CHUNK)
        except ISAL_ERROR as error:
            raise corrupt(f"the gzip data is damaged: {error}") from error
        self._crc = isal_zlib.crc32(out, self._crc)
        self._size += len(out)
        return out

    def _finish(self, inflater: Inflater) -> None:
        """Check the trailer of the member that has ended."""
        self._at -= inflater.unused
        self._inflater = None
        self._members += 1
        if not self._fill(8):
            raise _cut()
        crc, size = struct.unpack_from("<LL", self._buffer, self._at)
        self._at += 8
        if (crc, size) != (self._crc, self._size & 0xFFFFFFFF):
            raise corrupt("the CRC of the gzip file does not match")


def _cut() -> DocumentError:
    return truncated("the gzip file ends in the middle")


def header_length(data: bytes) -> int | None:
    """Return the length of the gzip header at the start (RFC 1952, 2.3); None if more bytes are needed. Raises
    DocumentError `corrupt` if it is not a header."""
    if len(data) < 10:
        return None
    if not data.startswith(_MAGIC) or data[2] != 8:
        raise corrupt("not a gzip header")
    flags, at = data[3], 10
    if flags & 4:
        if len(data) < at + 2:
            return None
        at += 2 + int.from_bytes(data[at : at + 2], "little")
    for flag in (8, 16):
        if flags & flag:
            end = data.find(b"\0", at)
            if end < 0:
                return None
            at = end + 1
    at += 2 if flags & 2 else 0
    return at if len(data) >= at else None


class GzipHandler(ContainerHandler):
    """One compressed file, or the members of a compressed tar."""

    name = "gzip"
    media_types: tuple[str, ...] = ("application/gzip",)
    declared = Declared(
        title="Gzip files, and tar archives in them",
        extensions=("gz", "tgz", "z"),
        children="the file inside, named as in the header or else without the extension; for a tar archive, its members",
        leaves_out=("comments in the header", "data of no known type after the last stream"),
    ).alone()

    def children(self, source: Source, limits: Limits, part: Part | None = None) -> Iterator[Child]:
        """See `content_children`."""
        with source.open() as file:
            allowed = skippable(source.size, limits)
            name = content_name(source)
            reader = GzipReader(file)
            yield from shown(content_children(reader.piece, name, allowed))
            yield from after_streams(file, reader.rest, source.size, "gzip file")


def content_name(source: Source) -> bytes:
    """The name in the gzip header (FNAME), else the file's own less its .gz, .tgz or .z."""
    head = source.head
    if len(head) > 10 and head[3] & 8:
        at = 10
        if head[3] & 4:
            at += 2 + int.from_bytes(head[10:12], "little")
        name, zero, _ = head[at:].partition(b"\0")
        if zero and name:
            return name
    return bare_name(source.name, (b".gz", b".tgz", b".z"))


HANDLERS: tuple[Handler, ...] = (
    CompressedHandler(
        "bzip2", "application/x-bzip2", bz2.BZ2Decompressor, b"BZh", (b".bz2", b".tbz2", b".tbz", b".bz")
    ),
    CompressedHandler("xz", "application/x-xz", _unxz, b"\xfd7zXZ\0", (b".xz", b".txz"), (_MUCH_MEMORY,)),
    CompressedHandler("lzma", "application/x-lzma", _unxz, b"\x5d\0\0", (b".lzma", b".tlz"), (_MUCH_MEMORY,)),
    CompressedHandler(
        "zstd",
        "application/zstd",
        zstd_decompressor,
        _ZSTD,
        (b".zst", b".tzst", b".zstd"),
        ("frames that need a dictionary, or a window of more than 128 MB",),
    ),
    GzipHandler(),
)
