"""readers.tables.access: databases that claim what cannot be, lead back into themselves, or tell one thing a thousand times."""

from __future__ import annotations

import struct

import pytest
from access_file import (
    CATALOG,
    MEMO,
    MOVED,
    OBJECT,
    SPARE,
    TEXT,
    Column,
    Given,
    Maker,
    attachment,
    elsewhere,
    entry,
    inline,
    maker,
)

from core.records import Limits
from readers.base import Child, MemorySource, Text
from readers.errors import DocumentError, ExceptionCode
from readers.registry import handler_for

_HANDLER = handler_for("application/x-msaccess")


def read(data: bytes) -> Text:
    return _HANDLER.text(MemorySource(b"x", data), Limits())


def outcome(data: bytes) -> tuple[str, DocumentError | None]:
    """Text, and what is said of it; it may be that it cannot be read at all."""
    try:
        found = read(data)
    except DocumentError as error:
        return "", error
    return found.text, found.error


def children(data: bytes, limits: Limits) -> list[Child]:
    return list(_HANDLER.children(MemorySource(b"x", data), limits))


def wide(text: str) -> bytes:
    return text.encode("utf-16-le")


_CLAIMS = [  # what a definition tells, its format, where that lies in Access 97 and in newer ones
    ("rows", "<I", 12, 16),
    ("columns", "<2H", 23, 43),
    ("indexes", "<I", 31, 51),
    ("name", "<B", 43 + 18, 63 + 25),
]


@pytest.mark.parametrize("old", [False, True])
@pytest.mark.parametrize(("what", "form", "before", "now"), _CLAIMS)
@pytest.mark.parametrize("catalog", [False, True])
def test_claims_that_cannot_be(what: str, form: str, before: int, now: int, old: bool, catalog: bool) -> None:
    make = Maker(old)
    made = maker(Given("People", (Column("c", TEXT),), [(make.text("found"),)]), old=old)
    number = 2 if catalog else next(n for n, page in enumerate(made.pages) if n > 2 and page[0] == 2)
    page = bytearray(made.pages[number])
    size = struct.calcsize(form)
    page[before if old else now : (before if old else now) + size] = b"\xff" * size
    made.pages[number] = bytes(page)
    text, error = outcome(made.whole())
    assert what == "name" or (error and error.code) is ExceptionCode.CORRUPT
    assert catalog or "People" in text
    for size in (3_000, 5_000):
        with pytest.raises(DocumentError):
            read(made.whole()[:size])


def test_rings() -> None:
    """Definitions that go on in themselves, a map that is its own pages, a row that was moved to itself, a memo of a gigabyte in a
    ring of rows: each ends, and costs only itself."""
    make, columns = Maker(), (Column("c", TEXT), Column("m", MEMO))
    ring = make.data(b"LVAL", [struct.pack("<I", SPARE << 8) + b"a" * 4000])
    table = Given("T", columns, [(wide("found"), elsewhere(0x3FFFFFFF, SPARE, 0))])
    made = maker(table, spare=[ring])
    for number, page in enumerate(made.pages):
        if page[:1] == b"\2":
            made.pages[number] = page[:4] + struct.pack("<I", number) + page[8:]
    found = read(made.whole())
    assert ("found" in found.text, found.error and found.error.code) == (True, ExceptionCode.TOO_LARGE)
    within = maker(table._replace(rows=[(wide("found"), elsewhere(60_000_000, SPARE, 0))]), spare=[ring]).whole()
    found = read(within)
    assert ("found" in found.text, len(found.text) < 1_000_000) == (True, True)
    assert (found.error and found.error.code) is ExceptionCode.CORRUPT
    number = next(n for n, page in enumerate(made.pages) if wide("found") in page)
    owner = int.from_bytes(made.pages[number][4:8], "little")
    made.pages[number] = make.data(owner, [struct.pack("<I", number << 8)], (MOVED,))
    assert (read(made.whole()).error or DocumentError(ExceptionCode.MEMORY, "")).code is ExceptionCode.CORRUPT
    mapped = next(n for n, page in enumerate(made.pages) if n > SPARE and page[:1] == b"\1" and page[4:8] == bytes(4))
    made.pages[mapped] = make.data(0, [b"\1" + struct.pack("<I", mapped) * 900])
    found = read(made.whole())
    assert (found.text.splitlines()[0], found.error and found.error.code) == ("T", ExceptionCode.CORRUPT)


def test_what_the_catalog_tells_a_thousand_times() -> None:
    make = Maker()
    columns = (Column("Expression", MEMO), *[Column("Name1", TEXT)] * 999)
    made = maker(Given("MSysQueries", columns, []), spare=[b""])
    page = next(n for n, p in enumerate(made.pages) if n > SPARE and p[:1] == b"\2")
    number = max(n for n, p in enumerate(made.pages) if p[:1] == b"\1" and p[4:8] == struct.pack("<I", page))
    word = make.row(columns, (inline(wide("[Total]")), *[None] * 999))
    made.pages[number] = make.data(page, [word, *[b"\0\0\0\0\0\0"] * 100])
    told = elsewhere(60_000_000, SPARE, 0)
    rows = [entry(make, page, 1, "MSysQueries", flags=-(1 << 31), properties=told)] * 900
    made.pages[SPARE] = make.data(b"LVAL", [struct.pack("<I", SPARE << 8) + b"MR2\0" + bytes(3000)])
    made.put(CATALOG, [make.row(CATALOG, one) for one in rows], at=2)
    found = read(made.whole())
    assert (found.text.splitlines(), found.error) == (["[Total]"], None)


def test_attachments_that_are_bombs() -> None:
    """None gives more than the limit of an item."""
    packed = attachment(bytes(1_000_000), packed=True)
    columns = (Column("FileData", OBJECT), Column("FileName", TEXT))
    found = children(maker(Given("T", columns, [(inline(packed), wide("a"))])).whole(), Limits(parse_bytes=900_000))
    assert [(c.name, c.data, c.error and c.error.code) for c in found] == [(b"a", None, ExceptionCode.EXPANSION_LIMIT)]
