"""The records of a presentation ([MS-PPT] 2.3.1), and the locations of its objects (2.1.2)."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import NamedTuple

from readers.errors import DocumentError, ExceptionCode

HEADER = struct.Struct("<HHI")
USER_EDIT, PERSIST_DIRECTORY = 0x0FF5, 0x1772
_BINARY_TAG_DATA = 0x138B  # an atom by its header, records by what is in it
_PLAIN, _ENCRYPTED = 0xE391C05F, 0xF3D1C4DF  # CurrentUserAtom.headerToken
_BUDGET = 8  # bytes looked at in walks, in units of the stream's size


class Record(NamedTuple):
    """One record; its data are `stream[start:end]`."""

    kind: int
    instance: int
    start: int
    end: int
    container: bool


class Records:
    """The records of one stream. Walks go straight through it, into containers and out of them, and all walks
    together look at no more than `_BUDGET` times the stream: nothing in a file can make them long."""

    def __init__(self, stream: bytes) -> None:
        self.stream = stream
        self._left = _BUDGET * len(stream) + 100_000

    def at(self, offset: int) -> Record | None:
        """The record at this offset, cut off at the end of the stream; None when there is no room for one."""
        if offset < 0 or offset + HEADER.size > len(self.stream):
            return None
        first, kind, size = HEADER.unpack_from(self.stream, offset)
        start = offset + HEADER.size
        end = start + size
        container = first & 0xF == 0xF or kind == _BINARY_TAG_DATA
        return Record(kind, first >> 4, start, end if end < len(self.stream) else len(self.stream), container)

    def below(self, start: int, end: int) -> Iterator[Record]:
        """Every record between two offsets, containers before what they hold. DocumentError when too much has been
        walked."""
        at = start
        while at < end and (record := self.at(at)) is not None:
            begin, at = at, record.start if record.container else record.end
            self._left -= at - begin
            if self._left < 0:
                raise _overlap()
            yield record

    def spend(self, record: Record) -> None:
        """Count the bytes of an object that is taken by its offset: such may overlap. DocumentError as above."""
        self._left -= HEADER.size + record.end - record.start
        if self._left < 0:
            raise _overlap()

    def inside(self, record: Record) -> Iterator[Record]:
        """Every record in a container."""
        return self.below(record.start, record.end)

    def data(self, record: Record) -> bytes:
        """The bytes of an atom."""
        return self.stream[record.start : record.end]

    def word(self, record: Record, offset: int) -> int:
        """A 32-bit word of an atom; 0 where it ends before."""
        at = record.start + offset
        return int.from_bytes(self.stream[at : min(at + 4, record.end)], "little")


def _overlap() -> DocumentError:
    return DocumentError(ExceptionCode.EXPANSION_LIMIT, "the objects of the presentation overlap")


def objects(records: Records, current_user: bytes) -> tuple[dict[int, int], int]:
    """(persist number → offset, persist number of the document): the newest edit first, older ones fill the gaps.

    Raises DocumentError `encrypted` where a password is needed, `corrupt` where the last edit is not to be found.
    """
    if len(current_user) < 20:
        raise DocumentError(ExceptionCode.CORRUPT, "the presentation does not say where its last edit is")
    token, at = struct.unpack_from("<II", current_user, 12)
    if token == _ENCRYPTED:
        raise DocumentError(ExceptionCode.ENCRYPTED, "a password is needed to open it")
    places: dict[int, int] = {}
    document, seen = 0, set[int]()
    while at not in seen and (edit := records.at(at)) is not None and edit.kind == USER_EDIT:
        seen.add(at)
        if records.word(edit, 28):  # encryptSessionPersistIdRef
            raise DocumentError(ExceptionCode.ENCRYPTED, "a password is needed to open it")
        document = document or records.word(edit, 16)
        directory = records.at(records.word(edit, 12))
        if directory is not None and directory.kind == PERSIST_DIRECTORY:
            records.spend(directory)
            for number, offset in entries(records.data(directory)):
                places.setdefault(number, offset)
        at = records.word(edit, 8)
        if not at:
            break
    if document not in places:
        raise DocumentError(ExceptionCode.CORRUPT, "the presentation's last edit is not to be found")
    return places, document


def entries(data: bytes) -> Iterator[tuple[int, int]]:
    """Runs of offsets, each under the number of its first (2.3.5)."""
    at = 0
    while at + 4 <= len(data):
        head = struct.unpack_from("<I", data, at)[0]
        first, count = head & 0xFFFFF, min(head >> 20, (len(data) - at - 4) // 4)
        for i, offset in enumerate(struct.unpack_from(f"<{count}I", data, at + 4)):
            yield first + i, offset
        at += 4 + 4 * (head >> 20)
