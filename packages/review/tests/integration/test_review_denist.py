"""DeNIST in a real database."""

import hashlib
import os
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from shelf import Shelf, digest

from controller.browse.item_filter import ItemFilter
from controller.browse.items import stream_items
from core.errors import UsageError
from review.denist import run
from review.denist.run import SYSTEM_FILES, denist
from sql.session import Database


def _list(place: Path, *hashes: str, name: str = "list") -> Path:
    path = place / name
    path.write_text("".join(f"{each}\n" for each in hashes))
    return path


def test_a_lists_name_may_be_any_bytes(shelf: Shelf, tmp_path: Path) -> None:
    text, base = (Path(os.fsdecode(os.fsencode(tmp_path) + end)) for end in (b"/list\xff", b"/base\xff.db"))
    text.write_text(f"{digest('dll').hex()}\n")
    with closing(sqlite3.connect(tmp_path / "base")) as database:
        database.execute("CREATE TABLE METADATA (sha256 TEXT)")
        database.execute("INSERT INTO METADATA VALUES (?)", (digest("exe").hex(),))
        database.commit()
    (tmp_path / "base").rename(base)
    job = shelf.stored()
    found = denist([job], [text, base])
    assert [(each.name, each.items) for each in found.lists] == [("list\\xff", 2), ("base\\xff.db", 1)]
    assert SYSTEM_FILES.last(job.each, [shelf.database]) == found


def _flags(shelf: Shelf) -> dict[str, int]:
    sql = "SELECT i.display, s.list FROM system_file s JOIN item i ON i.id = s.item WHERE s.job = %(job)s"
    return dict(shelf.rows(sql))  # type: ignore[arg-type]


@pytest.fixture
def shelf(database: Database) -> Shelf:
    """Some files, two of them equal, one that could not be read."""
    shelf = Shelf(database)
    for name, holds in (("a.dll", "dll"), ("b.dll", "dll"), ("c", "letter"), ("d", "exe"), ("e", None)):
        shelf.loose("anna", name, holds)
    return shelf


def test_items_are_flagged_by_the_first_list_that_has_them(
    shelf: Shelf, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever the portions that items are taken in; another run with other lists replaces the flags, a list that is refused
    does not."""
    monkeypatch.setattr(run, "ITEMS_AT_ONCE", 2)
    job = shelf.stored()
    one = _list(tmp_path, digest("dll").hex(), "0" * 64, name="one")
    two = _list(tmp_path, digest("dll").hex(), digest("exe").hex(), "no hash", name="two")
    found = denist([job], [one, two])
    assert _flags(shelf) == {"a.dll": 0, "b.dll": 0, "d": 1}
    assert (found.items, found.system, found.system_bytes, found.unknown) == (5, 3, 9, 1)
    assert [(each.name, each.hashes, each.bad, each.first_bad, each.items) for each in found.lists] == [
        ("one", 2, 0, 0, 2),
        ("two", 2, 1, 3, 1),
    ]
    assert SYSTEM_FILES.last(job.each, [shelf.database]) == found
    assert [row["list"] for row in SYSTEM_FILES.stream(job.each, found)] == ["one", "one", "two"]
    for flag, names in ((True, ["a.dll", "b.dll", "d"]), (False, ["c", "e"])):
        assert [item["name"] for item in stream_items(job.each[0], ItemFilter(system=flag))] == names
    for broken in (_list(tmp_path, name="empty"), tmp_path / "none"):
        with pytest.raises(UsageError):
            denist([job], [one, broken])
    assert len(_flags(shelf)) == 3
    denist([job], [_list(tmp_path, digest("letter").hex())])
    assert _flags(shelf) == {"c": 0}


def test_a_list_of_md5_has_the_items_read_again(database: Database, tmp_path: Path) -> None:
    """The ledger has SHA-256 only. What has changed since, or is gone, is not flagged by what it is now; what was read once
    is known; beside it a list of SHA-256 goes on as ever."""
    source = tmp_path / "source"
    (source / "anna").mkdir(parents=True)
    info = source.stat()
    shelf = Shelf(database, os.fsencode(source), (info.st_dev, info.st_ino))
    for name in ("sound", "changed", "gone", "other"):
        (source / "anna" / name).write_text(name)
        shelf.loose("anna", name, name)
    (source / "anna" / "changed").write_text("CHANGED")
    (source / "anna" / "gone").unlink()
    job = shelf.stored(storage=os.fsencode(tmp_path / "storage"))
    (tmp_path / "storage").mkdir()
    names = ("sound", "changed", "CHANGED", "gone")
    md5 = _list(tmp_path, *(hashlib.md5(name.encode()).hexdigest() for name in names), name="md5")
    sha1 = _list(tmp_path, hashlib.sha1(b"other").hexdigest(), name="sha1")
    sha256 = _list(tmp_path, digest("gone").hex(), name="sha256")
    found = denist([job], [md5, sha1, sha256])
    assert _flags(shelf) == {"sound": 0, "other": 1, "gone": 2}
    assert (found.system, found.unknown) == (3, 2)
    read = shelf.rows("SELECT count(*) FROM item_digest")
    assert read == [(2,)]
    (source / "anna" / "sound").unlink()
    assert denist([job], [md5]).system == 1
    source.rename(tmp_path / "elsewhere")
    with pytest.raises(UsageError, match="does not exist or has changed"):
        denist([job], [md5])
