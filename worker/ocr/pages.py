"""The pages of an item as pictures for tesseract: frames of a picture, or a PDF's pages as they were rendered."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from typing import Protocol

from core.records import OcrChoice
from readers.base import Source
from readers.errors import corrupt, too_large
from readers.images.size import measured
from readers.records import Limits
from worker.items.sources import CHUNK
from worker.ocr.candidates import PDF
from worker.ocr.page import Page
from worker.ocr.tesseract import held

# Beginnings by which every release of Leptonica recognises a picture, whatever follows.
_PICTURES = (b"\x89PNG\r\n\x1a\n", b"\xff\xd8\xff", b"GIF87a", b"GIF89a", b"BM", b"II*\0", b"MM\0*", b"II+\0", b"MM\0+")


class Rendering(Protocol):
    """One item while it is open."""

    @property
    def count(self) -> int:
        """Number of pages."""

    def page(self, number: int) -> Page | None:
        """Return page `number` (from 0) of a PDF; None for a blank one. Raises DocumentError."""


@contextmanager
def rendered(source: Source, media_type: str, limits: Limits, choice: OcrChoice) -> Iterator[Rendering]:
    """Open an item. Raises DocumentError if it cannot be opened, or is too large."""
    if media_type == PDF:
        from readers.documents.pdf import (
            document as pdf_document,  # PDFium, which a slot that has a sandbox never needs
        )
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
    """Return the number of frames. Raises DocumentError if it is too large, or no picture after all: tesseract would
    take it for a list of files to open."""
    if source.size > limits.parse_bytes:
        raise too_large(f"{source.size} bytes; the limit is {limits.parse_bytes}")
    if not is_picture(source.head[:16]):
        raise corrupt("it does not begin like an image that tesseract reads")
    measurement = measured(source)
    if measurement is None:
        raise corrupt("it does not begin like an image")
    _, size = measurement
    if size.width * size.height > choice.pixels:
        raise too_large(f"{size.width} x {size.height} pixels; OCR takes {choice.pixels} at most")
    return size.frames or 1


def is_picture(head: bytes) -> bool:
    """Return whether every tesseract takes data with this beginning for a picture, and for nothing else."""
    return head.startswith(_PICTURES) or (head[:4] == b"RIFF" and head[8:12] == b"WEBP")


Render = Callable[[Source, str, Limits, OcrChoice], AbstractContextManager[Rendering]]
_RENDER: list[Render] = [rendered]


def render_by(render: Render) -> None:
    """Open items with `render` for the rest of this process (worker.sandbox)."""
    _RENDER[:] = [render]


def rendering_of(
    source: Source, media_type: str, limits: Limits, choice: OcrChoice
) -> AbstractContextManager[Rendering]:
    """Open an item with the function for this process. Raises DocumentError if it cannot be opened."""
    return _RENDER[0](source, media_type, limits, choice)


@dataclass(frozen=True, slots=True)
class Picture:
    """Input of tesseract for one page: a file in memory, and the frame of a TIFF."""

    file: int
    frame: int = 0
    dpi: int | None = None  # None: the picture's own, or tesseract guesses


@dataclass(frozen=True, slots=True)
class Pages:
    """The pages of one item while it is open. Tesseract reads a picture's bytes as they are, a PDF's pages as they are
    `rendered` on demand."""

    rendering: Rendering
    file: int
    rendered: bool

    @property
    def count(self) -> int:
        """Number of pages."""
        return self.rendering.count

    def page(self, number: int) -> Picture | None:
        """Return page `number` (from 0), valid until the next call; None for a blank one. Raises DocumentError."""
        if not self.rendered:
            return Picture(self.file, number)
        picture = self.rendering.page(number)
        if picture is None:
            return None
        if not picture.data.startswith(_PGM):
            raise corrupt(f"page {number + 1} was not rendered to an image")
        os.ftruncate(self.file, 0)
        os.lseek(self.file, 0, os.SEEK_SET)
        _write(self.file, picture.data)
        return Picture(self.file, dpi=picture.dpi)


@contextmanager
def pages_of(source: Source, media_type: str, limits: Limits, choice: OcrChoice) -> Iterator[Pages]:
    """Open an item. Raises DocumentError if it cannot be opened, or is too large."""
    with held() as file, _RENDER[0](source, media_type, limits, choice) as rendering:
        if media_type != PDF:
            _copy(source, file)
        yield Pages(rendering, file, rendered=media_type == PDF)


def _copy(source: Source, file: int) -> None:
    """Copy all its bytes. Raises DocumentError if they do not begin as a picture: tesseract would take them for a list
    of files."""
    with source.open() as stream:
        while chunk := stream.read(CHUNK):
            _write(file, chunk)
    if not is_picture(os.pread(file, 16, 0)):
        raise corrupt("it does not begin like an image that tesseract reads")


_PGM = b"P5 "


def _write(file: int, data: bytes) -> None:
    """Write all of it: one write of two gigabytes or more may write less."""
    view = memoryview(data)
    while view:
        view = view[os.write(file, view) :]
