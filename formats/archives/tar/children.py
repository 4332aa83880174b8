"""The members of a tar archive as children, whatever the archive is read from."""

from __future__ import annotations

from collections.abc import Iterator
from typing import BinaryIO

from core.errors import DocumentError, ExceptionCode
from core.records import Kind
from formats.archives.tar.byte_reader import ByteReader
from formats.archives.tar.reader import TarEntry, iter_tar
from formats.base import Child
from formats.streams import CHUNK, SMALL_MEMBER, PieceStream, as_binary

_SPECIAL = {ord("3"): "inode/chardevice", ord("4"): "inode/blockdevice"}


def tar_children(stream: BinaryIO, *, size: int | None, skippable: int | None = None) -> Iterator[Child]:
    """Every entry but directories, its position among all entries as ordinal. Links and special files come with
    their exception and without bytes. `size` is that of the archive where it is a plain file (which can be skipped
    through), None where it is being decompressed: then at most `skippable` bytes are, that nobody wants. Ends with
    DocumentError where the archive is cut or damaged."""
    reader = ByteReader(stream, seeks=size is not None, skippable=skippable)
    try:
        for entry in iter_tar(reader):
            if entry.directory:
                continue
            if size is not None and reader.position + entry.size > size:
                raise _cut(entry)
            yield _child(entry, reader)
    except DocumentError as error:
        # Why the stream ended says more than that it did.
        raise (reader.error or error) from error


def _cut(entry: TarEntry) -> DocumentError:
    return DocumentError(ExceptionCode.TRUNCATED, f"the tar archive breaks off in entry {entry.position}")


def _child(entry: TarEntry, reader: ByteReader) -> Child:
    child = Child(name=entry.name, kind=Kind.ARCHIVE_MEMBER, ordinal=entry.position, data=b"")
    if entry.link:
        child.data, child.media_type = None, "inode/symlink"  # no bytes, which is not zero bytes
        child.error = DocumentError(ExceptionCode.SYMLINK, "a link in the archive; not followed")
    elif entry.special:
        child.data, child.media_type = None, _SPECIAL.get(entry.type, "inode/fifo")
        child.error = DocumentError(ExceptionCode.SPECIAL_FILE, "a FIFO or device in the archive")
    elif entry.sparse or entry.type == ord("M"):
        child.error = DocumentError(ExceptionCode.UNSUPPORTED, "a sparse or continued file in a tar archive", missing=1)
        child.emit = False
    elif entry.size <= SMALL_MEMBER:
        child.data = reader.read(entry.size)
        if len(child.data) < entry.size:
            raise reader.error or _cut(entry)
    else:
        child.data = None
        child.stream = as_binary(PieceStream(_Pieces(entry, reader).piece))
        child.size_hint = entry.size
    return child


class _Pieces:
    """The data of a large member."""

    def __init__(self, entry: TarEntry, reader: ByteReader) -> None:
        self._entry, self._reader, self._left = entry, reader, entry.size

    def piece(self) -> bytes:
        data = self._reader.read(min(CHUNK, self._left))
        self._left -= len(data)
        if not data and self._left:
            raise self._reader.error or _cut(self._entry)
        return data
