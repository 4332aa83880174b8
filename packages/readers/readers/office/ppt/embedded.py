"""Objects that a presentation carries ([MS-PPT] 2.10.34): each the compound file of its program, as a rule deflated."""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator

from readers.base import Child
from readers.errors import DocumentError, ExceptionCode
from readers.office import vba as office_vba
from readers.office.ole import objects as ole_objects
from readers.office.ole.compound import CompoundFile
from readers.office.ppt.records import Record, Records
from readers.office.ppt.text import OLE_STORAGE
from readers.records import Kind, Limits

_STEP = 4096  # deflated bytes at a time: what is lost of a damaged object is no more than one step gives
_BEGIN = 6  # behind the object's size and the two bytes in front of a zlib stream


def child(records: Records, record: Record, position: int, limits: Limits) -> Child:
    """An embedded object: the file in its package, else the compound file that it is. Of a damaged one what there is."""
    name = b"object-%d" % position
    data: bytes | None = None
    error: DocumentError | None = None
    try:
        data, error = _storage(records, record, limits)
        inner = CompoundFile(data)
        file = ole_objects.carried(inner, inner.root)
        if file is not None:
            name, data = file[0] or name, file[1]
    except DocumentError as failed:
        error = error or failed
    return Child(name=name, kind=Kind.EMBEDDED_OBJECT, ordinal=position, data=data, error=error)


def macros(records: Records, storages: Iterable[Record], position: int, limits: Limits) -> Iterator[Child]:
    """The modules of its macros, from this position on. DocumentError when they cannot be read."""
    for record in storages:
        data, error = _storage(records, record, limits)
        yield from office_vba.children(CompoundFile(data), limits, position)
        if error is not None:
            raise error


def _storage(records: Records, record: Record, limits: Limits) -> tuple[bytes, DocumentError | None]:
    """Return the compound file of an object and its damage. Raises DocumentError when none of it is readable."""
    if record.kind != OLE_STORAGE:
        raise DocumentError(ExceptionCode.CORRUPT, "an embedded object is not at the position that the document gives")
    records.spend(record)
    data = records.data(record)
    if record.instance != 1:
        return data, None
    whole, error = _inflated(data, limits.parse_bytes)
    if error is not None and not whole:
        raise error
    return whole, error


def _inflated(data: bytes, most: int) -> tuple[bytes, DocumentError | None]:
    """As many bytes as can be inflated. Many programs leave out the checksum behind them: one that has as many bytes as
    it announces is whole. DocumentError `too_large`."""
    inflater, pieces, left = zlib.decompressobj(-zlib.MAX_WBITS), list[bytes](), most
    end = _BEGIN
    try:
        while end < len(data) and not inflater.eof:
            pieces.append(inflater.decompress(data[end : end + _STEP], left + 1))
            left -= len(pieces[-1])
            if left < 0:
                raise DocumentError(ExceptionCode.TOO_LARGE, f"an embedded object of more than {most} bytes")
            end = min(end + _STEP, len(data)) - len(inflater.unused_data)
    except zlib.error as failed:
        detail = f"an embedded object cannot be inflated: {failed}"
        return b"".join(pieces), DocumentError(ExceptionCode.CORRUPT, detail)
    whole = b"".join(pieces)
    if not inflater.eof and len(whole) < int.from_bytes(data[:4], "little"):
        return whole, DocumentError(ExceptionCode.TRUNCATED, "an embedded object is cut short")
    checksum = data[end : end + 4]
    if inflater.eof and len(checksum) == 4 and int.from_bytes(checksum, "big") != zlib.adler32(whole):
        return whole, DocumentError(ExceptionCode.CORRUPT, "an embedded object does not match its checksum")
    return whole, None
