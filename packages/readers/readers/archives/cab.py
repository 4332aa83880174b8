"""Cabinets ([MS-CAB]): stored, MSZIP and LZX, read with libarchive."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from contextlib import closing

from readers.archives.libarchive.library import ArchiveReader
from readers.archives.libarchive.members import all_members
from readers.archives.names import shown
from readers.base import Child, Handler, LeafHandler, Part, Source, Text
from readers.declared import Declared
from readers.errors import DocumentError, ExceptionCode
from readers.records import Limits, TextState

_HEADER = struct.Struct("<28xHH")  # CFHEADER up to cFiles and flags
_SIGNATURE = struct.Struct("<8xL18xH4xH6xLL")  # cbCabinet, flags, cbCFHeader, then what Authenticode has there
_RESERVED, _SIGNED = 4, 20
_IN_A_SET = 3  # flags: there is a cabinet before or behind this one


class CabHandler(LeafHandler):
    """A cabinet; its files are its children, with their position as ordinal."""

    name = "cab"
    media_types: tuple[str, ...] = ("application/vnd.ms-cab-compressed",)
    container = True
    whole = False
    declared: tuple[Declared, ...] = (
        Declared(
            title="Cabinets",
            extensions=("cab",),
            children="files in the order of the directory",
            announces="the number of files in the header",
            leaves_out=(
                "times, owners and permissions of members",
                "Quantum compression",
                "files that reach into another cabinet of a set",
                "files behind damage",
            ),
        ),
    )

    def announced(self, source: Source) -> int | None:
        """The number of files in the header; None where it is cut."""
        return _header(source)[0] if len(source.head) >= _HEADER.size else None

    def children(self, source: Source, limits: Limits, part: Part | None = None) -> Iterator[Child]:
        """The files in order. One that cannot be read is a Child with an error that is not emitted. Raises
        `unsupported` after the last file of one cabinet of a set, `corrupt` or `truncated` where it is damaged."""
        in_a_set = len(source.head) >= _HEADER.size and bool(_header(source)[1] & _IN_A_SET)
        with source.open() as file, closing(ArchiveReader(file, source.size, "cab")) as reader:
            end = _end(source.head)
            yield from shown(all_members(reader, source.size, limits, solid=True, file=file, what="cabinet", end=end))
        if in_a_set:
            raise DocumentError(
                ExceptionCode.UNSUPPORTED, "one cabinet of a set; the others are read by themselves", missing=0
            )

    def text(self, source: Source, limits: Limits) -> Text:
        """Return no text: an archive has none of its own."""
        return Text(state=TextState.EMPTY)


def _end(head: bytes) -> int | None:
    """Where the cabinet ends, with the signature that may follow it: its place is in the reserved bytes of the header then."""
    if len(head) < _SIGNATURE.size:
        return None
    length, flags, reserved, at, size = _SIGNATURE.unpack_from(head)
    return max(int(length), int(at + size)) if flags & _RESERVED and reserved == _SIGNED else int(length)


def _header(source: Source) -> tuple[int, int]:
    """(number of files, flags)."""
    files, flags = _HEADER.unpack_from(source.head)
    return int(files), int(flags)


HANDLERS: tuple[Handler, ...] = (CabHandler(),)
