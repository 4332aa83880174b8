"""The outline of a PDF (ISO 32000-1, 12.3.3): titles that a viewer shows next to the pages, and that no page need
contain."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator

import pypdfium2 as pdfium
import pypdfium2.raw as raw

from readers.documents.pdf.pages import utf16
from readers.errors import DocumentError, ExceptionCode

_MOST = 10_000  # entries


class Outline:
    """Each different title, in the order of the outline. A circular outline ends; one of more than 10,000 entries stops
    there, and `error` reports it afterwards."""

    def __init__(self, document: pdfium.PdfDocument) -> None:
        self._document = document
        self.error: DocumentError | None = None

    def __iter__(self) -> Iterator[str]:
        told: set[str] = set()
        seen: set[int] = set()
        waiting = [raw.FPDFBookmark_GetFirstChild(self._document.raw, None)]
        while waiting:
            entry = waiting.pop()
            place = ctypes.cast(entry, ctypes.c_void_p).value
            if not place or place in seen:
                continue
            if len(seen) >= _MOST:
                detail = f"its outline has more entries than the first {_MOST:,}, which are read"
                self.error = DocumentError(ExceptionCode.TOO_LARGE, detail)
                return
            seen.add(place)
            waiting.append(raw.FPDFBookmark_GetNextSibling(self._document.raw, entry))
            waiting.append(raw.FPDFBookmark_GetFirstChild(self._document.raw, entry))
            if (title := _title(entry)) and title not in told:
                told.add(title)
                yield title


def _title(entry: raw.FPDF_BOOKMARK) -> str:
    length = raw.FPDFBookmark_GetTitle(entry, None, 0)
    if length <= 2:
        return ""
    buffer = ctypes.create_string_buffer(length)
    raw.FPDFBookmark_GetTitle(entry, buffer, length)
    return utf16(buffer.raw).strip()
