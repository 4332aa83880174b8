"""Reports without pictures."""

from __future__ import annotations

from drawn import no_pictures

__all__ = ["no_pictures"]
