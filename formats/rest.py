"""Bytes of a file that are in none of its members: outside of an archive, or of a document."""

from __future__ import annotations

from collections.abc import Iterator
from typing import BinaryIO

from core.errors import DocumentError, ExceptionCode
from core.records import Kind
from formats.base import Child, MemorySource
from formats.streams import CHUNK, SMALL_MEMBER, RangeStream

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
    """Account for the bytes in this range, which belong to no member. Zeros at its start are padding and ignored. Others
    are `corrupt` with their number, after a child (if `opened`) that has them where they are of a known type."""
    from formats.identification.identify import (
        UNKNOWN,
        identify,
    )  # it looks into zip archives, whose reader is one of ours

    at = _past_zeros(file, start, stop)
    if at >= stop:
        return
    count = stop - at
    detail = f"{count:,} {name.decode()} of the {what}"
    file.seek(at)
    first = file.read(min(count, SMALL_MEMBER))
    small = count <= SMALL_MEMBER
    known = opened and identify(MemorySource(name, first)) != UNKNOWN
    if opened and small and not known and (bare := first.rstrip(b"\0")) != first:
        first, known = bare, identify(MemorySource(name, bare)) != UNKNOWN
    if known:
        yield Child(
            name=name,
            kind=kind,
            ordinal=ordinal,
            data=first if small else None,
            stream=None if small else RangeStream.buffered(file, at, count),
            size_hint=None if small else count,
        )
        detail += " are an item of their own"
    else:
        detail += " were not read"
    raise DocumentError(ExceptionCode.CORRUPT, detail, missing=0)


def _past_zeros(file: BinaryIO, start: int, stop: int) -> int:
    """Where the first byte that is not zero is, or `stop`."""
    file.seek(start)
    while start < stop and (piece := file.read(min(CHUNK, stop - start))):
        if rest := piece.lstrip(b"\0"):
            return start + len(piece) - len(rest)
        start += len(piece)
    return stop
