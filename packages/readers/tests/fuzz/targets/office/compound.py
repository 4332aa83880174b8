"""Compound files: the directory and every stream of it, and property sets."""

from reading import files

from readers.office.ole import property_set
from readers.office.ole.compound import CompoundFile, DirectoryEntry

SEEDS = files(".doc", ".xls", ".ppt", ".msg")


def read(data: bytes) -> None:
    compound = CompoundFile(data)
    todo: list[DirectoryEntry] = [compound.root]
    while todo:
        entry = todo.pop()
        todo += entry.children
        compound.read(entry)
    property_set.metadata(compound)
