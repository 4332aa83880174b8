"""A page with its Bates number below it, as the bytes of a file: the same bytes wherever and whenever it is made."""

from __future__ import annotations

import io
import time

from PIL import Image, ImageDraw

from worker.phases.producing.imaging.choice import Format
from worker.phases.producing.imaging.typeset import font

SUFFIXES: dict[Format, str] = {"tiff": ".tif", "jpeg": ".jpg", "pdf": ".pdf"}
_STRIP_INCHES, _POINTS = 0.25, 9.0
_QUALITY = 85
_THRESHOLD = 160  # of 255: darker is black. Thin grey print stays readable
_EPOCH = time.gmtime(0)


def stamped(page: Image.Image, dpi: int, number: str) -> Image.Image:
    """The page with a strip below, in which its number stands at the right: nothing of it is covered."""
    strip, mode = max(12, round(_STRIP_INCHES * dpi)), "RGB" if page.mode == "RGB" else "L"
    white = (255, 255, 255) if mode == "RGB" else 255
    out = Image.new(mode, (page.width, page.height + strip), white)
    out.paste(page, (0, 0))
    face = font(_POINTS, dpi)
    draw = ImageDraw.Draw(out)
    wide = draw.textlength(number, font=face)
    draw.text((max(0, page.width - wide - strip), page.height + strip // 8), number, fill=0, font=face)
    return out


def encoded(page: Image.Image, dpi: int, kind: Format) -> bytes:
    """The bytes of the file."""
    out = io.BytesIO()
    if kind == "jpeg":
        page.convert("RGB").save(out, "JPEG", quality=_QUALITY, dpi=(dpi, dpi))
        return out.getvalue()
    black = page.convert("L").point(lambda value: 255 if value >= _THRESHOLD else 0, "1")
    if kind == "tiff":
        black.save(out, "TIFF", compression="group4", dpi=(dpi, dpi))
    else:
        black.save(out, "PDF", resolution=float(dpi), creationDate=_EPOCH, modDate=_EPOCH)
    return out.getvalue()
