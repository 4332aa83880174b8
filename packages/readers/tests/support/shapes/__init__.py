"""Worst shapes for every reader, by family: `all_shapes()`."""

from collections.abc import Sequence

from shapes import archives, documents, mail, outlook, plain, sheets, web, zips
from shapes.shape import Shape

__all__ = ["FAMILIES", "Shape", "all_shapes"]
FAMILIES = (web, mail, outlook, zips, archives, documents, sheets, plain)


def all_shapes() -> Sequence[Shape]:
    """Every shape of every family, in a steady order."""
    return [shape for family in FAMILIES for shape in family.SHAPES]
