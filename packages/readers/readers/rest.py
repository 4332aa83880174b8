"""Bytes of a file that belong to no member: outside of an archive, or of a document."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import BinaryIO

from readers.base import Child, MemorySource, Source
from readers.errors import corrupt
from readers.records import Kind
from readers.streams import CHUNK, SMALL_MEMBER, RangeStream

AFTER_CONTENT = (1 << 62) - 1  # an ordinal after those of all members
AFTER, BEFORE = b"bytes after the end", b"bytes before the beginning"


def rest(
    file: BinaryIO,
    start: int,
    stop: int,
    ordinal: int,
    what: str,
    *,
    name: bytes = AFTER,
    opened: bool = True,
    kind: Kind = Kind.ARCHIVE_MEMBER,
) -> Iterator[Child]:
    """Account for the bytes in this range, which belong to no member. Zeros at its start are padding and ignored. Other
    bytes are `corrupt` with their number, after a child (if `opened`) that contains them if they are of a known
    type."""
    at = _past_zeros(file, start, stop)
    if at >= stop:
        return
    count = stop - at
    detail = f"{count:,} {name.decode()} of the {what}"
    file.seek(at)
    first = file.read(min(count, SMALL_MEMBER))
    small = count <= SMALL_MEMBER
    known = opened and _known(MemorySource(name, first))
    if opened and small and not known and (bare := first.rstrip(b"\0")) != first:
        first, known = bare, _known(MemorySource(name, bare))
    if known:
        yield Child(
            name=name,
            kind=kind,
            ordinal=ordinal,
            data=first if small else None,
            stream=None if small else RangeStream.buffered(file, at, count),
            size_hint=None if small else count,
        )
        detail += " are a separate item"
    else:
        detail += " were not read"
    raise corrupt(detail, missing=0)


_ASKED: list[Callable[[Source], bool]] = []


def known_by(asked: Callable[[Source], bool]) -> None:
    """Set the function that recognises known types: identification, which imports this module."""
    _ASKED[:] = [asked]


def _known(source: Source) -> bool:
    return any(asked(source) for asked in _ASKED)


def _past_zeros(file: BinaryIO, start: int, stop: int) -> int:
    """Return the position of the first byte that is not zero, or `stop`."""
    file.seek(start)
    while start < stop and (piece := file.read(min(CHUNK, stop - start))):
        if rest := piece.lstrip(b"\0"):
            return start + len(piece) - len(rest)
        start += len(piece)
    return stop
