"""Property sets ([MS-OLEPS]) by themselves."""

from reading import files

from readers.errors import DocumentError
from readers.office.ole.compound import CompoundFile
from readers.office.ole.property_set import properties


def _seeds() -> list[bytes]:
    found = []
    for data in files(".doc", ".xls", ".ppt"):
        try:
            compound = CompoundFile(data)
            found.append(compound.read(compound.root.stream("\x05SummaryInformation")))
        except DocumentError:
            continue
    return found


SEEDS = _seeds()


def read(data: bytes) -> None:
    properties(data)
