"""The pages of an item as pictures for tesseract: frames of a picture, or a PDF's pages rendered by PDFium."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from typing import Protocol

import pypdfium2 as pdfium

from core.errors import DocumentError, ExceptionCode
from core.records import Limits, OcrChoice
from worker.formats import pdf_document
from worker.formats.base import Source
from worker.formats.image import measured
from worker.ocr.candidates import LEAST_PIXELS, PDF
from worker.ocr.tesseract import held
from worker.sources import CHUNK

_POINTS_AN_INCH = 72
# As Leptonica tells them apart: these are taken for pictures in every release, whatever comes behind.
_PICTURES = (b"\x89PNG\r\n\x1a\n", b"\xff\xd8\xff", b"GIF87a", b"GIF89a", b"BM", b"II*\0", b"MM\0*", b"II+\0", b"MM\0+")


@dataclass(frozen=True, slots=True)
class Picture:
    """What tesseract gets for one page: a file in memory, and of a TIFF which frame."""

    file: int
    frame: int = 0
    dpi: int | None = None  # None: the picture says, or tesseract guesses


class Pages(Protocol):
    """The pages of one item while it is open."""

    @property
    def count(self) -> int:
        """How many there are."""

    def page(self, number: int) -> Picture | None:
        """Page `number` (from 0), to be used before the next one is asked for; None for one that is blank.
        Raises DocumentError."""


@contextmanager
def pages_of(source: Source, media_type: str, limits: Limits, choice: OcrChoice) -> Iterator[Pages]:
    """Open an item; DocumentError when it cannot be, or is larger than it may be."""
    with held() as file:
        if media_type == PDF:
            data = source.whole(limits.parse_bytes)
            with pdf_document.opened(data, source.passwords, limits) as (document, _):
                yield PdfPages(document, file, choice)
        else:
            yield _picture(source, file, limits, choice)


@dataclass(slots=True)
class PicturePages:
    """A picture, whose bytes tesseract reads as they are."""

    file: int
    count: int

    def page(self, number: int) -> Picture | None:
        return Picture(self.file, number)


def _picture(source: Source, file: int, limits: Limits, choice: OcrChoice) -> PicturePages:
    """Raises DocumentError for what is no picture after all: tesseract would take it for a list of files to open."""
    if source.size > limits.parse_bytes:
        raise DocumentError(ExceptionCode.TOO_LARGE, f"{source.size} bytes; the limit is {limits.parse_bytes}")
    with source.open() as stream:
        while chunk := stream.read(CHUNK):
            _write(file, chunk)
    if not is_picture(os.pread(file, 16, 0)):
        raise DocumentError(ExceptionCode.CORRUPT, "it does not begin as a picture that tesseract reads")
    found = measured(source)
    if found is None:
        raise DocumentError(ExceptionCode.CORRUPT, "it does not begin as a picture")
    _, size = found
    if size.width * size.height > choice.pixels:
        detail = f"{size.width} x {size.height} pixels; OCR takes {choice.pixels} at most"
        raise DocumentError(ExceptionCode.TOO_LARGE, detail)
    return PicturePages(file, size.frames or 1)


def is_picture(head: bytes) -> bool:
    """Whether every tesseract takes what begins so for a picture, and nothing else."""
    return head.startswith(_PICTURES) or (head[:4] == b"RIFF" and head[8:12] == b"WEBP")


@dataclass(slots=True)
class PdfPages:
    """A PDF's pages in shades of grey, as PGM, with annotations drawn."""

    document: pdfium.PdfDocument
    file: int
    choice: OcrChoice

    @property
    def count(self) -> int:
        return len(self.document)

    def page(self, number: int) -> Picture | None:
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
            return self._written(bitmap, dpi)
        finally:
            bitmap.close()

    def _written(self, bitmap: pdfium.PdfBitmap, dpi: float) -> Picture | None:
        pixels, width, height, stride = bytes(bitmap.buffer), bitmap.width, bitmap.height, bitmap.stride
        if pixels.count(pixels[:1]) == len(pixels):
            return None
        os.ftruncate(self.file, 0)
        os.lseek(self.file, 0, os.SEEK_SET)
        _write(self.file, b"P5 %d %d 255\n" % (width, height))
        rows = (pixels,) if stride == width else (pixels[at : at + width] for at in range(0, height * stride, stride))
        for row in rows:
            _write(self.file, row)
        return Picture(self.file, dpi=max(70, round(dpi)))  # tesseract believes none below 70


def dpi_for(width: float, height: float, choice: OcrChoice) -> float:
    """What a page of so many points is rendered at: as chosen, or less where it had too many pixels then.

    PDFium rounds both sides up, so that with s pixels a point (width·s + 1)·(height·s + 1) must not be above the limit.
    """
    area, sides = width * height, width + height
    if not (width > 0 and height > 0 and math.isfinite(area)):
        raise DocumentError(ExceptionCode.CORRUPT, f"a page of {width:g} x {height:g} points cannot be rendered")
    most = (math.sqrt(sides * sides + 4 * area * (choice.rendered_pixels - 1)) - sides) / (2 * area)
    return min(float(choice.dpi), _POINTS_AN_INCH * most)


def _write(file: int, data: bytes) -> None:
    """All of it: a write may take less, of two gigabytes and more."""
    view = memoryview(data)
    while view:
        view = view[os.write(file, view) :]
