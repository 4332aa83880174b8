"""Interface to PDFium: documents are closed in time, error numbers become document errors.

PDFium is not thread-safe; a slot is one thread of its own process, which may be forked from one that has imported
it."""

from __future__ import annotations

import ctypes
import functools
import hashlib
import itertools
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

import pypdfium2 as pdfium
import pypdfium2.raw as raw

from readers.documents.pdf.packed import may_mention
from readers.documents.pdf.pages import Attachment, Pages, read_text
from readers.errors import DocumentError, ExceptionCode, corrupt
from readers.last import Last
from readers.passwords import Passwords, TryBudget
from readers.records import Limits
from readers.rest import AFTER, BEFORE

_COST_OF_A_TRY, _COST_OF_A_BYTE = 1_500.0, 0.002  # microseconds: PDFium reads the document's structure with each
MOST_FILES, MOST_FIELDS, MOST_ENDLESS = 5_000, 10_000, 500
_FIELD = re.compile(rb"/T\s*[(<]")
_EMBEDDED = re.compile(rb"/Type\s{0,8}/EmbeddedFile(?![A-Za-z])")
_STREAM, _END = b"stream", b"endstream"
_TAIL = 4096  # Acrobat wants %%EOF in the last 1,024 bytes (PDF 32000-1, annex H.3, note 18)
_CODES = {
    raw.FPDF_ERR_PASSWORD: (ExceptionCode.ENCRYPTED, "a password is needed to open it"),
    raw.FPDF_ERR_SECURITY: (ExceptionCode.ENCRYPTED, "its encryption scheme is unknown"),
}
_MARKER, _BLANK = b"%%EOF", b"\0\t\n\f\r "
_FIRST_LINE = re.compile(rb"%PDF-")  # an expression, because it is faster than `find` for a short text
_NEXT = re.compile(rb"%%EOF\s*+(?=%PDF-\d)")
_OBJECTS = re.compile(rb"endobj|endstream|startxref")
EARLIER = b"earlier document in the file"


def looks_cut(data: bytes) -> bool:
    """Return whether the end-of-file marker is missing where readers search it."""
    return b"%%EOF" not in data[-_TAIL:]


def outside(data: bytes) -> Iterator[tuple[int, int, bytes]]:
    """Yield ranges outside of the document that is read, which is the last one in the file: the bytes before its first
    line, earlier documents one by one, the bytes after its end-of-file marker."""
    at = max(0, data.find(b"%PDF-", 0, _TAIL))
    others = _FIRST_LINE.search(data, at + 1) is not None  # usually none
    starts = [at, *(match.end() for match in _NEXT.finditer(data))] if others else [at]
    if data[:at].strip():
        yield 0, at, BEFORE
    for start, stop in itertools.pairwise(starts):
        yield start, stop, EARLIER
    end = data.rfind(_MARKER) + len(_MARKER)
    # After the marker of a cut document there are further objects; those of an embedded file end with their stream.
    if end >= len(_MARKER) and data[end:].strip(_BLANK) and not _OBJECTS.search(data, end):
        yield end + len(data[end:]) - len(data[end:].lstrip(_BLANK)), len(data), AFTER


@contextmanager
def opened(data: bytes, passwords: Passwords, limits: Limits) -> Iterator[tuple[pdfium.PdfDocument, dict[str, Any]]]:
    """Open the document, which is always closed again, with the metadata about its password. Raises DocumentError
    `encrypted` if neither the empty password nor one of the bank fits, `truncated` or `corrupt`."""
    about: dict[str, Any] = {}
    if _ENDLESS(data):
        raise corrupt(f"more than {MOST_ENDLESS} streams in it have no end")
    try:
        document = pdfium.PdfDocument(data)
    except pdfium.PdfiumError as error:
        code, detail = _CODES.get(error.err_code, (ExceptionCode.CORRUPT, "it contains no PDF document"))
        if code is ExceptionCode.CORRUPT and looks_cut(data):
            code, detail = ExceptionCode.TRUNCATED, "the PDF breaks off before its end-of-file marker"
        if error.err_code != raw.FPDF_ERR_PASSWORD:
            raise DocumentError(code, detail) from error
        document, about = _unlocked(data, passwords, limits)
    try:
        yield document, about
    finally:
        document.close()


def _endless(data: bytes) -> bool:
    """Return whether more than `MOST_ENDLESS` streams begin inside another: PDFium searches each end."""
    if data.count(_STREAM) <= MOST_ENDLESS:  # nearly always, and much faster to check
        return False
    count, open_stream, at = 0, False, data.find(_STREAM)
    while at >= 0 and count <= MOST_ENDLESS:
        if data.startswith(_END, at - 3):
            open_stream = False
        elif data[at - 3 : at].strip().endswith(b">"):
            count += open_stream
            open_stream = True
        at = data.find(_STREAM, at + len(_STREAM))
    return count > MOST_ENDLESS


_ENDLESS = Last(_endless)  # a document is opened for its text and for its children


def _unlocked(data: bytes, passwords: Passwords, limits: Limits) -> tuple[pdfium.PdfDocument, dict[str, Any]]:
    """Open the document with the first password that fits as the user's or the owner's."""

    def attempt(password: str) -> pdfium.PdfDocument | None:
        try:
            return pdfium.PdfDocument(data, password=password)
        except pdfium.PdfiumError as error:
            if error.err_code != raw.FPDF_ERR_PASSWORD:
                raise corrupt(f"a password opens it, but it is damaged: {error}") from error
            return None

    cost = _COST_OF_A_TRY + len(data) * _COST_OF_A_BYTE
    unlocked = passwords.open(hashlib.sha256(data).digest(), attempt, cost=cost, budget=TryBudget(limits), known=())
    return unlocked.value, unlocked.metadata


def with_forms(document: pdfium.PdfDocument, data: bytes) -> None:
    """Read the values of form fields with the pages that are opened later; call it before any page is opened. With very
    many fields, for which PDFium needs quadratic time, only the values in the pages' own widgets are read."""
    if next(itertools.islice(_FIELD.finditer(data), MOST_FIELDS, None), None) is None:
        with suppress(pdfium.PdfiumError):
            document.init_forms()


def information(document: pdfium.PdfDocument, keys: Iterable[str]) -> dict[str, str]:
    """Return the values of these keys of the document information (ISO 32000-1, 14.3.3); "" for a missing one."""
    return {key: read_text(functools.partial(raw.FPDF_GetMetaText, document.raw, key.encode())) for key in keys}


def attachments(document: pdfium.PdfDocument, data: bytes) -> Iterator[Attachment]:
    """Yield embedded files in the order of the name tree, then those of file-attachment annotations by page.

    Pages are read only if such an annotation may exist."""
    count = raw.FPDFDoc_GetAttachmentCount(document)
    for index in range(min(count, MOST_FILES)):
        yield raw.FPDFDoc_GetAttachment(document, index)
    if count > MOST_FILES:  # PDFium looks for each from the first one on
        detail = f"{count} embedded files; the first {MOST_FILES} are read"
        raise DocumentError(ExceptionCode.CHILDREN_LIMIT, detail, missing=count - MOST_FILES)
    if not may_mention(data, b"/FileAttachment"):
        return
    pages = Pages(document, data)
    for number in range(len(pages)):
        try:
            yield from pages.attached(number)
        except pdfium.PdfiumError:  # `text` reports the unreadable page
            continue


def embedded(data: bytes) -> int:
    """Return how many streams are labelled as embedded files (ISO 32000-1, table 45; the label is optional). No stream
    is packed into another, and names are not encrypted."""
    return len(_EMBEDDED.findall(data)) if b"/EmbeddedFile" in data else 0


def attachment_name(attachment: Attachment) -> str:
    """Return the name as stored; "" if there is none."""
    return read_text(functools.partial(raw.FPDFAttachment_GetName, attachment))


def attachment_bytes(attachment: Attachment) -> bytes:
    """Return the embedded file. Raises DocumentError `corrupt` if the entry has none."""
    length = ctypes.c_ulong()
    if not attachment or not raw.FPDFAttachment_GetFile(attachment, None, 0, length):
        raise corrupt("the PDF names an embedded file that is not in it")
    buffer = ctypes.create_string_buffer(max(1, length.value))
    written = ctypes.c_ulong()
    if length.value and not raw.FPDFAttachment_GetFile(attachment, buffer, length.value, written):
        raise corrupt("an embedded file of the PDF cannot be decoded")
    return buffer.raw[: length.value]
