"""What OLE packages carry, and OLE 1.0 objects of RTF."""

from readers.office.ole.objects import embedded, packaged

_OBJECT = "0105000002000000080000005061636b61676500000000000000000010000000020061000000030000000000010000ff"
SEEDS = [bytes.fromhex(_OBJECT), bytes.fromhex(_OBJECT)[28:]]


def read(data: bytes) -> None:
    embedded(data)
    packaged(data)
