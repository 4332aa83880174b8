"""Each forgery of a production is told: of its pages, its families, the files of its records, and of one load file beside the
others."""

from collections.abc import Callable
from pathlib import Path

import pytest
from productions import Item, item, md5, swap, write_export, write_processed

from core.errors import UsageError
from production.check import Checked, check
from production.opticon import read_opt

FAMILY = (9, 11)


def _items() -> list[Item]:
    """A family of three with texts, and an item by itself."""
    members = [item(9 + n, FAMILY, data=b"native %d" % n, text=b"text %d" % n, subject=f"about {n}") for n in range(3)]
    alone = item(
        12, (12, 12), data=b"alone", subject="about 3", date="2020-01-01T00:00:00Z", all_custodians=["a; b", "c"]
    )
    return [*members, alone]


def _paged() -> list[Item]:
    """A family of two documents of two pages and one, and a document of three."""
    return [item(9, FAMILY, pages=2), item(11, FAMILY, pages=1), item(12, (12, 14), pages=3, subject="=1+1")]


def _checked(root: Path) -> tuple[Checked, list[str]]:
    faults: list[str] = []
    return check(root, faults.append), faults


def _faults(root: Path, message: str) -> None:
    """At least one fault says so, and not more are told than a forgery of one record has."""
    done, faults = _checked(root)
    assert any(message in fault for fault in faults), faults
    assert done.faults == len(faults) < 9, faults


def test_what_is_right_has_no_fault(tmp_path: Path) -> None:
    for name, write, items, others in (
        ("texts", write_export, _items(), ["loadfile.dat", "loadfile.csv", "loadfile.xml"]),
        ("images", write_export, _paged(), ["loadfile.dat", "loadfile.csv", "loadfile.xml", "loadfile.opt"]),
        ("processed", write_processed, _paged(), ["metadata.csv", "metadata.jsonl", "loadfile.opt"]),
        ("extracted", write_processed, _items(), ["metadata.csv", "metadata.jsonl"]),
    ):
        (tmp_path / name).mkdir()
        write(tmp_path / name, items)
        done, faults = _checked(tmp_path / name)
        assert faults == []
        assert done.load_files == others
        assert (done.records, done.files) == (len(items), sum(len(one.files) for one in items))


def _without(place: int) -> Callable[[list[Item]], list[Item]]:
    return lambda items: [one for n, one in enumerate(items) if n != place]


def _with(place: int, **changes: object) -> Callable[[list[Item]], list[Item]]:
    def changed(items: list[Item]) -> list[Item]:
        items[place].fields |= changes
        return items

    return changed


def _natives_swapped(items: list[Item]) -> list[Item]:
    """With their hashes: each file is what all load files say of it, and is another record's."""
    one, other = items[1].fields, items[2].fields
    for name in ("native", "md5", "sha256", "bytes"):
        one[name], other[name] = other[name], one[name]
    return items


@pytest.mark.parametrize(
    ("forged", "message"),
    [
        (_without(0), "it is the first of its family, but the family begins at A9"),
        (_without(1), "A11: numbers between A9 and it are missing"),
        (_without(2), "A10: it is the last of its family, but the family ends at A11"),
        (_with(1, parent=""), "A10: it has no parent"),
        (_with(2, parent="A11"), "its parent A11 is not before it"),
        (_with(3, begin_family="A11"), "begins inside A9 to A11"),
        (_with(3, parent="A9"), "its parent A9 is not before it in its family"),
        (_with(1, end="A11"), "A10: A10 to A11 are 2 numbers, but it has 0 pages"),
        (_with(1, text=None), "TEXTPATH does not name VOL001/TEXT/0001/A10.txt"),
        (_with(1, native=None), "NATIVEPATH does not name VOL001/NATIVES/0001/A10.eml"),
        (_with(3, text="VOL001/TEXT/0001/A9.txt"), "is not listed for A12 in hashes.csv"),
        (_natives_swapped, "A10: NATIVEPATH"),
        (_with(1, sha256="0" * 64), "SHA256 is not that of"),
        (_with(1, bytes=7_000), "FILESIZE is not that of"),
    ],
)  # fmt: skip
def test_a_production_that_its_load_files_agree_on_is_forged(
    tmp_path: Path, forged: Callable[[list[Item]], list[Item]], message: str
) -> None:
    write_export(tmp_path, forged(_items()))
    _faults(tmp_path, message)


@pytest.mark.parametrize(
    ("name", "old", "new", "message"),
    [
        ("loadfile.csv", "about 1", "about 7", "A10: loadfile.csv and loadfile.dat differ in SUBJECT"),
        ("loadfile.xml", "about 1", "about 7", "A10: loadfile.xml and loadfile.dat differ in SUBJECT"),
        ("loadfile.dat", "about 1", "about 7", "A10: loadfile.xml and loadfile.dat differ in SUBJECT"),
        ("loadfile.dat", "2020-01-01", "2021-01-01", "A12: loadfile.csv and loadfile.dat differ in DATE"),
        ("loadfile.xml", "<Custodian>ann<", "<Custodian>eve<", "differ in CUSTODIAN"),
        ("loadfile.xml", "box.pst / mail", "box.pst / male", "differ in FILEPATH"),
        ("loadfile.xml", 'TagName="ALLCUSTODIANS"', 'TagName="NOBODY"', "differ in ALLCUSTODIANS"),
        ("loadfile.xml", 'TagValue="about 1"/>', 'TagValue="about 7"/><Tag TagName="SUBJECT" TagValue="about 1"/>', "differ in SUBJECT"),
        ("loadfile.dat", "þEXCEPTIONSþ", "þREMARKSþ", "A9: loadfile.csv and loadfile.dat differ in EXCEPTIONS"),
        ("loadfile.csv", "ann; bob", "ann; eve", "differ in ALLCUSTODIANS"),
        ("loadfile.csv", "truncated", "", "differ in EXCEPTIONS"),
        ("loadfile.csv", "A12,A12,A12,A12", "A12,A12,A12,A13", "differ in ENDATTACH"),
        ("loadfile.csv", "A10,A10", "A77,A10", "A77: it is in loadfile.csv, but not in loadfile.dat"),
        ("loadfile.xml", 'DocID="A10"', 'DocID="A77"', "A10: loadfile.xml lacks it"),
        ("loadfile.xml", 'FileName="A10.txt"', 'FileName="A9.txt"', "loadfile.xml does not name VOL001/TEXT/0001/A10.txt"),
        ("loadfile.xml", 'FileSize="6"', 'FileSize="5"', "has Text of 5 bytes for VOL001/TEXT/0001"),
        ("loadfile.xml", 'FileType="Text"', 'FileType="Native"', "has Native of 6 bytes for VOL001/TEXT/0001"),
        ("loadfile.dat", "NATIVES\\0001\\A10.eml", "..\\..\\etc\\passwd", "outside the production"),
        ("loadfile.dat", "VOL001\\NATIVES\\0001\\A10.eml", "C:\\a", "outside the production"),
        ("loadfile.dat", "VOL001\\NATIVES\\0001\\A10.eml", "\\\\server\\a", "outside the production"),
        ("loadfile.dat", "VOL001\\NATIVES\\0001\\A10.eml", "/etc/passwd", "outside the production"),
        ("loadfile.dat", "NATIVES\\0001\\A10.eml", "NATIVES\\0001\\A12.eml", "not listed for"),
        ("loadfile.dat", md5(b"native 1"), md5(b"2"), "MD5 is not that of"),
        ("loadfile.xml", 'ChildDocID="A10"', 'ChildDocID="A12"', "as attached to"),
        ("loadfile.xml", f'Hash="{md5(b"native 1")}"', f'Hash="{md5(b"2")}"', "another MD5"),
        ("hashes.csv", ",A11,", ",A77,", "A77: it is in hashes.csv, but not in loadfile.dat"),
        ("hashes.csv", ",6,", ",60,", "it has 6 bytes, but hashes.csv gives 60"),
        ("hashes.csv", ",text,", ",prose,", "hashes.csv calls VOL001/TEXT/0001/A9.txt 'prose'"),
        ("hashes.csv", "0001/A10.txt", "0001/A9.txt", "hashes.csv has VOL001/TEXT/0001/A9.txt twice"),
    ],
)  # fmt: skip
def test_one_load_file_is_forged(tmp_path: Path, name: str, old: str, new: str, message: str) -> None:
    write_export(tmp_path, _items())
    swap(tmp_path, name, old, new, 1)
    _faults(tmp_path, message)


@pytest.mark.parametrize(("number", "message"), [("A8", "is not within its family"), ("A9", "is listed after A9")])
def test_a_record_has_the_number_of_another(tmp_path: Path, number: str, message: str) -> None:
    write_export(tmp_path, _items())
    swap(tmp_path, "loadfile.dat", "þA10þ\x14þA10þ", f"þ{number}þ\x14þ{number}þ")
    assert any(message in fault for fault in _checked(tmp_path)[1])


_TENTH = "A10,VOL001,VOL001\\IMAGES\\0001\\A10.tif,,,,\r\n"
_THIRTEENTH = "A13,VOL001,VOL001\\IMAGES\\0001\\A13.tif,,,,\r\n"
_FOURTEENTH = "A14,VOL001,VOL001\\IMAGES\\0001\\A14.tif,,,,\r\n"


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (_TENTH, "", "A9: loadfile.opt has 1 page for it, hashes.csv has 2"),
        (_TENTH, _TENTH * 2, "A9: loadfile.opt has 3 pages for it, hashes.csv has 2"),
        (_THIRTEENTH + _FOURTEENTH, _FOURTEENTH + _THIRTEENTH, "but page 2 of A12"),
        ("0001\\A10.tif", "0001\\A11.tif", "gives VOL001/IMAGES/0001/A11.tif, but page 2 of A9"),
        ("VOL001\\IMAGES\\0001\\A10.tif", "..\\..\\A10.tif", "is outside the production"),
        ("A10,VOL001,", "A10,VOL002,", "A10: loadfile.opt has volume VOL002"),
        ("A10,VOL001,", "A99,VOL001,", "A99: loadfile.opt is the id of page 2 of A9"),
        ("A12,VOL001,", "A99,VOL001,", "A12: loadfile.opt lacks it"),
        ("A9,VOL001,", "A09,VOL001,", "A9: loadfile.opt lacks it"),
        (",Y,,,3", ",Y,,,4", "A12: loadfile.opt counts 4 pages, it has 3"),
        (",Y,,,1", ",,,,", "A11: loadfile.opt lacks it"),
        (",Y,,,2", ",,,,2", "A9: loadfile.opt does not mark it as the first page"),
        (_TENTH, _TENTH.replace(",,,,", ",Y,,,"), "A10: it is in loadfile.opt"),
        (_THIRTEENTH, _THIRTEENTH.replace(",,,,", ",,,,3"), "counts pages at page 2 of A12"),
        ("A11,VOL001,VOL001\\IMAGES\\0001\\A11.tif,Y,,,1\r\n", "", "A11: loadfile.opt lacks it"),
    ],
)  # fmt: skip
def test_opticon_is_forged(tmp_path: Path, old: str, new: str, message: str) -> None:
    """Pages missing, doubled, swapped, called otherwise or in another place; document breaks; counts. Of an export and of a
    processing job, which has no DAT."""
    for name, write in (("export", write_export), ("processed", write_processed)):
        (tmp_path / name).mkdir()
        write(tmp_path / name, _paged())
        swap(tmp_path / name, "loadfile.opt", old, new)
        _faults(tmp_path / name, message)


@pytest.mark.parametrize(
    ("attack", "message"),
    [
        (lambda root: (root / "VOL001/IMAGES/0001/A13.tif").unlink(), "A13.tif: missing"),
        (lambda root: (root / "VOL001/IMAGES/0001/A13.tif").write_bytes(b"x"), "its hash differs from"),
        (lambda root: (root / "VOL001/IMAGES/0001/A15.tif").write_bytes(b"x"), "not in any list"),
        (lambda root: (root / "VOL001/more").symlink_to("/"), "VOL001/more: not in any list"),
        (lambda root: (root / "withheld.csv").write_text("begin,end\nA11,A11\n"), "A11: it is listed as withheld too"),
        (lambda root: swap(root, "metadata.jsonl", 'box.pst", "mail', "box.pst; mail"), "differ in path"),
        (lambda root: (root / "loadfile.opt").unlink(), "there is no load file *.opt"),
        (lambda root: swap(root, "hashes.csv", ",A12,image,2", ",A12,image,3"), "hashes.csv has pages 1, 3, 3 for it"),
        (lambda root: swap(root, "metadata.csv", "A12,A14", "A12,A13"), "A12 to A13 are 2 numbers, but it has 3 pages"),
        (lambda root: swap(root, "metadata.csv", ",3,,", ",2,,"), "A12: has 3 pages, but its page count is 2"),
        (lambda root: swap(root, "metadata.jsonl", "=1+1", "=1+2"), "A12: metadata.jsonl and metadata.csv differ in subject"),
        (lambda root: swap(root, "metadata.jsonl", '"end": "A14"', '"end": "A13"'), "differ in end"),
    ],
)  # fmt: skip
def test_a_processing_is_forged(tmp_path: Path, attack: Callable[[Path], object], message: str) -> None:
    write_processed(tmp_path, _paged())
    attack(tmp_path)
    _faults(tmp_path, message)


def test_what_readers_could_take_in_two_ways_is_refused(tmp_path: Path) -> None:
    for name, old, new in (
        ("metadata.jsonl", '"subject": "=1+1"', '"subject": "=2", "subject": "=1+1"'),
        ("metadata.csv", "subject,date,title", "subject,date,subject"),
    ):
        write_processed(tmp_path, _paged())
        swap(tmp_path, name, old, new)
        with pytest.raises(UsageError, match=r"contains 'subject' twice|two columns of one name"):
            check(tmp_path, print)


def test_a_family_that_is_cut_is_not_whole_in_a_processing(tmp_path: Path) -> None:
    write_processed(tmp_path, _without(1)(_paged()))
    _faults(tmp_path, "A10: it is the last of its family, but the family ends at A11")


def test_a_wrong_number_is_no_fault_of_all_that_follow(tmp_path: Path) -> None:
    items = [item(n, (n, n), data=b"%d" % n) for n in range(9, 60)]
    for name in ("loadfile.dat", "loadfile.csv", "loadfile.xml", "hashes.csv"):
        for new in ("A1", "A99999"):
            write_export(tmp_path, items)
            swap(tmp_path, name, "A30", new)
            done, faults = _checked(tmp_path)
            assert 0 < done.faults < 20, (name, new, faults)


@pytest.mark.parametrize("name", ["loadfile.csv", "loadfile.xml", "metadata.jsonl"])
def test_a_load_file_that_is_not_there_is_reported(tmp_path: Path, name: str) -> None:
    (write_processed if name.startswith("metadata") else write_export)(tmp_path, _items())
    (tmp_path / name).unlink()
    done, faults = _checked(tmp_path)
    assert (faults, done.records) == ([f"{name}: missing"], 4)


def test_without_contents_no_file_is_read(tmp_path: Path) -> None:
    """Whoever has read them has them compared with nothing but load files."""
    write_export(tmp_path, _items())
    (tmp_path / "VOL001/NATIVES/0001/A10.eml").unlink()
    faults: list[str] = []
    assert check(tmp_path, faults.append, contents=False).faults == 0
    swap(tmp_path, "loadfile.csv", md5(b"native 1"), md5(b"x"))
    assert check(tmp_path, faults.append, contents=False).faults == len(faults) == 1


@pytest.mark.parametrize("write", [write_export, write_processed])
def test_an_end_that_all_load_files_lack(tmp_path: Path, write: Callable[[Path, list[Item]], None]) -> None:
    write(tmp_path, _items()[:-1])
    assert _checked(tmp_path)[1] == []
    faults: list[str] = []
    assert check(tmp_path, faults.append, contents=False, records=4).faults == 1
    assert faults[0].endswith(": 3 records, but 4 are expected")
    assert check(tmp_path, faults.append, records=3).faults == 0
    (tmp_path / "VOL001/NATIVES/0001/A12.eml").write_bytes(b"alone")
    assert _checked(tmp_path)[1] == ["VOL001/NATIVES/0001/A12.eml: not in any list"]


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"A1,VOL001,a.tif,Y,,\r\n", "line 1, has 6 values"),
        (b"A1,VOL001,a.tif,Y,,,1\r\nA2,VOL001,a,b.tif,,,,\r\n", "line 2, has 8 values"),
        ("A1,VOL001,a.tif,Y,,,1\r\n".encode("utf-16"), "is UTF-16 or not text"),
        (b"A1,VOL001,a.tif,X,,,1\r\n", "has 'X' instead of Y or nothing"),
        (b",VOL001,a.tif,Y,,,1\r\n", "no page id"),
        (b"\xff" * 2_000_000, "line 1, has 1 value"),
    ],
    ids=["short", "comma", "utf-16", "break", "id", "bytes"],
)
def test_a_hostile_opt_is_one_line(tmp_path: Path, data: bytes, message: str) -> None:
    path = tmp_path / "x.opt"
    path.write_bytes(data)
    with pytest.raises(UsageError, match=message):
        list(read_opt(path))


def test_an_opt_of_another_program_is_read(tmp_path: Path) -> None:
    path = tmp_path / "x.opt"
    path.write_bytes(b"\xef\xbb\xbfA1, V ,.\\a.tif,,,,\n\nA2,V,b.tif,y,,,2\nA3,V,c.tif,,,,")
    assert [(begin, [page.id for page in pages]) for begin, pages in read_opt(path)] == [
        ("A1", ["A1"]),
        ("A2", ["A2", "A3"]),
    ]


@pytest.mark.parametrize("gone", ["hashes.csv", "metadata.csv"])
def test_a_directory_that_is_no_production_is_refused(tmp_path: Path, gone: str) -> None:
    write_processed(tmp_path, _paged())
    (tmp_path / gone).unlink()
    with pytest.raises(UsageError, match=f"no {gone}.*expected are"):
        check(tmp_path, print)
    with pytest.raises(UsageError, match="nowhere is not a directory; give"):
        check(tmp_path / "nowhere", print)
