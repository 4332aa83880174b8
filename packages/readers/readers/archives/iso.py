"""Images of optical discs (ISO 9660 with Rock Ridge, Joliet or UDF names), read with pycdlib."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, BinaryIO, NamedTuple

import pycdlib
from msgspec import Struct
from pycdlib.pycdlibexception import PyCdlibException

from readers.archives.zip.handler import failed_member, link_member, streamed_member
from readers.base import Child, ContainerHandler, Declared, Part, Source
from readers.errors import DocumentError, corrupt, truncated
from readers.records import Limits
from readers.rest import rest
from readers.streams import CHUNK, PieceStream, scattered

_ERRORS = (PyCdlibException, struct.error, ValueError, LookupError, AttributeError, TypeError)


class _Path(NamedTuple):
    """A file in an image."""

    kind: str  # of names, as pycdlib calls it
    path: str

    @property
    def asked(self) -> dict[str, str]:
        """The argument of pycdlib's functions."""
        return {self.kind: self.path}

    def shown(self) -> bytes:
        """Return the member's name without the version that plain ISO 9660 appends to it."""
        name = self.path.lstrip("/")
        if self.kind == "iso_path":
            name = name.partition(";")[0].removesuffix(".")
        return name.encode("utf-8", "backslashreplace")


class _Tree(Struct, frozen=True):
    """An open image and the kinds of names in it."""

    image: Any
    kinds: tuple[str, ...]  # pycdlib's names for them; the most informative first

    def files(self) -> Iterator[_Path]:
        """Yield paths in the order of the directories, then those of files that have only another kind of name."""
        seen: set[tuple[int, int]] = set()
        for kind in self.kinds:
            for folder, _, files in self.image.walk(**{kind: "/"}):
                for name in files:
                    path = _Path(kind, f"{folder.rstrip('/')}/{name}")
                    place = self.place(path) if len(self.kinds) > 1 else (0, 0)
                    if kind == self.kinds[0] or (place[1] > 0 and place not in seen):
                        yield path
                    seen.add(place)

    def place(self, path: _Path) -> tuple[int, int]:
        """Return the position of a file and its length in bytes (less if the image is cut: pycdlib shortens the file
        that reaches beyond its end); the length is negative for a symbolic link."""
        record = self.image.get_record(**path.asked)
        extension = getattr(record, "rock_ridge", None)
        length = -1 if extension is not None and extension.is_symlink() else int(record.get_data_length())
        return int((record.inode or record).extent_location()) * int(self.image.logical_block_size), length

    def cut(self, size: int) -> bool:
        """Whether the volume is longer than its image."""
        return self.end() > size

    def end(self) -> int:
        """Return the position of the volume's end."""
        return int(self.image.pvd.space_size) * int(self.image.logical_block_size)


@contextmanager
def _opened(file: BinaryIO) -> Iterator[_Tree]:
    """Open the image. Raises DocumentError `corrupt` if its directories cannot be read."""
    image = pycdlib.PyCdlib()
    try:
        image.open_fp(file)
    except _ERRORS as error:
        raise _damaged(error) from error
    kinds = {
        "rr_path": image.has_rock_ridge(),
        "joliet_path": image.has_joliet(),
        "udf_path": image.has_udf(),
        "iso_path": not image.has_rock_ridge(),  # else its names are those of Rock Ridge
    }
    try:
        yield _Tree(image, tuple(kind for kind, there in kinds.items() if there))
    finally:
        image.close()


def _damaged(error: Exception) -> DocumentError:
    return corrupt(f"the disc image cannot be read: {error}"[:300])


class IsoHandler(ContainerHandler):
    """A disc image; its files are its children, with their position as ordinal."""

    name = "iso"
    declared = Declared(
        title="Images of optical discs (ISO 9660)",
        extensions=("iso",),
        children="files, directory by directory, under their Rock Ridge, Joliet or UDF names if they have any, then "
        "files that have only another kind of name; symbolic links as items without bytes",
        announces="the directories",
        leaves_out=(
            "times, owners and permissions of members",
            "images that have only UDF",
            "boot images",
            "directories, which are not items",
        ),
    ).alone()

    def announced(self, source: Source) -> int | None:
        """Return the number of files in all directories; None if these cannot be read."""
        try:
            with scattered(source.open()) as file, _opened(file) as tree:
                return sum(1 for _ in _paths(tree))
        except DocumentError:
            return None

    def children(self, source: Source, limits: Limits, part: Part | None = None) -> Iterator[Child]:
        """Yield the files by directory. One that is cut is failed, a large one is truncated."""
        with scattered(source.open()) as file, _opened(file) as tree:
            end, last = source.size if tree.cut(source.size) else None, 0
            for position, path in enumerate(_paths(tree)):
                yield from _child(tree, path, position, end)
                last = position + 1
            yield from rest(file, tree.end(), source.size, last, "disc image")


def _paths(tree: _Tree) -> Iterator[_Path]:
    try:
        yield from tree.files()
    except _ERRORS as error:
        raise _damaged(error) from error


def _child(tree: _Tree, path: _Path, position: int, end: int | None) -> Iterator[Child]:
    """Yield the child at this path; `end` is the end of the image if it is cut."""
    name = path.shown()
    try:
        start, length = tree.place(path)
        if length < 0 and (end is None or start < end):
            yield link_member(name, position)
            return
        broken = end is not None and length > 0 and start + length >= end
        if end is not None and (start >= end or length < 0) and length != 0:
            raise _cut()
        stream = tree.image.open_file_from_iso(**path.asked)
    except _ERRORS as error:
        yield failed_member(name, position, _damaged(error))
        return
    except DocumentError as error:
        yield failed_member(name, position, error)
        return
    with stream as content:
        child = streamed_member(name, position, PieceStream.of(_pieces(content, length)), length)
        if broken and child.error is None:
            child.error = _cut()
        yield child


def _cut() -> DocumentError:
    return truncated("the disc image ends before the file does")


def _pieces(content: BinaryIO, length: int) -> Iterator[bytes]:
    """Yield the bytes of a file. Raises DocumentError `truncated` if the image ends before the file."""
    while length:
        try:
            piece = bytes(content.read(min(CHUNK, length)))
        except _ERRORS as error:
            raise _damaged(error) from error
        if not piece:
            raise _cut()
        length -= len(piece)
        yield piece
