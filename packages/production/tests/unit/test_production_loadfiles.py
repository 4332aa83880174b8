"""Load files as written are read by what the formats say, and what is wrong with a production is told."""

import csv
import io
import os
import shutil
from pathlib import Path
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st
from productions import item, write_export

from core.csv_cells import defused
from core.errors import UsageError
from core.imported import LOAD_DIRECTORY
from production import concordance, edrm
from production.check import check
from production.fields import COLUMNS
from production.importing import take
from production.reading import EdrmDocument, read_dat, read_edrm
from production.reports import moment, table

_TEXTS = st.text(st.characters(exclude_categories=("Cs",)), max_size=40)


@pytest.fixture
def production(tmp_path: Path) -> Path:
    """Three items of one family, as an export writes them."""
    datas = enumerate([b"one", b"two", b"three"])
    write_export(tmp_path, [item(9 + n, (9, 11), data=data, subject=f"þ = \x14\n«{n}»\u2028") for n, data in datas])
    return tmp_path


def _faults(root: Path) -> list[str]:
    faults: list[str] = []
    check(root, faults.append)
    return faults


@given(rows=st.lists(st.lists(_TEXTS, min_size=2, max_size=2), max_size=5), data=st.data())
def test_every_value_comes_back_from_a_dat(
    tmp_path_factory: pytest.TempPathFactory, rows: list[list[str]], data: st.DataObject
) -> None:
    """But for delimiters, which are named instead, line ends, which are all newlines, and what a code page lacks."""
    encoding: concordance.Encoding = data.draw(st.sampled_from(list(concordance.BOMS)))
    path = tmp_path_factory.getbasetemp() / "round.dat"
    path.write_bytes(concordance.head(("A", "B"), encoding) + concordance.lines(rows, encoding))
    found = [[row["A"], row["B"]] for row in read_dat(path)]
    assert found == [[_expected(cell, encoding) for cell in row] for row in rows]


def _expected(cell: str, encoding: str) -> str:
    for mark in "\x14\xfe\xae\x00\x0b\x0c\x1c\x1d\x1e\x85\u2028\u2029":
        cell = cell.replace(mark, f"[U+{ord(mark):04X}]")
    cell = "\n".join(cell.replace("\r\n", "\n").split("\r"))
    return cell.encode(encoding, "backslashreplace").decode(encoding)


def test_other_delimiters_and_raw_line_ends_are_read(tmp_path: Path) -> None:
    """As other programs write them."""
    path = tmp_path / "theirs.dat"
    path.write_bytes(b"^DocID^|^Note^\r\n^A1^|^one\r\ntwo^\r\n")
    assert [dict(row) for row in read_dat(path)] == [{"DOCID": "A1", "NOTE": "one\r\ntwo"}]


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"^A^|^B^\r\n^1^|^two" + b"\n" * 500_000, "middle of a record"),
        (b"^A^|^B^\r\n^1^|^" + b"x" * 17_000_000, "more than 16,000,000"),
        (b"^A^|^" + b"x" * 17_000_000, "first line has"),
        ("^A^|^B^\r\n^1^|^2^\r\n".encode("utf-16-le"), "UTF-16 without"),
        ("þAþ\x14þBþ\r\nþ1þ\x14þcafé\r\n".encode("cp1252"), "middle of a record"),
        (b"A,B\r\n", "not a load file"),
        (b"", "not a load file"),
        (b"\0\0\0\0", "or not text"),
        (b"^A^|^a^\r\n", "twice"),
        (b"^A^|^B^\r\n^1^\r\n", "1 value for 2 fields"),
    ],
    ids=["quote", "record", "head", "utf-16", "cp1252", "plain", "empty", "nuls", "twice", "short"],
)
def test_a_hostile_dat_is_one_line(tmp_path: Path, data: bytes, message: str) -> None:
    """A quote that never ends, a line that never ends, another encoding, nothing at all: told at once, and why."""
    path = tmp_path / "x.dat"
    path.write_bytes(data)
    with pytest.raises(UsageError, match=message):
        list(read_dat(path))


def test_a_dat_of_many_columns(tmp_path: Path) -> None:
    path = tmp_path / "x.dat"
    path.write_text("|".join(f"^c{n}^" for n in range(100_000)) + "\n" + "|".join(["^x^"] * 100_000) + "\n")
    (row,) = read_dat(path)
    assert (len(row), row["C99999"]) == (100_000, "x")


@pytest.mark.parametrize("encoding", list(concordance.BOMS))
def test_values_of_every_kind_are_written_as_they_are_checked(tmp_path: Path, encoding: concordance.Encoding) -> None:
    """Fields of any length, line ends, delimiters, controls, halves of pairs and direction marks leave no fault, in a file
    of no bytes, too."""
    odd = [
        "x" * 200_000,
        "a\r\nb\rc\nd",
        "þ\x14®þ",
        "\x00\x01\x1a",
        "\ud800x",
        "\u202eevil\u2066",
        "]]>&<\"'",
        "\ufffe\u2028",
        "Привет \u2013 €\x81\ufffd",
        "'=1+1",
        "=1+1",
    ]
    last = 8 + len(odd)
    items = [item(9 + n, (9, last), subject=value, to=[value, "b"], path=["a", value]) for n, value in enumerate(odd)]
    write_export(tmp_path, items, encoding)
    assert _faults(tmp_path) == []


def test_an_edrm_file_reads_nothing_else(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("SECRET")
    bomb = "".join(f'<!ENTITY e{n} "{f"&e{n - 1};" * 20}">' for n in range(1, 9))
    for entity, use in ((f'<!ENTITY e SYSTEM "{tmp_path}/secret">', "&e;"), (f'<!ENTITY e0 "x">{bomb}', "&e8;")):
        (tmp_path / "x.xml").write_text(f'<!DOCTYPE r [{entity}]><Root><Document DocID="a">{use}</Document></Root>')
        with io.StringIO() as reported:
            try:
                print(list(read_edrm(tmp_path / "x.xml")), file=reported)
            except UsageError as error:
                print(error, file=reported)
            assert "SECRET" not in reported.getvalue()
            assert len(reported.getvalue()) < 10_000


def test_predefined_fields_of_edrm_are_called_as_others_map_them(tmp_path: Path) -> None:
    more = {"from": "a@x", "to": ["b@x", "c@x"], "subject": "s", "modified": "2001-02-03T04:05:06Z", "title": "t"}
    dates = ("2001-02-03T04:05:06Z", "2001-02-03")
    write_export(tmp_path, [item(9 + n, (9, 10), date=date, **more) for n, date in enumerate(dates)])
    root = ElementTree.parse(tmp_path / "loadfile.xml").getroot()
    assert root.attrib == {"MajorVersion": "1", "MinorVersion": "2", "DataInterchangeType": "Update"}
    sent, day = (
        {tag.attrib["TagName"]: (tag.attrib["TagDataType"], tag.attrib["TagValue"]) for tag in document.iter("Tag")}
        for document in root.iter("Document")
    )
    assert sent["#DateSent"] == ("DateTime", dates[0])
    assert day["DATE"] == ("Text", dates[1])
    assert "DATE" not in sent
    assert "#DateSent" not in day
    assert {name: value for name, value in day.items() if name.startswith("#")} == {
        "#From": ("Text", "a@x"),
        "#To": ("Text", "b@x; c@x"),
        "#Subject": ("Text", "s"),
        "#FileName": ("Text", "mail"),
        "#FileSize": ("LongInteger", "0"),
        "#DateModified": ("DateTime", "2001-02-03T04:05:06Z"),
    }
    assert _faults(tmp_path) == []


_ANOTHERS = """<Root MajorVersion="1" MinorVersion="2" DataInterchangeType="Update">
<Fields><Field Name="#Subject" DataType="Text" Key="k0"/><Field Name="Item Date" DataType="DateTime" Key="k1"/></Fields>
<Batch><Documents>
<Document DocID="d1" MimeType="message/rfc822"><FieldValues><k0>one &amp; two</k0><k1>2001</k1></FieldValues></Document>
<Document DocID="d2"><FieldValues><k0/></FieldValues><Tags><Tag TagName="#DateSent" TagValue="2002"/></Tags></Document>
</Documents><Relationships><Relationship Type="Container" ParentDocId="d1" ChildDocId="d2"/></Relationships>
<Folders><Folder FolderName="d1"><Document DocId="d2"/></Folder></Folders></Batch></Root>"""


def test_edrm_as_other_programs_write_it(tmp_path: Path) -> None:
    """Fields by keys of the root's, ids spelled otherwise; what a folder lists is no document again."""
    (tmp_path / "x.xml").write_text(_ANOTHERS)
    one, two, relation = read_edrm(tmp_path / "x.xml")
    assert (one[0], two[0], relation) == ("d1", "d2", ("d2", "d1"))
    assert isinstance(one[1], EdrmDocument)
    assert isinstance(two[1], EdrmDocument)
    others = {"CUSTODIAN": "", "FILEPATH": ""}
    assert one[1].values == {"SUBJECT": "one & two", "ITEM DATE": "2001", "MIMETYPE": "message/rfc822"} | others
    assert two[1].values == {"SUBJECT": "", "DATE": "2002", "MIMETYPE": ""} | others


def test_natives_become_a_source(production: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    root = tmp_path_factory.mktemp("in")
    shutil.copytree(production, root / "p")
    (root / "p" / "VOL001/NATIVES/0001/A10.eml").write_bytes(b"2")
    (root / "p" / "VOL001/NATIVES/0001/A11.eml").unlink()
    reported: list[str] = []
    done = take(root / "p/loadfile.dat", root / "s", reported.append)
    found = {path.name: path.read_bytes() for path in (root / "s/ann").iterdir()}
    assert found == {"A9.eml": b"one", "A10.eml": b"2", "A11": b""}
    assert (done.records, done.items, done.natives, done.bare, done.wrong, done.faults) == (3, 3, 2, 1, 2, 0)
    assert [line.partition(":")[0] for line in reported] == ["A10", "A11"]
    done = take(production / "loadfile.dat", root / "t", reported.append, topmost=True)
    assert (done.records, done.items, done.attached) == (3, 1, 2)
    with pytest.raises(UsageError, match="not an empty directory"):
        take(production / "loadfile.dat", root / "t", reported.append)


def _record(begin: str, native: str, custodian: str = "ann", sha256: str = "") -> str:
    return "\x14".join(f"þ{value}þ" for value in (begin, native, custodian, sha256)) + "\r\n"


def test_a_hostile_load_file_takes_nothing_from_elsewhere(tmp_path: Path) -> None:
    """Names that no file can have, FIFOs, directories and links are lines and files of no bytes; what is taken lies below
    `--to`, under names that fit, and is the bytes that were compared."""
    theirs, to = tmp_path / "p", tmp_path / "s"
    (theirs / "n").mkdir(parents=True)
    (tmp_path / "n").mkdir()
    (tmp_path / "n" / "real.txt").write_bytes(b"outside")
    (theirs / "n" / "real.txt").write_bytes(b"one")
    (theirs / "n" / ("x." + "y" * 200)).write_bytes(b"two")
    (theirs / "link.txt").symlink_to("n/real.txt")
    os.mkfifo(theirs / "n" / "fifo.txt")
    missing = [("A1", "z" * 300), ("A2", "n/fifo.txt"), ("A3", "n"), ("A4", "../n/real.txt"), ("A5", "n/a\0b")]
    taken = [
        ("..", "n/real.txt", "../../up"),
        ("名" * 200, "n/x." + "y" * 200, "\u202e" + "人" * 200),
        ("CON", "link.txt", "ann"),
        ("con", "link.txt", "Ann"),
    ]
    lines = [_record(begin, shown) for begin, shown in missing] + [_record(*one) for one in taken]
    again = _record("CON", "n/real.txt")
    (theirs / "x.dat").write_text(_record("BEGDOC", "NATIVEPATH", "CUSTODIAN", "SHA256") + "".join(lines) + again)
    reported: list[str] = []
    done = take(theirs / "x.dat", to, reported.append)
    assert (done.natives, done.bare, done.wrong, done.faults) == (len(taken), len(missing), len(missing), 1), reported
    assert done.records == done.items + done.faults
    assert [line.partition(":")[0] for line in reported] == ["A1", "A2", "A3", "A4", "A5", "CON"]
    found = [path for path in to.rglob("*") if not path.is_dir() and LOAD_DIRECTORY not in path.parts]
    assert sorted(path.read_bytes() for path in found) == [b""] * len(missing) + [b"one", b"one", b"one", b"two"]
    assert not any(path.is_symlink() for path in found)


def test_a_destination_that_takes_nothing_is_one_line(
    production: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    above = tmp_path_factory.mktemp("to")
    (above / "file").write_bytes(b"")
    with pytest.raises(UsageError, match=r"cannot be written \(Not a directory\)"):
        take(production / "loadfile.dat", above / "file" / "below", lambda line: None)


def test_a_list_that_names_a_fifo_is_not_waited_for(production: Path) -> None:
    native = production / "VOL001/NATIVES/0001/A10.eml"
    native.unlink()
    os.mkfifo(native)
    assert any("missing" in fault for fault in _faults(production))


def test_several_values_stay_apart_in_every_load_file(tmp_path: Path) -> None:
    reported = item(1, (1, 1), data=b"one", all_custodians=["ann", "o'brien; jr"], path=["ann/pack.zip", "in/one.txt"])
    write_export(tmp_path, [reported])
    assert _faults(tmp_path) == []
    (row,) = read_dat(tmp_path / "loadfile.dat")
    assert row["ALLCUSTODIANS"].split("; ") == ["ann", "o'brien[U+003B] jr"]
    assert row["FILEPATH"] == "ann/pack.zip / in/one.txt"
    with (tmp_path / "loadfile.csv").open(newline="", encoding="utf-8") as file:
        (cells,) = csv.DictReader(file)
    assert (cells["all_custodians"], cells["path"]) == (row["ALLCUSTODIANS"], row["FILEPATH"])


_CELLS = st.text(st.sampled_from("a,\"'\r\n =+;\t\u2028\ud800"), max_size=4)


@given(rows=st.lists(st.lists(_CELLS, min_size=1, max_size=4), max_size=4))
def test_a_row_is_as_a_writer_of_csv_has_it(rows: list[list[str]]) -> None:
    expected = io.StringIO(newline="")
    csv.writer(expected).writerows([*map(defused, row)] for row in rows)
    assert table(rows) == expected.getvalue().encode("utf-8", "replace")


@pytest.mark.parametrize(
    ("seconds", "reported"),
    [
        (0, "1970-01-01T00:00:00Z"),
        (-1, "1969-12-31T23:59:59Z"),
        (1_795_651_499, "2026-11-26T00:04:59Z"),
        (253_402_300_799, "9999-12-31T23:59:59Z"),
        (253_402_300_800, None),
        (-62_135_596_800, "0001-01-01T00:00:00Z"),
        (-62_135_596_801, None),
    ],
)
def test_a_moment_is_reported_where_a_calendar_has_it(seconds: int, reported: str | None) -> None:
    assert moment(seconds * 1_000_000_000 + 999) == reported


def test_what_is_not_known_is_empty_in_edrm_xml() -> None:
    reported = dict.fromkeys(COLUMNS) | {"begin": "A1", "path": ["a"]}
    document = edrm.document(reported, [])
    assert "None" not in document
    assert 'MimeType=""' in document
    assert "<Custodian></Custodian>" in document
