"""The worker's directory on scratch."""

from __future__ import annotations

import uuid
from pathlib import Path

import pytest

from core.errors import StorageFault
from worker.slots.watch import WorkerScratch


def test_only_directories_without_an_owner_are_removed(tmp_path: Path) -> None:
    alive = WorkerScratch(tmp_path, uuid.uuid4())
    alive.make(0, uuid.uuid4())
    dead = tmp_path / "workers" / "dead"
    (dead / "slot-0-x").mkdir(parents=True)
    (dead / "slot-0-x" / "segment").write_bytes(b"x")
    mine = WorkerScratch(tmp_path, uuid.uuid4())
    mine.remove_stale()
    assert set((tmp_path / "workers").iterdir()) == {alive.directory, mine.directory}
    mine.close()
    assert set((tmp_path / "workers").iterdir()) == {alive.directory}


def test_scratch_that_cannot_be_used_is_refused_in_one_line(tmp_path: Path) -> None:
    (tmp_path / "workers").write_bytes(b"")
    with pytest.raises(StorageFault, match="EDBENCH_SCRATCH"):
        WorkerScratch(tmp_path, uuid.uuid4())
