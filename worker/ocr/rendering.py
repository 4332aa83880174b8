"""What lies in an item whose pages are to be recognised: how many there are, and a PDF's pages (worker.ocr.pdf_pages).

Parsing, so it is done in the box where there is one (worker.box); `pages` hands over what comes of it.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Protocol

from core.records import OcrChoice
from readers.base import Source
from readers.errors import DocumentError, ExceptionCode
from readers.images.kinds import measured
from readers.records import Limits
from worker.ocr.candidates import PDF
from worker.ocr.page import Page

# As Leptonica tells them apart: these are taken for pictures in every release, whatever comes behind.
_PICTURES = (b"\x89PNG\r\n\x1a\n", b"\xff\xd8\xff", b"GIF87a", b"GIF89a", b"BM", b"II*\0", b"MM\0*", b"II+\0", b"MM\0+")


class Rendering(Protocol):
    """One item while it is open."""

    @property
    def count(self) -> int:
        """Its pages."""

    def page(self, number: int) -> Page | None:
        """Page `number` (from 0) of a PDF; None for one that is blank. Raises DocumentError."""


@contextmanager
def rendered(source: Source, media_type: str, limits: Limits, choice: OcrChoice) -> Iterator[Rendering]:
    """Open an item; DocumentError when it cannot be, or is larger than it may be."""
    if media_type == PDF:
        from readers.documents.pdf import document as pdf_document  # PDFium, which a slot that has a box never needs
        from worker.ocr.pdf_pages import PdfPages

        data = source.whole(limits.parse_bytes)
        with pdf_document.opened(data, source.passwords, limits) as (document, _):
            yield PdfPages(document, choice)
    elif choice.drawn:
        from worker.ocr.picture_pages import opened  # Pillow

        _frames(source, limits, choice)
        with opened(source, limits, choice) as pages:
            yield pages
    else:
        yield Frames(_frames(source, limits, choice))


@dataclass(frozen=True, slots=True)
class Frames:
    """A picture, whose bytes tesseract reads as they are."""

    count: int

    def page(self, number: int) -> Page | None:
        return None


def _frames(source: Source, limits: Limits, choice: OcrChoice) -> int:
    """Raises DocumentError for what is no picture after all: tesseract would take it for a list of files to open."""
    if source.size > limits.parse_bytes:
        raise DocumentError(ExceptionCode.TOO_LARGE, f"{source.size} bytes; the limit is {limits.parse_bytes}")
    if not is_picture(source.head[:16]):
        raise DocumentError(ExceptionCode.CORRUPT, "it does not begin like an image that tesseract reads")
    measurement = measured(source)
    if measurement is None:
        raise DocumentError(ExceptionCode.CORRUPT, "it does not begin like an image")
    _, size = measurement
    if size.width * size.height > choice.pixels:
        detail = f"{size.width} x {size.height} pixels; OCR takes {choice.pixels} at most"
        raise DocumentError(ExceptionCode.TOO_LARGE, detail)
    return size.frames or 1


def is_picture(head: bytes) -> bool:
    """Whether every tesseract takes what begins so for a picture, and nothing else."""
    return head.startswith(_PICTURES) or (head[:4] == b"RIFF" and head[8:12] == b"WEBP")
