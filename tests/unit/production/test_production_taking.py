"""A load file as a source: every record is a file, left out because it was asked for, or told."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path

import msgspec
import pytest

from core.errors import ExceptionCode, UsageError
from production.loadfiles.imported import KEY, Record, keys_of, read_imported, record_path
from production.loadfiles.taking import Taken, take

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
    lines = ("|".join(f"^{value}^" for value in line) for line in (titles, *rows))
    (root / "p/x.dat").write_text("\n".join(lines) + "\n", encoding="utf-8")
    told: list[str] = []
    return take(root / "p/x.dat", root / "s", told.append, topmost=topmost), told


def _record(root: Path, relative: str) -> Record:
    return msgspec.json.decode((root / "s" / record_path(relative)).read_bytes(), type=Record)


def test_every_record_is_a_file_with_what_the_load_file_says_of_it(tmp_path: Path) -> None:
    """Its native, else its text, else no bytes; and the import says how many there are."""
    done, told = _taken(
        tmp_path,
        [
            ("A1", "A1", "", "ann", "n1.msg", "t1.txt", _sha1(b"n1.msg"), "apples\u00aepears"),
            ("A2", "A1", "", "ann", "", "t2.txt", "", ""),
            ("A3", "A3", "", "bob", "", "", "", "pages alone"),
        ],
    )
    assert (done.records, done.items, done.natives, done.texts, done.bare, done.wrong) == (3, 3, 1, 1, 1, 0)
    assert told == []
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


def test_what_is_not_as_the_load_file_says_is_an_exception_of_its_item(tmp_path: Path) -> None:
    """With its text in place of a native that is not there; two of one number are not both taken."""
    done, told = _taken(
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
    assert [line.partition(":")[0] for line in told] == ["A1", "A2", "A3", "A4", "A4"]
    codes = {path: _record(tmp_path, path).code for path in ("ann/A1.msg", "ann/A2.txt", "ann/A3", "ann/A4.doc")}
    hash_differs, no_native = ExceptionCode.HASH_DIFFERS, ExceptionCode.NO_NATIVE
    assert [*codes.values()] == [hash_differs, no_native, no_native, hash_differs]
    assert "SHA1 is another" in told[0]


def test_families_follow_their_first(tmp_path: Path) -> None:
    """By the range or by what a record is attached to, at any depth; what does not follow begins one of its own, and says so."""
    done, told = _taken(
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
    assert [line.partition(":")[0] for line in told] == ["A4", "A5"]


def test_topmost_leaves_out_what_a_native_holds(tmp_path: Path) -> None:
    """Not what is attached to a record that has none."""
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
    """Before anything is written."""
    with pytest.raises(UsageError, match="none of the fields NATIVEPATH"):
        _taken(tmp_path, [("A1", "x")], ("BEGDOC", "SUBJECT"))
    assert not (tmp_path / "s").exists()


def test_no_two_titles_have_one_key() -> None:
    """Whatever they are, and a query can name each."""
    titles = ["Beg Doc", "BEG_DOC", "beg-doc", "Beg Doc 2", "\u00fc\u00df", "#", "%", "x" * 500, "x" * 501]
    keys = list(keys_of(titles).values())
    assert keys[:2] == ["load_beg_doc", "load_beg_doc_2"]
    assert len(set(keys)) == len(titles)
    assert all(KEY.match(key) for key in keys)
