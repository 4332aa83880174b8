"""What a database holds: tables, queries, forms and their like, by its catalog; and the properties that it keeps of each."""

from __future__ import annotations

import itertools
import re
import struct
from collections.abc import Iterator
from typing import NamedTuple

from readers.errors import DocumentError, ExceptionCode
from readers.tables.access.pages import Database, damaged
from readers.tables.access.table import Strings, Table

_PAGE = 2  # of the catalog's definition
_MOST = 100_000  # objects; a database may have 32,768
_SYSTEM = 0x80000002  # flags of the program's own tables
_OWN = ("~", "MSys")  # begin names that the program made
# Tables in which Access 2007 and newer keep columns of several values, and attachments; the name of the column is its end.
_SEVERAL = re.compile(r"f_[0-9A-F]{32}_(?P<column>.*)", re.DOTALL)
_TABLE, _QUERY, _LINKED = 1, 5, (4, 6)
_FORMS = (-32768, -32766, -32764, -32761)  # forms, macros, reports, modules
_PROPERTIES = (b"MR2\0", b"KKD\0")
_NAMES, _MOST_NAMES = 0x80, 1 << 16  # the most that a property's number of its name can express
_BLOCK, _VALUE = (
    struct.Struct("<IH"),
    struct.Struct("<HBBHH"),
)  # a value's length, mark, kind, number of its name, bytes


class Object(NamedTuple):
    """One of its catalog."""

    name: str
    kind: int
    flags: int
    page: int  # of a table's definition
    linked: tuple[str, ...]  # of a linked table: what it is called elsewhere, where, and how that is reached
    kept: bytes  # a long value with its properties, read where they are asked for: thousands may share one

    @property
    def table(self) -> bool:
        """Whether it is a table with what people keep in it."""
        return self.kind == _TABLE and (not self.flags & _SYSTEM or bool(_SEVERAL.fullmatch(self.name)))

    @property
    def named(self) -> bool:
        """Whether it is something else that people gave a name."""
        return self.kind in (_QUERY, *_LINKED, *_FORMS) and not self.name.startswith(_OWN)

    @property
    def shown(self) -> str:
        """Its name to people."""
        match = _SEVERAL.fullmatch(self.name)
        return match["column"] if match else self.name


class Property(NamedTuple):
    """One of an object's."""

    of: str  # the column that it is of; "" for the object itself
    name: str
    kind: int
    value: bytes


def result_kinds(one: Object, database: Database, strings: Strings) -> dict[str, int]:
    """Of a table's columns that expressions make: what these give."""
    told = properties(one, database, strings)
    return {p.of: p.value[0] for p in told if p.name == "ResultType" and p.value[:1] > b"\0"}


def owners(objects_: list[Object], database: Database, strings: Strings) -> dict[int, Object]:
    """Of tables that hold several values of a column: the table that this column is in, by the pages of their definitions."""
    by_page = {one.page: one for one in objects_ if one.kind == _TABLE}
    out = dict[int, Object]()
    for page in pages_of("MSysComplexColumns", objects_):
        table = Table(database, page, strings)
        names = [column.name for column in table.columns]
        for row in table.rows():
            told = dict(zip(names, table.texts(row), strict=True))
            if owner := by_page.get(_integer(told, "ConceptualTableID")):
                out[_integer(told, "FlatTableID")] = owner
    return out


def pages_of(name: str, objects_: list[Object]) -> list[int]:
    """The definitions of the program's own table of this name, each once, however often the catalog lists it."""
    return list({one.page: None for one in objects_ if one.name == name and one.kind == _TABLE})


def objects(database: Database, strings: Strings) -> tuple[list[Object], DocumentError | None]:
    """All of the catalog, and why that is not all; DocumentError where it cannot be read."""
    catalog = Table(database, _PAGE, strings)
    names = [column.name for column in catalog.columns]
    out = list[Object]()
    for row in itertools.islice(catalog.rows(), _MOST):
        raw, texts = dict(zip(names, row, strict=True)), dict(zip(names, catalog.texts(row), strict=True))
        page, linked = (
            _integer(texts, "Id") & 0xFFFFFF,
            tuple(texts.get(key, "") for key in ("ForeignName", "Database", "Connect")),
        )
        out.append(
            Object(
                *(texts.get("Name", ""), _integer(texts, "Type"), _integer(texts, "Flags")),
                *(page, linked, raw.get("LvProp") or b""),
            )
        )
    lacks = catalog.lacks
    if len(out) == _MOST:
        lacks = lacks or DocumentError(ExceptionCode.TOO_LARGE, f"the catalog has more than {_MOST:,} objects")
    if not out:
        raise lacks or damaged("the database has no catalog")
    return out, lacks


def _integer(one: dict[str, str], key: str) -> int:
    """A number of a catalog's row; 0 where it has none."""
    try:
        return int(one.get(key) or 0)
    except ValueError:
        return 0


def properties(one: Object, database: Database, strings: Strings) -> Iterator[Property]:
    """An object's properties, those of its columns too; what is damaged ends them."""
    raw = database.long_value(one.kept)[0] if one.kept else b""
    if not raw.startswith(_PROPERTIES):
        return
    names, at = list[str](), 4
    while at + _BLOCK.size <= len(raw):
        size, kind = _BLOCK.unpack_from(raw, at)
        block = raw[at + _BLOCK.size : at + size]
        if size < _BLOCK.size:
            return
        at += size
        if kind == _NAMES:
            names = list(itertools.islice(_names(block, strings), _MOST_NAMES))
        else:
            head = int.from_bytes(block[:4], "little")
            of = next(_names(block[4:head], strings), "")
            yield from _values(of, block[head:], names)


def _names(block: bytes, strings: Strings) -> Iterator[str]:
    at = 0
    while at + 2 <= len(block):
        length = int.from_bytes(block[at : at + 2], "little")
        yield strings.text(block[at + 2 : at + 2 + length])
        at += 2 + length


def _values(of: str, block: bytes, names: list[str]) -> Iterator[Property]:
    at = 0
    while at + _VALUE.size <= len(block):
        length, _, kind, number, size = _VALUE.unpack_from(block, at)
        if number < len(names):
            yield Property(of, names[number], kind, block[at + _VALUE.size : at + _VALUE.size + size])
        if length < _VALUE.size:
            return
        at += length
