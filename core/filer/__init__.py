"""The emulated filer of design §4, for machines without one: a queueing system, not a sleep."""

from core.filer.model import FilerModel, load_filer

__all__ = ["FilerModel", "load_filer"]
