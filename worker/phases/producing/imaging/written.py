"""A page with its Bates number below it, as the bytes of a file: the same bytes wherever and whenever it is made."""

from __future__ import annotations

import io
import math
import time

from PIL import Image, ImageDraw

from worker.ocr.bilevel import black_and_white
from worker.phases.producing.imaging.choice import Format
from worker.phases.producing.imaging.typeset import font

SUFFIXES: dict[Format, str] = {"tiff": ".tif", "jpeg": ".jpg", "pdf": ".pdf"}
_STRIP_INCHES, _POINTS = 0.25, 9.0
_QUALITY = 85
_EPOCH = time.gmtime(0)


def stamped(page: Image.Image, dpi: int, number: str) -> Image.Image:
    """The page with a strip below, in which its number stands at the right: nothing of it is covered, and nothing of the number
    cut off. Beside a page that is narrower than this there is white."""
    strip, face = max(12, round(_STRIP_INCHES * dpi)), font(_POINTS, dpi)
    wide = face.getlength(number, "1" if page.mode == "1" else "L")
    width, height = max(page.width, math.ceil(wide) + 2 * strip), page.height + strip
    out = Image.new(page.mode, (width, height), None)  # not filled: a page is eight million pixels
    out.paste(page, (0, 0))
    if width > page.width:
        out.paste("white", (page.width, 0, width, page.height))
    out.paste("white", (0, page.height, width, height))
    ImageDraw.Draw(out).text((width - wide - strip, page.height + strip // 8), number, fill=0, font=face)
    return out


def encoded(page: Image.Image, dpi: int, kind: Format) -> bytes:
    """The bytes of the file."""
    out = io.BytesIO()
    if kind == "jpeg":
        page.convert("RGB").save(out, "JPEG", quality=_QUALITY, dpi=(dpi, dpi))
        return out.getvalue()
    black = black_and_white(page)
    if kind == "tiff":
        black.save(out, "TIFF", compression="group4", dpi=(dpi, dpi))
    else:
        black.save(out, "PDF", resolution=float(dpi), creationDate=_EPOCH, modDate=_EPOCH)
    return out.getvalue()
