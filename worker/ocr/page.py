"""A rendered page."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Page:
    """A page as PGM, or PPM where colour was asked for."""

    data: bytes
    dpi: int
