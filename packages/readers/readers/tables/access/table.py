"""A table of an Access database: its columns, and the values in its rows as text."""

from __future__ import annotations

import itertools
import re
import struct
from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta
from typing import NamedTuple
from uuid import UUID

from readers.charset import CodePage
from readers.errors import DocumentError, corrupt, too_large
from readers.tables.access.pages import Database

# The objects of a database: tables, queries, forms and the like, by its catalog; and the properties of
# each.

_PAGE = 2  # of the catalog's definition
_MOST = 100_000  # objects; a database may have 32,768
_SYSTEM = 0x80000002  # flags of the program's own tables
_OWN = ("~", "MSys")  # prefixes of names that the program generated
# Tables with multi-valued columns and attachments of Access 2007 and newer; the name ends with that of the column.
_SEVERAL = re.compile(r"f_[0-9A-F]{32}_(?P<column>.*)", re.DOTALL)
_TABLE, _QUERY, _LINKED = 1, 5, (4, 6)
_FORMS = (-32768, -32766, -32764, -32761)  # forms, macros, reports, modules
_PROPERTIES = (b"MR2\0", b"KKD\0")
_NAMES, _MOST_NAMES = 0x80, 1 << 16  # the largest number of a property's name
# A value's length, mark, kind, number of its name, bytes
_BLOCK, _VALUE = struct.Struct("<IH"), struct.Struct("<HBBHH")


class Object(NamedTuple):
    """An object of the catalog."""

    name: str
    kind: int
    flags: int
    page: int  # of a table's definition
    linked: tuple[str, ...]  # of a linked table: its name elsewhere, the location, and the connection
    kept: bytes  # a long value with its properties, read when they are requested: thousands may share one

    @property
    def table(self) -> bool:
        """Whether it is a table with data of users."""
        return self.kind == _TABLE and (not self.flags & _SYSTEM or bool(_SEVERAL.fullmatch(self.name)))

    @property
    def named(self) -> bool:
        """Whether it is another object that a user named."""
        return self.kind in (_QUERY, *_LINKED, *_FORMS) and not self.name.startswith(_OWN)

    @property
    def shown(self) -> str:
        """The name that users see."""
        match = _SEVERAL.fullmatch(self.name)
        return match["column"] if match else self.name


class Property(NamedTuple):
    """A property of an object."""

    of: str  # the column; "" for the object itself
    name: str
    kind: int
    value: bytes


def result_kinds(one: Object, database: Database, strings: Strings) -> dict[str, int]:
    """Return the kinds of the results of calculated columns, by column."""
    values = properties(one, database, strings)
    return {p.of: p.value[0] for p in values if p.name == "ResultType" and p.value[:1] > b"\0"}


def owners(objects_: list[Object], database: Database, strings: Strings) -> dict[int, Object]:
    """Return the tables of multi-valued columns by the definition pages of the tables with their values."""
    by_page = {one.page: one for one in objects_ if one.kind == _TABLE}
    out = dict[int, Object]()
    for page in pages_of("MSysComplexColumns", objects_):
        table = Table(database, page, strings)
        names = [column.name for column in table.columns]
        for row in table.rows():
            values = dict(zip(names, table.texts(row), strict=True))
            if owner := by_page.get(_integer(values, "ConceptualTableID")):
                out[_integer(values, "FlatTableID")] = owner
    return out


def pages_of(name: str, objects_: list[Object]) -> list[int]:
    """Return the definitions of the program's own table of this name, each once, however often the catalog lists it."""
    return list({one.page: None for one in objects_ if one.name == name and one.kind == _TABLE})


def objects(database: Database, strings: Strings) -> tuple[list[Object], DocumentError | None]:
    """Return all objects of the catalog, and why some are missing. Raises DocumentError if it cannot be read."""
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
        lacks = lacks or too_large(f"the catalog has more than {_MOST:,} objects")
    if not out:
        raise lacks or corrupt("the database has no catalog")
    return out, lacks


def _integer(one: dict[str, str], key: str) -> int:
    """Return a number of a catalog's row; 0 if it has none."""
    try:
        return int(one.get(key) or 0)
    except ValueError:
        return 0


def properties(one: Object, database: Database, strings: Strings) -> Iterator[Property]:
    """Yield an object's properties, including those of its columns, up to damage."""
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


_MOST_COLUMNS = 1_000  # a table may have 255
_FIXED, _RECKONED = 1, 0xC0  # flags of a column with a fixed offset, and of a calculated one
_RESULT = struct.Struct("<16xI")  # length of the result, which follows
_TRUTH, _TEXT, _MEMO, _MONEY, _DATE, _NUMERIC, _IDENTIFIER = 1, 0x0A, 0x0C, 5, 8, 0x10, 0x0F
TEXTS = (_TEXT, _MEMO)
OBJECT = 0x0B  # kind of a column with a file, or any bytes
_NUMBERS = {
    kind: struct.Struct(form) for kind, form in {2: "<B", 3: "<h", 4: "<i", 6: "<f", 7: "<d", 0x13: "<q"}.items()
}
_QUAD, _REAL, _WORDS, _DECIMAL = (struct.Struct(form) for form in ("<q", "<d", "<B4I", "<HBBIQ"))
_OLE_DECIMAL = 14
# A moment as text: days since the first of the year 1, seconds of the day, their ten-millionths.
_MOMENT, _EXTENDED = 0x14, re.compile(rb"0{12}(\d{7}):0{7}(\d{5})(\d{7}):7")
_FIRST_DAY = datetime(1899, 12, 30)
_DAYS = (-657_434, 2_958_465.9999)  # dates are in the years from 100 to 9999
_COMPRESSED = b"\xff\xfe"


class Strings:
    """Decoder of the database's text: in Access 97's code page, or in UTF-16 whose upper bytes may be omitted."""

    def __init__(self, code_page: CodePage | None) -> None:
        self.code_page = code_page

    def text(self, raw: bytes) -> str:
        """Decode a string; invalid characters become U+FFFD."""
        if self.code_page is not None:
            return self.code_page.text(raw)
        return _expanded(raw[2:]) if raw.startswith(_COMPRESSED) else raw.decode("utf-16-le", "replace")


def _expanded(raw: bytes) -> str:
    """Expand text in which each zero byte switches between omitted and present upper bytes."""
    out, at, narrow = list[str](), 0, True
    while at < len(raw):
        if narrow:
            end = raw.find(b"\0", at)
            end = len(raw) if end < 0 else end
            out.append(raw[at:end].decode("latin-1"))
        else:
            end = at
            while end + 1 < len(raw) and raw[end]:
                end += 2
            out.append(raw[at:end].decode("utf-16-le", "replace"))
        at, narrow = end + 1, not narrow
    return "".join(out)


Values = list[bytes | None]  # of a row, as stored; None: no value


class Column(NamedTuple):
    """One column of a table's definition."""

    name: str
    kind: int
    number: int  # of its bit in a row's mask
    variable: int  # its place among the variable ones
    scale: int
    fixed: bool
    place: int  # offset of a fixed one, after the number of columns
    length: int
    reckoned: bool


class Table:
    """A table's definition. Raises DocumentError if it cannot be read."""

    def __init__(self, database: Database, page: int, strings: Strings, kinds: Mapping[str, int] | None = None) -> None:
        """Read the definition; `kinds` are those of calculated values, by the names of their columns."""
        self.page, self._database, self._strings, self._kinds = page, database, strings, kinds or {}
        layout, data = database.layout, database.definition(page)
        try:
            (self.row_count,) = struct.unpack_from("<I", data, layout.row_count)
            self._variable, count = struct.unpack_from("<HH", data, layout.columns)
            (indexes,) = struct.unpack_from("<I", data, layout.indexes)
            (self._map,) = struct.unpack_from("<I", data, layout.map)
            if count > _MOST_COLUMNS:
                raise corrupt(f"a table with {count:,} columns")
            self.columns = list(self._columns(data, layout.first + layout.each * indexes, count))
        except struct.error as cut:
            raise corrupt("a table's definition breaks off") from cut
        self._in_order = sorted(enumerate(self.columns), key=lambda one: one[1].number)
        self.lacks: DocumentError | None = None  # the reason why values are missing

    def _columns(self, data: bytes, at: int, count: int) -> Iterator[Column]:
        layout = self._database.layout
        size = struct.calcsize(layout.name)
        names = at + layout.column.size * count
        for _ in range(count):
            kind, number, variable, more, flags, further, place, length = layout.column.unpack_from(data, at)
            (name,) = struct.unpack_from(layout.name, data, names)
            called = self._strings.text(data[names + size : names + size + name])
            if reckoned := bool(further) and further[0] & _RECKONED == _RECKONED:
                kind = self._kinds.get(called, kind)
            yield Column(called, kind, number, variable, more[1], bool(flags & _FIXED), place, length, reckoned)
            at, names = at + layout.column.size, names + size + name

    def rows(self) -> Iterator[Values]:
        """Yield the stored values of each row. Errors are recorded in `lacks`."""
        found = 0
        for page in self._pages():
            for values in self._on(page):
                yield values
                found += 1
        if found < self.row_count:
            self._note(corrupt(f"{found:,} of {self.row_count:,} rows were found"))

    def _on(self, page: bytes) -> Iterator[Values]:
        rows = self._database.rows(page)
        while True:
            try:
                row, moved = next(rows, (b"", False))
                if not row:
                    return
                values = self._values(self._database.moved(row) if moved else row)
            except DocumentError as error:  # in the page's places, which ends it, or in one row
                self._note(error)
                continue
            yield values

    def _pages(self) -> Iterator[bytes]:
        """Yield the pages of its data in the map, as far as they exist."""
        numbers = self._database.owned(self._map)
        while True:
            try:
                number = next(numbers, None)
                if number is None:
                    return
                self._database.count(self._database.layout.page)
                page = self._database.page(number)
            except DocumentError as error:
                self._note(error)
                continue
            if int.from_bytes(page[4:8], "little") == self.page:
                yield page

    def _note(self, error: DocumentError | None) -> None:
        self.lacks = self.lacks or error

    def _values(self, row: bytes) -> Values:
        """Return the values of all columns, in order. The cost depends on the row, not on the number of columns."""
        count, start = self._count(row)
        tail = len(row) - (count + 7) // 8
        if tail < start:
            raise corrupt("a row is shorter than its mask")
        places = self._places(row, tail) if self._variable else ()
        out: Values = [None] * len(self.columns)
        for at, column in self._in_order:
            number, value = column.number, None
            if number >= count:
                break
            there = row[tail + number // 8] >> (number & 7) & 1
            if column.kind == _TRUTH and not column.reckoned:  # the mask is its value
                value = b"\1" if there else b"\0"
            elif there and column.fixed:
                value = row[start + column.place : tail]
            elif there and column.variable + 1 < len(places):
                begin, end = places[column.variable : column.variable + 2]
                if not start <= begin <= end <= tail:
                    raise corrupt("a row has values outside it")
                value = row[begin:end]
            out[at] = value
        return out

    def _count(self, row: bytes) -> tuple[int, int]:
        """Return the number of its columns, and the start of the fixed ones."""
        size = self._database.layout.wide
        if len(row) < size:
            raise corrupt("a row is shorter than its number of columns")
        return int.from_bytes(row[:size], "little"), size

    def _places(self, row: bytes, tail: int) -> tuple[int, ...]:
        """Return the starts of the variable columns, and the end of the last."""
        if self._database.layout.wide == 2:
            at = tail - 2
            count = int.from_bytes(row[max(0, at) : tail], "little")
            first = at - 2 * (count + 1)
            if first < 0:
                raise corrupt("a row has more columns than it has room for")
            return struct.unpack_from(f"<{count + 1}H", row, first)[::-1]
        return tuple(_short_places(row, tail))

    def text(self, column: Column, raw: bytes | None) -> str:
        """Return a value as text; "" for kinds other than text, date, number or truth value."""
        kind = column.kind
        if not raw:
            return ""
        if kind == _MEMO:
            raw, error = self._database.long_value(raw)
            self._note(error)
        try:
            if column.reckoned and raw:
                raw = raw[_RESULT.size :][: _RESULT.unpack_from(raw)[0]]
                if kind == _NUMERIC:
                    return _reckoned(raw)
            if kind == _TEXT and column.fixed:
                raw = raw[: column.length]
            return self._strings.text(raw) if kind in TEXTS else _number(kind, raw, column.scale)
        except struct.error:
            self._note(corrupt("a value is shorter than its type"))
            return ""

    def texts(self, row: Values) -> list[str]:
        """Return all values of a row as text."""
        return [self.text(column, raw) for column, raw in zip(self.columns, row, strict=True)]


def _short_places(row: bytes, tail: int) -> Iterator[int]:
    """Yield the same of Access 97: one byte each, after the columns at which the next 256 bytes begin."""
    if tail < 2:
        raise corrupt("a row has more columns than it has room for")
    count, jumps = row[tail - 1], (len(row) - 1) // 256
    last = tail - 2 - jumps
    if (last - count) // 256 < jumps:  # the last jump is unused
        jumps -= 1
    if last < count:
        raise corrupt("a row has more columns than it has room for")
    used = 0
    for number in range(count + 1):
        while used < jumps and row[tail - 2 - used] == number:
            used += 1
        yield row[last - number] + 256 * used


def _number(kind: int, raw: bytes, scale: int) -> str:
    """Return a number, date, truth value or identifier; "" for other kinds."""
    if (form := _NUMBERS.get(kind)) is not None:
        (value,) = form.unpack_from(raw)
        return f"{value:.7g}" if kind == 6 else f"{value:.15g}" if kind == 7 else str(value)
    if kind == _TRUTH:
        return "TRUE" if any(raw) else "FALSE"
    if kind == _IDENTIFIER and len(raw) >= 16:
        return f"{{{str(UUID(bytes_le=raw[:16])).upper()}}}"
    if kind == _MONEY:
        return _scaled(_QUAD.unpack_from(raw)[0], 4)
    if kind == _DATE:
        return _date(_REAL.unpack_from(raw)[0])
    if kind == _MOMENT:
        return _moment(raw)
    if kind == _NUMERIC:
        sign, *words = _WORDS.unpack_from(raw)
        value = 0
        for word in words:
            value = value << 32 | word
        return _scaled(-value if sign & 0x80 else value, min(scale, 28))
    return ""


def _reckoned(raw: bytes) -> str:
    """Return a calculated decimal of OLE: its kind, decimal digits, its sign, four highest bytes, then eight."""
    kind, digits, minus, high, low = _DECIMAL.unpack_from(raw)
    value = high << 64 | low
    return _scaled(-value if minus else value, min(digits, 28)) if kind == _OLE_DECIMAL else ""


def _scaled(value: int, digits: int) -> str:
    """Return a number with so many decimal digits, without zeros at its end."""
    whole, part = divmod(abs(value), 10**digits)
    behind = f"{part:0{digits}d}".rstrip("0") if digits else ""
    return f"{'-' if value < 0 else ''}{whole}{'.' if behind else ''}{behind}"


def _moment(raw: bytes) -> str:
    """Return a date of Access 2019 and newer, with its full time if it has one; "" for one after the year 9999."""
    if (match := _EXTENDED.match(raw)) is None:
        return ""
    days, seconds, parts = map(int, match.groups())
    if days >= datetime.max.toordinal() or seconds >= 86_400:
        return ""
    moment = datetime(1, 1, 1) + timedelta(days=days, seconds=seconds)
    behind = f".{parts:07}".rstrip("0") if parts else ""
    return (
        f"{moment.date().isoformat()} {moment.time().isoformat()}{behind}"
        if seconds or parts
        else moment.date().isoformat()
    )


def _date(value: float) -> str:
    """Return days since the end of 1899, the time of day in the fraction regardless of the sign; without a time at
    midnight, and without a day if that is the first."""
    if not _DAYS[0] <= value < _DAYS[1]:
        return ""
    days = int(value)
    moment = _FIRST_DAY + timedelta(days=days, seconds=round(abs(value - days) * 86_400))
    time = moment.time().isoformat()
    if not days and value:
        return time
    return moment.date().isoformat() if time == "00:00:00" else f"{moment.date().isoformat()} {time}"
