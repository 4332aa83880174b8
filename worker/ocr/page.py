"""A rendered page."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Page:
    """A page as PGM."""

    data: bytes
    dpi: int
