"""The emulated filer of design §4, for machines without one: a queueing system, not a sleep."""

from core.filer.load import load_filer
from core.filer.model import FilerModel

__all__ = ["FilerModel", "load_filer"]
