"""The outline of a PDF (ISO 32000-1, 12.3.3): titles that a reader shows beside the pages, and that no page need say."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator

import pypdfium2 as pdfium
import pypdfium2.raw as raw

from formats.documents.pdf.pages import utf16

_MOST = 10_000  # entries


def titles(document: pdfium.PdfDocument) -> Iterator[str]:
    """Each different one, in the order of the outline. One that goes in circles ends; it does not go on beyond 10,000."""
    told: set[str] = set()
    seen: set[int | None] = set()
    waiting = [raw.FPDFBookmark_GetFirstChild(document.raw, None)]
    while waiting and len(seen) < _MOST:
        entry = waiting.pop()
        place = ctypes.cast(entry, ctypes.c_void_p).value
        if not place or place in seen:
            continue
        seen.add(place)
        waiting.append(raw.FPDFBookmark_GetNextSibling(document.raw, entry))
        waiting.append(raw.FPDFBookmark_GetFirstChild(document.raw, entry))
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
