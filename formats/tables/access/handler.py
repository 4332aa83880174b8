"""Access databases: the tables with their rows, what queries are made of, and the names of everything else."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

from core.errors import DocumentError, ExceptionCode
from core.records import Limits
from formats import clean
from formats.base import Handler, LeafHandler, Source, Text
from formats.charset import CHARSET_KEYS, CodePage, least_certain
from formats.declared import Declared
from formats.office.ole.property_set import codec_of
from formats.tables.access.pages import JET3, Database, damaged
from formats.tables.access.table import Strings, Table

_CATALOG = 2  # the page of its definition
_MOST = 100_000  # objects; a database may have 32,768
_SYSTEM = 0x80000002  # flags of the program's own tables
_TABLE = 1
_LINKED = (4, 6)
_NAMED = (5, -32768, -32766, -32764, -32761)  # queries, forms, macros, reports, modules
_QUERIES, _WORDS = "MSysQueries", ("Expression", "Name1", "Name2")
_LINKS = ("Name", "ForeignName", "Database")
_OWN = ("~", "MSys")  # begin names that the program made
_BREAKS = str.maketrans("\t\r\n", "   ")


class AccessHandler(LeafHandler):
    """A database of any size, a page at a time."""

    name = "access"
    media_types: tuple[str, ...] = ("application/x-msaccess",)
    whole = False
    declared: tuple[Declared, ...] = (
        Declared(
            title="Access databases",
            extensions=("mdb", "accdb", "mde", "accde", "mda", "accda"),
            text="of each table its name, the names of its columns and a line for each row, tabs between values; what queries are "
            "made of; names of queries, forms, reports, macros and modules; where linked tables are",
            metadata=CHARSET_KEYS,
            leaves_out=(
                "objects, attachments and other bytes; truth values and identifiers; values of several at once",
                "forms, reports and code; descriptions of tables and columns; deleted rows",
                "databases of Access 2007 and newer under a password: the exception is `encrypted`; older ones are read without it",
            ),
        ),
    )

    def text(self, source: Source, limits: Limits) -> Text:
        """All of it, and where rows are missing an `error`; DocumentError where not even the list of tables can be read.
        `charset` and its like are of databases of Access 97 whose code page is doubtful; newer ones have one charset."""
        collector = clean.Collector(limits.text_characters)
        with source.open() as file:
            database = Database(file, source.size)
            old = CodePage(codec_of(database.code_page)) if database.layout is JET3 else None
            reading = _Reading(database, Strings(old))
            for line in reading.lines():
                if not collector.add(line + "\n"):
                    break
        out = collector.result()
        clean.note_charset(out, least_certain((None if old is None else old.detected,)))
        out.error = reading.lacks
        return out


class _Reading:
    """What a database says, line by line."""

    def __init__(self, database: Database, strings: Strings) -> None:
        self._database, self._strings = database, strings
        self.lacks: DocumentError | None = None

    def lines(self) -> Iterator[str]:
        """In the order of its catalog: tables first. DocumentError where that cannot be read."""
        catalog = self._table(_CATALOG)
        names = [column.name for column in catalog.columns]
        objects = [dict(zip(names, row, strict=True)) for row in itertools.islice(catalog.rows(), _MOST)]
        self._note(catalog.lacks)
        if len(objects) == _MOST:
            self._note(DocumentError(ExceptionCode.TOO_LARGE, f"the catalog has more than {_MOST:,} objects"))
        if not objects:
            raise self.lacks or damaged("the database has no catalog")
        tables, queries = dict[int, str](), 0
        for one in objects:
            page, name = _integer(one, "Id") & 0xFFFFFF, one.get("Name", "")
            if name == _QUERIES:
                queries = page
            elif _integer(one, "Type") == _TABLE and not (_integer(one, "Flags") & _SYSTEM or name.startswith(_OWN)):
                tables.setdefault(page, name)
        for page, name in tables.items():
            yield name
            yield from self._rows(page)
            yield ""
        yield from self._others(objects)
        if queries:
            yield from self._rows(queries, _WORDS)

    def _others(self, objects: list[dict[str, str]]) -> Iterator[str]:
        for one in objects:
            kind, name = _integer(one, "Type"), one.get("Name", "")
            if kind in _LINKED:
                yield _line([one.get(key, "") for key in _LINKS])
            elif kind in _NAMED and not name.startswith(_OWN):
                yield name

    def _rows(self, page: int, only: tuple[str, ...] = ()) -> Iterator[str]:
        """A table; of some columns alone without their names."""
        try:
            table = self._table(page)
        except DocumentError as error:
            self._note(error)
            return
        chosen = [at for at, column in enumerate(table.columns) if not only or column.name in only]
        if not only:
            yield _line([column.name for column in table.columns])
        for row in table.rows():
            if any(line := [row[at] for at in chosen]):
                yield _line(line)
        self._note(table.lacks)

    def _table(self, page: int) -> Table:
        return Table(self._database, page, self._strings)

    def _note(self, error: DocumentError | None) -> None:
        self.lacks = self.lacks or error


def _integer(one: dict[str, str], key: str) -> int:
    """A number of a catalog's row; 0 where it has none."""
    try:
        return int(one.get(key) or 0)
    except ValueError:
        return 0


def _line(values: list[str]) -> str:
    return "\t".join(value.translate(_BREAKS) for value in values).rstrip("\t")


HANDLERS: tuple[Handler, ...] = (AccessHandler(),)
