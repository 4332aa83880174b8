"""access: pages, definitions, rows and long values of Access databases."""

import struct

from access_file import LONG, MEMO, TEXT, Column, Given, Maker, inline, maker
from reading import handler

_COLUMNS = (Column("number", LONG), Column("name", TEXT), Column("notes", MEMO))


def _made(old: bool) -> bytes:
    make = Maker(old)
    rows = [(struct.pack("<i", i), make.text(f"name{i}"), inline(make.text("memo" * i))) for i in range(9)]
    return maker(Given("People", _COLUMNS, rows), old=old).whole()


SEEDS = [_made(False), _made(True)]
read = handler("application/x-msaccess")
