"""syncfs beside what its caller does."""

from __future__ import annotations

import errno
import os
import threading
from pathlib import Path

import pytest

from core.errors import StorageFault
from core.operations import MemoryRecorder
from core.storage import sync
from core.storage.layer import Storage

_SECONDS = 60.0  # after which a call that waits for its caller would be one that its caller waits for


@pytest.fixture
def recorder() -> MemoryRecorder:
    return MemoryRecorder()


@pytest.fixture
def storage(recorder: MemoryRecorder, tmp_path: Path) -> Storage:
    storage = Storage(recorder)
    storage.keep_below(os.fsencode(tmp_path), own=True)
    return storage


def _fail(_fd: int) -> None:
    raise OSError(errno.EIO, os.strerror(errno.EIO))


def test_what_is_called_meanwhile_does_not_wait(
    storage: Storage, recorder: MemoryRecorder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told = threading.Event()
    waited: list[bool] = []
    monkeypatch.setattr(sync, "syncfs", lambda _fd: waited.append(told.wait(_SECONDS)))
    with storage.sync_beside(os.fsencode(tmp_path)):
        storage.stat(os.fsencode(tmp_path))
        told.set()
    assert waited == [True]
    assert [(each.op.label, each.error) for each in recorder.records] == [
        ("open", 0),
        ("stat", 0),
        ("fsync", 0),
        ("close", 0),
    ]
    _, looked, synced, closed = recorder.records
    assert synced.start_ns <= looked.start_ns
    assert looked.start_ns + looked.duration_ns <= synced.start_ns + synced.duration_ns <= closed.start_ns


def test_one_that_fails_is_a_fault(
    storage: Storage, recorder: MemoryRecorder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At the end of the block, also where something is on its way up already: the kernel tells of it once. Its descriptor is closed."""
    monkeypatch.setattr(sync, "syncfs", _fail)
    with pytest.raises(StorageFault, match="sync"), storage.sync_beside(os.fsencode(tmp_path)):
        pass
    with pytest.raises(StorageFault, match="sync") as fault, storage.sync_beside(os.fsencode(tmp_path)):
        raise ValueError("theirs")
    assert isinstance(fault.value.__cause__, ValueError)
    assert [(each.op.label, each.error) for each in recorder.records] == 2 * [
        ("open", 0),
        ("fsync", errno.EIO),
        ("close", 0),
    ]
    with pytest.raises(StorageFault):
        storage.sync_beside(os.fsencode(tmp_path / "gone"))


def test_no_descriptor_is_left_where_no_thread_can_be_made(
    storage: Storage, recorder: MemoryRecorder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(_thread: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", refuse)
    with pytest.raises(StorageFault, match="cannot start a thread"):
        storage.sync_beside(os.fsencode(tmp_path))
    assert [each.op.label for each in recorder.records] == ["open", "close"]
