"""Source of macros, compressed, and what lists the modules ([MS-OVBA])."""

from readers.office.vba import _project, _written, decompressed

SEEDS = [
    bytes.fromhex("012fb00023616161626364658266007061676869"),
    bytes.fromhex("0119b000030002000000e3040019000100000061311a00010000"),
]


def read(data: bytes) -> None:
    _project(data)
    source = decompressed(data, 1_000_000)
    _project(source)
    _written(source)
