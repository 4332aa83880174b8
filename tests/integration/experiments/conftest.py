"""Reports without pictures, drawn once."""

from drawn import drawn_once, no_pictures

__all__ = ["drawn_once", "no_pictures"]
