"""How the pages of a processing job are made, out of what it was told."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, cast

from core.options.choices import OcrChoice
from core.options.production import DPI, IMAGE_FORMAT, ProductionChoice

MOST_PAGES = 2_000  # of one item; one with more has a slip sheet
Format = Literal["tiff", "jpeg", "pdf"]


@dataclass(frozen=True, slots=True)
class ImagingChoice:
    """`format`: TIFF is black and white (CCITT group 4), PDF the same in a PDF a page, JPEG in colour."""

    format: Format = "tiff"
    dpi: int = 300

    @classmethod
    def of(cls, choice: ProductionChoice) -> ImagingChoice:
        """Out of a job's options."""
        extras = dict(choice.extras)
        return cls(cast(Format, extras.get(IMAGE_FORMAT, "tiff")), int(extras.get(DPI, "300")))

    @property
    def rendering(self) -> OcrChoice:
        """What the box is told."""
        return OcrChoice(dpi=self.dpi, drawn=True, colour=self.format == "jpeg", bilevel=self.format != "jpeg")
