"""Word documents of Word 6 to 2003 ([MS-DOC]): text of all stories, properties, embedded objects, pictures."""

from __future__ import annotations

from collections.abc import Iterator

from readers import clean
from readers.base import Child, Handler, LeafHandler, Part, Source, Text
from readers.cfb import LEFT_OUT
from readers.charset import CHARSET_KEYS
from readers.declared import Declared
from readers.errors import DocumentError, ExceptionCode
from readers.office import art as office_art
from readers.office import vba as office_vba
from readers.office.doc import beside as doc_beside
from readers.office.doc import text as doc_text
from readers.office.doc.fib import Fib
from readers.office.doc.numbering import Numbering
from readers.office.doc.pieces import fonts_of, piece_table, pieces
from readers.office.encryption.legacy import opened_doc
from readers.office.ole import objects as ole_objects
from readers.office.ole import property_set
from readers.office.ole.compound import CompoundFile
from readers.records import Kind, Limits
from readers.rest import AFTER_CONTENT, rest

_FIRST_SECTOR = 512
_PICTURES = ("Data", "WordDocument")  # streams with those in the text, and with those that float above it


class DocHandler(LeafHandler):
    """Word documents and templates in compound files."""

    name = "doc"
    media_types: tuple[str, ...] = ("application/msword",)
    declared: tuple[Declared, ...] = (
        Declared(
            title="Word documents, Word 6 to 2003",
            extensions=("doc", "dot"),
            text="main text, footnotes, headers and footers, comments, endnotes, text boxes, with the numbers that lists make in "
            "front of paragraphs, then WordArt and watermarks, chosen entries of forms, alternative text and names of commenters of Word 97 "
            "and newer, and targets of links; without a piece table the text of the first block",
            metadata=(*property_set.KEYS, *CHARSET_KEYS),  # these of Word 6 and 95, where a code page is contradicted
            children="embedded objects (a packaged file under its own name), then pictures, then modules of macros",
            leaves_out=(
                LEFT_OUT,
                "documents that need a password which is not in the bank (`--passwords`), or under XOR obfuscation",
                "Word for DOS, Word 2 and older",
                "code pages of Word 6 and 95 that only the font of a style other than Normal determines",
                "entries of an index (XE) and codes of fields other than links; chosen entries of forms in Word 6 and 95, and who "
                "commented in these",
                "marks in front of paragraphs; numbers that lists of Word 6 and 95 make, or fields; those as words of other "
                "languages than English, and in other scripts: digits stand for them",
            ),
        ),
    )

    def children(self, source: Source, limits: Limits, part: Part | None = None) -> Iterator[Child]:
        """Embedded objects, then pictures, then modules of macros. A document that cannot be opened has none: `text`
        reports why."""
        try:
            compound, _ = opened_doc(source, limits)
        except DocumentError:
            return
        pool = compound.root.find("ObjectPool")
        position = 0
        for child in ole_objects.children(compound, pool.children if pool else []):
            position += 1
            yield child
        pictures = (compound.read(compound.root.stream(name)) for name in _PICTURES)
        for child in office_art.children(pictures, position):
            position += 1
            yield child
        yield from office_vba.children(compound, limits, position)
        with source.open() as file:
            yield from rest(file, compound.end, source.size, AFTER_CONTENT, "compound file", kind=Kind.EMBEDDED_OBJECT)

    def text(self, source: Source, limits: Limits) -> Text:
        """Text in the order main text, footnotes, headers, comments, endnotes, text boxes; of a file without its directory or sector
        tables, the run of text at its start, and `error`."""
        try:
            return self._text(source, limits)
        except DocumentError as error:
            if error.code is ExceptionCode.ENCRYPTED or not (left := _left(source.whole(limits.parse_bytes))):
                raise
            collector = clean.Collector(limits.text_characters)
            collector.add(left)
            out = collector.result()
            out.error = error
            return out

    def _text(self, source: Source, limits: Limits) -> Text:
        compound, opened = opened_doc(source, limits)
        main = compound.root.stream("WordDocument")
        if main is None:
            raise DocumentError(ExceptionCode.CORRUPT, "the file has no stream WordDocument")
        stream = compound.read(main)
        fib = Fib(stream)
        streams = [stream] if fib.old else [compound.read(compound.root.stream(name)) for name in fib.tables]
        fonts = fonts_of(stream, fib)
        whole, error = _joined(pieces(stream, streams, fib, fonts))
        collector = clean.Collector(limits.text_characters)
        labels = {} if fib.old else _labels(stream, streams, fib, whole)
        all(collector.add(story + "\n") for story in doc_text.stories(whole, fib.counts, labels))
        all(collector.add(said + "\n") for said in _beside(compound, streams[0], fib, whole))
        out = collector.result()
        out.metadata = property_set.metadata(compound) | opened
        clean.note_charset(out, fonts.detected if fonts else None)
        out.error = fib.error or error or compound.error
        if out.error is not None and not out.text:
            raise out.error
        return out


def _left(data: bytes) -> str:
    """The text of a document of Word 97 or later by its first block alone, in the first sector, where Word puts it; "" where it is not
    there, or the text is encrypted or before Word 97."""
    stream = data[_FIRST_SECTOR:]
    try:
        fib = Fib(stream)
    except DocumentError:
        return ""
    if fib.error or fib.old:
        return ""
    return "\n".join(doc_text.stories(next(pieces(stream, (), fib, None), ""), fib.counts, {})).strip()


def _beside(compound: CompoundFile, table: bytes, fib: Fib, whole: str) -> Iterator[str]:
    """What is not among its characters, or only as what a field is made of."""
    drawing, owners = (table[at : at + size] for at, size in (fib.drawings, fib.owners))
    yield from office_art.lettering(drawing)
    if not fib.old:
        data = compound.read(compound.root.stream("Data"))
        yield from doc_beside.chosen(data)
        yield from dict.fromkeys((*office_art.descriptions(drawing), *office_art.descriptions(data)))
        yield from doc_beside.authors(owners)
    yield from doc_beside.addresses(whole)


def _labels(stream: bytes, streams: list[bytes], fib: Fib, whole: str) -> dict[int, str]:
    """Labels of lists by the positions of their paragraphs in the text; none where no piece table locates them."""
    numbering = Numbering(stream, streams[0])
    if not numbering.any:
        return {}
    try:
        table = piece_table(streams, fib)
    except DocumentError:
        return {}
    there = table.bounds[len(table.places)]
    return numbering.labels(whole, table, fib.counts) if there == len(whole) else {}


def _joined(texts: Iterator[str]) -> tuple[str, DocumentError | None]:
    """Join all readable pieces; return the error of the others."""
    got: list[str] = []
    try:
        for piece in texts:
            got.append(piece)
    except DocumentError as error:
        return "".join(got), error
    return "".join(got), None


HANDLERS: tuple[Handler, ...] = (DocHandler(),)
