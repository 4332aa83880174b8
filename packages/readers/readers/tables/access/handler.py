"""Access databases: tables with their rows, definitions of queries, names of other objects; files in columns."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterable, Iterator, Sequence
from typing import BinaryIO

from readers import clean
from readers.base import Child, Declared, LeafHandler, MemorySource, Part, Source, Text
from readers.charset import CHARSET_KEYS, CodePage, Detected, least_certain
from readers.charset_labels import by_page
from readers.errors import DocumentError, ExceptionCode, corrupt, expansion_limit, truncated
from readers.identification.identify import UNKNOWN, identify
from readers.office.ole import objects as ole_objects
from readers.records import Kind, Limits
from readers.rest import AFTER_CONTENT, rest
from readers.streams import scattered
from readers.tables.access.pages import JET3, Database
from readers.tables.access.table import (
    OBJECT,
    TEXTS,
    Column,
    Object,
    Strings,
    Table,
    Values,
    objects,
    owners,
    pages_of,
    properties,
    result_kinds,
)

# Files in columns of an Access database: objects of other programs, attachments, and bytes that are a file.

_OBJECT = b"\x15\x1c"  # start of Access's header of an OLE 1.0 object, followed by its length
_FEWEST = 16  # least bytes of a bare file
_ATTACHED_HEAD = struct.Struct("<II")  # whether it is deflated, and its length
_DEFLATED = 1

Carried = tuple[bytes, bytes]  # name, if it has one, and bytes


def of_object(value: bytes) -> Carried | None:
    """Return the file in an object's value; None for a link, and other bytes. Raises DocumentError."""
    if not value.startswith(_OBJECT):
        known = len(value) >= _FEWEST and identify(MemorySource(b"", value)) != UNKNOWN
        return (b"", value) if known else None
    size = int.from_bytes(value[2:4], "little")
    try:
        class_name, native = ole_objects.embedded(value[size:])
    except DocumentError as error:
        if error.code is ExceptionCode.UNSUPPORTED:
            return None
        raise
    if class_name == b"Package":
        return ole_objects.packaged(len(native).to_bytes(4, "little") + native)
    return ole_objects.unwrapped(native) or (b"", native)


def of_attachment(value: bytes, most: int) -> bytes:
    """Return an attachment's bytes, after a head with its length. Raises DocumentError if they are damaged, or more
    than `most`."""
    if len(value) < _ATTACHED_HEAD.size:
        raise truncated("the attachment ends inside its header")
    packed, content = _ATTACHED_HEAD.unpack_from(value)[0] == _DEFLATED, value[_ATTACHED_HEAD.size :]
    if packed:
        try:
            inflater = zlib.decompressobj()
            content = inflater.decompress(content, most + 1)
        except zlib.error as error:
            raise corrupt("the attachment cannot be inflated") from error
        if len(content) > most:
            raise expansion_limit(f"the attachment has more than {most:,} bytes")
        if not inflater.eof:
            raise truncated("the attachment breaks off")
    return content[int.from_bytes(content[:4], "little") :]


_QUERY_ROWS, _WORDS = "MSysQueries", ("Expression", "Name1", "Name2")
_ABOUT = "SummaryInfo"  # the object with the properties of the database
_KEYS = {
    "Title": "title",
    "Subject": "doc_subject",
    "Author": "author",
    "Company": "company",
    "Keywords": "keywords",
    "Comments": "description",
}
_DESCRIBED = ("Description", "Caption")
_ATTACHED, _CALLED = "FileData", "FileName"
_BREAKS = str.maketrans("\t\r\n", "   ")


class AccessHandler(LeafHandler):
    """A database of any size, read a page at a time."""

    name = "access"
    whole = False
    declared = Declared(
        title="Access databases",
        extensions=("mdb", "accdb", "mde", "accde", "mda", "accda"),
        text="for each table its name, descriptions, column names and a line for each row, with tabs between "
        "values; multi-valued columns as separate tables; the parts of queries; names of queries, forms, "
        "reports, macros and modules; locations and connections of linked tables",
        metadata=(*_KEYS.values(), *CHARSET_KEYS),
        children="attachments, and the content of object columns, in the order of tables and rows",
        leaves_out=(
            "binary columns that are not files of a known type; links to objects; scaled decimals computed by "
            "expressions",
            "forms, reports and code; deleted rows; values of more than 64 MB: the exception is `too_large`",
            "databases of Access 2007 and newer with a password: the exception is `encrypted`; older ones are read "
            "without the password",
        ),
    ).alone()

    def children(self, source: Source, limits: Limits, part: Part | None = None) -> Iterator[Child]:
        """Yield files in its columns. A database that cannot be opened has none: `text` reports why."""
        with scattered(source.open()) as file:
            try:
                reading = _Reading(file, source.size, limits.parse_bytes)
            except DocumentError:
                return
            for position, (name, data, error) in enumerate(reading.files()):
                yield Child(
                    name=name or b"object-%d" % position,
                    kind=Kind.EMBEDDED_OBJECT,
                    ordinal=position,
                    data=data if data or error is None else None,
                    error=error,
                )
            end = source.size - source.size % reading.page_bytes
            yield from rest(file, end, source.size, AFTER_CONTENT, "database", kind=Kind.EMBEDDED_OBJECT)

    def text(self, source: Source, limits: Limits) -> Text:
        """Return all of its text, and an `error` if rows are missing. Raises DocumentError if not even the list of
        tables can be read. `charset` and related keys are only for databases of Access 97 with a doubtful code page;
        newer ones have one charset."""
        collector = clean.Collector(limits.text_characters)
        with scattered(source.open()) as file:
            reading = _Reading(file, source.size, limits.parse_bytes)
            for line in reading.lines():
                if not collector.add(line + "\n"):
                    break
            about = clean.values(reading.about())
        out = collector.result(detected=least_certain((reading.detected,)), metadata=about)
        out.error = reading.lacks
        return out


class _Reading:
    """The text of a database, line by line, and the files in it, none of more than `most` bytes. Raises DocumentError
    if it has no readable catalog."""

    def __init__(self, file: BinaryIO, size: int, most: int) -> None:
        self._database, self._most = Database(file, size, most), most
        self._old = CodePage(by_page(self._database.code_page) or "cp1252") if self._database.layout is JET3 else None
        self._strings = Strings(self._old)
        self._objects, self.lacks = objects(self._database, self._strings)
        self._owners = self._found_owners()
        tables = (one for one in self._objects if one.table and self._owners.get(one.page, one).table)
        self._tables = list({one.page: one for one in tables}.values())

    def _found_owners(self) -> dict[int, Object]:
        try:
            return owners(self._objects, self._database, self._strings)
        except DocumentError as error:
            self._note(error)
            return {}

    @property
    def detected(self) -> Detected | None:
        """The charset of a database of Access 97."""
        return None if self._old is None else self._old.detected

    @property
    def page_bytes(self) -> int:
        """Bytes of a page: a database is a number of pages."""
        return self._database.layout.page

    def about(self) -> Iterator[tuple[str, str]]:
        """Yield its own properties, by our keys."""
        for one in self._objects:
            if one.name == _ABOUT:
                yield from ((_KEYS[name], value) for name, value in self._texts(one, tuple(_KEYS)))

    def _texts(self, one: Object, names: tuple[str, ...]) -> Iterator[tuple[str, str]]:
        """Yield the text properties with these names."""
        for found in properties(one, self._database, self._strings):
            if found.name in names and found.kind in TEXTS:
                yield found.name, self._strings.text(found.value)

    def lines(self) -> Iterator[str]:
        """Yield lines in the order of the catalog: tables first."""
        for one in self._tables:
            owner = self._owners.get(one.page)
            yield f"{owner.name}: {one.shown}" if owner else one.name
            yield from self._rows(one)
            yield ""
        for one in self._objects:
            if one.named:
                yield _line((one.name, *one.linked))
        for page in pages_of(_QUERY_ROWS, self._objects):
            yield from self._words(page)

    def _rows(self, one: Object) -> Iterator[str]:
        """Yield the lines of a table: descriptions and names of the table and its columns, its rows."""
        table = self._table(one.page, one)
        if table is None:
            return
        described = dict.fromkeys(value for _, value in self._texts(one, _DESCRIBED))
        yield from (_line((value,)) for value in described if value)
        yield _line(column.name for column in table.columns)
        yield from self._values(table, range(len(table.columns)))

    def _words(self, page: int) -> Iterator[str]:
        if (table := self._table(page)) is not None:
            yield from self._values(table, [at for at, column in enumerate(table.columns) if column.name in _WORDS])

    def _values(self, table: Table, chosen: Sequence[int]) -> Iterator[str]:
        for row in table.rows():
            if any(row) and (line := _line(table.text(table.columns[at], row[at]) for at in chosen)):
                yield line
        self._note(table.lacks)

    def files(self) -> Iterator[tuple[bytes, bytes, DocumentError | None]]:
        """Yield name, bytes and damage of each file in its tables."""
        for one in self._tables:
            table = self._table(one.page, one)
            columns = [(at, c) for at, c in enumerate(table.columns) if c.kind == OBJECT] if table else []
            if table is None or not columns:
                continue
            for row in table.rows():
                for at, column in columns:
                    if raw := row[at]:
                        yield from self._file(table, column, row, raw)

    def _file(
        self, table: Table, column: Column, row: Values, raw: bytes
    ) -> Iterator[tuple[bytes, bytes, DocumentError | None]]:
        called, error = b"", None
        try:
            value, error = self._database.long_value(raw)
            if column.name == _ATTACHED:
                called = next(
                    (table.text(c, v) for c, v in zip(table.columns, row, strict=True) if c.name == _CALLED), ""
                ).encode()
                yield called, of_attachment(value, self._most), error
            elif carried := of_object(value):
                yield *carried, error
            elif error is not None:
                yield b"", b"", error
        except DocumentError as failed:
            yield called, b"", error or failed

    def _table(self, page: int, one: Object | None = None) -> Table | None:
        """Return the table of an object, or one of the program's own."""
        kinds = {} if one is None else result_kinds(one, self._database, self._strings)
        try:
            return Table(self._database, page, self._strings, kinds)
        except DocumentError as error:
            self._note(error)
            return None

    def _note(self, error: DocumentError | None) -> None:
        self.lacks = self.lacks or error


def _line(values: Iterable[str]) -> str:
    return "\t".join(value.translate(_BREAKS) for value in values).rstrip("\t")
