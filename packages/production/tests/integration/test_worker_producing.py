"""Jobs that produce: what a claim that was lost meanwhile has begun or read is not what stays."""

import base64
import errno
import hashlib
import json
import os
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest
from documents import make
from produced import csv_rows, filer, handle, produce, tree
from recording import MemoryRecorder
from taskbench import TaskBench
from unpacking import make_mail, make_zip

from controller.databases import JobHandle
from core.errors import StorageFault
from core.job_types import JobType
from core.operations import Op
from core.records import FINALISE_LIST, FINALISE_REST, FINALISE_TABLES, JobOptions, Limits, NewTask, Phase
from core.storage import layer, sync
from core.storage.files import WriteFile
from production import finish
from production.layout import REPORTS
from production.options import DPI, MARKER
from production.reports import Record, records
from production.verify import ProductionVerification, verify_production
from sql import bulk, states
from sql.custody import CUSTODY, ActionRow
from sql.jobs import progress
from sql.timeline import OBSERVING
from worker.phases.task import TaskWork

# A 7z whose member needs a password (ingest-file, MIT).
PASSWORD_7Z = base64.b64decode(
    "N3q8ryccAAS7FfeSIAAAAAAAAAByAAAAAAAAAGgW+3hC0h/c5j6M1jnNgcFxzvSj2H5r4Aw9ivlrMfX7SLpuCgEEBgABCSAABwsBAAIkBvEHARJTD97m"
    "+k0ZAS+Kdm7hhiTgHWkhIQEAAQAMFREACAoBbLWtVwAABQEZAQARFwBzAGUAYwByAGUAdAAuAHQAeAB0AAAAGQQAAAAAFAoBAB7rz1GP39sBFQYBACCA"
    "pIEAAA=="
)


@pytest.fixture
def begun(task_bench: TaskBench) -> Path:
    """The output of an extraction of two texts that nothing was written of."""
    for name in ("a.txt", "b.txt"):
        (task_bench.source / name).write_text(name)
    task_bench.create()
    assert task_bench.run() == "completed"
    source, out = handle(task_bench.database, task_bench.job), task_bench.home / "out"
    task_bench.job = produce(task_bench.context.settings, [source], JobType.EXTRACTION, out=str(out), prefix="A").id
    return out


@pytest.fixture
def extraction(task_bench: TaskBench, begun: Path) -> Path:
    """The same, whose last phase is to come."""
    task_bench.until(Phase.FINALISE)
    return begun


@pytest.mark.parametrize("breaks", [False, True])
def test_a_text_that_a_lost_claim_has_half_written_is_whole(
    task_bench: TaskBench, begun: Path, monkeypatch: pytest.MonkeyPatch, breaks: bool
) -> None:
    (task,) = task_bench.dispatch()
    at_once = WriteFile.write

    def half(file: WriteFile, data: bytes) -> int:
        if file.path.endswith(b".tmp"):
            return at_once(file, data)
        monkeypatch.setattr(WriteFile, "write", at_once)
        at_once(file, data[:2])
        task_bench.lose(task)
        (again,) = task_bench.dispatch()
        task_bench.handle(again, task_bench.slot("w2"))
        assert texts() == [b"a.txt", b"b.txt"]
        if breaks:
            raise StorageFault("a disk that is gone", errno=errno.EIO)
        return at_once(file, data[2:])

    def texts() -> list[bytes]:
        return [path.read_bytes() for path in sorted((begun / "VOL001/TEXT/0001").iterdir())]

    monkeypatch.setattr(WriteFile, "write", half)
    task_bench.handle(task)
    assert WriteFile.write is at_once
    assert texts() == [b"a.txt", b"b.txt"]


def test_a_claim_that_was_lost_gives_its_reports_no_names(
    task_bench: TaskBench, extraction: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its rows are those of before a crash took back what had been committed: the next claim reads others, takes away what the
    first has begun, is done first, and what it told stays."""
    (task,) = task_bench.dispatch()
    done: list[dict[str, bytes]] = []

    def overtaken(work: TaskWork) -> Iterator[list[Record]]:
        yield from records(work)
        monkeypatch.setattr(finish, "records", records)
        task_bench.rows("UPDATE production_item SET pages = 7 WHERE job = %(j)s RETURNING 1", j=task_bench.job)
        task_bench.lose(task)
        (again,) = task_bench.dispatch()
        task_bench.handle(again, task_bench.slot("w2"))
        done.append(tree(extraction))

    monkeypatch.setattr(finish, "records", overtaken)
    task_bench.handle(task)
    assert b",7," in done[0]["metadata.csv"]
    assert tree(extraction) == done[0]


def test_what_was_produced_is_written_down(task_bench: TaskBench, extraction: Path) -> None:
    """When it is created what it was told, in its list and its source's; at its end what it wrote, by the queue manager's own
    login."""
    task_bench.drain()
    assert str(task_bench.advance()) == "completed"
    job, source = (_actions(task_bench, which) for which in ("=", "<>"))
    assert [row.action for row in job] == ["created", "completed"]
    assert [row.action for row in source] == ["extraction created"]
    for reported in (job[0].details, source[0].details):
        assert (reported["prefix"], reported["families"], reported["originals"], reported["out"]) == (
            "A",
            True,
            False,
            str(extraction),
        )
        assert reported["numbers"] == ["A00000001", "A00000002"]
    reports = {
        name: hashlib.sha256((extraction / name).read_bytes()).hexdigest() for name in REPORTS[JobType.EXTRACTION]
    }
    assert job[1].details == {
        "state": "completed", "files": 2, "bytes": 10, "hashes": reports["hashes.csv"], "reports": reports,
        "numbers": ["A00000001", "A00000002"],
    }  # fmt: skip
    assert job[1].who == f"queue manager@{socket.gethostname()}"
    assert all(bytes(row.chain or b"") == bytes(row.expected) for row in job)


def test_the_timeline_has_the_items_and_bytes_that_a_job_wrote(task_bench: TaskBench, extraction: Path) -> None:
    """As observed while it runs; they were 0."""
    with task_bench.database.transaction() as conn:
        OBSERVING.observe_progress(conn, database="db1", jobs=[task_bench.job])
        (row,) = conn.execute("SELECT \"values\" FROM observation WHERE kind = 'progress'")
        seen, ledger = row[0], progress(conn, task_bench.job)
    assert (seen["items"], seen["discovered_bytes"]) == (2, 10) == (ledger.items, ledger.extracted_bytes)


def test_a_cancelled_job_leaves_what_it_wrote_and_reports_it(task_bench: TaskBench, extraction: Path) -> None:
    with task_bench.database.transaction(durable=True) as conn:
        assert states.request_cancel(conn, task_bench.job) == "cancelled"
    assert sorted(tree(extraction)) == [f"VOL001/TEXT/0001/A0000000{n}.txt" for n in (1, 2)]
    *_, last = _actions(task_bench, "=")
    assert last.action == "cancelled"
    assert (last.details["files"], last.details["bytes"], last.details["hashes"]) == (2, 10, None)


def _actions(task_bench: TaskBench, which: str) -> list[ActionRow]:
    """Of the extraction (=), or of the other job."""
    job = task_bench.value(f"SELECT id FROM job WHERE id {which} %(job)s", job=task_bench.job)
    with task_bench.database.transaction() as conn:
        return CUSTODY.list_actions(conn, job=job)


def test_pages_are_made_under_the_limits_of_the_discovery(task_bench: TaskBench) -> None:
    """A message that was too large for it has no text in the index; it is a slip sheet, and the exception says why."""
    task_bench.options = JobOptions(limits=Limits(parse_bytes=300))
    for name, many in (("a.eml", 1), ("b.eml", 400)):
        (task_bench.source / name).write_bytes(b"Subject: plums\r\nFrom: ann@example.org\r\n\r\n" + b"x" * many)
    task_bench.create()
    assert task_bench.run() == "completed_with_exceptions"
    source = handle(task_bench.database, task_bench.job)
    chosen = {"out": str(task_bench.home / "out"), "prefix": "A", "extras": ((DPI, "72"),)}
    task_bench.job = produce(task_bench.context.settings, [source], JobType.PROCESSING, **chosen).id
    assert task_bench.run() == "completed_with_exceptions"
    reported = task_bench.rows("SELECT code FROM exception WHERE job = %(job)s", job=task_bench.job)
    assert [code for (code,) in reported] == ["too_large"]
    assert len(list((task_bench.home / "out").rglob("*.tif"))) == 2


def test_evidence_that_changed_is_no_native(task_bench: TaskBench) -> None:
    """A file that is another than the one that was found, and one that has gone, are exceptions and not produced; the
    others are. One that cannot be opened when pages are counted, and can be later, is not some of its pages."""
    bench, source = task_bench, task_bench.source
    for name in ("changed", "gone", "kept"):
        (source / f"{name}.txt").write_text(f"text of {name}")
    later, away, out = source / "later.pdf", bench.home / "away", bench.home / "out"
    later.write_bytes(make("pdf", 1, 12_000).data)
    bench.create()
    assert bench.run() == "completed"
    found = handle(bench.database, bench.job)
    (source / "changed.txt").write_text("text of Changed")
    (source / "gone.txt").unlink()
    chosen = {"out": str(out), "prefix": "A-", "digits": 3, "first": 7}
    bench.job = produce(bench.context.settings, [found], JobType.EXPORT, **chosen).id
    assert bench.run() == "completed_with_exceptions"
    files = tree(out)
    natives = ["VOL001/NATIVES/0001/A-009.txt", "VOL001/NATIVES/0001/A-010.pdf"]
    assert [path for path in files if "NATIVES" in path] == natives
    assert files["VOL001/TEXT/0001/A-007.txt"] == b"text of changed"
    codes = {row["begin"]: row["exceptions"] for row in csv_rows(out / "loadfile.csv")}
    assert codes == {"A-007": "hash_differs", "A-008": "vanished", "A-009": "", "A-010": ""}
    job = handle(bench.database, bench.job)
    assert verify_production(job, filer(), examples=9, progress=print).differences == 0
    later.rename(away)
    chosen = {"out": str(bench.home / "pages"), "prefix": "P", "extras": ((DPI, "72"),)}
    bench.job = produce(bench.context.settings, [found], JobType.PROCESSING, **chosen).id
    bench.until(Phase.STAMP)
    away.rename(later)
    assert bench.run() == "completed_with_exceptions"
    reported = {row["name"]: (row["pages"], row["exceptions"]) for row in csv_rows(bench.home / "pages/metadata.csv")}
    assert reported == {
        "changed.txt": ("1", "hash_differs"),
        "gone.txt": ("1", "vanished"),
        "kept.txt": ("1", ""),
        "later.pdf": ("1", "handler_error"),
    }


def test_a_file_that_went_before_the_end_is_reported(task_bench: TaskBench, extraction: Path) -> None:
    """Load files would name what is not there: the job is suspended until it is back, and ends then."""
    text = extraction / "VOL001/TEXT/0001/A00000002.txt"
    data = text.read_bytes()
    text.unlink()
    text.mkdir()
    task_bench.drain()
    state, reason = task_bench.reason()
    assert state == "suspended"
    assert "A00000002.txt" in str(reason)
    assert not (extraction / "metadata.csv").exists()
    text.rmdir()
    text.write_bytes(data)
    task_bench.resume()
    task_bench.drain()
    assert str(task_bench.advance()) == "completed"
    assert b"A00000002.txt" in (extraction / "metadata.csv").read_bytes()


@pytest.mark.parametrize(
    "lost",
    [
        ["DELETE FROM item WHERE display LIKE '%%a.txt'"],
        [f"DELETE FROM {table} WHERE job = %(j)s AND number = 2" for table in ("production_item", "production_file")],
    ],
    ids=["item", "rows of the job"],
)
def test_rows_that_are_lost_end_no_load_file_early(task_bench: TaskBench, extraction: Path, lost: list[str]) -> None:
    """Nothing is left out without a word."""
    for statement in lost:
        task_bench.rows(f"{statement} RETURNING 1", j=task_bench.job)
    task_bench.drain()
    state, reason = task_bench.reason()
    assert state == "suspended"
    assert "1 of the items no longer exist" in str(reason)
    assert "cancel this job" in str(reason)
    assert [path.name for path in extraction.iterdir() if path.is_file()] == [MARKER]


def test_a_text_that_lies_in_another_shard_now_is_reported(task_bench: TaskBench, begun: Path) -> None:
    task_bench.rows(
        "UPDATE item_index x SET shard = gen_random_uuid() FROM item i WHERE i.id = x.item AND i.display LIKE '%%b.txt' RETURNING 1"
    )
    task_bench.until(Phase.FINALISE)
    task_bench.drain()
    assert str(task_bench.advance()) == "completed_with_exceptions"
    first, second = csv_rows(begun / "metadata.csv")
    assert (first["text"], first["exceptions"]) == ("VOL001/TEXT/0001/A00000001.txt", "")
    assert (second["text"], second["exceptions"]) == ("", "vanished")


def test_a_shard_with_other_bytes_gives_no_texts(task_bench: TaskBench, begun: Path) -> None:
    """The engine does not notice them, and texts have no hash to compare with."""
    (file,) = (task_bench.storage_root / "jobs").rglob("*.pos")
    whole = file.read_bytes()
    file.write_bytes(whole[:9] + bytes([whole[9] ^ 1]) + whole[10:])
    task_bench.drain()
    state, reason = task_bench.reason()
    assert (state, file.name in str(reason)) == ("suspended", True)
    assert not list(begun.rglob("*.txt"))
    file.write_bytes(whole)
    task_bench.resume()
    task_bench.until(Phase.FINALISE)
    assert [path.read_bytes() for path in sorted(begun.rglob("*.txt"))] == [b"a.txt", b"b.txt"]


def test_what_verify_knows_beside_the_files_is_reported(task_bench: TaskBench, extraction: Path) -> None:
    """What else lies in the volumes, and an end that all load files lack: of how many items they have to tell."""
    task_bench.drain()
    assert str(task_bench.advance()) == "completed"

    def found() -> ProductionVerification:
        return verify_production(handle(task_bench.database, task_bench.job), filer(), examples=9, progress=print)

    assert found().differences == 0
    for name in ("VOL001/TEXT/0001/A9.txt", "VOL001/TEXT/0002/a.txt", "VOL001/a.docx", "VOL002/a.docx", "notes.txt"):
        (extraction / name).parent.mkdir(exist_ok=True)
        (extraction / name).touch()
    extra = sorted(one.path for one in found().examples if one.what == "extra")
    assert extra == ["VOL001/TEXT/0001/A9.txt", "VOL001/TEXT/0002", "VOL001/a.docx", "VOL002"]
    three = "UPDATE job SET options = jsonb_set(options, '{production,items}', '3') WHERE id = %(j)s RETURNING 1"
    task_bench.rows(three, j=task_bench.job)
    assert found().load_file_examples == ["metadata.csv: 2 records, but 3 are expected"]


def test_two_tasks_write_at_once(task_bench: TaskBench, extraction: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    task_bench.rows(
        "UPDATE task SET payload = CAST(%(p)s AS jsonb) WHERE job = %(j)s AND phase = 'finalise' RETURNING 1",
        j=task_bench.job,
        p=json.dumps({FINALISE_LIST: [FINALISE_TABLES]}),
    )
    with task_bench.database.transaction(durable=True) as conn:
        rest = NewTask(phase=Phase.FINALISE, weight=0, payload={FINALISE_LIST: [FINALISE_REST]})
        bulk.insert_tasks(conn, task_bench.job, [rest])
    tables, other = task_bench.dispatch()
    between: list[dict[str, bytes]] = []

    def with_others(work: TaskWork) -> Iterator[list[Record]]:
        yield from records(work)
        monkeypatch.setattr(finish, "records", records)
        task_bench.handle(other, task_bench.slot("w2"))
        between.append(tree(extraction))

    monkeypatch.setattr(finish, "records", with_others)
    task_bench.handle(tables)
    assert "metadata.jsonl" in between[0]
    assert "metadata.csv" not in between[0]
    assert str(task_bench.advance()) == "completed"
    written = tree(extraction)
    assert {name for name in written if "/" not in name} == {"metadata.jsonl", "metadata.csv", "hashes.csv"}
    assert written["metadata.csv"].count(b"\n") == 3
    reports = task_bench.rows(
        "SELECT path FROM production_file WHERE job = %(j)s AND kind = 'report' ORDER BY page", j=task_bench.job
    )
    assert [path for (path,) in reports] == ["metadata.jsonl", "metadata.csv", "hashes.csv"]


@pytest.mark.parametrize("failing", [1, 2])
def test_nothing_is_over_before_it_is_on_stable_storage(
    task_bench: TaskBench, extraction: Path, monkeypatch: pytest.MonkeyPatch, failing: int
) -> None:
    """The disk is waited for while all is told of, and once more behind the last name that a report got. Where either fails, the
    job is suspended, and ends when the disk is well."""
    calls = task_bench.context.recorder
    assert isinstance(calls, MemoryRecorder)
    syncs: list[int] = []

    def faulty(fd: int) -> None:
        syncs.append(fd)
        if len(syncs) == failing:
            raise OSError(errno.EIO, os.strerror(errno.EIO))

    monkeypatch.setattr(sync, "syncfs", faulty)
    monkeypatch.setattr(layer, "syncfs", faulty)
    task_bench.drain()
    assert task_bench.rows("SELECT state FROM job WHERE id = %(j)s", j=task_bench.job) == [("suspended",)]
    calls.records.clear()
    task_bench.resume()
    task_bench.drain()
    assert str(task_bench.advance()) == "completed"
    named = max(each.start_ns for each in calls.records if each.op is Op.RENAME)
    first, last = (each for each in calls.records if each.op is Op.FSYNC)
    assert first.start_ns < named < last.start_ns
    assert len(syncs) == failing + 2


def test_a_container_that_was_not_opened_has_a_record_and_a_page(task_bench: TaskBench) -> None:
    """Its exception is in its own record and in that of the item that holds it, in all load files; so is that of one which
    could be opened in part, whose items are produced. Images of it are a slip sheet."""
    locked = Path(__file__).with_name("encrypted.eml").read_bytes()
    (task_bench.source / "locked.eml").write_bytes(locked)
    cut = make_zip({"inner.zip": make_zip({"a.txt": b"a" * 500})[:60], "b.txt": b"b"})
    (task_bench.source / "cut.eml").write_bytes(make_mail("cut", attachments={"x.zip": cut}))
    (task_bench.source / "calm.eml").write_bytes(make_mail("calm", attachments={"x.zip": make_zip({"c.txt": b"c"})}))
    (task_bench.source / "loose.zip").write_bytes(make_zip({"d.txt": b"d" * 500})[:60])
    (task_bench.source / "empty.zip").write_bytes(make_zip({}))
    closed = {
        "a.7z": PASSWORD_7Z,
        "b.pst": b"!BDN" + b"\xff" * 508,
        "c.cab": b"MSCF" + bytes(40),
        "d.gz": b"\x1f\x8b\x08\0",
    }
    (task_bench.source / "closed.eml").write_bytes(make_mail("closed", attachments=closed))
    (task_bench.source / "loose.7z").write_bytes(PASSWORD_7Z)
    task_bench.create()
    assert task_bench.run() == "completed_with_exceptions"
    source = handle(task_bench.database, task_bench.job)

    def made(kind: JobType, images: JobHandle | None = None) -> tuple[JobHandle, dict[str, str]]:
        """Exceptions by path, of the CSV; `verify` compares DAT, EDRM XML, JSON lines and Opticon with it."""
        out = task_bench.home / f"{kind.value}{'' if images is None else ' with images'}"
        chosen = {"out": str(out), "prefix": "A" if images is None else "EDB"}
        chosen |= {"extras": ((DPI, "72"),)} if kind is JobType.PROCESSING else {}
        task_bench.job = produce(task_bench.context.settings, [source], kind, images, **chosen).id
        task_bench.run()
        job = handle(task_bench.database, task_bench.job)
        found = verify_production(job, filer(), examples=9, progress=lambda _: None)
        assert (found.differences, job.job.options.of_type.chosen) == (0, 16)
        if kind is JobType.PROCESSING or images is not None:
            assert (out / "loadfile.opt").read_text().count(",Y,") == 16
        listed = csv_rows(out / ("loadfile.csv" if kind is JobType.EXPORT else "metadata.csv"))
        return job, {row["path"]: row["exceptions"] for row in listed}

    own = {
        "locked.eml": "encrypted", "locked.eml / enc.zip": "encrypted", "cut.eml": "truncated",
        "cut.eml / x.zip / inner.zip": "truncated", "cut.eml / x.zip / inner.zip / a.txt": "", "cut.eml / x.zip / b.txt": "", "calm.eml": "",
        "calm.eml / x.zip / c.txt": "", "loose.zip": "truncated", "loose.zip / d.txt": "", "loose.7z": "encrypted",
        "closed.eml": "corrupt; encrypted; truncated", "closed.eml / a.7z": "encrypted", "closed.eml / b.pst": "truncated",
        "closed.eml / c.cab": "corrupt", "closed.eml / d.gz": "truncated",
    }  # fmt: skip
    slips = {
        path: f"{code}; unsupported" if code and path[-4:] not in (".eml", ".txt") else code
        for path, code in own.items()
    }
    pages, drawn = made(JobType.PROCESSING)
    assert drawn == slips
    assert made(JobType.EXTRACTION)[1] == made(JobType.EXPORT)[1] == own
    assert made(JobType.EXPORT, images=pages)[1] == slips
