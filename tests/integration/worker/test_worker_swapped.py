"""What a job reads and writes when somebody swaps directories for links while it runs (docs/security.md)."""

from __future__ import annotations

from pathlib import Path

import pytest
from taskbench import TaskBench
from unpacking import make_zip

from core.records import Phase

SECRET = b"what only root may read"


def test_a_directory_swapped_for_a_link_after_the_walk_gives_away_nothing(
    task_bench: TaskBench, tmp_path: Path
) -> None:
    outside = tmp_path / "root-only"
    outside.mkdir()
    for name in ("shadow", "key"):
        (task_bench.source / "ann" / "deep").mkdir(parents=True, exist_ok=True)
        (task_bench.source / "ann" / "deep" / name).write_bytes(b"harmless")
        (outside / name).write_bytes(SECRET)
    (task_bench.source / "stays").write_bytes(b"text")
    task_bench.create()
    task_bench.until(Phase.EXPAND)
    (task_bench.source / "ann" / "deep").rename(tmp_path / "moved")
    (task_bench.source / "ann" / "deep").symlink_to(outside)
    assert task_bench.run() == "completed_with_exceptions"
    assert task_bench.codes() == {"ann/deep/shadow": ["unreadable"], "ann/deep/key": ["unreadable"]}
    details = [str(d) for (d,) in task_bench.rows("SELECT detail FROM exception")]
    assert all("a directory above it is a link now" in d for d in details)
    assert task_bench.rows("SELECT 1 FROM item WHERE bytes = %(n)s", n=len(SECRET)) == []


def test_the_folder_of_extracted_children_replaced_by_a_link_suspends(task_bench: TaskBench, tmp_path: Path) -> None:
    (task_bench.source / "a.zip").write_bytes(make_zip({"x.txt": b"findme"}))
    task_bench.create()
    task_bench.until(Phase.EXPAND)
    (target := tmp_path / "target").mkdir()
    task_bench.items_folder.symlink_to(target)
    task_bench.drain()
    state, reason = task_bench.reason()
    assert state == "suspended"
    assert "links are not followed" in str(reason)
    assert list(target.iterdir()) == []


@pytest.mark.parametrize("location", ["../outside", "/absolute"])
def test_a_location_that_leads_elsewhere_is_not_read(task_bench: TaskBench, tmp_path: Path, location: str) -> None:
    """Neither by `..` nor as an absolute path, should somebody get to write one into the database."""
    (tmp_path / "outside").write_bytes(SECRET)
    (task_bench.source / "a.zip").write_bytes(make_zip({"x.txt": SECRET[::-1]}))
    task_bench.create()
    task_bench.until(Phase.INDEX)
    away = "../outside" if location == "../outside" else str(tmp_path / "outside")
    task_bench.rows("UPDATE item SET location = %(l)s WHERE name = 'x.txt'::bytea RETURNING 1", l=away.encode())
    task_bench.drain()
    assert task_bench.reason()[0] == "suspended"
    assert task_bench.rows("SELECT 1 FROM item_text JOIN item ON item = id WHERE name = 'x.txt'::bytea") == []
