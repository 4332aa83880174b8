"""Pictures of words that any tesseract reads, and whether there is one."""

import io
import uuid
from collections.abc import Sequence
from pathlib import Path

from PIL import Image, ImageDraw, ImageFont
from PIL.PngImagePlugin import PngInfo
from reportlab.lib.utils import ImageReader
from reportlab.pdfgen import canvas

from core.clock import SystemClock
from core.records import Limits, OcrChoice
from readers.base import MemorySource
from readers.identification.identify import identify
from readers.registry import handler_for
from sql.findings import Item, ItemText
from worker.items.findings import Findings
from worker.items.loose import loose_row
from worker.items.texts import take_text
from worker.ocr.reading import Reader
from worker.ocr.tesseract import Engine, find_engine

ENGLISH = OcrChoice(languages="eng")


def drawn(*lines: str) -> Image.Image:
    """Large black words on white, a line each."""
    image = Image.new("L", (900, 60 + 110 * max(1, len(lines))), 255)
    draw, font = ImageDraw.Draw(image), ImageFont.load_default(size=64)
    for number, line in enumerate(lines):
        draw.text((40, 30 + 110 * number), line, font=font, fill=0)
    return image


def picture(kind: str, *pages: Sequence[str]) -> bytes:
    """A file of that kind (Pillow's name) with the words of each page; only TIFF and PDF have several."""
    first, *rest = [drawn(*lines) for lines in pages]
    out = io.BytesIO()
    several = {"save_all": True, "append_images": rest} if kind in ("TIFF", "PDF") else {}
    resolution = {"resolution": 150.0} if kind == "PDF" else {}
    first.save(out, kind, **several, **resolution)
    return out.getvalue()


def mixed_pdf(*pages: str | Sequence[str] | None) -> bytes:
    """A PDF whose pages are text, a scan of lines (a sequence), or blank (None)."""
    out = io.BytesIO()
    document = canvas.Canvas(out)
    for page in pages:
        if isinstance(page, str):
            document.drawString(72, 700, page)
        elif page is not None:
            document.drawImage(ImageReader(drawn(*page)), 36, 400, width=520, preserveAspectRatio=True, anchor="sw")
        document.showPage()
    document.save()
    return out.getvalue()


def stand_in(directory: Path, script: str) -> Engine:
    """A program in tesseract's place that does what no tesseract can be had to do."""
    program = directory / "stand-in"
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)
    return Engine(str(program), "5.0.0", ("eng",))


def read(
    data: bytes, choice: OcrChoice = ENGLISH, engine: Engine | None = None, limits: Limits | None = None
) -> tuple[str, ItemText, dict[str, str]]:
    """Text, row and exceptions (code → detail) of a loose file that OCR is for."""
    source = MemorySource(b"x", data)
    item = item_of(data)
    out = Findings()
    own, row = take_text(item, source, handler_for(item.media_type), Limits(), out, ocr=True)
    reader = Reader(
        engine=engine or find_engine(),
        choice=choice,
        limits=limits or Limits(),
        clock=SystemClock(),
        enter=lambda item, seconds: None,
    )
    text, new = reader.read(item, row, source, out, own)
    return text, new, {e.code.value: e.detail for e in out.exceptions}


def captioned(png: bytes, caption: str) -> bytes:
    """The same picture, with something written about it."""
    about, out = PngInfo(), io.BytesIO()
    about.add_text("Description", caption)
    Image.open(io.BytesIO(png)).save(out, "PNG", pnginfo=about)
    return out.getvalue()


def item_of(data: bytes) -> Item:
    """The row of a loose file with these bytes."""
    media_type = identify(MemorySource(b"x", data), None)
    return loose_row(uuid.UUID(int=0), 0, b"x", media_type=media_type, size=len(data), sha256=bytes(32))
