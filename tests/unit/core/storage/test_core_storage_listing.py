"""Directories of any size are listed by one call, in bounded memory."""

import errno
import os
from pathlib import Path
from typing import Any

import pytest
from recording import MemoryRecorder

from core.errors import SourceFileError, StorageFault
from core.storage import layer as storage_module
from core.storage.beneath import entry_kind
from core.storage.layer import EntryKind, Storage


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Three entries fill the memory that a listing may take."""
    monkeypatch.setattr(storage_module, "AT_ONCE", 3)


@pytest.mark.usefixtures("small")
def test_a_listing_is_one_call_and_gives_every_entry_once(tmp_path: Path) -> None:
    folder = tmp_path / "source"
    folder.mkdir()
    names = {b"f%d" % n for n in range(6)} | {b"m\xfcller", b"new\nline", b"d", b"\xff"}
    for name in names:
        Path(os.fsdecode(os.path.join(os.fsencode(folder), name))).touch()
    (folder / "below").mkdir()
    (folder / "link").symlink_to("nowhere")
    os.mkfifo(folder / "fifo")
    recorder = MemoryRecorder()
    with Storage(recorder).listing(os.fsencode(folder), tmp_path) as listing:
        lists = list(listing)
    assert all(1 <= len(entries) <= 3 and entries == sorted(entries, key=lambda e: e.name) for entries in lists)
    found = [entry for entries in lists for entry in entries]
    kinds = {e.name: e.kind for e in found}
    assert len(found) == len(kinds) == 13
    special = {b"below": EntryKind.DIRECTORY, b"link": EntryKind.LINK, b"fifo": EntryKind.SPECIAL}
    assert kinds == dict.fromkeys(names, EntryKind.FILE) | special
    assert [(r.op.label, r.argument, r.error) for r in recorder.records] == [("scan", 13, 0)]
    assert os.listdir(tmp_path) == ["source"]  # what was spilled has no name


@pytest.mark.usefixtures("small")
def test_of_other_kinds_entries_are_only_counted(tmp_path: Path) -> None:
    for n in range(11):
        (tmp_path / f"f{n}").touch()
    for n in range(7):
        (tmp_path / f"d{n}").mkdir()
    storage = Storage(MemoryRecorder())
    for kind, number in ((EntryKind.DIRECTORY, 7), (EntryKind.FILE, 11), (EntryKind.LINK, 0)):
        with storage.listing(os.fsencode(tmp_path), tmp_path, only=kind) as listing:
            found = [entry for entries in listing for entry in entries]
        assert len({e.name for e in found}) == len(found) == number
        assert {e.kind for e in found} <= {kind}
        assert listing.count == 18


@pytest.mark.usefixtures("small")
def test_scratch_that_cannot_hold_a_listing_is_no_fault_of_the_directory(tmp_path: Path) -> None:
    for n in range(4):
        (tmp_path / f"{n}").touch()
    storage = Storage(MemoryRecorder())
    with pytest.raises(StorageFault, match="cannot write a listing to scratch"):
        storage.listing(os.fsencode(tmp_path), tmp_path / "gone")
    with pytest.raises(SourceFileError, match="cannot list"):
        storage.listing(os.fsencode(tmp_path / "gone"), tmp_path)


@pytest.mark.usefixtures("small")
def test_a_wide_directory_is_removed_part_by_part(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No list of it is longer than memory allows, and nothing of it is left."""
    folder = tmp_path / "job"
    for n in range(8):
        (folder / f"d{n}").mkdir(parents=True)
        (folder / f"d{n}" / "f").touch()
    recorder: Any = MemoryRecorder()
    Storage(recorder).remove_tree(os.fsencode(folder))
    assert not folder.exists()
    scans = [r.argument for r in recorder.records if r.op.label == "scan"]
    assert max(scans) <= 3
    assert sum(scans) == 16


class _Closed:
    """An entry without a type field in a directory that may be listed but not searched."""

    name = b"f"

    def is_symlink(self) -> bool:
        raise PermissionError(errno.EACCES, "refused")

    is_file = is_dir = is_symlink


def test_an_entry_without_a_type_that_may_not_be_looked_at_is_an_entry() -> None:
    assert entry_kind(_Closed()) is EntryKind.FILE  # type: ignore[arg-type]
