"""Phase walk over trees with everything a file system can hold."""

import errno
import os
import socket
from collections import Counter
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest
from taskbench import TaskBench
from unpacking import make_mail, make_zip

from controller.databases import JobHandle
from controller.search.answers import Wanted, count_all
from controller.search.opened import opened_index
from controller.search.report import hit_report, listed
from core.operations import NullRecorder
from core.records import JobOptions, NewTask, Phase
from core.storage.errors import reading_error
from core.storage.layer import Listing, Storage
from sql.jobs import get_job
from worker.phases.task import path_bytes, path_text


def _walked(bench: TaskBench) -> Counter[bytes]:
    """The files handed to expand, how often each."""
    rows = bench.rows("SELECT payload FROM task WHERE phase = 'expand'")
    return Counter(path_bytes(f[0]) for r in rows for f in r.payload["files"])


def _special(source: os.PathLike[str]) -> None:
    root = os.fsdecode(source)
    os.symlink("..", f"{root}/loop")
    os.symlink("nowhere", f"{root}/dangling")
    os.mkfifo(f"{root}/fifo")
    with socket.socket(socket.AF_UNIX) as s:
        here = os.getcwd()
        os.chdir(root)  # the address of a socket is short
        try:
            s.bind("socket")
        finally:
            os.chdir(here)


def test_links_and_special_files_are_items_and_never_opened(task_bench: TaskBench) -> None:
    _special(task_bench.source)
    (task_bench.source / "file").write_bytes(b"x")
    task_bench.create()
    task_bench.until(Phase.EXPAND)
    assert task_bench.codes() == {
        "loop": ["symlink"],
        "dangling": ["symlink"],
        "fifo": ["special_file"],
        "socket": ["special_file"],
    }
    assert _walked(task_bench) == {b"file": 1}
    types = dict(map(tuple, task_bench.rows("SELECT display, media_type FROM item")))
    assert types["loop"] == "inode/symlink"
    assert types["fifo"] == "inode/fifo"
    assert types["socket"] == "inode/socket"
    assert task_bench.run() == "completed_with_exceptions"


def test_names_that_are_not_utf8_survive_the_round_trip(task_bench: TaskBench) -> None:
    names = [b"m\xfcller.txt", b"new\nline.txt", b"\xf0\x9f\x98\x80.txt", b"back\\slash.txt", b"\xed\xa0\x80.txt"]
    folder = os.fsencode(task_bench.source) + b"/dir\xff"
    os.mkdir(folder)
    for name in names:
        with open(folder + b"/" + name, "wb") as f:
            f.write(b"text of it")
    task_bench.create()
    assert task_bench.run() == "completed"
    rows = task_bench.rows("SELECT name, path, display, bytes FROM item")
    assert {bytes(r.name) for r in rows} == set(names)
    assert {bytes(r.path) for r in rows} == {b"dir\xff/" + n for n in names}
    assert all(r.bytes == 10 for r in rows)
    assert task_bench.value("SELECT count(*) FROM item_text WHERE state = 'ok'") == len(names)
    assert "m\\xfcller.txt" in {r.display for r in rows}


class _Stubborn(Storage):
    """A filer that refuses to list or to look at some paths."""

    refused: dict[bytes, int]

    def listing(self, path: bytes, spill: Path | None = None, alive: Callable[[], None] | None = None) -> Listing:
        if number := self.refused.get(os.path.basename(path)):
            raise reading_error("list", path, OSError(number, "refused"))
        return super().listing(path, spill, alive)

    def stat(self, path: bytes) -> os.stat_result:
        if number := self.refused.get(os.path.basename(path)):
            raise reading_error("look at", path, OSError(number, "refused"))
        return super().stat(path)


def test_a_directory_that_cannot_be_listed_is_an_item(task_bench: TaskBench) -> None:
    """Nothing is lost without a word: a directory that may not be listed, or has gone since its parent was listed, and
    a file that vanished have a row and a code."""
    for name in ("closed", "left", "open"):
        (task_bench.source / name).mkdir()
        (task_bench.source / name / "in.txt").write_bytes(b"x")
    (task_bench.source / "gone.txt").write_bytes(b"x")
    for name in ("refused.txt", "deep/refused.txt"):
        (task_bench.source / "open" / name).parent.mkdir(exist_ok=True)
        (task_bench.source / "open" / name).write_bytes(b"x")
    storage = _Stubborn(NullRecorder())
    storage.refused = {
        b"closed": errno.EACCES,
        b"left": errno.ENOENT,
        b"gone.txt": errno.ENOENT,
        b"refused.txt": errno.EACCES,
    }
    task_bench.create()
    task_bench.drain(task_bench.slot("w2", storage))
    assert task_bench.codes() == {
        "closed": ["unreadable"], "left": ["vanished"], "gone.txt": ["vanished"],
        "open/refused.txt": ["unreadable"], "open/deep/refused.txt": ["unreadable"],
    }  # fmt: skip
    assert task_bench.value("SELECT media_type FROM item WHERE display = 'closed'") == "inode/directory"
    assert _walked(task_bench) == {b"open/in.txt": 1}


def test_a_fault_of_the_filer_while_listing_suspends(task_bench: TaskBench) -> None:
    storage = _Stubborn(NullRecorder())
    storage.refused = {os.path.basename(os.fsencode(task_bench.source)): errno.ESTALE}
    task_bench.create()
    task_bench.drain(task_bench.slot("w2", storage))
    assert task_bench.reason()[0] == "suspended"


def test_wide_and_deep_trees_become_follow_on_tasks(task_bench: TaskBench) -> None:
    task_bench.options = JobOptions(batch_files=20, batch_bytes=100)
    expected = set()
    for n in range(90):
        folder = task_bench.source / f"d{n}" / "deep"
        folder.mkdir(parents=True)
        (folder / "f").write_bytes(bytes(n))
        expected.add(f"d{n}/deep/f".encode())
    task_bench.create()
    task_bench.until(Phase.EXPAND)
    assert _walked(task_bench) == dict.fromkeys(expected, 1)
    assert task_bench.value("SELECT count(*) FROM task WHERE phase = 'walk'") > 2
    for (payload,) in task_bench.rows("SELECT payload FROM task WHERE phase = 'expand'"):
        files = payload["files"]
        assert len(files) <= 20
        assert len(files) == 1 or sum(f[1] for f in files) <= 100


def test_files_only_stays_above(task_bench: TaskBench) -> None:
    (task_bench.source / "bob").mkdir()
    (task_bench.source / "bob" / "b.txt").write_bytes(b"b")
    (task_bench.source / "top.txt").write_bytes(b"t")
    payload = {"custodian": 0, "directories": [path_text(b"")], "files_only": True}
    task_bench.create(tasks=[NewTask(phase=Phase.WALK, weight=1, payload=payload)])
    task_bench.until(Phase.EXPAND)
    assert _walked(task_bench) == {b"top.txt": 1}


def test_an_empty_source_completes(task_bench: TaskBench) -> None:
    task_bench.create()
    assert task_bench.run() == "completed"
    assert task_bench.paths() == set()


def test_what_is_listed_twice_is_one_item(task_bench: TaskBench, monkeypatch: pytest.MonkeyPatch) -> None:
    once = Listing.fill
    monkeypatch.setattr(Listing, "fill", lambda listing, entries, *more: once(listing, iter([*entries] * 2), *more))
    task_bench.options = JobOptions(batch_files=3)
    for name in ("a", "b", "d/c"):
        (task_bench.source / name).parent.mkdir(exist_ok=True)
        (task_bench.source / name).write_bytes(name.encode())
    task_bench.create()
    assert task_bench.run() == "completed"
    assert task_bench.value("SELECT count(*) FROM item") == 3


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


@pytest.mark.parametrize("engine", ["tantivy", "whoosh"])
def test_a_custodian_or_a_folder_is_no_hit(task_bench: TaskBench, engine: str) -> None:
    """Custodian, directories and folders of an archive called as a term are found by `path:` alone; names of files by both."""
    task_bench.options = JobOptions(index_engine=engine)
    folder = task_bench.source / "bob" / "Legal"
    folder.mkdir(parents=True)
    (folder / "priv.txt").write_bytes(b"tiger\n")
    (folder / "a.zip").write_bytes(make_zip({"inbox/bob.txt": b"lion\n", "inbox/two.txt": b"tiger\n"}))
    (folder / "m.eml").write_bytes(make_mail("lunch", "tiger\n", {"legal.txt": b"lion\n"}))
    task_bench.create()
    assert task_bench.run().startswith("completed")
    with task_bench.database.transaction() as conn:
        handle = JobHandle(task_bench.database, get_job(conn, task_bench.job))
    opened = partial(opened_index, settings=task_bench.context.settings)

    def found(query: str) -> set[str]:
        hits, _ = count_all([handle], opened, Wanted(query=query, limit=100))
        return {hit.container_path[-1].rpartition("/")[2] for hit in hits}

    assert found("bob") == found("name:bob") == {"bob.txt"}
    assert found("legal") == {"legal.txt"}
    assert found("inbox") == found('"bob legal"') == set()
    assert found("tiger NOT bob NOT legal") == {"priv.txt", "two.txt", "m.eml"}
    everything = {"priv.txt", "a.zip", "bob.txt", "two.txt", "m.eml", "legal.txt"}
    assert found("path:bob") == found("path:legal") == everything
    assert found("path:inbox") == {"bob.txt", "two.txt"}
    report = hit_report([handle], opened, listed(["bob", "legal", "inbox", "priv"], "list"))
    assert [(term.items, term.unique_items) for term in report.terms] == [(1, 1), (1, 1), (0, 0), (1, 1)]
