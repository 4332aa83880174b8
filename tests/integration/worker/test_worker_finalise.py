"""Phase finalise: what no row names goes, what a row names stays."""

import dataclasses
import hashlib
import io
import random
import uuid
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest
from taskbench import TaskBench
from unpacking import make_zip

from core.filer import load_filer
from core.imported import Record, record_path
from core.operations import Op
from core.records import JobOptions, Layout, Phase
from readers.errors import ExceptionCode
from sql.connection import Connection
from sql.findings import TaskResult
from sql.items import ITEMS
from worker import run_task
from worker.phases import finalise
from worker.phases.task import TaskWork


def _files(folder: Path) -> set[str]:
    return {str(p.relative_to(folder)) for p in folder.rglob("*") if p.is_file()}


@pytest.mark.parametrize("layout", list(Layout))
def test_leaves_exactly_what_the_database_knows(task_bench: TaskBench, layout: Layout) -> None:
    """Orphans, temporary files, copies in a wrong place and unknown shards are removed; everything else is kept."""
    task_bench.options = JobOptions(layout=layout)
    (task_bench.source / "a.zip").write_bytes(make_zip({f"{n}.txt": b"x%d" % n for n in range(20)}))
    task_bench.create()
    task_bench.until(Phase.FINALISE)
    kept = _files(task_bench.storage_root)
    assert len(kept) > 20
    one = next(p for p in sorted(task_bench.items_folder.rglob("*")) if p.is_file())
    top = one.parent.parent
    (top / "ee").mkdir(exist_ok=True)
    orphan = uuid.uuid4().hex
    for stray in (
        top / "ee" / orphan,
        top / "ee" / f"{orphan}.0123456789ab.tmp",
        top / "ee" / "strange",
        top / "ee" / one.name,  # a row names this item, but not here
        one.with_name(one.name + ".0123456789ab.tmp"),
    ):
        if stray != one:
            stray.write_bytes(b"stray")
    shard = task_bench.value("SELECT id FROM shard")
    (task_bench.shard_folder(shard) / "segment.idx.0123456789ab.tmp").write_bytes(b"half")
    unknown = task_bench.shard_folder(uuid.uuid4())
    unknown.mkdir()
    (unknown / "meta.json").write_bytes(b"{}")
    elsewhere = task_bench.storage_root / "jobs" / "other" / "items" / "ee"
    elsewhere.mkdir(parents=True)
    (elsewhere / orphan).write_bytes(b"another job's")
    if layout is Layout.PER_WORKER:
        other = task_bench.items_folder / "w9" / one.parent.name
        other.mkdir(parents=True)
        (other / one.name).write_bytes(b"of an attempt that was taken over")
    task_bench.drain()
    assert _files(task_bench.storage_root) == kept | {f"jobs/other/items/ee/{orphan}"}
    assert not unknown.exists()
    assert str(task_bench.advance()) == "completed"
    calls = task_bench.context.recorder
    assert any(r.op is Op.FSYNC for r in calls.records)


def test_folders_with_few_files_are_asked_for_together(task_bench: TaskBench, monkeypatch: pytest.MonkeyPatch) -> None:
    """However files lie in folders, the ledger is asked once for so many of them, and the last few count as the first."""
    (task_bench.source / "a.zip").write_bytes(make_zip({f"{n}.txt": b"x%d" % n for n in range(20)}))
    task_bench.create()
    task_bench.until(Phase.FINALISE)
    kept = _files(task_bench.storage_root)
    for folder in (b"00", b"7f", b"ff"):
        where = task_bench.items_folder / folder.decode()
        where.mkdir(exist_ok=True)
        (where / uuid.uuid4().hex).write_bytes(b"stray")
    asked: list[int] = []

    locations = ITEMS.item_locations

    def counting(conn: Connection, *, items: Sequence[uuid.UUID]) -> dict[uuid.UUID, bytes | None]:
        asked.append(len(items))
        return locations(conn, items=items)

    monkeypatch.setattr(ITEMS, "item_locations", counting)
    monkeypatch.setattr(finalise, "_ROWS_AT_ONCE", 7)
    task_bench.drain()
    assert _files(task_bench.storage_root) == kept
    assert asked == [7, 7, 7, 2]


def test_a_second_finalise_changes_nothing(task_bench: TaskBench) -> None:
    (task_bench.source / "a.zip").write_bytes(make_zip({"x.txt": b"x"}))
    task_bench.create()
    assert task_bench.run() == "completed"
    kept = _files(task_bench.storage_root)
    task_bench.rows("UPDATE task SET state = 'pending' WHERE phase = 'finalise' RETURNING 1")
    task_bench.rows("UPDATE job SET state = 'running', finished_at = NULL RETURNING 1")
    task_bench.drain()
    assert task_bench.reason()[0] == "running"
    assert _files(task_bench.storage_root) == kept


def test_a_job_that_wrote_nothing(task_bench: TaskBench) -> None:
    (task_bench.source / "a.txt").write_bytes(b"")
    task_bench.create()
    assert task_bench.run() == "completed_with_exceptions"


@pytest.mark.parametrize("layout", list(Layout))
def test_a_slot_that_comes_too_late_removes_what_it_wrote(
    task_bench: TaskBench, monkeypatch: pytest.MonkeyPatch, layout: Layout
) -> None:
    """It was stopped while another did its task and the job ended: what it wrote since has no row, and is its to remove."""
    bench = task_bench
    bench.options = JobOptions(layout=layout, single_pass=True)
    (bench.source / "a.zip").write_bytes(make_zip({f"{n}.txt": b"x%d" % n for n in range(5)}))
    bench.create()
    bench.until(Phase.EXPAND)
    body, kept = run_task.BODIES[Phase.EXPAND], set()

    def late(work: TaskWork) -> TaskResult:
        monkeypatch.undo()
        bench.lose(work.claimed.id)
        other, bench.context = bench.context, bench.slot("w2")
        assert bench.run() == "completed"
        bench.close()
        bench.context = other
        kept.update(_files(bench.storage_root))
        return body(work)

    monkeypatch.setitem(run_task.BODIES, Phase.EXPAND, late)
    (task,) = bench.dispatch()
    bench.handle(task)
    assert len(kept) > 5
    assert _files(bench.storage_root) == kept


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


def _put(source: Path, relative: str, data: bytes, **record: Any) -> None:
    """A file, and its record."""
    for path, content in ((relative, data), (record_path(relative), msgspec.json.encode(Record(**record)))):
        (source / path).parent.mkdir(parents=True, exist_ok=True)
        (source / path).write_bytes(content)


def _zip() -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        archive.writestr("inside.txt", "inside")
    return out.getvalue()


def _fill(source: Path) -> None:
    mail = b"From: a@b.example\nSubject: own\n\nwords\n"
    same = hashlib.sha256(mail).hexdigest()
    _put(source, "ann/A1.eml", mail, native=True, fields={"load_subject": "told"}, sha256=same)
    _put(source, "ann/A2.zip", _zip(), native=True, fields={}, first="ann/A1.eml", sha256="00")
    _put(
        source, "ann/A3.txt", b"text alone", native=False, first="ann/A1.eml",
        fields={"load_subject": "told", "load_date": "2001-02-03T04:05:06Z", "load_from": "x" * 2_000, "from": "forged"},
    )  # fmt: skip
    dated = {"load_date": "3/2/01"}
    _put(source, "ann/A4", b"", native=False, fields=dated, code=ExceptionCode.NO_NATIVE, detail="none")
    _put(source, "ann/A5.zip", _zip(), native=True, fields={})
    _put(source, "ann/A6.txt", b"in a container", native=True, fields={}, first="ann/A5.zip")
    _put(source, "ann/A7.txt", b"of nothing", native=True, fields={}, first="../elsewhere")
    (source / "ann/later.txt").write_bytes(b"nobody told of it")
    (source / "ann/torn.txt").write_bytes(b"torn")
    (source / record_path("ann/torn.txt")).write_bytes(b"{")


@pytest.mark.parametrize("single_pass", [False, True])
def test_a_loose_file_has_what_its_record_states(task_bench: TaskBench, single_pass: bool) -> None:
    bench = task_bench
    bench.options = JobOptions(load_file=True, single_pass=single_pass)
    _fill(bench.source)
    bench.create([b"ann"])
    assert bench.run() == "completed_with_exceptions"
    rows = bench.rows(
        "SELECT i.display AS name, f.display AS family, t.metadata FROM item i JOIN item_text t ON t.item = i.id"
        " LEFT JOIN item f ON f.id = i.family_id"
    )
    families = sorted((row.name, row.family) for row in rows)
    assert families == [
        ("A1.eml", "A1.eml"), ("A2.zip", "A1.eml"), ("A3.txt", "A1.eml"), ("A4", "A4"), ("A5.zip", None), ("A6.txt", "A6.txt"),
        ("A7.txt", "A7.txt"), ("inside.txt", "A1.eml"), ("inside.txt", "inside.txt"), ("later.txt", "later.txt"),
        ("torn.txt", "torn.txt"),
    ]  # fmt: skip
    reported = {row.name: row.metadata for row in rows}
    assert (reported["A1.eml"]["subject"], reported["A1.eml"]["load_subject"]) == ("own", "told")
    third = reported["A3.txt"]
    assert (third["subject"], third["date"], third["from"]) == ("told", "2001-02-03T04:05:06Z", "x" * 1_000)
    assert third["load_from"] == "x" * 2_000
    assert ("date" in reported["A4"], reported["A4"]["load_date"]) == (False, "3/2/01")
    assert {path: codes for path, codes in bench.codes().items() if path.startswith("ann/")} == {
        "ann/A2.zip": ["hash_differs"],
        "ann/A4": ["no_native", "zero_bytes"],
        "ann/later.txt": ["vanished"],
        "ann/torn.txt": ["corrupt"],
    }


def test_of_any_other_source_nothing_is_asked(task_bench: TaskBench) -> None:
    """No call looks for records, which would be one for each file."""
    bench = task_bench
    _fill(bench.source)
    bench.create([b"ann"])
    bench.run()
    calls = bench.context.recorder.records
    assert not [call for call in calls if b"edbench-load" in call.path]


def test_a_worker_without_the_jobs_filer_suspends_it(task_bench: TaskBench) -> None:
    """A result that says `titan` must not hold a single call that was not delayed; told with what to do."""
    model = load_filer("titan")
    task_bench.options = JobOptions(filer=model.choice)
    assert JobOptions.from_json(task_bench.options.to_json()) == task_bench.options
    task_bench.create()
    (task,) = task_bench.dispatch()
    task_bench.handle(task)
    row = task_bench.rows("SELECT state, reason FROM job")[0]
    assert row.state == "suspended"
    assert "EDBENCH_FILER=titan" in row.reason
    assert task_bench.value("SELECT count(*) FROM item") == 0


def test_a_worker_with_the_jobs_filer_does_it(task_bench: TaskBench) -> None:
    model = load_filer("titan")
    task_bench.options = JobOptions(filer=model.choice)
    (task_bench.source / "a.txt").write_bytes(b"a")
    task_bench.create()
    emulating = dataclasses.replace(task_bench.slot("w2"), filer_digest=model.digest)
    (task,) = task_bench.dispatch()
    task_bench.handle(task, emulating)
    assert [(r.state, r.reason) for r in task_bench.rows("SELECT state, reason FROM job")] == [("running", None)]
    assert task_bench.value("SELECT state FROM task WHERE id = %(id)s", id=task) == "done"
