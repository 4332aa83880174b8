"""Phase ocr on a real ledger, with real pictures and the real tesseract."""

import dataclasses
import uuid
from pathlib import Path

import pytest
from debian_programs import program
from ocr_pictures import ENGLISH, captioned, mixed_pdf, picture, stand_in
from taskbench import TaskBench
from unpacking import make_zip

from core.records import JobOptions, Phase
from readers.records import TextState
from search.engine import open_reader
from sql import jobs
from worker.ocr import reading as ocr

OCR = JobOptions(ocr=ENGLISH)


def _corpus(source: Path) -> None:
    """A picture with words and a caption in an archive, a scan of two pages, a picture without words, and a text that is none."""
    words = captioned(picture("PNG", ["HARVEST LANTERN"]), "seen at the jetty")
    (source / "a.zip").write_bytes(make_zip({"in.png": words, "x.txt": b"plain harvest"}))
    (source / "scan.pdf").write_bytes(picture("PDF", ["UMBRELLA"], ["HARVEST"]))
    (source / "white.png").write_bytes(picture("PNG", []))
    (source / "mixed.pdf").write_bytes(mixed_pdf("plain harvest", ["UMBRELLA"], None))


def _states(bench: TaskBench) -> dict[str, str]:
    rows = bench.rows(
        "SELECT array_to_string(container_path, '/') AS path, state FROM item JOIN item_text ON item = id"
    )
    return {row.path: row.state for row in rows}


def _hits(bench: TaskBench, view: Path, query: str) -> list[str]:
    """Paths of what a search finds, by the owners that the database names."""
    owners = {r.item: (r.shard, r.owner) for r in bench.rows("SELECT * FROM item_index")}
    paths = {r.id: r.path for r in bench.rows("SELECT id, array_to_string(container_path, '/') AS path FROM item")}
    found = []
    for row in bench.rows("SELECT id, engine FROM shard"):
        reader = open_reader(row.engine, bench.shard_folder(row.id), view / uuid.uuid4().hex)
        found += [paths[h.item] for h in reader.search(query, 100) if owners.get(h.item) == (row.id, h.owner)]
    return sorted(found)


def _task(bench: TaskBench) -> uuid.UUID:
    """The one task of phase ocr, dispatched."""
    bench.until(Phase.OCR)
    (task,) = bench.dispatch()
    return task


@pytest.mark.parametrize("single_pass", [False, True])
def test_words_in_pictures_are_found(task_bench: TaskBench, tmp_path: Path, single_pass: bool) -> None:
    program("tesseract", "tesseract-ocr")
    bench = task_bench
    bench.options = dataclasses.replace(OCR, single_pass=single_pass)
    _corpus(bench.source)
    bench.create()
    assert bench.run() == "completed"
    assert _states(bench) == {
        "a.zip": TextState.EMPTY,
        "a.zip/in.png": TextState.OK,
        "a.zip/x.txt": TextState.OK,
        "mixed.pdf": TextState.OK,
        "scan.pdf": TextState.OK,
        "white.png": TextState.NO_TEXT_LAYER,
    }
    assert _hits(bench, tmp_path, "harvest") == ["a.zip/in.png", "a.zip/x.txt", "mixed.pdf", "scan.pdf"]
    assert _hits(bench, tmp_path, "umbrella") == ["mixed.pdf", "scan.pdf"]
    assert _hits(bench, tmp_path, "jetty") == ["a.zip/in.png"]
    assert bench.value("SELECT count(*) FROM item_text WHERE metadata ? 'ocr'") == 4
    assert bench.value("SELECT count(*) FROM item_index") == 6
    with bench.database.transaction() as conn:
        now = jobs.progress(conn, bench.job)
    assert [*now.phases] == [phase for phase in OCR.phases if not (single_pass and phase is Phase.INDEX)]
    assert (now.phases[Phase.OCR].items, now.items, now.items_indexed) == (4, 6, 6)


def test_a_job_that_does_not_ask_has_no_such_phase(task_bench: TaskBench) -> None:
    _corpus(task_bench.source)
    task_bench.create()
    assert task_bench.run() == "completed_with_exceptions"
    assert task_bench.codes() == {"mixed.pdf": ["unsupported"]}
    assert _states(task_bench)["scan.pdf"] == TextState.NO_TEXT_LAYER
    assert _states(task_bench)["mixed.pdf"] == TextState.PARTIAL
    assert task_bench.value("SELECT count(*) FROM task WHERE phase = 'ocr'") == 0
    assert task_bench.value("SELECT count(*) FROM job_phase") == 4


def test_its_reads_are_recorded_calls(task_bench: TaskBench, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(ocr, "find_engine", lambda: stand_in(tmp_path, ""))
    task_bench.options = OCR
    _corpus(task_bench.source)
    task_bench.create()
    task = _task(task_bench)
    recorder = task_bench.context.recorder
    before = sum(record.bytes for record in recorder.records if record.op.name == "READ")
    task_bench.handle(task)
    read = sum(record.bytes for record in recorder.records if record.op.name == "READ") - before
    sizes = task_bench.value("SELECT sum(bytes) FROM item WHERE media_type IN ('image/png', 'application/pdf')")
    assert read == sizes


def test_an_attempt_that_was_taken_over_leaves_nothing(
    task_bench: TaskBench, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Its slot was thought dead at the end of its work: the next one does it again, and each item has one valid
    document."""
    program("tesseract", "tesseract-ocr")
    bench = task_bench
    bench.options = OCR
    _corpus(bench.source)
    bench.create()
    task = _task(bench)
    with monkeypatch.context() as patch:
        bench.take_over(patch, Phase.OCR, task)
        bench.handle(task)
    assert _hits(bench, tmp_path, "umbrella") == []
    assert bench.run() == "completed"
    assert _hits(bench, tmp_path, "harvest") == ["a.zip/in.png", "a.zip/x.txt", "mixed.pdf", "scan.pdf"]
    (row,) = bench.rows("SELECT attempt, token FROM task WHERE id = %(t)s", t=task)
    assert row.attempt == 2
    assert row.token.hex in {r.owner for r in bench.rows("SELECT owner FROM item_index")}


def test_a_picture_that_kills_costs_its_siblings_nothing(
    task_bench: TaskBench, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    word = r"printf '5\t1\t1\t1\t1\t1\t0\t0\t9\t9\t90\tfound\n'"
    killer = stand_in(tmp_path, f"head -c 2 | grep -q P5 && {{ {word}; exit; }}; kill -SEGV $$")
    monkeypatch.setattr(ocr, "find_engine", lambda: killer)
    task_bench.options = OCR
    (task_bench.source / "bad.png").write_bytes(picture("PNG", ["HARVEST"]))
    (task_bench.source / "good.pdf").write_bytes(picture("PDF", ["HARVEST"]))
    task_bench.create()
    assert task_bench.run() == "completed_with_exceptions"
    assert task_bench.codes() == {"bad.png": ["killed_parser"]}
    assert _states(task_bench) == {"bad.png": TextState.FAILED, "good.pdf": TextState.OK}
    assert task_bench.value("SELECT phase FROM exception") == "ocr"
    assert _hits(task_bench, tmp_path, "found") == ["good.pdf"]
    assert task_bench.value("SELECT count(*) FROM item_index") == 2


def test_a_worker_without_tesseract_suspends_the_job(
    task_bench: TaskBench, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    task_bench.options = OCR
    _corpus(task_bench.source)
    task_bench.create()
    with monkeypatch.context() as patch:
        patch.setenv("PATH", str(tmp_path))
        task_bench.drain()
    state, reason = task_bench.reason()
    assert state == "suspended"
    assert "worker w1 cannot do the OCR of this job (--ocr): tesseract is not installed on this host" in reason
    assert "apt-get install tesseract-ocr" in reason
    assert reason.endswith("then resume the job")
    assert task_bench.value("SELECT max(failures) FROM task") == 0


def test_what_is_gone_over_again_is_counted_once(
    task_bench: TaskBench, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    bench = task_bench
    bench.options = OCR
    (bench.source / "a.png").write_bytes(picture("PNG", ["HARVEST"]))
    (bench.source / "b.png").write_bytes(picture("PNG", ["HARVEST", "LANTERN"]))
    bench.create()
    monkeypatch.setattr(ocr, "find_engine", lambda: stand_in(tmp_path, "kill -SEGV $$"))
    assert bench.run() == "completed_with_exceptions"
    monkeypatch.setattr(ocr, "find_engine", lambda: stand_in(tmp_path, ""))
    assert bench.requeue("killed_parser") == 2
    bench.resume()
    assert bench.run() == "completed"
    with bench.database.transaction() as conn:
        now = jobs.progress(conn, bench.job)
    assert (now.phases[Phase.OCR].items, now.items, now.items_indexed) == (2, 2, 2)
