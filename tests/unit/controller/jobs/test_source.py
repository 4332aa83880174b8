"""What is looked at before a job is created."""

from __future__ import annotations

import base64
import os
from pathlib import Path

import pytest

import controller.jobs.source
from controller.jobs.source import custodians_of, first_tasks, prepare_source, refuse_own_output
from core.errors import UsageError
from core.imported import BESIDE, RECORDS, Imported, write_imported
from core.operations import NullRecorder
from core.records import Phase
from core.settings import Settings
from core.storage.layer import Storage

FILER = Storage(NullRecorder())


def test_a_source_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="does not exist"):
        prepare_source(FILER, tmp_path / "nope")


def test_a_source_that_cannot_be_looked_at_is_not_called_missing(tmp_path: Path) -> None:
    (tmp_path / "loop").symlink_to("loop")
    with pytest.raises(UsageError, match=r"cannot be accessed .*check that it is mounted"):
        prepare_source(FILER, tmp_path / "loop" / "source")


def test_a_file_is_no_source(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"x")
    with pytest.raises(UsageError, match="not a directory"):
        prepare_source(FILER, tmp_path / "file")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_an_unreadable_source_is_refused(tmp_path: Path) -> None:
    tmp_path.chmod(0o000)
    try:
        with pytest.raises(UsageError, match="cannot be listed"):
            prepare_source(FILER, tmp_path)
    finally:
        tmp_path.chmod(0o700)


def test_first_level_directories_are_custodians(tmp_path: Path) -> None:
    for name in (b"zoe", b"\xff\xfe", b"Anna"):
        (tmp_path / os.fsdecode(name)).mkdir()
    (tmp_path / "stray.txt").write_bytes(b"x")
    source = prepare_source(FILER, tmp_path)
    assert [(c.number, c.name) for c in custodians_of(source)] == [
        (0, b"Anna"),
        (1, b"zoe"),
        (2, b"\xff\xfe"),
        (3, b"_root"),
    ]
    tasks = first_tasks(source)
    assert {task.phase for task in tasks} == {Phase.WALK}
    directories = [base64.b64decode(task.payload["directories"][0]) for task in tasks]
    assert directories == [b"Anna", b"zoe", b"\xff\xfe", b""]
    assert [task.payload["files_only"] for task in tasks] == [False, False, False, True]
    assert [task.payload["custodian"] for task in tasks] == [0, 1, 2, 3]


def test_what_an_import_keeps_beside_its_files_is_no_custodian(tmp_path: Path) -> None:
    """And an import that was cut short is no source: nobody would know which records it lacks."""
    for name in ("ann", f"{BESIDE}/{RECORDS}"):
        (tmp_path / name).mkdir(parents=True)
    with pytest.raises(UsageError, match=r"import was not finished.*import again"):
        prepare_source(FILER, tmp_path)
    write_imported(tmp_path, Imported(load_file="x.dat", records=1, custodians={"ann": 1}))
    source = prepare_source(FILER, tmp_path)
    assert (source.imported, source.directories) == (True, (b"ann",))
    (tmp_path / "ann" / "file").touch()
    assert not prepare_source(FILER, tmp_path / "ann").imported


def test_a_directory_called_root_shares_its_custodian(tmp_path: Path) -> None:
    """Two custodians of one name would be one person counted twice."""
    (tmp_path / "_root").mkdir()
    (tmp_path / "stray.txt").write_bytes(b"x")
    source = prepare_source(FILER, tmp_path)
    assert [c.name for c in custodians_of(source)] == [b"_root"]
    assert [task.payload["custodian"] for task in first_tasks(source)] == [0, 0]


def test_a_directory_of_very_many_directories_is_no_source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each would be a custodian, and every slot reads their names; files above them are as many as there are."""
    monkeypatch.setattr(controller.jobs.source, "MOST_CUSTODIANS", 2)
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
    for n in range(9):
        (tmp_path / f"{n}.txt").touch()
    assert prepare_source(FILER, tmp_path).others == 9
    (tmp_path / "c").mkdir()
    with pytest.raises(UsageError, match=r"more than 2 directories.* give its parent directory"):
        prepare_source(FILER, tmp_path)


@pytest.mark.parametrize("directories", [(), ("a",), ("a/b/c", "d")])
def test_a_source_without_files_is_refused(tmp_path: Path, directories: tuple[str, ...]) -> None:
    """An unmounted file system looks like this, and a job over it would measure nothing; one empty file is enough."""
    for name in directories:
        (tmp_path / name).mkdir(parents=True)
    with pytest.raises(UsageError, match=rf"{tmp_path} is empty.*check its mount"):
        prepare_source(FILER, tmp_path)
    (tmp_path / (directories[-1] if directories else "") / "file").touch()
    assert len(first_tasks(prepare_source(FILER, tmp_path))) == max(1, len(directories))


def test_a_corpus_is_entered_at_data(tmp_path: Path) -> None:
    """The manifest is no evidence: the source of a corpus is its `data`."""
    (tmp_path / "data" / "anna").mkdir(parents=True)
    (tmp_path / "data" / "anna" / "file").touch()
    (tmp_path / "manifest.parquet").write_bytes(b"")
    (tmp_path / "dataset.json").write_text("{}")
    source = prepare_source(FILER, tmp_path)
    assert source.path == os.fsencode(tmp_path / "data")
    assert source.manifest == tmp_path / "manifest.parquet"
    assert source.corpus
    assert source.inode == (tmp_path / "data").stat().st_ino
    assert prepare_source(FILER, tmp_path / "data").manifest == source.manifest


def test_evidence_that_looks_like_a_corpus_loses_nothing(tmp_path: Path) -> None:
    """A folder `data` and a file that is called as a manifest: everything beside is looked at, or it is refused."""
    for name in ("data", "bob"):
        (tmp_path / name).mkdir()
    (tmp_path / "manifest.parquet").touch()
    source = prepare_source(FILER, tmp_path)
    assert (source.path, source.directories, source.manifest) == (os.fsencode(tmp_path), (b"bob", b"data"), None)
    (tmp_path / "dataset.json").touch()
    with pytest.raises(
        UsageError, match=r"is a generated corpus, .* also contains bob: give .*/data, or move bob away"
    ):
        prepare_source(FILER, tmp_path)


def test_a_source_may_not_hold_what_the_job_writes(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "file").touch()
    source = prepare_source(FILER, tmp_path / "in")
    good = Settings(storage=tmp_path / "store", scratch=tmp_path / "scratch")
    refuse_own_output(source, good)
    refuse_own_output(source, Settings(storage=tmp_path / "input", scratch=tmp_path / "scratch"))
    with pytest.raises(UsageError, match="EDBENCH_STORAGE"):
        refuse_own_output(source, Settings(storage=tmp_path / "in" / "store", scratch=tmp_path / "scratch"))
    (tmp_path / "link").symlink_to(tmp_path / "in")
    with pytest.raises(UsageError, match="EDBENCH_SCRATCH"):
        refuse_own_output(source, Settings(storage=tmp_path / "store", scratch=tmp_path / "link" / "scratch"))
