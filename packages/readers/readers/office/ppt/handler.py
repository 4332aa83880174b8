"""Presentations of PowerPoint 97 to 2003 ([MS-PPT]): text of slides and notes, embedded objects, pictures."""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator
from contextlib import suppress

from readers import clean
from readers.base import Child, Declared, LeafHandler, Part, Source, Text
from readers.cfb import LEFT_OUT
from readers.errors import DocumentError, ExceptionCode, corrupt, encrypted, too_large, truncated
from readers.office import art as office_art
from readers.office import vba as office_vba
from readers.office.encryption.legacy import PICTURES, opened_ppt
from readers.office.ole import objects as ole_objects
from readers.office.ole import property_set
from readers.office.ole.compound import CompoundFile
from readers.office.ppt.text import OLE_STORAGE, Presentation, Record, Records, objects, salvaged, salvaged_objects
from readers.records import Kind, Limits

# Objects in a presentation ([MS-PPT] 2.10.34): each the compound file of its program, usually deflated.

_STEP = 4096  # deflated bytes at a time: a damaged object loses at most the output of one step
_BEGIN = 6  # after the object's size and the two bytes before a zlib stream


def _embedded(records: Records, record: Record, position: int, limits: Limits) -> Child:
    """Return an embedded object: the file in its package, else its compound file. If damaged, the readable bytes."""
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


def _modules(records: Records, storages: Iterable[Record], limits: Limits) -> Iterator[Child]:
    """Yield the modules of its macros. Raises DocumentError if they cannot be read."""
    for record in storages:
        data, error = _storage(records, record, limits)
        yield from office_vba.children(CompoundFile(data), limits)
        if error is not None:
            raise error


def _storage(records: Records, record: Record, limits: Limits) -> tuple[bytes, DocumentError | None]:
    """Return the compound file of an object and its damage. Raises DocumentError if none of it is readable."""
    if record.kind != OLE_STORAGE:
        raise corrupt("an embedded object is not at the position given in the document")
    records.spend(record)
    data = records.data(record)
    if record.instance != 1:
        return data, None
    whole, error = _inflated(data, limits.parse_bytes)
    if error is not None and not whole:
        raise error
    return whole, error


def _inflated(data: bytes, most: int) -> tuple[bytes, DocumentError | None]:
    """Return as many bytes as can be inflated. Many programs omit the checksum after them, so an object with as many
    bytes as it announces is complete. Raises DocumentError `too_large`."""
    inflater, pieces, left = zlib.decompressobj(-zlib.MAX_WBITS), list[bytes](), most
    end = _BEGIN
    try:
        while end < len(data) and not inflater.eof:
            pieces.append(inflater.decompress(data[end : end + _STEP], left + 1))
            left -= len(pieces[-1])
            if left < 0:
                raise too_large(f"an embedded object of more than {most} bytes")
            end = min(end + _STEP, len(data)) - len(inflater.unused_data)
    except zlib.error as failed:
        return b"".join(pieces), corrupt(f"an embedded object cannot be inflated: {failed}")
    whole = b"".join(pieces)
    if not inflater.eof and len(whole) < int.from_bytes(data[:4], "little"):
        return whole, truncated("an embedded object is cut short")
    checksum = data[end : end + 4]
    if inflater.eof and len(checksum) == 4 and int.from_bytes(checksum, "big") != zlib.adler32(whole):
        return whole, corrupt("an embedded object does not match its checksum")
    return whole, None


class PptHandler(LeafHandler):
    """A presentation or template in a compound file."""

    name = "ppt"
    declared = Declared(
        title="PowerPoint presentations, 97 to 2003",
        extensions=("ppt", "pot", "pps"),
        text="slides in order with their WordArt, alternative text, comments, headers and footers, text that "
        "masters add to every slide, then notes, link targets and names of slide shows; for a damaged presentation, every text in it",
        metadata=property_set.KEYS,
        children="embedded objects (a packaged file under its own name), then pictures, then macro modules",
        leaves_out=(
            LEFT_OUT,
            "presentations that need a password which is not in the bank (`--passwords`); pictures and properties "
            "of encrypted presentations",
            "PowerPoint 95 and older",
            "prompts of masters; sounds",
        ),
    ).alone()

    def children(self, source: Source, limits: Limits, part: Part | None = None) -> Iterator[Child]:
        """Yield embedded objects, then pictures, then modules of macros. A presentation that needs a password has none:
        `text` reports that."""
        try:
            compound, opened = opened_ppt(source, limits)
            records = _records(compound)
        except DocumentError:
            return
        objects = (_embedded(records, record, n, limits) for n, record in enumerate(_objects(compound, records)))
        modules = _modules(records, _macros(compound, records), limits)
        yield from ole_objects.carried_by(
            source, compound, objects, _pictures(compound, encrypted=bool(opened)), modules
        )

    def text(self, source: Source, limits: Limits) -> Text:
        """Return the text of slides as pages, in order, then their notes. If the objects of the file, or some of them,
        cannot be found, return every text in the stream, and `error`."""
        compound, opened = opened_ppt(source, limits)
        records = _records(compound)
        collector = clean.Collector(limits.text_characters)
        pages, error = None, None
        try:
            presentation = _opened(compound, records)
            collector.lines(presentation.text())
            pages = presentation.slides or None
            if presentation.lost:
                detail = (
                    f"{presentation.lost:,} slides or notes are not at the positions given in the presentation's "
                    "directory"
                )
                error = corrupt(detail)
        except DocumentError as failed:
            if failed.code is ExceptionCode.ENCRYPTED:
                raise
            error = failed
        if error is not None and error.code is ExceptionCode.CORRUPT:
            collector = clean.Collector(limits.text_characters)
            collector.lines(salvaged(Records(records.stream)))
        metadata = property_set.metadata(compound) | opened
        return collector.result(error=error or compound.error, metadata=metadata, pages=pages)


def _records(compound: CompoundFile) -> Records:
    """Return the records. Raises DocumentError `encrypted` if a password is needed."""
    if compound.root.stream("EncryptedSummary") is not None:
        raise encrypted("a password is needed to open it")
    return Records(compound.read(compound.root.stream("PowerPoint Document")))


def _opened(compound: CompoundFile, records: Records) -> Presentation:
    return Presentation(records, *objects(records, compound.read(compound.root.stream("Current User"))))


def _pictures(compound: CompoundFile, *, encrypted: bool) -> Iterator[Child]:
    stream = compound.root.stream("Pictures")
    if encrypted and stream is not None and stream.size:
        raise PICTURES
    yield from office_art.children((compound.read(stream),))


def _macros(compound: CompoundFile, records: Records) -> Iterator[Record]:
    """Yield the storage of the macros; none if the objects cannot be found, because then it is among them."""
    with suppress(DocumentError):
        yield from _opened(compound, records).macros()


def _objects(compound: CompoundFile, records: Records) -> Iterator[Record]:
    """Yield the embedded objects by the document's list; in stream order if there is none."""
    try:
        presentation = _opened(compound, records)
    except DocumentError as failed:
        return salvaged_objects(records) if failed.code is ExceptionCode.CORRUPT else iter(())
    return presentation.objects()
