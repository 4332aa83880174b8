"""PDFium behind a narrow door: documents closed in time, its error numbers as document errors.

PDFium is not thread-safe; a slot is one thread of its own process, which may be forked from one that has imported it.
"""

from __future__ import annotations

import ctypes
import hashlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

import pypdfium2 as pdfium
import pypdfium2.raw as raw

from core.errors import DocumentError, ExceptionCode
from core.records import Limits
from worker.formats.passwords import Passwords, Purse

_COST_OF_A_TRY, _COST_OF_A_BYTE = 1_500.0, 0.002  # microseconds: PDFium reads the document's outline with each
_TAIL = 4096  # Acrobat wants %%EOF in the last 1,024 bytes (PDF 32000-1, annex H.3, note 18)
_CODES = {
    raw.FPDF_ERR_PASSWORD: (ExceptionCode.ENCRYPTED, "a password is needed to open it"),
    raw.FPDF_ERR_SECURITY: (ExceptionCode.ENCRYPTED, "its encryption scheme is not known"),
}
Attachment = Any  # raw.FPDF_ATTACHMENT, a ctypes pointer made at import
_FILLED_IN = (raw.FPDF_FORMFIELD_TEXTFIELD, raw.FPDF_FORMFIELD_COMBOBOX, raw.FPDF_FORMFIELD_LISTBOX)
_NOT_TEXT = (raw.FPDF_ANNOT_LINK, raw.FPDF_ANNOT_POPUP)


def looks_cut(data: bytes) -> bool:
    """Whether the end-of-file marker is missing where readers look for it."""
    return b"%%EOF" not in data[-_TAIL:]


@contextmanager
def opened(data: bytes, passwords: Passwords, limits: Limits) -> Iterator[tuple[pdfium.PdfDocument, dict[str, Any]]]:
    """The document, closed again whatever happens, and what its metadata says of its password. DocumentError
    `encrypted` when neither the empty password nor one of the bank fits, `truncated` or `corrupt`."""
    about: dict[str, Any] = {}
    try:
        document = pdfium.PdfDocument(data)
    except pdfium.PdfiumError as error:
        code, detail = _CODES.get(error.err_code, (ExceptionCode.CORRUPT, "no PDF document can be found in it"))
        if code is ExceptionCode.CORRUPT and looks_cut(data):
            code, detail = ExceptionCode.TRUNCATED, "the PDF breaks off before its end-of-file marker"
        if error.err_code != raw.FPDF_ERR_PASSWORD:
            raise DocumentError(code, detail) from error
        document, about = _unlocked(data, passwords, limits)
    try:
        yield document, about
    finally:
        document.close()


def _unlocked(data: bytes, passwords: Passwords, limits: Limits) -> tuple[pdfium.PdfDocument, dict[str, Any]]:
    """The document under the first password that fits as the user's or the owner's."""

    def attempt(password: str) -> pdfium.PdfDocument | None:
        try:
            return pdfium.PdfDocument(data, password=password)
        except pdfium.PdfiumError as error:
            if error.err_code != raw.FPDF_ERR_PASSWORD:
                raise DocumentError(
                    ExceptionCode.CORRUPT, f"it opens with a password and is damaged: {error}"
                ) from error
            return None

    cost = _COST_OF_A_TRY + len(data) * _COST_OF_A_BYTE
    found = passwords.open(hashlib.sha256(data).digest(), attempt, cost=cost, purse=Purse(limits), known=())
    return found.value, found.metadata


@contextmanager
def page_of(document: pdfium.PdfDocument, index: int) -> Iterator[pdfium.PdfPage]:
    """One page, closed again; pdfium.PdfiumError when it cannot be read."""
    page = document.get_page(index)
    try:
        yield page
    finally:
        page.close()


def page_text(page: pdfium.PdfPage) -> str:
    """The page's text with `\\n` line ends; words hyphenated at a line's end (U+FFFE) are joined again."""
    text_page = page.get_textpage()
    try:
        text = str(text_page.get_text_range())
    finally:
        text_page.close()
    return text.replace("\ufffe\r\n", "").replace("\ufffe", "").replace("\r\n", "\n")


@contextmanager
def _annotation(page: pdfium.PdfPage, index: int) -> Iterator[raw.FPDF_ANNOTATION]:
    annotation = raw.FPDFPage_GetAnnot(page, index)
    try:
        yield annotation
    finally:
        if annotation:
            raw.FPDFPage_CloseAnnot(annotation)


def _utf16(count: int, buffer: ctypes.Array[ctypes.c_char]) -> str:
    return buffer.raw[: max(0, count - 2)].decode("utf-16-le", "ignore")


def _annotation_string(annotation: raw.FPDF_ANNOTATION, key: bytes) -> str:
    length = raw.FPDFAnnot_GetStringValue(annotation, key, None, 0)
    if length <= 2:
        return ""
    buffer = ctypes.create_string_buffer(length)
    raw.FPDFAnnot_GetStringValue(annotation, key, ctypes.cast(buffer, ctypes.POINTER(raw.FPDF_WCHAR)), length)
    return _utf16(length, buffer)


def with_forms(document: pdfium.PdfDocument) -> None:
    """Have the values of form fields read with the pages that are opened from now on; needs to be called before any is."""
    with suppress(pdfium.PdfiumError):
        document.init_forms()


def _field_value(form: raw.FPDF_FORMHANDLE, annotation: raw.FPDF_ANNOTATION) -> str:
    """What was filled in or chosen, wherever in the field's ancestors it stands (ISO 32000-1, 12.7.3.1); "" for buttons."""
    if raw.FPDFAnnot_GetFormFieldType(form, annotation) not in _FILLED_IN:
        return ""
    length = raw.FPDFAnnot_GetFormFieldValue(form, annotation, None, 0)
    if length <= 2:
        return ""
    buffer = ctypes.create_string_buffer(length)
    raw.FPDFAnnot_GetFormFieldValue(form, annotation, ctypes.cast(buffer, ctypes.POINTER(raw.FPDF_WCHAR)), length)
    return _utf16(length, buffer)


def annotation_texts(page: pdfium.PdfPage) -> Iterator[str]:
    """Comments, and the values of form fields (see `with_forms`)."""
    form = page.formenv
    for index in range(raw.FPDFPage_GetAnnotCount(page)):
        with _annotation(page, index) as annotation:
            subtype = raw.FPDFAnnot_GetSubtype(annotation) if annotation else raw.FPDF_ANNOT_LINK
            if subtype in _NOT_TEXT:
                continue
            if subtype != raw.FPDF_ANNOT_WIDGET:
                text = _annotation_string(annotation, b"Contents")
            elif form is not None:
                text = _field_value(form.raw, annotation)
            else:
                text = _annotation_string(annotation, b"V")
        if text.strip():
            yield text.replace("\r\n", "\n").replace("\r", "\n")


def attachments(document: pdfium.PdfDocument, data: bytes) -> Iterator[Attachment]:
    """Embedded files in the order of the name tree, then those of file-attachment annotations by page.

    Pages are read only where such an annotation may be: its type stands in the bytes, or objects are compressed."""
    for index in range(raw.FPDFDoc_GetAttachmentCount(document)):
        yield raw.FPDFDoc_GetAttachment(document, index)
    if b"/FileAttachment" not in data and b"/ObjStm" not in data:
        return
    for number in range(len(document)):
        try:
            with page_of(document, number) as page:
                yield from _attached_to(page)
        except pdfium.PdfiumError:  # `text` reports the unreadable page
            continue


def _attached_to(page: pdfium.PdfPage) -> Iterator[Attachment]:
    for index in range(raw.FPDFPage_GetAnnotCount(page)):
        with _annotation(page, index) as annotation:
            if annotation and raw.FPDFAnnot_GetSubtype(annotation) == raw.FPDF_ANNOT_FILEATTACHMENT:
                yield raw.FPDFAnnot_GetFileAttachment(annotation)


def attachment_name(attachment: Attachment) -> str:
    """As stored; "" when there is none."""
    length = raw.FPDFAttachment_GetName(attachment, None, 0)
    if length <= 2:
        return ""
    buffer = ctypes.create_string_buffer(length)
    raw.FPDFAttachment_GetName(attachment, ctypes.cast(buffer, ctypes.POINTER(raw.FPDF_WCHAR)), length)
    return _utf16(length, buffer)


def attachment_bytes(attachment: Attachment) -> bytes:
    """The embedded file. DocumentError `corrupt` when there is none behind the entry."""
    length = ctypes.c_ulong()
    if not attachment or not raw.FPDFAttachment_GetFile(attachment, None, 0, length):
        raise DocumentError(ExceptionCode.CORRUPT, "the PDF names an embedded file that is not in it")
    buffer = ctypes.create_string_buffer(max(1, length.value))
    written = ctypes.c_ulong()
    if length.value and not raw.FPDFAttachment_GetFile(attachment, buffer, length.value, written):
        raise DocumentError(ExceptionCode.CORRUPT, "an embedded file of the PDF cannot be decoded")
    return buffer.raw[: length.value]
