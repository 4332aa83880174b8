"""PDF (ISO 32000-1): text of all pages, comments and form fields; embedded files as children."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator

import pypdfium2 as pdfium

from core.errors import DocumentError, ExceptionCode
from core.records import Kind, Limits, TextState
from formats import clean, page_numbers
from formats.base import Child, Handler, LeafHandler, Part, Source, Text
from formats.declared import Declared
from formats.documents.pdf import damage as pdf_damage
from formats.documents.pdf import document as pdf_document
from formats.documents.pdf import metadata as pdf_metadata
from formats.documents.pdf import outline as pdf_outline
from formats.documents.pdf import signatures as pdf_signatures
from formats.documents.pdf import xfa as pdf_xfa
from formats.documents.pdf.pages import Attachment, Pages

_KEYS = {
    "Title": "title",
    "Author": "author",
    "Subject": "doc_subject",
    "Keywords": "keywords",
    "Creator": "application",
    "CreationDate": "created",
    "ModDate": "modified",
}
_BARE = 1_000  # pages without text that are named
_ALONE = re.compile(r"(?<!\S)[^\W\d_\u0e00-\U0010ffff](?!\S)")
_MANY_ALONE = 100
_DATE = re.compile(r"(?:D:)?(\d{4})(\d\d)?(\d\d)?(\d\d)?(\d\d)?(\d\d)?(?:([+-])(\d\d)'?(\d\d)?|(Z))?")


def iso_date(text: str) -> str:
    """`D:20200306162051+08'00'` (ISO 32000-1, 7.9.4) as `2020-03-06T16:20:51+08:00`; what is no such date, as it is."""
    match = _DATE.match(text.strip())
    if not match:
        return text
    year, month, day, hour, minute, second, sign, zone_hours, zone_minutes, utc = match.groups()
    zone = "+00:00" if utc else f"{sign}{zone_hours}:{zone_minutes or '00'}" if sign else ""
    return f"{year}-{month or '01'}-{day or '01'}T{hour or '00'}:{minute or '00'}:{second or '00'}{zone}"


class PdfHandler(LeafHandler):
    """PDF documents."""

    name = "pdf"
    media_types: tuple[str, ...] = ("application/pdf",)
    declared: tuple[Declared, ...] = (
        Declared(
            title="PDF documents",
            extensions=("pdf",),
            text="all pages, comments, what stamps and signatures show, the names and values of form fields, values of XFA's "
            "too, who signed, where and why, the outline, and addresses behind links",
            metadata=(
                *("title", "author", "doc_subject", "keywords", "application", "created", "modified"),
                "pages_without_text",
            ),
            children="embedded files and those of a portfolio in the order of the name tree, then files that are attached "
            "to a place on a page",
            leaves_out=(
                "the contents of documents that need a password which is not in the bank (`--passwords`)",
                "text in pictures, unless `--ocr` finds some on a page that has no other; a document without any has the "
                "state `no text layer`, and one that has such pages names them (the first 1,000)",
                "pictures on pages; scripts; what XFA forms say beside the values",
                "text in fonts that do not tell which letters they show: the exception is `unsupported`, the state `partial`",
                "what plays on a page (films, sounds, Flash, models): the exception is `unsupported`, the state `partial`",
                "embedded files in no name tree and at no place on a page, as films and older versions are: the exception is "
                "`unsupported`, where they say what they are",
                "embedded files beyond the first 5,000: the exception is `children_limit`",
                "of more than 10,000 form fields, values that only a field above the one on the page has",
                "documents in which more than 500 streams have no end: the exception is `corrupt`",
            ),
        ),
    )

    def children(self, source: Source, limits: Limits, part: Part | None = None) -> Iterator[Child]:
        """Embedded files. A PDF that needs a password or cannot be read has none: `text` says why. Raises `unsupported` at
        the end when there are more of them than the lists that are read lead to."""
        data = source.whole(limits.parse_bytes)
        count = 0
        try:
            with pdf_document.opened(data, source.passwords, limits) as (document, _):
                for attachment in pdf_document.attachments(document, data):
                    count += 1
                    yield _child(count - 1, attachment)
        except DocumentError as error:
            if error.code is ExceptionCode.CHILDREN_LIMIT:
                raise
            return
        if (more := pdf_document.embedded(data) - count) > 0:
            detail = f"{more} embedded files (other forms of one, films and the like, older versions) are not taken out"
            raise DocumentError(ExceptionCode.UNSUPPORTED, detail, missing=more)

    def text(self, source: Source, limits: Limits) -> Text:
        """Text of all pages, page count, and the document information as metadata."""
        data = source.whole(limits.parse_bytes)
        with pdf_document.opened(data, source.passwords, limits) as (document, opened):
            collector = clean.Collector(limits.text_characters)
            signed = list(pdf_signatures.said(document, data))  # before their fields are drawn into pages
            pdf_document.with_forms(document, data)
            unreadable, bare, played, mute = _collect(document, collector)
            for value in itertools.chain(pdf_xfa.values(document), signed, pdf_outline.titles(document)):
                if not (collector.add(value) and collector.add("\n")):
                    break
            out = collector.result()
            out.pages = len(document)
            info = pdf_document.information(document, _KEYS)
        said = pdf_metadata.described(data)
        pairs = ((key, info[name].strip() or said.get(key, "")) for name, key in _KEYS.items())
        out.metadata = (
            dict(clean.values((k, iso_date(v) if v and k in ("created", "modified") else v) for k, v in pairs)) | opened
        )
        if not out.text.strip():  # of pages none of which can be read nobody knows whether they have a text layer
            out.text, out.state = "", None if 0 < unreadable == out.pages else TextState.NO_TEXT_LAYER
        elif bare:
            out.metadata["pages_without_text"] = page_numbers.written(bare)
        if unreadable:
            detail = f"{unreadable} of {out.pages} pages cannot be read"
            out.error = DocumentError(ExceptionCode.CORRUPT, detail)
        elif pdf_document.looks_cut(data):
            out.error = DocumentError(ExceptionCode.TRUNCATED, "the PDF breaks off before its end-of-file marker")
        elif alone := _letters_alone(out.text):
            detail = f"{alone:,} letters stand alone: the PDF does not tell where its words begin and end"
            out.error = DocumentError(ExceptionCode.UNSUPPORTED, detail)
        elif mute:
            detail = f"{mute} of {out.pages} pages have text in fonts that do not tell which letters they show"
            out.error = DocumentError(ExceptionCode.UNSUPPORTED, detail)
        elif pdf_damage.broken(data):
            out.error = DocumentError(
                ExceptionCode.CORRUPT, "what is drawn on its pages breaks off where it is damaged"
            )
        elif played:
            detail = f"{played} places where something plays (a film, a sound, Flash, a model) are not read"
            out.error = DocumentError(ExceptionCode.UNSUPPORTED, detail)
        return out


def _letters_alone(text: str) -> int:
    """How many letters stand by themselves, where these are more than half of everything that does; else 0. Scripts that
    write without blanks are left out of it."""
    alone = len(_ALONE.findall(text))
    return alone if alone >= _MANY_ALONE and 2 * alone > len(text.split()) else 0


def _child(position: int, attachment: Attachment) -> Child:
    try:
        name = pdf_document.attachment_name(attachment).encode("utf-8", "backslashreplace")
        content: bytes | None = pdf_document.attachment_bytes(attachment)
        error = None
    except DocumentError as failed:
        name, content, error = b"", None, failed
    return Child(
        name=name or b"attachment-%d" % position,
        kind=Kind.EMBEDDED_OBJECT,
        ordinal=position,
        data=content,
        error=error,
        emit=error is None,
    )


def _collect(document: pdfium.PdfDocument, collector: clean.Collector) -> tuple[int, list[int], int, int]:
    """Text of the pages in order, one line break between; returns how many pages cannot be read, the numbers (from 1)
    of those that are bare, the first of them, how many places there are where something plays, and how many pages are mute."""
    unreadable, bare, played, mute = 0, list[int](), 0, 0
    pages = Pages(document)
    for number in range(len(pages)):
        try:
            content = pages.content(number)
        except pdfium.PdfiumError:
            unreadable += 1
            continue
        played += content.played
        mute += content.mute
        if content.bare and len(bare) < _BARE:
            bare.append(number + 1)
        for piece in content.texts:
            if piece and not (collector.add(piece) and collector.add("\n")):
                return unreadable, bare, played, mute
    return unreadable, bare, played, mute


HANDLERS: tuple[Handler, ...] = (PdfHandler(),)
