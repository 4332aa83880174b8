"""A PDF's pages as pictures, rendered by PDFium."""

from __future__ import annotations

import math
from contextlib import closing
from dataclasses import dataclass

import pypdfium2 as pdfium

from core.records import OcrChoice
from readers.errors import corrupt
from worker.ocr.candidates import LEAST_PIXELS
from worker.ocr.page import Page

_POINTS_AN_INCH = 72


@dataclass(slots=True)
class PdfPages:
    """A PDF's pages in shades of grey or colour, with annotations drawn."""

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
                colour = self.choice.colour
                bitmap = page.render(scale=dpi / _POINTS_AN_INCH, grayscale=not colour, rev_byteorder=colour)
        except pdfium.PdfiumError as error:
            raise corrupt(f"page {number + 1} cannot be rendered") from error
        try:
            return _bilevel(bitmap, dpi) if self.choice.bilevel else _netpbm(bitmap, dpi)
        finally:
            bitmap.close()


def _netpbm(bitmap: pdfium.PdfBitmap, dpi: float) -> Page | None:
    pixels, width, height, stride = bytes(bitmap.buffer), bitmap.width, bitmap.height, bitmap.stride
    if pixels.count(pixels[:1]) == len(pixels):
        return None
    kind, row = (b"P6", 3 * width) if bitmap.n_channels == 3 else (b"P5", width)
    if stride != row:
        pixels = b"".join(pixels[at : at + row] for at in range(0, height * stride, stride))
    # tesseract believes no resolution below 70
    return Page(b"%b %d %d 255\n%b" % (kind, width, height, pixels), max(70, round(dpi)))


def _bilevel(bitmap: pdfium.PdfBitmap, dpi: float) -> Page:
    from worker.ocr.picture_pages import pbm  # numpy, which OCR does without

    return pbm(bitmap.to_numpy().reshape(bitmap.height, bitmap.width), max(1, round(dpi)))


def dpi_for(width: float, height: float, choice: OcrChoice) -> float:
    """Return the resolution for a page of so many points: the chosen one, or less if the page had too many pixels then.

    PDFium rounds both sides up, so that with s pixels a point (width·s + 1)·(height·s + 1) must not be above the
    limit."""
    area, sides = width * height, width + height
    if not (width > 0 and height > 0 and math.isfinite(area)):
        raise corrupt(f"a page of {width:g} x {height:g} points cannot be rendered")
    most = (math.sqrt(sides * sides + 4 * area * (choice.rendered_pixels - 1)) - sides) / (2 * area)
    return min(float(choice.dpi), _POINTS_AN_INCH * most)
