"""Null storage: what a portion is, what is copied of it, and that it never holds more than it may."""

import itertools
import os
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.errors import StorageFault
from experiments.workloads.discovery.null import Portion, emptied, may_take, no_memory, null_storage, portions_of
from monitoring.machine import client_memory, free_memory

CAP = 1_000_000


@given(st.dictionaries(st.binary(min_size=1, max_size=4), st.integers(1, 50)), st.integers(50, 200))
def test_portions_hold_every_file_once_and_no_more_than_there_is_room(needs: dict[bytes, int], cap: int) -> None:
    portions = portions_of(needs, cap)
    assert [path for portion in portions for path in portion.files] == sorted(needs)
    assert all(portion.room == sum(needs[path] for path in portion.files) <= cap for portion in portions)
    for portion, after in itertools.pairwise(portions):
        assert portion.room + needs[after.files[0]] > cap


def test_a_file_that_needs_more_than_there_may_be_is_named() -> None:
    """It cannot be cut: there is no pair, and why."""
    with pytest.raises(StorageFault, match=r"b\.pst with its extracted children needs 0\.002 GB"):
        portions_of({b"a.txt": 10, b"b.pst": 2 * CAP}, CAP)


def test_a_portion_has_the_same_items_and_leaves_nothing(custodians: Path, tmp_path: Path) -> None:
    shelf = tmp_path / "shelf"
    shelf.mkdir()
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()
    (shelf / f"edbench-null-{gone.pid}-x").mkdir()
    (shelf / f"edbench-null-{os.getpid()}-x").mkdir()
    first, second = Portion((b"ann/a.txt", b"ann/link"), 10), Portion((b"bob/a.txt", b"bob/pipe"), 10)
    with null_storage(os.fsencode(custodians), CAP, shelf) as null:
        prepared = null.stage(first, whole=False)
        assert prepared.directories == (b"ann",)
        copied = Path(os.fsdecode(prepared.path))
        assert (copied / "ann" / "link").is_symlink()
        assert (copied / "ann" / "a.txt").stat().st_mtime_ns == (custodians / "ann" / "a.txt").stat().st_mtime_ns
        (custodians / "ann" / "a.txt").write_text("changed")
        assert null.stage(first, whole=False) is prepared  # not copied a second time
        assert null.stage(second, whole=False).directories == (b"bob",)
        assert (copied / "bob" / "a.txt").read_text() == "bob"
        assert (copied / "bob" / "pipe").is_fifo()
        assert not (copied / "ann").exists()
        assert null.held() == (copied / "bob" / "a.txt").stat().st_blocks * 512
        null.storage.mkdir()
        (null.storage / "jobs").mkdir()
        (null.storage / "jobs" / "x").write_text("x")
        emptied(null.storage)
        assert not list(null.storage.iterdir())
    assert [left.name for left in shelf.iterdir()] == [f"edbench-null-{os.getpid()}-x"]


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_file_that_may_not_be_read_is_one_on_null_storage_too(custodians: Path, tmp_path: Path) -> None:
    """The same item with the same exception, and no reason to go without a pair."""
    (custodians / "ann" / "a.txt").chmod(0)
    with null_storage(os.fsencode(custodians), CAP, tmp_path) as null:
        null.stage(Portion((b"ann/a.txt",), 10), whole=True)
        assert not os.access(null.source / "ann" / "a.txt", os.R_OK)


def test_a_file_that_is_gone_is_reported(custodians: Path, tmp_path: Path) -> None:
    with (
        null_storage(os.fsencode(custodians), CAP, tmp_path) as null,
        pytest.raises(StorageFault, match="cannot be copied"),
    ):
        null.stage(Portion((b"ann/none",), 10), whole=True)


def test_null_storage_is_memory(tmp_path: Path) -> None:
    assert no_memory(tmp_path / "none") is not None
    assert "not a memory file system" in (no_memory(Path("/proc")) or "")
    assert 0 <= may_take(tmp_path) <= free_memory() <= client_memory()
