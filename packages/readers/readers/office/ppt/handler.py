"""Presentations of PowerPoint 97 to 2003 ([MS-PPT]): text of slides and notes, embedded objects, pictures."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress

from readers import clean
from readers.base import Child, Handler, LeafHandler, Part, Source, Text
from readers.cfb import LEFT_OUT
from readers.declared import Declared
from readers.errors import DocumentError, ExceptionCode
from readers.office import art as office_art
from readers.office.encryption.legacy import opened_ppt
from readers.office.ole import property_set
from readers.office.ole.compound import CompoundFile
from readers.office.ppt import crypto as ppt_crypto
from readers.office.ppt import embedded
from readers.office.ppt.records import Record, Records, objects
from readers.office.ppt.text import Presentation, salvaged, salvaged_objects
from readers.records import Kind, Limits
from readers.rest import AFTER_CONTENT, rest


class PptHandler(LeafHandler):
    """Presentations and templates in compound files."""

    name = "ppt"
    media_types: tuple[str, ...] = ("application/vnd.ms-powerpoint",)
    declared: tuple[Declared, ...] = (
        Declared(
            title="PowerPoint presentations, 97 to 2003",
            extensions=("ppt", "pot", "pps"),
            text="slides in order with their WordArt, alternative text, comments, headers and footers, what masters add to all of "
            "them, then notes; of a damaged one every text in it",
            metadata=property_set.KEYS,
            children="embedded objects (a packaged file under its own name), then pictures, then modules of macros",
            leaves_out=(
                LEFT_OUT,
                "presentations that need a password which is not in the bank (`--passwords`); pictures and properties of such",
                "PowerPoint 95 and older",
                "prompts of masters; sounds",
            ),
        ),
    )

    def children(self, source: Source, limits: Limits, part: Part | None = None) -> Iterator[Child]:
        """Embedded objects, then pictures, then modules of macros. A presentation that needs a password has none:
        `text` reports that."""
        try:
            compound, opened = opened_ppt(source, limits)
            records = _records(compound)
        except DocumentError:
            return
        position = 0
        for position, record in enumerate(_objects(compound, records), start=1):
            yield embedded.child(records, record, position - 1, limits)
        pictures = compound.root.stream("Pictures")
        if opened and pictures is not None and pictures.size:
            raise ppt_crypto.PICTURES
        for child in office_art.children(iter((compound.read(pictures),)), position):
            position += 1
            yield child
        yield from embedded.macros(records, _macros(compound, records), position, limits)
        with source.open() as file:
            yield from rest(file, compound.end, source.size, AFTER_CONTENT, "compound file", kind=Kind.EMBEDDED_OBJECT)

    def text(self, source: Source, limits: Limits) -> Text:
        """Slides as pages, in order, then their notes. Where the objects of the file, or some of them, cannot be found,
        every text in the stream, and `error`."""
        compound, opened = opened_ppt(source, limits)
        records = _records(compound)
        collector = clean.Collector(limits.text_characters)
        pages, error = None, None
        try:
            presentation = _opened(compound, records)
            all(collector.add(text + "\n") for text in presentation.text())
            pages = presentation.slides or None
            if presentation.lost:
                detail = f"{presentation.lost:,} slides or notes are not at the positions that the presentation's directory gives"
                error = DocumentError(ExceptionCode.CORRUPT, detail)
        except DocumentError as failed:
            if failed.code is ExceptionCode.ENCRYPTED:
                raise
            error = failed
        if error is not None and error.code is ExceptionCode.CORRUPT:
            collector = clean.Collector(limits.text_characters)
            all(collector.add(text + "\n") for text in salvaged(Records(records.stream)))
        out = collector.result()
        out.pages, out.metadata = pages, property_set.metadata(compound) | opened
        out.error = error or compound.error
        if out.error is not None and not out.text:
            raise out.error
        return out


def _records(compound: CompoundFile) -> Records:
    """DocumentError `encrypted` where a password is needed."""
    if compound.root.stream("EncryptedSummary") is not None:
        raise DocumentError(ExceptionCode.ENCRYPTED, "a password is needed to open it")
    return Records(compound.read(compound.root.stream("PowerPoint Document")))


def _opened(compound: CompoundFile, records: Records) -> Presentation:
    return Presentation(records, *objects(records, compound.read(compound.root.stream("Current User"))))


def _macros(compound: CompoundFile, records: Records) -> Iterator[Record]:
    """The storage of the macros; none where the objects of the file cannot be found, for then it is among them."""
    with suppress(DocumentError):
        yield from _opened(compound, records).macros()


def _objects(compound: CompoundFile, records: Records) -> Iterator[Record]:
    """The embedded objects by the document's list; in stream order where there is none."""
    try:
        presentation = _opened(compound, records)
    except DocumentError as failed:
        return salvaged_objects(records) if failed.code is ExceptionCode.CORRUPT else iter(())
    return presentation.objects()


HANDLERS: tuple[Handler, ...] = (PptHandler(),)
