"""Copies of a source for simultaneous jobs."""

from __future__ import annotations

import os
import uuid
from pathlib import Path

import pytest

from controller.jobs.create import copy_source, remove_copies
from controller.jobs.source import prepare_source
from core.errors import UsageError
from core.operations import MemoryRecorder, NullRecorder, Op
from core.storage.layer import Storage


def test_a_copy_is_the_source_again(tmp_path: Path) -> None:
    """Promise: same names (also those that are no text) and same bytes, through the storage layer, removed as one."""
    source, root = tmp_path / "source", tmp_path / "root"
    (source / "a" / "empty").mkdir(parents=True)
    (source / "a" / "big").write_bytes(os.urandom(3_000_000))
    (source / "a" / os.fsdecode(b"\xff.txt")).write_bytes(b"")
    recorder = MemoryRecorder()
    storage, group = Storage(recorder), uuid.uuid4()
    made = copy_source(storage, root, group, "db2", prepare_source(storage, source))
    copied = Path(os.fsdecode(made.path))
    assert made.directories == (b"a",)
    assert copied.is_relative_to(root / "corpora")
    names = sorted(path.relative_to(source) for path in source.rglob("*"))
    assert sorted(path.relative_to(copied) for path in copied.rglob("*")) == names
    for name in names:
        assert (copied / name).is_dir() or (copied / name).read_bytes() == (source / name).read_bytes()
    assert {record.op for record in recorder.records} >= {Op.SCAN, Op.OPEN, Op.READ, Op.CREATE, Op.WRITE, Op.MKDIR}
    remove_copies(storage, root, group)
    assert not list((root / "corpora").iterdir())


def test_what_cannot_be_copied_is_said(tmp_path: Path) -> None:
    """Promise: a copy that would not be the source again is refused, with the way out."""
    (tmp_path / "source" / "a").mkdir(parents=True)
    (tmp_path / "source" / "a" / "link").symlink_to("/etc/hostname")
    storage = Storage(NullRecorder())
    with pytest.raises(UsageError, match="--source-copies 1"):
        copy_source(storage, tmp_path, uuid.uuid4(), "db1", prepare_source(storage, tmp_path / "source"))


def test_two_names_that_are_one_on_the_storage_root_are_no_copy(tmp_path: Path) -> None:
    """Promise: nothing of the source is put over something else of it, as it was where the storage root does not tell upper
    and lower case apart; databases whose names are one there share no copy either."""
    (tmp_path / "source" / "a").mkdir(parents=True)
    (tmp_path / "source" / "a" / "file").touch()
    storage, group = Storage(NullRecorder()), uuid.uuid4()
    source = prepare_source(storage, tmp_path / "source")
    copy_source(storage, tmp_path, group, "db1", source)
    with pytest.raises(UsageError, match=r"already .*ignore case.*--source-copies 1"):
        copy_source(storage, tmp_path, group, "db1", source)
