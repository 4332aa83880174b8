"""A rendered page."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Page:
    """A page as PGM, as PPM for colour, or as PBM for black and white."""

    data: bytes
    dpi: int
