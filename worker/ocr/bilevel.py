"""Pages in black and white."""

from __future__ import annotations

from PIL import Image

from worker.ocr.page import Page

THRESHOLD = 160  # of 255: darker is black. Thin grey print stays readable
_TABLE = [255 if value >= THRESHOLD else 0 for value in range(256)]


def black_and_white(image: Image.Image) -> Image.Image:
    """Of whatever mode, in mode 1."""
    return image if image.mode == "1" else image.convert("L").point(_TABLE, "1")


def pbm(image: Image.Image, dpi: int) -> Page:
    """An eighth of the bytes of PGM, on the way out of the box."""
    black = black_and_white(image)
    return Page(b"P4 %d %d\n%b" % (*black.size, black.tobytes("raw", "1;I")), dpi)
