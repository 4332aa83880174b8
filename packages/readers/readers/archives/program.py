"""Self-extracting archives: programs for DOS and Windows (Microsoft's PE format) that contain an archive after their
own sections, or a cabinet among their resources."""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator
from typing import BinaryIO

from readers.archives.libarchive import CabHandler
from readers.archives.rar import SIGNATURE_4, SIGNATURE_5, RarHandler
from readers.archives.sevenz.handler import SevenZipHandler
from readers.archives.zip.directory import find_directory
from readers.archives.zip.handler import ZipHandler
from readers.base import Child, Declared, LeafHandler, Part, Source, Text
from readers.errors import DocumentError
from readers.passwords import Passwords
from readers.records import Limits, TextState
from readers.streams import CHUNK, RangeStream

_SECTION = struct.Struct("<8s8xLL16x")
_MOST_SETTINGS = 1 << 16  # bytes between the program and its archive; 7-Zip stores there what to run
_ARCHIVES: tuple[tuple[bytes, LeafHandler], ...] = (
    (b"7z\xbc\xaf\x27\x1c\0", SevenZipHandler()),
    (SIGNATURE_4, RarHandler()),
    (SIGNATURE_5, RarHandler()),
    (b"MSCF\0\0\0\0", CabHandler()),
)
_MAGIC = re.compile(b"|".join(re.escape(magic) for magic, _ in _ARCHIVES))
_LONGEST = max(len(magic) for magic, _ in _ARCHIVES) - 1
_ZIP = ZipHandler()


class ProgramHandler(LeafHandler):
    """A program; the members of the archive in it are its children."""

    name = "program"
    whole = False
    declared = Declared(
        title="Self-extracting archives",
        extensions=("exe",),
        children="members of the zip, 7z or RAR archive or the cabinet inside",
        announces="the archive inside",
        leaves_out=(
            "other programs, and installers of other kinds (NSIS, Inno Setup, MSI)",
            "programs for other systems",
        ),
    ).alone()

    def announced(self, source: Source) -> int | None:
        """Return the number that the archive announces."""
        found = _carried(source)
        return None if found is None else found[0].announced(found[1])

    def children(self, source: Source, limits: Limits, part: Part | None = None) -> Iterator[Child]:
        """Yield the children of the archive. Raises the errors of its handler."""
        found = _carried(source)
        if found is not None:
            yield from found[0].children(found[1], limits)

    def text(self, source: Source, limits: Limits) -> Text:
        """Return no text: `unsupported` if the program contains no archive."""
        return Text(state=TextState.UNSUPPORTED if _carried(source) is None else TextState.EMPTY)


class _Window:
    """The archive as a source: a range of the program."""

    def __init__(self, source: Source, start: int, stop: int) -> None:
        self.name, self.size = source.name, stop - start
        self._source, self._start = source, start

    @property
    def head(self) -> bytes:
        with self.open() as file:
            return file.read(4096)

    @property
    def passwords(self) -> Passwords:
        return self._source.passwords

    def open(self) -> BinaryIO:
        return RangeStream.buffered(self._source.open(), self._start, self.size, owns=True)

    def whole(self, limit: int) -> bytes:
        with self.open() as file:
            return file.read(limit)


def _carried(source: Source) -> tuple[LeafHandler, Source] | None:
    """Return the handler of the archive in the program, and the archive as a source; None if there is none."""
    overlay, stop, resources = _places(source.head, source.size)
    behind = (overlay, min(stop, overlay + _MOST_SETTINGS)) if overlay < stop else (0, stop)  # the header may be wrong
    with source.open() as file:
        for start, end in (behind, *resources):
            if (found := _found(file, start, min(end, source.size))) is not None:
                at, handler = found
                window = _Window(source, at, stop if at >= overlay else source.size)
                if start == overlay or handler.announced(window) is not None:
                    return handler, window
        try:
            # Offsets in a zip archive may count from the program's first byte; the zip handler corrects others.
            directory = find_directory(file, stop)
        except DocumentError:
            return None
        return (_ZIP, _Window(source, 0, stop)) if directory.entries else None


def _places(head: bytes, size: int) -> tuple[int, int, list[tuple[int, int]]]:
    """Return the program's end, where an archive may begin; the archive's end; ranges of resources."""
    at = int.from_bytes(head[60:64], "little")
    if not head.startswith(b"PE\0\0", at) or len(head) < at + 24:
        last, pages = struct.unpack_from("<2xHH", head) if len(head) >= 6 else (0, 0)  # of DOS: its image in pages
        return max(0, 512 * pages - (512 - last if last else 0)), size, []
    count, optional = struct.unpack_from("<6xH12xH", head, at)
    table = at + 24 + optional
    wide = head[at + 24 : at + 26] == b"\x0b\x02"
    directories = at + 24 + (112 if wide else 96)
    signature = int.from_bytes(head[directories + 32 : directories + 36], "little")
    end, resources = table + _SECTION.size * count, []
    for place in range(table, min(end, len(head) - _SECTION.size + 1), _SECTION.size):
        name, length, start = _SECTION.unpack_from(head, place)
        end = max(end, start + length)
        if name.rstrip(b"\0") == b".rsrc":
            resources.append((start, start + length))
    return end, signature if end <= signature < size else size, resources


def _found(file: BinaryIO, start: int, stop: int) -> tuple[int, LeafHandler] | None:
    """Return the position of the first archive other than a zip archive, and its handler."""
    carry, at = b"", start
    file.seek(start)
    while at < stop and (data := file.read(min(CHUNK, stop - at))):
        window = carry + data
        if (found := _MAGIC.search(window)) is not None:
            return at - len(carry) + found.start(), dict(_ARCHIVES)[found[0]]
        at, carry = at + len(data), window[-_LONGEST:]
    return None
