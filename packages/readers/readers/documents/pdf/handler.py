"""PDF (ISO 32000-1): text of all pages, comments and form fields; embedded files as children."""

from __future__ import annotations

import ctypes
import functools
import io
import itertools
import re
from collections.abc import Iterator

import pypdfium2 as pdfium
import pypdfium2.raw as raw
from isal import isal_zlib
from msgspec import Struct, field

from readers import clean
from readers.base import Child, Declared, LeafHandler, Part, Source, Text
from readers.documents.pdf import document as pdf_document
from readers.documents.pdf import metadata as pdf_metadata
from readers.documents.pdf.pages import MOST_NAMES, Attachment, Pages, read_text
from readers.errors import DocumentError, ExceptionCode, PagesWithoutText, corrupt, too_large, truncated, unsupported
from readers.inflate import ISAL_ERROR
from readers.records import Kind, Limits, TextState
from readers.rest import rest

# Check for a stream of a PDF that breaks off: PDFium shows the part before the break and reports nothing.

_BEGIN, _END = b"stream", b"end"
_DICTIONARY = 400  # bytes in front of a stream in which its dictionary begins
_DEFLATED = re.compile(rb"/Filter\s*(?:/FlateDecode|\[\s*/FlateDecode\s*\])\s*(?:/|>>)")
_OTHER = re.compile(rb"/(?:Subtype|Type|Length1|N|FunctionType|DecodeParms|DP|F)\b")
_RAW = -15  # a deflated stream without its header and checksum
_HEADER = 2  # bytes
_STEP = 1 << 14  # bytes of a stream at a time
_PIECE = 1 << 18  # bytes inflated at a time; none is kept
_MOST_INFLATED = 64_000_000  # bytes inflated of one document


def broken(data: bytes) -> bool:
    """Return whether such a stream cannot be inflated to its end. False for an encrypted document, which cannot be
    checked."""
    if b"/Encrypt" in data:
        return False
    left, at = _MOST_INFLATED, data.find(_BEGIN)
    while at >= 0 and left > 0:
        behind = at + len(_BEGIN)
        start = data.rfind(b"<<", max(0, at - _DICTIONARY), at)
        if start >= 0 and data[behind : behind + 1] in (b"\r", b"\n") and data[at - 3 : at] != _END:
            dictionary = data[start:at]
            empty = data[behind : behind + 12].lstrip().startswith(b"endstream")
            if _DEFLATED.search(dictionary) and not _OTHER.search(dictionary) and not empty:
                behind += 2 if data.startswith(b"\r\n", behind) else 1
                size, end = _inflated(data, behind + _HEADER, left)
                if size is None:
                    return True
                left, behind = left - size, end
        at = data.find(_BEGIN, behind)
    return False


def _inflated(data: bytes, at: int, most: int) -> tuple[int | None, int]:
    """Return the inflated size of a stream, at most a piece over `most`, and its end; None if damaged."""
    inflater, size = isal_zlib.decompressobj(_RAW), 0
    try:
        while not inflater.eof and size <= most:
            if not (waiting := inflater.unconsumed_tail):
                waiting, at = data[at : at + _STEP], at + _STEP
                if not waiting:
                    return None, at
            size += len(inflater.decompress(waiting, _PIECE))
    except ISAL_ERROR:
        return None, at
    return size, min(at, len(data)) - len(inflater.unused_data)


_KIDS, _COUNT = re.compile(rb"/Kids\s*\[([\d\sR]*)\]"), re.compile(rb"/Count\s+(\d{1,9})\b")
_EMPTY = re.compile(rb"/Kids\s*\[\s*\]|/Pages\s*/Count\s+0\b|/Count\s+0\s*/Type\s*/Pages\b")  # it may be a child
_NEAR = 24  # bytes around the children of a node in which it counts them


def _uncounted(data: bytes) -> bool:
    """Return whether a node of the page tree counts fewer pages than it has (7.7.3.2): PDFium shows no others."""
    for kids in _KIDS.finditer(data):
        near = data[max(0, kids.start() - _NEAR) : kids.start()].rpartition(b"<<")[2]
        count = _COUNT.search(near + data[kids.end() : kids.end() + _NEAR].partition(b">>")[0])
        if count and 0 < int(count[1]) < kids[1].count(b"R"):
            return _EMPTY.search(data) is None
    return False


# The outline of a PDF (ISO 32000-1, 12.3.3): titles that a viewer shows next to the pages, and that no page need
# contain.

_MOST_ENTRIES = 10_000  # entries


class Outline:
    """Different titles of the outline, in order. Iteration of a circular outline ends; after 10,000 entries it stops,
    and `error` reports that."""

    def __init__(self, document: pdfium.PdfDocument) -> None:
        self._document = document
        self.error: DocumentError | None = None

    def __iter__(self) -> Iterator[str]:
        known: set[str] = set()
        seen: set[int] = set()
        waiting = [raw.FPDFBookmark_GetFirstChild(self._document.raw, None)]
        while waiting:
            entry = waiting.pop()
            place = ctypes.cast(entry, ctypes.c_void_p).value
            if not place or place in seen:
                continue
            if len(seen) >= _MOST_ENTRIES:
                self.error = too_large(f"its outline has more than {_MOST_ENTRIES:,} entries; only the first are read")
                return
            seen.add(place)
            waiting.append(raw.FPDFBookmark_GetNextSibling(self._document.raw, entry))
            waiting.append(raw.FPDFBookmark_GetFirstChild(self._document.raw, entry))
            title = read_text(functools.partial(raw.FPDFBookmark_GetTitle, entry)).strip()
            if title and title not in known:
                known.add(title)
                yield title


_KEYS = {
    "Title": "title",
    "Author": "author",
    "Subject": "doc_subject",
    "Keywords": "keywords",
    "Creator": "application",
    "CreationDate": "created",
    "ModDate": "modified",
}
_BARE = 1_000  # pages without text that are listed
_LETTER = re.compile(r"[^\W\d_\u0e00-\U0010ffff]")
_MANY_ALONE = 100
_SHOWN = bytes(32 if chr(byte).isspace() else 33 for byte in range(256))
_ALONE, _BEGINS_WORD = re.compile(b" ! "), re.compile(b" !")
_DATE = re.compile(
    r"(?:D:)?(\d{4})(\d\d)?(\d\d)?(\d\d)?(\d\d)?(\d\d)?(?:([+-])(\d\d)[':]?(\d\d)?'?|(Z)(?:00'?(?:00'?)?)?)?"
)


def iso_date(text: str) -> str:
    """Return `D:20200306162051+08'00'` (ISO 32000-1, 7.9.4) as `2020-03-06T16:20:51+08:00`; other text unchanged."""
    match = _DATE.fullmatch(text.strip(" \0"))
    if not match:
        return text
    year, month, day, hour, minute, second, sign, zone_hours, zone_minutes, utc = match.groups()
    zone = "+00:00" if utc else f"{sign}{zone_hours}:{zone_minutes or '00'}" if sign else ""
    return f"{year}-{month or '01'}-{day or '01'}T{hour or '00'}:{minute or '00'}:{second or '00'}{zone}"


class PdfHandler(LeafHandler):
    """PDF documents."""

    name = "pdf"
    declared = Declared(
        title="PDF documents",
        extensions=("pdf",),
        text="all pages, comments, the text of stamps and signatures, names and values of form fields, including "
        "values of XFA forms, who signed, where and why, the outline, and link targets",
        metadata=(
            *("title", "author", "doc_subject", "keywords", "application", "created", "modified"),
            "pages_without_text",
        ),
        children="embedded files and those of a portfolio in the order of the name tree, then files that are attached "
        "to a place on a page; earlier documents in the same file, and data of a known type before the first "
        "line or after the end",
        leaves_out=(
            "the contents of documents that need a password which is not in the bank (`--passwords`)",
            "text in pictures, except with `--ocr` on pages without other text. If no page has text, the state is "
            "`no text layer`, even if bookmarks or comments have some; if only some pages have text and others "
            "show pictures or many lines, the state is `partial`, the exception is `unsupported`, and the latter "
            "are named (the first 1,000, including pages with only a frame or a few rules, not blank ones)",
            "pictures on pages; scripts; text of XFA forms other than values",
            "text in fonts without a mapping to characters: the exception is `unsupported`, the state `partial`",
            "multimedia (films, sounds, Flash, 3D models): the exception is `unsupported`, the state `partial`",
            "embedded files in no name tree and at no place on a page, such as films and older versions: the "
            "exception is `unsupported` if they state their type",
            "embedded files beyond the first 5,000: the exception is `children_limit`",
            "with more than 10,000 form fields, values that only a parent of the displayed field has",
            "documents in which more than 500 streams have no end: the exception is `corrupt`",
            "more than 10,000 different addresses, authors of comments and names of fields, more than 10,000 "
            "bookmarks, more than 16 MB of values in an XFA form: the exception is `too_large`",
            "content of a page after damage, without an exception, if the document is encrypted, the content is "
            "packed more than once, or more than 64 MB of content precede it",
        ),
    ).alone()

    def children(self, source: Source, limits: Limits, part: Part | None = None) -> Iterator[Child]:
        """Yield embedded files, then what is outside of the document. A PDF that needs a password or cannot be read has
        no embedded files: `text` reports the reason. Raises DocumentError `unsupported` at the end if more files are
        embedded than the lists contain, `corrupt` if bytes are outside."""
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
            more = 0
        else:
            more = pdf_document.embedded(data) - count
        wrong: list[str] = []
        for ordinal, (start, stop, name) in enumerate(pdf_document.outside(data), count):
            try:
                yield from rest(io.BytesIO(data), start, stop, ordinal, "PDF", name=name, kind=Kind.EMBEDDED_OBJECT)
            except DocumentError as error:
                wrong.append(error.detail)
        if more > 0:
            detail = f"{more} embedded files (alternative forms, films and the like, older versions) are not extracted"
            raise unsupported(detail, missing=more)
        if wrong:
            raise corrupt("; ".join(wrong), missing=0)

    def text(self, source: Source, limits: Limits) -> Text:
        """Return the text of all pages, the page count, and the document information as metadata."""
        data = source.whole(limits.parse_bytes)
        with pdf_document.opened(data, source.passwords, limits) as (document, opened):
            collector = clean.Collector(limits.text_characters)
            signed = list(pdf_metadata.signature_texts(document, data))  # before their fields are drawn into pages
            pdf_document.with_forms(document, data)
            seen = _collect(document, data, collector)
            values, outline = pdf_metadata.Values(document), Outline(document)
            others = pdf_metadata.field_values(document, data, collector.text)
            for value in itertools.chain(values, signed, outline, others):
                if not (collector.add(value) and collector.add("\n")):
                    break
            out = collector.result()
            out.pages = len(document)
            info = pdf_document.information(document, _KEYS)
        xmp, lost = pdf_metadata.read(data)
        pairs = ((key, info[name].strip() or xmp.get(key, "")) for name, key in _KEYS.items())
        out.metadata = (
            dict(clean.values((k, iso_date(v) if v and k in ("created", "modified") else v) for k, v in pairs)) | opened
        )
        _judge_layer(out, seen)
        out.error = _damage(out, seen, data) or values.error or outline.error or _lacking(out, seen) or lost
        return out


class _Seen(Struct):
    """Findings on the pages, apart from their text."""

    unreadable: int = 0
    own_text: bool = False  # a page has text of its own
    noted: bool = False  # a comment, a field or a link on a page has text
    # Numbers (from 1) of the first pages with drawings and without text
    bare: list[int] = field(default_factory=list)
    pictured: int = 0  # number of such pages that show pictures
    played: int = 0  # places where something plays
    mute: int = 0
    omitted: int = 0  # addresses and names that were not included


def _judge_layer(out: Text, seen: _Seen) -> None:
    """Decide whether there is a text layer, by the pages' own text: bookmarks and comments are no evidence about a
    scan, as captions are none about a picture. Undecided if no page can be read."""
    if not out.text.strip():
        out.text, out.state = "", None if 0 < seen.unreadable == out.pages else TextState.NO_TEXT_LAYER
    elif seen.bare and not seen.own_text and (seen.pictured or not seen.noted):
        out.state = out.state or TextState.NO_TEXT_LAYER
    elif seen.bare:
        out.metadata["pages_without_text"] = clean.written(seen.bare)


def _damage(out: Text, seen: _Seen, data: bytes) -> DocumentError | None:
    """Return the first reason for which text of its pages is missing."""
    if seen.unreadable:
        return corrupt(f"{seen.unreadable} of {out.pages} pages cannot be read")
    if pdf_document.looks_cut(data):
        return truncated("the PDF breaks off before its end-of-file marker")
    if alone := _letters_alone(out.text):
        return unsupported(f"{alone:,} letters are separate: the PDF does not mark where words begin and end")
    if seen.mute:
        return unsupported(f"{seen.mute} of {out.pages} pages have text in fonts without a mapping to characters")
    if _uncounted(data):
        return corrupt("the page tree has more pages than it counts; these are not read")
    if broken(data):
        return corrupt("the content of its pages ends where it is damaged")
    return None


def _lacking(out: Text, seen: _Seen) -> DocumentError | None:
    """Return the error for content that is intact but not read."""
    if seen.played:
        return unsupported(f"{seen.played} multimedia annotations (films, sounds, Flash, 3D models) are not read")
    if seen.omitted:
        return too_large(f"{seen.omitted:,} addresses, authors and names of fields come after the first {MOST_NAMES:,}")
    if seen.own_text and seen.pictured:
        detail = f"{seen.pictured} of {out.pages} pages show pictures and have no text"
        return PagesWithoutText(ExceptionCode.UNSUPPORTED, detail)
    return None


def _letters_alone(text: str) -> int:
    """Return how many letters are words of their own, if these are more than half of all words; else 0. Scripts without
    blanks are not counted."""
    shown = text.encode("latin-1", "replace").translate(_SHOWN)
    most = 2 * len(_ALONE.findall(shown)) + 2  # two may have a blank in common
    if most < _MANY_ALONE or 2 * most <= len(_BEGINS_WORD.findall(shown)):  # as in nearly all documents
        return 0
    words = text.split()
    alone = len(_LETTER.findall("".join([word for word in words if len(word) == 1])))
    return alone if alone >= _MANY_ALONE and 2 * alone > len(words) else 0


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


def _collect(document: pdfium.PdfDocument, data: bytes, collector: clean.Collector) -> _Seen:
    """Collect the text of the pages in order, separated by a line break; return the findings up to the text limit."""
    seen, pages = _Seen(), Pages(document, data)
    for number in range(len(pages)):
        try:
            content = pages.content(number)
        except pdfium.PdfiumError:
            seen.unreadable += 1
            continue
        seen.played += content.played
        seen.mute += content.mute
        seen.own_text = seen.own_text or bool(content.texts[0].strip())
        seen.noted = seen.noted or any(content.texts[1:])
        seen.pictured += content.pictured
        seen.omitted = pages.omitted
        if content.bare and len(seen.bare) < _BARE:
            seen.bare.append(number + 1)
        for piece in content.texts:
            if piece and not (collector.add(piece) and collector.add("\n")):
                return seen
    return seen
