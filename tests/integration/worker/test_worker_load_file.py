"""What a load file says of the files that were taken in is in the ledger, whichever way they were read."""

from __future__ import annotations

import hashlib
import io
import zipfile
from pathlib import Path
from typing import Any

import msgspec
import pytest
from taskbench import TaskBench

from core.imported import Record, record_path
from core.records import JobOptions
from readers.errors import ExceptionCode

pytestmark = pytest.mark.services


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
def test_a_loose_file_has_what_its_record_says(task_bench: TaskBench, single_pass: bool) -> None:
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
    told = {row.name: row.metadata for row in rows}
    assert (told["A1.eml"]["subject"], told["A1.eml"]["load_subject"]) == ("own", "told")
    third = told["A3.txt"]
    assert (third["subject"], third["date"], third["from"]) == ("told", "2001-02-03T04:05:06Z", "x" * 1_000)
    assert third["load_from"] == "x" * 2_000
    assert ("date" in told["A4"], told["A4"]["load_date"]) == (False, "3/2/01")
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
