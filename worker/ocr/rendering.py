"""What lies in an item whose pages are to be recognised: how many there are, and a PDF's pages rendered by PDFium.

Parsing, so it is done in the box where there is one (worker.box); `pages` hands over what comes of it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from typing import Protocol

import pypdfium2 as pdfium

from core.errors import DocumentError, ExceptionCode
from core.records import Limits, OcrChoice
from formats.base import Source
from formats.documents.pdf import document as pdf_document
from formats.images.handler import measured
from worker.ocr.candidates import LEAST_PIXELS, PDF

_POINTS_AN_INCH = 72
# As Leptonica tells them apart: these are taken for pictures in every release, whatever comes behind.
_PICTURES = (b"\x89PNG\r\n\x1a\n", b"\xff\xd8\xff", b"GIF87a", b"GIF89a", b"BM", b"II*\0", b"MM\0*", b"II+\0", b"MM\0+")


@dataclass(frozen=True, slots=True)
class Page:
    """A page as PGM."""

    data: bytes
    dpi: int


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
        data = source.whole(limits.parse_bytes)
        with pdf_document.opened(data, source.passwords, limits) as (document, _):
            yield PdfPages(document, choice)
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
        raise DocumentError(ExceptionCode.CORRUPT, "it does not begin as a picture that tesseract reads")
    found = measured(source)
    if found is None:
        raise DocumentError(ExceptionCode.CORRUPT, "it does not begin as a picture")
    _, size = found
    if size.width * size.height > choice.pixels:
        detail = f"{size.width} x {size.height} pixels; OCR takes {choice.pixels} at most"
        raise DocumentError(ExceptionCode.TOO_LARGE, detail)
    return size.frames or 1


def is_picture(head: bytes) -> bool:
    """Whether every tesseract takes what begins so for a picture, and nothing else."""
    return head.startswith(_PICTURES) or (head[:4] == b"RIFF" and head[8:12] == b"WEBP")


@dataclass(slots=True)
class PdfPages:
    """A PDF's pages in shades of grey, with annotations drawn."""

    document: pdfium.PdfDocument
    choice: OcrChoice

    @property
    def count(self) -> int:
        return len(self.document)

    def page(self, number: int) -> Page | None:
        try:
            with closing(self.document.get_page(number)) as page:
                width, height = page.get_size()
                dpi = dpi_for(width, height, self.choice)
                if min(width, height) * dpi / _POINTS_AN_INCH < LEAST_PIXELS:
                    return None
                bitmap = page.render(scale=dpi / _POINTS_AN_INCH, grayscale=True)
        except pdfium.PdfiumError as error:
            raise DocumentError(ExceptionCode.CORRUPT, f"page {number + 1} cannot be rendered") from error
        try:
            return _pgm(bitmap, dpi)
        finally:
            bitmap.close()


def _pgm(bitmap: pdfium.PdfBitmap, dpi: float) -> Page | None:
    pixels, width, height, stride = bytes(bitmap.buffer), bitmap.width, bitmap.height, bitmap.stride
    if pixels.count(pixels[:1]) == len(pixels):
        return None
    if stride != width:
        pixels = b"".join(pixels[at : at + width] for at in range(0, height * stride, stride))
    return Page(b"P5 %d %d 255\n%b" % (width, height, pixels), max(70, round(dpi)))  # tesseract believes none below 70


def dpi_for(width: float, height: float, choice: OcrChoice) -> float:
    """What a page of so many points is rendered at: as chosen, or less where it had too many pixels then.

    PDFium rounds both sides up, so that with s pixels a point (width·s + 1)·(height·s + 1) must not be above the limit.
    """
    area, sides = width * height, width + height
    if not (width > 0 and height > 0 and math.isfinite(area)):
        raise DocumentError(ExceptionCode.CORRUPT, f"a page of {width:g} x {height:g} points cannot be rendered")
    most = (math.sqrt(sides * sides + 4 * area * (choice.rendered_pixels - 1)) - sides) / (2 * area)
    return min(float(choice.dpi), _POINTS_AN_INCH * most)
