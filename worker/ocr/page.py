"""A rendered page."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Page:
    """A page as PGM, PPM where colour was asked for, PBM where black and white was."""

    data: bytes
    dpi: int
