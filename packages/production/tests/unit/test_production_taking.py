"""A load file as a source: every record is a file, left out because it was asked for, or told."""

import hashlib
import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import pytest
from every_command import options
from pydantic import ValidationError

from cli.main import FAILED, USAGE, main
from core.errors import UsageError
from core.imported import LOAD_DIRECTORY, Record, keys_of, read_imported, record_path
from core.job_types import JobType
from core.names import LOAD_KEY
from core.records import FsyncPolicy, Layout
from production.importing import Names, Place, Taken, take
from production.orders import ProductionOrder
from production.routes import NewProduction
from readers.errors import ExceptionCode
from web.api.system import Choices
from web.pages.form import inputs

_TITLES = ("Beg Doc", "BegAttach", "Parent_ID", "Custodian", "Native Link", "Text Path", "SHA-1", "Subject")


def _sha1(data: bytes) -> str:
    return hashlib.sha1(data, usedforsecurity=False).hexdigest()


def _taken(
    root: Path, rows: Sequence[Sequence[str]], titles: Sequence[str] = _TITLES, *, topmost: bool = False
) -> tuple[Taken, list[str]]:
    """Of a production with natives and texts n1, t1 and so on; what came of it, and what was told."""
    (root / "p").mkdir()
    for name in ("n1.msg", "n2.doc", "t1.txt", "t2.txt", "t3.txt"):
        (root / "p" / name).write_bytes(name.encode())
    _write_dat(root / "p/x.dat", rows, titles)
    reported: list[str] = []
    return take(root / "p/x.dat", root / "s", reported.append, topmost=topmost), reported


def _write_dat(path: Path, rows: Sequence[Sequence[str]], titles: Sequence[str] = _TITLES) -> None:
    lines = ("|".join(f"^{value}^" for value in line) for line in (titles, *rows))
    _write(path, ("\n".join(lines) + "\n").encode())


def _write(path: Path, data: bytes) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    return path


def _files(root: Path) -> list[str]:
    """What a discovery of the source finds."""
    source = root / "s"
    found = (path.relative_to(source) for path in source.rglob("*") if path.is_file())
    return sorted(str(path) for path in found if path.parts[0] != LOAD_DIRECTORY)


def _record(root: Path, relative: str) -> Record:
    return msgspec.json.decode((root / "s" / record_path(relative)).read_bytes(), type=Record)


def test_every_record_is_a_file_with_what_the_load_file_states_of_it(tmp_path: Path) -> None:
    """Its native, else its text, else no bytes; and the import says how many there are."""
    done, reported = _taken(
        tmp_path,
        [
            ("A1", "A1", "", "ann", "n1.msg", "t1.txt", _sha1(b"n1.msg"), "apples\u00aepears"),
            ("A2", "A1", "", "ann", "", "t2.txt", "", ""),
            ("A3", "A3", "", "bob", "", "", "", "pages alone"),
        ],
    )
    assert (done.records, done.items, done.natives, done.texts, done.bare, done.wrong) == (3, 3, 1, 1, 1, 0)
    assert reported == []
    files = {"ann/A1.msg": b"n1.msg", "ann/A2.txt": b"t2.txt", "bob/A3": b""}
    assert {path: (tmp_path / "s" / path).read_bytes() for path in files} == files
    first, second, third = (_record(tmp_path, path) for path in files)
    assert first.fields == {
        "load_beg_doc": "A1", "load_begattach": "A1", "load_custodian": "ann", "load_native_link": "n1.msg",
        "load_text_path": "t1.txt", "load_sha_1": _sha1(b"n1.msg"), "load_subject": "apples\npears",
    }  # fmt: skip
    assert (first.native, first.sha256, first.code) == (True, hashlib.sha256(b"n1.msg").hexdigest(), None)
    assert (second.native, second.first, second.code) == (False, "ann/A1.msg", None)
    assert (third.native, third.first, third.code) == (False, "", ExceptionCode.NO_NATIVE)
    imported = read_imported(tmp_path / "s")
    assert imported is not None
    assert (imported.records, imported.custodians) == (3, {"ann": 2, "bob": 1})


def test_what_is_not_as_the_load_file_states_is_an_exception_of_its_item(tmp_path: Path) -> None:
    done, reported = _taken(
        tmp_path,
        [
            ("A1", "", "", "ann", "n1.msg", "", _sha1(b"other"), ""),
            ("A2", "", "", "ann", "gone.doc", "t2.txt", "", ""),
            ("A3", "", "", "ann", "../n2.doc", "gone.txt", "", ""),
            ("A4", "", "", "ann", "n2.doc", "", "N/A", ""),
            ("A4", "", "", "ann", "n2.doc", "", "", ""),
        ],
    )
    assert (done.records, done.items, done.wrong, done.faults) == (5, 4, 4, 1)
    assert [line.partition(":")[0] for line in reported] == ["A1", "A2", "A3", "A4", "A4"]
    codes = {path: _record(tmp_path, path).code for path in ("ann/A1.msg", "ann/A2.txt", "ann/A3", "ann/A4.doc")}
    hash_differs, no_native = ExceptionCode.HASH_DIFFERS, ExceptionCode.NO_NATIVE
    assert [*codes.values()] == [hash_differs, no_native, no_native, hash_differs]
    assert "SHA1 differs" in reported[0]


def test_numbers_that_give_one_file_name_lie_beside_each_other(tmp_path: Path) -> None:
    numbers = ("B/2", "B:2", "B?2", "B_2-1", "x" * 200 + "1", "x" * 200 + "2")
    done, reported = _taken(tmp_path, [(number, "", "", "ann", "n1.msg", "", "", "") for number in numbers])
    assert (done.records, done.items, done.faults, reported) == (6, 6, 0, [])
    long = "x" * 120
    names = ("B_2", "B_2-1", "B_2-2", "B_2-1-1", long, f"{long}-1")
    found = {name: _record(tmp_path, f"ann/{name}.msg").fields["load_beg_doc"] for name in names}
    assert found == dict(zip(names, numbers, strict=True))


def test_many_of_one_name_try_no_name_twice(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tried: list[str] = []
    exists = Path.exists

    def counted(path: Path) -> bool:
        tried.append(path.name)
        return exists(path)

    monkeypatch.setattr(Path, "exists", counted)
    names, given = Names(tmp_path), []
    for _ in range(100):
        given.append(names.free("item", ".txt"))
        (tmp_path / given[-1]).touch()
    assert given == ["item.txt", *(f"item-{number}.txt" for number in range(1, 100))]
    assert len(tried) < 250


def test_custodians_that_give_one_directory_name_have_their_own(tmp_path: Path) -> None:
    custodians = ("Ann/Lee", "Ann_Lee", "", "unknown", "Ann/Lee", "Ann_Lee")
    _taken(tmp_path, [(f"B{n}", "", "", name, "n1.msg", "", "", "") for n, name in enumerate(custodians)])
    names = ("Ann_Lee/B0", "Ann_Lee-1/B1", "unknown/B2", "unknown-1/B3", "Ann_Lee/B4", "Ann_Lee-1/B5")
    assert _files(tmp_path) == sorted(f"{name}.msg" for name in names)


def test_records_without_a_number_are_taken_and_reported(tmp_path: Path) -> None:
    done, reported = _taken(
        tmp_path,
        [
            ("A1", "", "", "ann", "n1.msg", "", "", ""),
            ("", "", "", "ann", "n2.doc", "", "", ""),
            (" ", "", "", "ann", "n2.doc", "", "", ""),
            ("", "", "", "ann", "gone", "", "", ""),
            ("", "", "A1", "ann", "", "t1.txt", "", ""),
        ],
    )
    assert (done.records, done.items, done.faults, done.wrong) == (5, 5, 0, 1)
    assert reported == [
        "record 2: it has no number, and is imported as ann/item.doc",
        "record 3: it has no number, and is imported as ann/item-1.doc",
        "record 4: it has no number, and is imported as ann/item",
        "record 4: 'gone': missing, or not a file",
        "record 5: the family of 'A1' is not directly before it, so it begins a new family",
        "record 5: it has no number, and is imported as ann/item.txt",
    ]


def test_what_is_attached_to_a_record_that_is_not_taken_is_taken(tmp_path: Path) -> None:
    """With `--topmost` too: the native that holds it may be the one that is not there."""
    done, reported = _taken(
        tmp_path,
        [
            ("B1", "B1", "", "ann", "n1.msg", "", "", ""),
            ("B1", "B1", "", "ann", "n2.doc", "", "", ""),
            ("B2", "B1", "", "ann", "", "t2.txt", "", ""),
            ("C1", "C1", "", "ann", "n1.msg", "", "", ""),
            ("C2", "C1", "", "ann", "n2.doc", "", "", ""),
            ("C2", "C1", "", "ann", "n2.doc", "", "", ""),
            ("", "C1", "", "ann", "", "t3.txt", "", ""),
            ("C3", "C1", "", "ann", "n2.doc", "", "", ""),
            ("B1", "", "", "ann", "n2.doc", "", "", ""),
            ("C4", "C1", "", "ann", "n2.doc", "", "", ""),
        ],
        topmost=True,
    )
    assert (done.records, done.items, done.attached, done.faults) == (10, 4, 3, 3)
    assert _files(tmp_path) == ["ann/B1.msg", "ann/B2.txt", "ann/C1.msg", "ann/C4.doc"]
    assert reported == [
        "B1: record 2 has the number of an earlier record and is not imported",
        "B2: 'B1', directly before it, is not imported, so it begins a new family",
        "C2: record 6 has the number of an earlier record and is not imported",
        "record 7: it has no number, and is omitted as an attachment",
        "B1: record 9 has the number of an earlier record and is not imported",
        "C4: the family of 'C1' is not directly before it, so it begins a new family",
    ]
    assert _record(tmp_path, "ann/B2.txt").first == ""


def test_a_load_file_in_a_directory_beside_has_its_root_reported(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """By the command, whose exit status is 1 as for any record that is not as it is stated."""
    row = ("A1", "", "", "ann", "\\NATIVES\\a1.TXT", "", "", "")
    _write(tmp_path / "p/NATIVES/A1.txt", b"first")
    _write(tmp_path / "outside.txt", b"secret")
    outside = ("A2", "", "", "ann", "..\\outside.txt", "", "", "")
    _write_dat(tmp_path / "p/DATA/x.dat", [row, outside])
    words = ["produce", "import", str(tmp_path / "p/DATA/x.dat"), "--out"]
    assert main([*words, str(tmp_path / "without")], {}) == FAILED
    assert capsys.readouterr().out.splitlines()[0] == (
        f"A1: '\\\\NATIVES\\\\a1.TXT': missing, or not a file; it exists with --root {tmp_path.resolve() / 'p'}"
    )
    assert main([*words, str(tmp_path / "s"), "--root", str(tmp_path / "p")], {}) == FAILED
    assert capsys.readouterr().out.splitlines() == [
        "A2: '..\\\\outside.txt' is outside the production",
        "2 records: 2 imported (1 native, 0 texts, 1 with neither), 0 attachments omitted, 0 not imported;"
        " 1 differ from the load file",
    ]
    assert (tmp_path / "s/ann/A1.txt").read_bytes() == b"first"


def test_a_root_that_is_no_directory_is_refused(tmp_path: Path) -> None:
    _write_dat(tmp_path / "x.dat", [])
    with pytest.raises(UsageError, match=r"--root .* is not a directory"):
        take(tmp_path / "x.dat", tmp_path / "s", print, root=tmp_path / "gone")
    assert not (tmp_path / "s").exists()


@pytest.mark.parametrize(
    "message",
    ["NATIVES\\A3.txt", "\\NATIVES\\A3.txt", "/NATIVES/A3.txt", ".\\NATIVES\\A3.txt", "\\natives/a3.TXT", "./Natives/A3.Txt"],
)  # fmt: skip
def test_a_file_is_found_however_its_path_is_written(tmp_path: Path, message: str) -> None:
    there = _write(tmp_path / "NATIVES/A3.txt", b"x")
    assert Place(tmp_path).find(message) == (there.resolve(), "")


@pytest.mark.parametrize(
    "message",
    ["\\\\server\\share\\x", "//server/x", "/\\server\\x", "..\\x", "\\..\\x", "/a/../../x", ".\\..\\x", "C:\\x", "\\C:\\x",
     "\\", "/", ".", "a//b", "a\\", "a\0b", "link/x", "LINK/X", "\\Link\\x", "hop", "HOP"],
)  # fmt: skip
def test_a_path_that_leads_out_finds_nothing(tmp_path: Path, message: str) -> None:
    outside, root = _write(tmp_path / "outside/x", b"x"), tmp_path / "root"
    _write(tmp_path / "x", b"x")
    root.mkdir()
    (root / "link").symlink_to(outside.parent)
    (root / "hop").symlink_to(outside)
    assert Place(root).find(message) == (None, "is outside the production")


def test_an_absolute_path_is_one_below_the_root(tmp_path: Path) -> None:
    secret = _write(tmp_path / "secret", b"x")
    (tmp_path / "root").mkdir()
    assert Place(tmp_path / "root").find(str(secret)) == (None, "missing, or not a file")
    inner = _write(tmp_path / "root" / str(secret)[1:], b"x")
    assert Place(tmp_path / "root").find(str(secret)) == (inner.resolve(), "")


def test_of_files_that_differ_only_in_case_the_right_one_or_none(tmp_path: Path) -> None:
    """The one that is written so, else the only one, over directories that differ only in case, too; else none, and why."""
    small, capital = _write(tmp_path / "n/a.txt", b"x"), _write(tmp_path / "n/A.TXT", b"x")
    other = _write(tmp_path / "N/b.txt", b"x")
    (tmp_path / "n/B.TXT").mkdir()
    place = Place(tmp_path)
    assert [place.find(shown)[0] for shown in ("n/a.txt", "n/A.TXT", "n/B.txt")] == [small, capital, other]
    assert place.find("N/A.txt") == (
        None,
        "missing, or not a file; 2 files differ from it only in case, so none is used",
    )


def test_a_file_that_is_there_from_a_directory_above_is_reported_with_the_option(tmp_path: Path) -> None:
    _write(tmp_path / "VOL001/NATIVES/A1.txt", b"x")
    _write(tmp_path / "NATIVES/A1.txt", b"x")
    place = Place(tmp_path / "VOL001/DATA")
    assert place.find("\\NATIVES\\a1.txt") == (
        None,
        f"missing, or not a file; it exists with --root {tmp_path / 'VOL001'}",
    )
    assert place.find("VOL001/NATIVES/A1.txt") == (None, f"missing, or not a file; it exists with --root {tmp_path}")
    assert place.find("NATIVES/A2.txt") == (None, "missing, or not a file")


def test_a_directory_is_listed_once_for_all_that_is_missing_from_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _write(tmp_path / "n/a.txt", b"x")
    listed: list[str] = []
    names = os.listdir

    def counted(path: Path) -> list[str]:
        listed.append(str(path))
        return names(path)

    monkeypatch.setattr(os, "listdir", counted)
    place = Place(tmp_path)
    for number in range(50):
        assert place.find(f"n/{number}.txt")[0] is None
    assert listed.count(str(tmp_path.resolve() / "n")) == 1


def test_families_follow_their_first(tmp_path: Path) -> None:
    done, reported = _taken(
        tmp_path,
        [
            ("A1", "", "", "ann", "n1.msg", "", "", ""),
            ("A2", "", "A1", "ann", "n2.doc", "", "", ""),
            ("A3", "", "A2", "ann", "", "t3.txt", "", ""),
            ("A4", "A1", "", "bob", "", "", "", ""),
            ("A5", "A1", "", "ann", "", "", "", ""),
        ],
    )
    assert done.items == 5
    paths = ("ann/A1.msg", "ann/A2.doc", "ann/A3.txt", "bob/A4", "ann/A5")
    assert [_record(tmp_path, path).first for path in paths] == ["", "ann/A1.msg", "ann/A1.msg", "", ""]
    assert [line.partition(":")[0] for line in reported] == ["A4", "A5"]


def test_topmost_leaves_out_what_a_native_holds(tmp_path: Path) -> None:
    done, _ = _taken(
        tmp_path,
        [
            ("A1", "A1", "", "ann", "n1.msg", "", "", ""),
            ("A2", "A1", "", "ann", "n2.doc", "", "", ""),
            ("A3", "A3", "", "ann", "", "t3.txt", "", ""),
            ("A4", "A3", "", "ann", "n2.doc", "", "", ""),
        ],
        topmost=True,
    )
    assert (done.records, done.items, done.attached) == (4, 3, 1)
    assert _record(tmp_path, "ann/A4.doc").first == "ann/A3.txt"


def test_a_load_file_that_names_no_files_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="none of the fields NATIVEPATH"):
        _taken(tmp_path, [("A1", "x")], ("BEGDOC", "SUBJECT"))
    assert not (tmp_path / "s").exists()


def test_no_two_titles_have_one_key() -> None:
    titles = ["Beg Doc", "BEG_DOC", "beg-doc", "Beg Doc 2", "\u00fc\u00df", "#", "%", "x" * 500, "x" * 501]
    keys = list(keys_of(titles).values())
    assert keys[:2] == ["load_beg_doc", "load_beg_doc_2"]
    assert len(set(keys)) == len(titles)
    assert all(LOAD_KEY.match(key) for key in keys)


_FIELDS = {
    "query": "the query is empty; give at least one word, or * for everything",
    "tag": "the tag is empty",
    "images": "no job is given",
}


@pytest.mark.parametrize("blank", ["", " ", "\t\n"])
@pytest.mark.parametrize("field", list(_FIELDS))
def test_a_blank_is_refused_by_its_field(
    field: str, blank: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A variable of a shell that is not set would produce everything there is: by the API, which the page asks, and by the
    command, before anything starts."""
    given: dict[str, Any] = {"type": "export", "sources": ["last"], "out": "/x", field: blank}
    with pytest.raises(ValidationError) as refused:
        NewProduction(**given)
    (error,) = refused.value.errors()
    assert error["loc"] == (field,)
    assert _FIELDS[field] in error["msg"]
    out = tmp_path / "out"
    assert main(["produce", "export", "last", "--out", str(out), f"--{field}", blank], {"HOME": str(tmp_path)}) == USAGE
    shown = capsys.readouterr()
    assert (shown.out, out.exists()) == ("", False)
    assert f"--{field}: " in shown.err
    assert _FIELDS[field] in shown.err


def test_a_trace_has_no_name_that_people_gave() -> None:
    choice = ProductionOrder(query="tag:deal", tag="deal", withhold=["deal"], prefix="deal").choice(
        JobType.EXPORT, Path("/deal")
    )
    assert "deal" not in repr(replace(choice, goes_by=("deal",)).anonymous())


def test_what_is_not_given_chooses_everything() -> None:
    choice = ProductionOrder().choice(JobType.EXPORT, Path("/x"))
    assert (choice.query, choice.tag, choice.images) == ("", "", "")
    assert ProductionOrder(query=" * ", tag="hot").choice(JobType.EXPORT, Path("/x")).query == "*"
    assert NewProduction(type="export", sources=["last"], out="/x").images is None


CHOICES = Choices(
    embedded=True, creating=True, databases=["db1"], workers=2, slots=4, room=8, index_engines=["whoosh"], index_engine="whoosh",
    filers=["none"], filer="none", fsync=list(FsyncPolicy), layouts=list(Layout),
)  # fmt: skip


def test_a_production_s_tags_are_given_line_by_line_or_one_after_another() -> None:
    (asked,) = (each for each in inputs(NewProduction, CHOICES) if each.name == "withhold")
    assert (asked.kind, "one per line" in asked.hint) == ("lines", True)
    option = options("produce", "export")["withhold"]
    assert (option.opts, option.multiple, option.metavar) == (["--withhold"], True, "TAG")
    for given in (["privileged", "trade secret", "privileged"], ("privileged", "trade secret")):
        order = ProductionOrder(withhold=given)  # type: ignore[arg-type]  # a command gives whatever it was given
        assert order.choice(JobType.EXPORT, Path("/x")).withhold == ("privileged", "trade secret")
    for wrong, shown in (
        (["a/b"], "'a/b' is not a name for"),
        ([f"t{n}" for n in range(101)], "101 tags; at most 100"),
    ):
        with pytest.raises(ValidationError, match=shown) as refused:
            ProductionOrder(withhold=wrong)
        assert [each["loc"] for each in refused.value.errors()] == [("withhold",)]
