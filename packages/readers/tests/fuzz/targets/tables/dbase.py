"""dbase: tables and memo files."""

from reading import files, handler

_table, _memos = handler("application/x-dbf"), handler("application/x-fpt")
SEEDS = [*files(".dbf"), b"\0\0\0\x10\0\0\0\x40".ljust(512, b"\0") + b"\0\0\0\x01\0\0\0\x04memo"]


def read(data: bytes) -> None:
    _table(data)
    _memos(data)
