"""A big zip is not one slot's: its members are read in ranges of the central directory, each a task of its own."""

from __future__ import annotations

import hashlib
import random

from taskbench import TaskBench
from unpacking import make_zip

from core.records import JobOptions

_MEMBERS, _SIZE, _SPLIT = 60, 20_000, 150_000
_CONTENT = {f"d/{n:02}.txt": random.Random(n).randbytes(_SIZE // 2).hex().encode() for n in range(_MEMBERS)}


def _run(bench: TaskBench, data: bytes, ending: str) -> None:
    bench.options = JobOptions(split_bytes=_SPLIT, batch_bytes=_SPLIT)
    (bench.source / "big.zip").write_bytes(data)
    bench.create()
    assert bench.run() == ending


def test_a_big_zip_is_read_in_ranges_by_many_tasks(task_bench: TaskBench) -> None:
    _run(task_bench, make_zip(_CONTENT, stored=True), "completed")
    ranges = task_bench.rows(
        "SELECT (e -> 'part' ->> 0)::int AS start, (e -> 'part' ->> 1)::int AS stop, (e ->> 'announced')::int AS announced, "
        "t.extracted_bytes FROM task t, jsonb_array_elements(t.payload -> 'items') e "
        "WHERE t.phase = 'expand' AND e ? 'part' ORDER BY 1"
    )
    assert len(ranges) == 8
    assert [r.start for r in ranges] == [0, *(r.stop for r in ranges[:-1])]
    assert ranges[-1].stop == sum(r.announced for r in ranges) == _MEMBERS
    assert all(r.extracted_bytes == r.announced * _SIZE for r in ranges)
    found = {r.display: bytes(r.sha256) for r in task_bench.rows("SELECT display, sha256 FROM item WHERE depth = 1")}
    assert found == {name: hashlib.sha256(data).digest() for name, data in _CONTENT.items()}
    counts = task_bench.rows("SELECT announced, emitted, failed, remainder_unknown FROM container_count")
    assert counts == [(_MEMBERS, _MEMBERS, 0, False)]


def test_what_is_lost_in_one_range_is_named_once(task_bench: TaskBench) -> None:
    data = bytearray(make_zip(_CONTENT, stored=True))
    data[data.index(_CONTENT["d/31.txt"])] ^= 1
    _run(task_bench, bytes(data), "completed_with_exceptions")
    counts = task_bench.rows("SELECT announced, emitted, failed, remainder_unknown FROM container_count")
    assert counts == [(_MEMBERS, _MEMBERS - 1, 1, False)]
    assert task_bench.rows("SELECT code, level, missing FROM exception") == [("corrupt", "node", 1)]


def test_a_directory_that_breaks_off_in_the_last_range(task_bench: TaskBench) -> None:
    data = bytearray(make_zip(_CONTENT, stored=True))
    last = data.rindex(b"PK\x01\x02")
    data[last : last + 4] = b"\0\0\0\0"
    _run(task_bench, bytes(data), "completed_with_exceptions")
    counts = task_bench.rows("SELECT announced, emitted, failed, remainder_unknown FROM container_count")
    assert counts == [(_MEMBERS, _MEMBERS - 1, 1, False)]
    assert task_bench.rows("SELECT code, level, missing FROM exception") == [("corrupt", "node", 1)]
