"""readers.tables.access: tables of Access databases of either layout, their charsets, damage."""

import struct
from functools import partial

import pytest
from access_file import (
    CATALOG,
    DATE,
    DELETED,
    DOUBLE,
    LONG,
    MEMO,
    MONEY,
    MOVED,
    NUMERIC,
    OBJECT,
    SHORT,
    SPARE,
    TEXT,
    TRUTH,
    Column,
    Given,
    Maker,
    attachment,
    elsewhere,
    entry,
    inline,
    maker,
    ole_object,
)
from as_found import children_of, read_by, text_of

from core.records import Limits
from readers.base import Child, MemorySource
from readers.errors import DocumentError, ExceptionCode
from readers.registry import handler_for

read = partial(text_of, kind="application/x-msaccess")
read_hostile, children_of_hostile = read_by(handler_for("application/x-msaccess"))


def wide(text: str) -> bytes:
    return text.encode("utf-16-le")


PEOPLE = (Column("Number", LONG), Column("Name", TEXT), Column("Notes", MEMO))


@pytest.mark.parametrize("old", [False, True])
def test_tables_in_rows(old: bool) -> None:
    made = Maker(old)
    rows = [
        (struct.pack("<i", 7), made.text("Müller"), inline(made.text("first\r\nsecond"))),
        (struct.pack("<i", -1), None, inline(made.text("x" * 700))),
        (None, made.text("y" * 240), inline(made.text("z" * 60))),
    ]
    found = read(maker(Given("People", PEOPLE, rows), old=old).whole())
    assert (found.state, found.error) == (None, None)
    assert found.text.splitlines() == [
        *("People", "Number\tName\tNotes", "7\tMüller\tfirst  second"),
        *("-1\t\t" + "x" * 700, "\t" + "y" * 240 + "\t" + "z" * 60, ""),
    ]
    assert found.metadata == {}


def test_kinds_of_values() -> None:
    columns = [
        *(Column(f"c{i}", kind) for i, kind in enumerate((SHORT, MONEY, DOUBLE, DATE, DATE, DATE, TRUTH, OBJECT)))
    ]
    columns.append(Column("n", NUMERIC, 2))
    days = [struct.pack("<d", value) for value in (36_526.25, 2.0, 0.5)]
    row = [struct.pack("<h", -3), struct.pack("<q", -12_345_000), struct.pack("<d", 2.5), *days, b"", inline(b"raw")]
    rows = [(*row, struct.pack("<B4I", 0x80, 0, 0, 1, 5))]
    line = read(maker(Given("T", columns, rows)).whole()).text.splitlines()[2]
    assert line == "-3\t-1234.5\t2.5\t2000-01-01 06:00:00\t1900-01-01\t12:00:00\tTRUE\t\t-42949673.01"


def test_compressed_text() -> None:
    raw = b"\xff\xfeSch\xf6n, \0" + wide("приказ") + b"\0 end"
    assert "Schön, приказ end" in read(maker(Given("T", [Column("c", TEXT)], [(raw,)])).whole()).text


@pytest.mark.parametrize("old", [False, True])
def test_bytes_after_the_last_page(old: bool) -> None:
    data = maker(Given("T", PEOPLE, []), old=old).whole()
    assert children_of(data + bytes(300)) == []
    found: list[Child] = []
    source = MemorySource(b"x", data + b"text after the last page ")
    with pytest.raises(DocumentError, match=r"^corrupt: 25 bytes after the end of the database are a separate item"):
        found.extend(handler_for("application/x-msaccess").children(source, Limits()))
    assert [child.name for child in found] == [b"bytes after the end"]


def test_charset_of_access_97() -> None:
    text = "Договор о поставке оборудования, протокол совещания от вторника"
    given_ = Given("T", [Column("c", TEXT)], [(text.encode("cp1251"),)])
    reported = read(maker(given_, old=True).whole(code_page=1251))
    assert (text in reported.text, reported.metadata) == (True, {})
    lying = read(maker(given_, old=True).whole())
    assert (text in lying.text, lying.metadata["charset"]) == (True, "cp1251")


def test_long_values_elsewhere() -> None:
    """In a row of another page, or in a chain of rows; one that turns back ends with what it is said to hold, and one that
    holds less says so."""
    make = Maker()
    one = make.data(b"LVAL", [wide("single")])
    chain = [
        make.data(b"LVAL", [struct.pack("<I", SPARE + 2 << 8) + wide("begin ")]),
        make.data(b"LVAL", [struct.pack("<I", 0) + wide("end")]),
        make.data(b"LVAL", [struct.pack("<I", SPARE + 3 << 8) + wide("round ")]),
    ]
    fields = [elsewhere(12, SPARE, 0, one=True), elsewhere(18, SPARE + 1, 0), elsewhere(48, SPARE + 3, 0)]
    data = maker(Given("T", [Column("c", MEMO)], [(field,) for field in fields]), spare=[one, *chain]).whole()
    assert read(data).text.splitlines()[2:5] == ["single", "begin end", "round round round round "]
    ends = maker(Given("T", [Column("c", MEMO)], [(elsewhere(48, SPARE + 1, 0),)]), spare=[one, *chain]).whole()
    found = read(ends)
    assert (found.text.splitlines()[2], found.error and found.error.code) == ("begin end", ExceptionCode.CORRUPT)


def test_rows_that_were_moved_or_deleted() -> None:
    columns = (Column("c", TEXT),)
    make = Maker()
    rows = [make.row(columns, (wide(word),)) for word in ("stays", "moved", "deleted")]
    made = maker(Given("T", columns, [(wide("a"),), (wide("b"),), (wide("c"),)], stated=2), spare=[b""])
    number = next(n for n, page in enumerate(made.pages) if wide("a") in page and page[0] == 1)
    owner = int.from_bytes(made.pages[number][4:8], "little")
    pointer = struct.pack("<I", SPARE << 8)
    made.pages[number] = make.data(owner, [rows[0], pointer, rows[2]], (0, MOVED, DELETED))
    made.pages[SPARE] = make.data(owner, [rows[1]], (DELETED,))
    found = read(made.whole())
    assert (found.text.splitlines()[2:4], found.error) == (["stays", "moved"], None)


def test_what_else_it_holds() -> None:
    make = Maker()
    columns = (Column("Expression", MEMO), Column("Attribute", LONG), Column("Name1", TEXT))
    made = maker(Given("MSysQueries", columns, [(inline(wide("[Total] > 900")), struct.pack("<i", 5), wide("Orders"))]))
    page = next(n for n, p in enumerate(made.pages) if wide("Expression") in p and p[0] == 2)
    entries = [
        entry(make, page, 1, "MSysQueries", flags=-(1 << 31)),
        entry(make, page, 1, "Hidden system table", flags=2),
        entry(make, 0, 5, "Large orders"),
        entry(make, 0, -32768, "Entry form"),
        entry(make, 0, 5, "~sq_fEntry"),
        entry(make, 0, 6, "Clients", link=("tblClients", r"\\server\share\clients.mdb")),
    ]
    made.put(CATALOG, [make.row(CATALOG, one) for one in entries], at=2)
    assert read(made.whole()).text.splitlines() == [
        *("Large orders", "Entry form", "Clients\ttblClients\t\\\\server\\share\\clients.mdb", "[Total] > 900\tOrders"),
    ]


def test_links_by_odbc_have_server_and_database() -> None:
    make, catalog = Maker(), (*CATALOG, Column("Connect", MEMO))
    for _ in range(SPARE):
        make.reserve()
    reached = "ODBC;DRIVER=SQL Server;SERVER=sqlzebra01;DATABASE=PayrollVault"
    entries = [
        (*entry(make, 0, 4, "dbo_Payroll", link=("dbo.Payroll", "")), inline(wide(reached))),
        (*entry(make, 0, 6, "Clients", link=("tblClients", "clients.mdb")), None),
    ]
    make.put(catalog, [make.row(catalog, one) for one in entries], at=2)
    lines = read(make.whole()).text.splitlines()
    assert lines == [f"dbo_Payroll\tdbo.Payroll\t\t{reached}", "Clients\ttblClients\tclients.mdb"]


@pytest.mark.parametrize(
    ("stored", "shown"),
    [
        (b"0000000000000738521:0000000432000000000:7\0", "2023-01-02 12:00:00"),
        (b"0000000000000738521:0000000000000000000:7\0", "2023-01-02"),
        (b"0000000000000000000:0000000863991234500:7\0", "0001-01-01 23:59:59.12345"),
        (b"0000000000003652058:0000000000010000000:7\0", "9999-12-31 00:00:01"),
        (b"0000000000003652059:0000000000010000000:7\0", ""),
        (b"0000000000000738521:0000000864000000000:7\0", ""),
        (b"9999999999999999999:0000000432000000000:7\0", ""),
        (b"0000000000", ""),
    ],
)
def test_dates_of_access_2019(stored: bytes, shown: str) -> None:
    """Days since the first of the year 1, the time of day behind."""
    columns = (Column("When", 0x14), Column("Note", MEMO))
    found = read(maker(Given("T", columns, [(stored, inline(wide("x")))])).whole())
    assert found.text.splitlines()[2] == f"{shown}\tx"


def test_properties_of_the_database_and_its_tables() -> None:
    """Title and author as metadata; a description stands below its table's name. Damaged properties cost nothing else."""
    make = Maker()
    described = make.properties(
        ("", "Description", MEMO, wide("who owes what")), ("Name", "Caption", TEXT, wide("Full name"))
    )
    summary = make.properties(
        ("", "Title", TEXT, wide("Ledger")), ("", "Author", TEXT, wide("Ann")), ("", "Build", LONG, b"\1\0\0\0")
    )
    others = [entry(make, 0, 3, "SummaryInfo", properties=summary)]
    table = Given("People", PEOPLE, [(None, wide("found"), None)], properties=described)
    found = read(maker(table, others=others).whole())
    assert found.metadata == {"title": "Ledger", "author": "Ann"}
    assert found.text.splitlines()[:4] == ["People", "who owes what", "Full name", "Number\tName\tNotes"]
    cut = inline(described[12:-9])
    assert "found" in read(maker(table._replace(properties=cut), others=others).whole()).text


def test_values_that_expressions_make() -> None:
    make = Maker()

    def made(value: bytes) -> bytes:
        return bytes(16) + struct.pack("<I", len(value)) + value + bytes(3)

    kinds = {"a": TEXT, "b": MONEY, "c": TRUTH, "d": MEMO, "e": NUMERIC}
    reported = make.properties(*((name, "ResultType", 2, bytes([kind])) for name, kind in kinds.items()))
    stored = {"a": TEXT, "b": DOUBLE, "c": SHORT, "d": TEXT, "e": NUMERIC}
    columns = [
        Column(name, OBJECT if kind in (DOUBLE, SHORT, NUMERIC) else kind, 0, True) for name, kind in stored.items()
    ]
    decimal = struct.pack("<HBBIQ", 14, 2, 0x80, 0, 12_345)
    row = (
        made(wide("whole")),
        made(struct.pack("<q", 15_000)),
        made(b"\xff"),
        inline(made(wide("memo"))),
        made(decimal),
    )
    found = read(maker(Given("T", columns, [row], properties=reported)).whole())
    assert (found.text.splitlines()[2], found.error) == ("whole\t1.5\tTRUE\tmemo\t-123.45", None)


_SEVERAL = f"f_{'0A' * 16}_Files"


def _attachments(owner: str, flags: int) -> bytes:
    """A table with a column of attachments, which lie in another that says nothing of it."""
    flat = Given(
        _SEVERAL,
        (Column("FileData", OBJECT), Column("FileName", TEXT)),
        [
            (inline(attachment(b"first file", packed=True)), wide("one.txt")),
            (inline(attachment(b"second file", packed=False)), wide("two.txt")),
            (inline(attachment(b"third", packed=True)[:-6]), wide("cut.txt")),
        ],
        flags=-(1 << 31),
    )
    table = Given(owner, (Column("Number", LONG),), [(struct.pack("<i", 7),)], flags=flags)
    pages = [n for n, page in enumerate(maker(table, flat).pages) if page[0] == 2]
    row = [struct.pack("<i", page) for page in pages[1:3]]
    columns = (Column("ConceptualTableID", LONG), Column("FlatTableID", LONG))
    return maker(table, flat, Given("MSysComplexColumns", columns, [row], flags=-(1 << 31))).whole()


def test_attachments() -> None:
    data = _attachments("Contracts", 0)
    assert read(data).text.splitlines() == [
        *(
            "Contracts",
            "Number",
            "7",
            "",
            "Contracts: Files",
            "FileData\tFileName",
            "\tone.txt",
            "\ttwo.txt",
            "\tcut.txt",
            "",
        ),
    ]
    found = children_of(data)
    assert [(c.name, c.data) for c in found[:2]] == [(b"one.txt", b"first file"), (b"two.txt", b"second file")]
    assert (found[2].name, found[2].data, found[2].error and found[2].error.code) == (
        b"cut.txt",
        None,
        ExceptionCode.TRUNCATED,
    )
    assert (read(_attachments("MSysResources", 0xA)).text, children_of(_attachments("MSysResources", 0xA))) == ("", [])


def test_objects_are_children() -> None:
    picture = b"\x89PNG\r\n\x1a\n" + bytes(20)
    link = b"\x15\x1c\x04\0" + struct.pack("<II", 0x501, 1) + bytes(20)
    values = [
        ole_object("deed.pdf", b"%PDF-1.4"),
        picture,
        b"\x03\xd7\xff\0\x01\xc2" * 40,
        b"short",
        link,
        elsewhere(900, 99, 0),
    ]
    rows = [(value if n == 5 else inline(value),) for n, value in enumerate(values)]
    data = maker(Given("T", (Column("File", OBJECT),), rows)).whole()
    found = children_of(data)
    assert [(c.name, c.data) for c in found] == [
        (b"deed.pdf", b"%PDF-1.4"),
        (b"object-1", picture),
        (b"object-2", None),
    ]
    assert found[2].error is not None
    large = children_of(data, Limits(parse_bytes=100))
    assert next(c.error and c.error.code for c in large) is ExceptionCode.TOO_LARGE
    assert children_of(data[:9000]) == []


def test_encoded_and_encrypted() -> None:
    """A key that stands in the file is no password; one of Access 2007 asks for one."""
    made = maker(Given("People", PEOPLE, [(None, wide("found"), None)]))
    assert "found" in read(made.whole(key=0x1234567)).text
    with pytest.raises(DocumentError, match=r"^encrypted:"):
        read(made.whole(key=1, ace=True))
    assert "found" in read(made.whole(ace=True)).text


def test_a_wide_table() -> None:
    columns = [Column(f"a long name of column {i}", TEXT) for i in range(200)]
    found = read(maker(Given("Wide", columns, [(None,) * 199 + (wide("last"),)])).whole())
    assert found.error is None
    assert found.text.splitlines()[1].split("\t")[199] == "a long name of column 199"
    assert found.text.splitlines()[2].strip() == "last"


def test_damage_is_reported() -> None:
    rows = [(struct.pack("<i", i), wide(f"word{i}"), None) for i in range(400)]
    less = read(maker(Given("People", PEOPLE, rows[:3], stated=9)).whole())
    assert (less.error and less.error.code, "word2" in less.text) == (ExceptionCode.CORRUPT, True)
    made = maker(Given("People", PEOPLE, rows))
    last = max(n for n, page in enumerate(made.pages) if wide("word399") in page)
    made.pages[last] = bytes(4096)
    gone = read(made.whole())
    assert (gone.error and gone.error.code, "word1" in gone.text, "word399" in gone.text) == (
        ExceptionCode.CORRUPT,
        True,
        False,
    )
    made.pages[2] = bytes(4096)
    for data in (made.whole(), made.whole()[:9000], made.whole()[:50]):
        with pytest.raises(DocumentError):
            read(data)


def outcome(data: bytes) -> tuple[str, DocumentError | None]:
    """Text, and what is said of it; it may be that it cannot be read at all."""
    try:
        found = read_hostile(data)
    except DocumentError as error:
        return "", error
    return found.text, found.error


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
            read_hostile(made.whole()[:size])


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
    found = read_hostile(made.whole())
    assert ("found" in found.text, found.error and found.error.code) == (True, ExceptionCode.TOO_LARGE)
    within = maker(table._replace(rows=[(wide("found"), elsewhere(60_000_000, SPARE, 0))]), spare=[ring]).whole()
    found = read_hostile(within)
    assert ("found" in found.text, len(found.text) < 1_000_000) == (True, True)
    assert (found.error and found.error.code) is ExceptionCode.CORRUPT
    number = next(n for n, page in enumerate(made.pages) if wide("found") in page)
    owner = int.from_bytes(made.pages[number][4:8], "little")
    made.pages[number] = make.data(owner, [struct.pack("<I", number << 8)], (MOVED,))
    assert (read_hostile(made.whole()).error or DocumentError(ExceptionCode.MEMORY, "")).code is ExceptionCode.CORRUPT
    mapped = next(n for n, page in enumerate(made.pages) if n > SPARE and page[:1] == b"\1" and page[4:8] == bytes(4))
    made.pages[mapped] = make.data(0, [b"\1" + struct.pack("<I", mapped) * 900])
    found = read_hostile(made.whole())
    assert (found.text.splitlines()[0], found.error and found.error.code) == ("T", ExceptionCode.CORRUPT)


def test_repetitions_in_the_catalog_cost_little() -> None:
    make = Maker()
    columns = (Column("Expression", MEMO), *[Column("Name1", TEXT)] * 999)
    made = maker(Given("MSysQueries", columns, []), spare=[b""])
    page = next(n for n, p in enumerate(made.pages) if n > SPARE and p[:1] == b"\2")
    number = max(n for n, p in enumerate(made.pages) if p[:1] == b"\1" and p[4:8] == struct.pack("<I", page))
    word = make.row(columns, (inline(wide("[Total]")), *[None] * 999))
    made.pages[number] = make.data(page, [word, *[b"\0\0\0\0\0\0"] * 100])
    reported = elsewhere(60_000_000, SPARE, 0)
    rows = [entry(make, page, 1, "MSysQueries", flags=-(1 << 31), properties=reported)] * 900
    made.pages[SPARE] = make.data(b"LVAL", [struct.pack("<I", SPARE << 8) + b"MR2\0" + bytes(3000)])
    made.put(CATALOG, [make.row(CATALOG, one) for one in rows], at=2)
    found = read_hostile(made.whole())
    assert (found.text.splitlines(), found.error) == (["[Total]"], None)


def test_attachments_that_are_bombs() -> None:
    """None gives more than the limit of an item."""
    packed = attachment(bytes(1_000_000), packed=True)
    columns = (Column("FileData", OBJECT), Column("FileName", TEXT))
    found = children_of_hostile(
        maker(Given("T", columns, [(inline(packed), wide("a"))])).whole(), Limits(parse_bytes=900_000)
    )
    assert [(c.name, c.data, c.error and c.error.code) for c in found] == [(b"a", None, ExceptionCode.EXPANSION_LIMIT)]
