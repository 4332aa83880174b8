"""Tar archives."""

from __future__ import annotations

import io
from collections.abc import Iterator
from typing import BinaryIO

from readers.archives.names import shown
from readers.archives.tar.reader import ByteReader, Outside, TarEntry, expanded, iter_tar
from readers.base import Child, ContainerHandler, Declared, Part, Source
from readers.errors import DocumentError, ExceptionCode, truncated
from readers.records import Kind, Limits
from readers.rest import rest
from readers.streams import CHUNK, SMALL_MEMBER, PieceStream, as_binary

# The members of a tar archive as children, from a file or a stream.

_SPECIAL = {ord("3"): "inode/chardevice", ord("4"): "inode/blockdevice"}


def tar_children(stream: BinaryIO, *, size: int | None, skippable: int | None = None) -> Iterator[Child]:
    """Yield every entry but directories, with its position among all entries as ordinal. Links and special files come
    with their exception and without bytes. `size` is the size of the archive if it is a plain file (in which reading
    can seek), None if it is being decompressed: then at most `skippable` bytes may be decompressed only to skip them.
    Raises DocumentError at the end if the archive is cut or damaged, or if bytes follow it."""
    reader = ByteReader(stream, seeks=size is not None, skippable=skippable)
    outside, ordinal = Outside(), 0
    try:
        for entry in iter_tar(reader, outside):
            ordinal = entry.position + 1
            if entry.directory:
                continue
            if size is not None and reader.position + entry.size > size:
                raise _cut(entry)
            yield _child(entry, reader)
    except DocumentError as error:
        # The reason why the stream ended is more useful than the fact.
        raise (reader.error or error) from error
    if reader.error is not None:
        raise reader.error
    if not outside.damaged and outside.after <= len(outside.last):
        yield from rest(io.BytesIO(outside.last), 0, len(outside.last), ordinal, "tar archive")
    if (wrong := outside.error()) is not None:
        raise wrong


def _cut(entry: TarEntry) -> DocumentError:
    return truncated(f"the tar archive breaks off in entry {entry.position}")


def _child(entry: TarEntry, reader: ByteReader) -> Child:
    child = Child(name=entry.name, kind=Kind.ARCHIVE_MEMBER, ordinal=entry.position, data=b"")
    if entry.link:
        child.data, child.media_type = None, "inode/symlink"  # no bytes, which is not zero bytes
        child.error = DocumentError(ExceptionCode.SYMLINK, "a link in the archive; not followed")
        return child
    if entry.special:
        child.data, child.media_type = None, _SPECIAL.get(entry.type, "inode/fifo")
        child.error = DocumentError(ExceptionCode.SPECIAL_FILE, "a FIFO or device in the archive")
        return child
    if entry.sparse is not None:
        child.data, child.size_hint = None, entry.sparse.size
        child.stream = as_binary(PieceStream.of(_sparse(entry, reader)))
    elif entry.size <= SMALL_MEMBER:
        child.data = reader.read(entry.size)
        if len(child.data) < entry.size:
            raise reader.error or _cut(entry)
    else:
        child.data = None
        child.stream = as_binary(PieceStream.of(_pieces(entry, reader)))
        child.size_hint = entry.size
    if entry.continued:
        child.error = truncated("its beginning is in another volume of the archive")
    return child


def _sparse(entry: TarEntry, reader: ByteReader) -> Iterator[bytes]:
    """Yield the content of a sparse file with its holes."""
    found = entry.sparse
    assert found is not None  # the caller has looked

    def read(count: int) -> bytes:
        data = reader.read(count)
        if not data:
            raise reader.error or _cut(entry)
        return data

    return expanded(found, entry.size, read)


def _pieces(entry: TarEntry, reader: ByteReader) -> Iterator[bytes]:
    left = entry.size
    while left:
        data = reader.read(min(CHUNK, left))
        if not data:
            raise reader.error or _cut(entry)
        left -= len(data)
        yield data


class TarHandler(ContainerHandler):
    """A tar archive, which has no directory: one slot reads it from front to back."""

    name = "tar"
    declared = Declared(
        title="Tar archives",
        extensions=("tar",),
        children="members in order, under their pax or GNU long names, also of several archives in a row; sparse files "
        "in full; links, FIFOs and devices as items without bytes, unless bytes are stored with them; data of "
        "a known type after the end",
        leaves_out=(
            "times, owners and permissions of members",
            "the beginning of a file that is continued from another volume",
            "directory entries, which are not items",
            "the padding of a member's last block",
        ),
    ).alone()

    def children(self, source: Source, limits: Limits, part: Part | None = None) -> Iterator[Child]:
        """See `tar_children`."""
        with source.open() as file:
            yield from shown(tar_children(file, size=source.size))
