"""A picture's frames as pages, decoded by Pillow (in the sandbox, where there is one)."""

from __future__ import annotations

import io
import math
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from PIL import (
    BmpImagePlugin,
    GifImagePlugin,
    Image,
    ImageOps,
    JpegImagePlugin,
    MpoImagePlugin,
    PngImagePlugin,
    TiffImagePlugin,
    WebPImagePlugin,
)

from core.records import OcrChoice
from readers.base import Source
from readers.errors import corrupt
from readers.records import Limits
from worker.ocr.page import Page

THRESHOLD = 160  # of 255: darker is black. Thin grey print stays readable
_TABLE = [255 if value >= THRESHOLD else 0 for value in range(256)]


def black_and_white(image: Image.Image) -> Image.Image:
    """Convert an image of any mode to mode 1."""
    return image if image.mode == "1" else image.convert("L").point(_TABLE, "1")


def pbm(grey: npt.NDArray[Any], dpi: int) -> Page:
    """Return rows of shades of grey, a byte each, as PBM: an eighth of the bytes of PGM on the way out of the sandbox.
    numpy takes a tenth of the time that Pillow does."""
    height, width = grey.shape
    return Page(b"P4 %d %d\n%b" % (width, height, np.packbits(grey < THRESHOLD, axis=1).tobytes()), dpi)


# Named, and so loaded with this module: a sandbox can load nothing any more.
_PLUGINS = (
    PngImagePlugin,
    JpegImagePlugin,
    MpoImagePlugin,
    TiffImagePlugin,
    BmpImagePlugin,
    WebPImagePlugin,
    GifImagePlugin,
)
_FORMATS = ("PNG", "JPEG", "TIFF", "BMP", "WEBP", "GIF")
_LEAST_DPI, _MOST_DPI = 72, 1_200  # range in which a picture's resolution is trusted
_LONGEST_INCHES = 11.0  # for a picture without a resolution


@dataclass(slots=True)
class PicturePages:
    """Frames upright, on white, with no more pixels than a rendered page."""

    image: Image.Image
    choice: OcrChoice

    @property
    def count(self) -> int:
        return int(getattr(self.image, "n_frames", 1))

    def page(self, number: int) -> Page | None:
        try:
            self.image.seek(number)
            frame = ImageOps.exif_transpose(self.image)
            dpi = _dpi(self.image, max(frame.size))
            frame = _on_white(frame).convert("RGB" if self.choice.colour else "L")
        except (OSError, ValueError, SyntaxError, EOFError, Image.DecompressionBombError) as error:
            raise corrupt(f"frame {number + 1} cannot be decoded: {error}") from error
        less = math.sqrt(min(1.0, self.choice.rendered_pixels / (frame.width * frame.height)))
        less = min(less, self.choice.dpi / dpi)
        if less < 1:
            frame = frame.resize(
                (max(1, int(frame.width * less)), max(1, int(frame.height * less))), Image.Resampling.BOX
            )
            dpi = max(1, round(dpi * less))
        if self.choice.bilevel:
            return pbm(np.asarray(frame), dpi)
        kind = b"P6" if frame.mode == "RGB" else b"P5"
        return Page(b"%b %d %d 255\n%b" % (kind, *frame.size, frame.tobytes()), dpi)


def _dpi(image: Image.Image, longest: int) -> int:
    try:
        dpi = float(image.info.get("dpi", (0, 0))[0])  # of a TIFF a fraction, whose divisor may be nought
    except (TypeError, ValueError, ZeroDivisionError, LookupError):
        dpi = 0.0
    if _LEAST_DPI <= dpi <= _MOST_DPI:
        return round(dpi)
    return max(_LEAST_DPI, round(longest / _LONGEST_INCHES))


def _on_white(frame: Image.Image) -> Image.Image:
    if not frame.has_transparency_data:
        return frame
    white = Image.new("RGBA", frame.size, "white")
    white.alpha_composite(frame.convert("RGBA"))
    return white


@contextmanager
def opened(source: Source, limits: Limits, choice: OcrChoice) -> Iterator[PicturePages]:
    """Open a picture. Raises DocumentError."""
    Image.MAX_IMAGE_PIXELS = choice.pixels
    try:
        image = Image.open(io.BytesIO(source.whole(limits.parse_bytes)), formats=_FORMATS)
    except (OSError, ValueError, SyntaxError, Image.DecompressionBombError) as error:
        raise corrupt(f"it cannot be decoded: {error}") from error
    with image:
        yield PicturePages(image, choice)
