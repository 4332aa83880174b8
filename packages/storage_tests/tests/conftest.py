"""Reports without pictures."""

from drawn import no_pictures

__all__ = ["no_pictures"]
