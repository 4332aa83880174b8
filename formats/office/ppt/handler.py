"""Presentations of PowerPoint 97 to 2003 ([MS-PPT]): text of slides and notes, embedded objects, pictures."""

from __future__ import annotations

import zlib
from collections.abc import Iterator

from core.errors import DocumentError, ExceptionCode
from core.records import Kind, Limits
from formats import clean
from formats.base import Child, Handler, LeafHandler, Part, Source, Text
from formats.declared import Declared
from formats.office import art as office_art
from formats.office.encryption.legacy import opened_ppt
from formats.office.ole import objects as ole_objects
from formats.office.ole import property_set
from formats.office.ole.compound import CompoundFile
from formats.office.ppt import crypto as ppt_crypto
from formats.office.ppt.records import Record, Records, objects
from formats.office.ppt.text import Presentation, salvaged

_OLE_STORAGE = 0x1011


class PptHandler(LeafHandler):
    """Presentations and templates in compound files."""

    name = "ppt"
    media_types: tuple[str, ...] = ("application/vnd.ms-powerpoint",)
    declared: tuple[Declared, ...] = (
        Declared(
            title="PowerPoint presentations, 97 to 2003",
            extensions=("ppt", "pot", "pps"),
            text="slides in order with their comments, headers and footers, then notes; of a damaged one every text in it",
            metadata=property_set.KEYS,
            children="embedded objects (a packaged file under its own name), then pictures",
            leaves_out=(
                "presentations that need a password which is not in the bank (`--passwords`); pictures and properties of such",
                "PowerPoint 95 and older",
                "what only masters say; sounds; macros",
                "pictures as bitmaps without their headers",
            ),
        ),
    )

    def children(self, source: Source, limits: Limits, part: Part | None = None) -> Iterator[Child]:
        """Embedded objects, then pictures. A presentation that cannot be opened has none: `text` says why."""
        try:
            compound, opened = opened_ppt(source, limits)
            records, presentation = _opened(compound)
        except DocumentError:
            return
        position = 0
        for position, record in enumerate(presentation.objects(), start=1):
            yield _object(records, record, position - 1, limits)
        pictures = compound.root.stream("Pictures")
        if opened and pictures is not None and pictures.size:
            raise ppt_crypto.PICTURES
        yield from office_art.children(iter((compound.read(pictures),)), position)

    def text(self, source: Source, limits: Limits) -> Text:
        """Slides as pages, in order, then their notes. Where the objects of the file cannot be found, every text in
        the stream, and `error`."""
        compound, opened = opened_ppt(source, limits)
        collector = clean.Collector(limits.text_characters)
        pages, error = None, None
        try:
            _, presentation = _opened(compound)
            all(collector.add(text + "\n") for text in presentation.text())
            pages = presentation.slides or None
        except DocumentError as failed:
            if failed.code is ExceptionCode.ENCRYPTED:
                raise
            error = failed
            if failed.code is ExceptionCode.CORRUPT:
                all(collector.add(text + "\n") for text in salvaged(_records(compound)))
        out = collector.result()
        out.pages, out.metadata = pages, property_set.metadata(compound) | opened
        out.error = error or compound.error
        if out.error is not None and not out.text:
            raise out.error
        return out


def _records(compound: CompoundFile) -> Records:
    return Records(compound.read(compound.root.stream("PowerPoint Document")))


def _opened(compound: CompoundFile) -> tuple[Records, Presentation]:
    if compound.root.stream("EncryptedSummary") is not None:
        raise DocumentError(ExceptionCode.ENCRYPTED, "a password is needed to open it")
    records = _records(compound)
    places, document = objects(records, compound.read(compound.root.stream("Current User")))
    return records, Presentation(records, places, document)


def _object(records: Records, record: Record, position: int, limits: Limits) -> Child:
    """An embedded object: the file in its package, else the compound file that it is."""
    name = b"object-%d" % position
    data: bytes | None = None
    error: DocumentError | None = None
    try:
        data = _storage(records, record, limits)
        inner = CompoundFile(data)
        found = ole_objects.carried(inner, inner.root)
        if found is not None:
            name, data = found[0] or name, found[1]
    except DocumentError as failed:
        error = failed
    return Child(name=name, kind=Kind.EMBEDDED_OBJECT, ordinal=position, data=data, error=error)


def _storage(records: Records, record: Record, limits: Limits) -> bytes:
    """The compound file of an object; deflated in instance 1, after its size (2.10.34)."""
    if record.kind != _OLE_STORAGE:
        raise DocumentError(ExceptionCode.CORRUPT, "an embedded object is not where the document says")
    records.spend(record)
    data = records.data(record)
    if record.instance != 1:
        return data
    try:
        inflater = zlib.decompressobj()
        whole = inflater.decompress(data[4:], limits.parse_bytes)
    except zlib.error as failed:
        raise DocumentError(ExceptionCode.CORRUPT, f"an embedded object cannot be inflated: {failed}") from failed
    if inflater.unconsumed_tail:
        raise DocumentError(ExceptionCode.TOO_LARGE, f"an embedded object of more than {limits.parse_bytes} bytes")
    if not inflater.eof:
        raise DocumentError(ExceptionCode.TRUNCATED, "an embedded object is cut short")
    return whole


HANDLERS: tuple[Handler, ...] = (PptHandler(),)
