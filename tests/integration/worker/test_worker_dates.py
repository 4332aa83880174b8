"""A job's time zone: what its items' dates are in the ledger, whichever way they came there."""

import io
import re
import zipfile
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from reportlab.pdfgen import canvas
from taskbench import TaskBench

from controller.databases import JobHandle
from controller.search.answers import Wanted, count_all
from controller.search.opened import opened_index
from core.errors import UsageError
from core.records import JobOptions
from sql.jobs import get_job

_MAIL = "From: a@b.example\nTo: c@d.example\nSubject: x\nDate: {}\n\nwords\n"
_TYPES = (
    '<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types"><Override PartName="/word/document.xml" '
    'ContentType="application/vnd.openxmlformats-officedocument.wordprocessingml.document.main+xml"/></Types>'
)
_CORE = (
    '<cp:coreProperties xmlns:cp="http://schemas.openxmlformats.org/package/2006/metadata/core-properties" '
    'xmlns:dcterms="http://purl.org/dc/terms/"><dcterms:created>2024-07-02T10:00:00</dcterms:created>'
    "<dcterms:modified>2024-07-02T10:00:00Z</dcterms:modified></cp:coreProperties>"
)
_WORD = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
_CALENDAR = (
    "BEGIN:VCALENDAR\nBEGIN:VEVENT\nSUMMARY:s\nDTSTART:20240331T023000\nDTEND;TZID=America/New_York:20240702T100000\n"
    "END:VEVENT\nEND:VCALENDAR\n"
)
_WANTED = {
    "UTC": {"plain.eml": "10:00", "memo.docx": "10:00", "memo.pdf": "10:00", "floating": "2024-03-31T02:30:00Z"},
    "Europe/Berlin": {"plain.eml": "08:00", "memo.docx": "08:00", "memo.pdf": "08:00", "floating": "2024-03-31T01:30:00Z"},
}  # fmt: skip


def _docx() -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        archive.writestr("[Content_Types].xml", _TYPES)
        archive.writestr(
            "word/document.xml", f'<document xmlns="{_WORD}"><body><p><r><t>words</t></r></p></body></document>'
        )
        archive.writestr("docProps/core.xml", _CORE)
    return out.getvalue()


def _pdf() -> bytes:
    """Created at ten, without an offset; saved with one."""
    out = io.BytesIO()
    paper = canvas.Canvas(out)
    paper.drawString(72, 700, "words")
    paper.showPage()
    paper.save()
    data = re.sub(
        rb"/CreationDate \(D:\d{14}([+-]\d\d'\d\d')?", _padded(b"/CreationDate (D:20240702100000"), out.getvalue()
    )
    return re.sub(rb"/ModDate \(D:\d{14}[+-]\d\d'\d\d'", b"/ModDate (D:20240702100000-05'00'", data)


def _padded(text: bytes) -> Any:
    return lambda match: text.ljust(len(match[0]))  # offsets of what follows stay


def _corpus(source: Path) -> None:
    (source / "plain.eml").write_text(_MAIL.format("Tue, 2 Jul 2024 10:00:00"))
    (source / "utc.eml").write_text(_MAIL.format("Tue, 2 Jul 2024 10:00:00 +0000"))
    (source / "zoned.eml").write_text(_MAIL.format("Tue, 2 Jul 2024 10:00:00 +0900"))
    (source / "memo.docx").write_bytes(_docx())
    (source / "memo.pdf").write_bytes(_pdf())
    (source / "event.ics").write_text(_CALENDAR)


def _found(bench: TaskBench) -> dict[str, dict[str, Any]]:
    rows = bench.rows(
        "SELECT container_path[1] AS name, metadata FROM item JOIN item_text ON item = id WHERE parent IS NULL"
    )
    return {row.name: row.metadata for row in rows}


def _hash(bench: TaskBench, name: str) -> bytes:
    (row,) = bench.rows("SELECT content_hash FROM item WHERE container_path[1] = %(name)s", name=name)
    return bytes(row.content_hash)


@pytest.mark.parametrize(("zone", "single_pass"), [("UTC", False), ("Europe/Berlin", False), ("Europe/Berlin", True)])
def test_dates_that_note_no_zone_are_the_jobs(task_bench: TaskBench, zone: str, single_pass: bool) -> None:
    """In UTC in the ledger with the original beside, in one pass and in two, and once more when an item is processed again;
    what notes a zone is the same in each job, and so is the message hash."""
    bench, wanted = task_bench, _WANTED[zone]
    bench.options = JobOptions(time_zone=zone, single_pass=single_pass)
    _corpus(bench.source)
    (bench.source / "late.eml").write_bytes(b"")
    bench.create()
    assert bench.run() == "completed_with_exceptions"
    found = _found(bench)
    assert found["utc.eml"]["date"] == "2024-07-02T10:00:00Z"
    assert found["plain.eml"]["date"] == f"2024-07-02T{wanted['plain.eml']}:00Z"
    assert found["plain.eml"]["date_original"] == "Tue, 2 Jul 2024 10:00:00"
    assert found["zoned.eml"]["date"] == "2024-07-02T01:00:00Z"
    assert found["memo.docx"]["created"] == f"2024-07-02T{wanted['memo.docx']}:00Z"
    assert found["memo.docx"]["created_original"] == "2024-07-02T10:00:00"
    assert found["memo.docx"]["modified"] == "2024-07-02T10:00:00Z"
    assert "modified_original" not in found["memo.docx"]
    assert found["memo.pdf"]["created"] == f"2024-07-02T{wanted['memo.pdf']}:00Z"
    assert found["memo.pdf"]["created_original"] == "2024-07-02T10:00:00"
    event = found["event.ics"]
    assert (event["start"], event["start_original"]) == (wanted["floating"], "2024-03-31T02:30:00")
    assert (event["end"], event["end_original"]) == ("2024-07-02T14:00:00Z", "2024-07-02T10:00:00[America/New_York]")
    (bench.source / "late.eml").write_text(_MAIL.format("2 Jul 2024 10:00"))
    assert bench.requeue() == 1
    bench.resume()
    assert bench.run() == "completed"
    assert _found(bench)["late.eml"]["date"] == found["plain.eml"]["date"]
    assert _hash(bench, "plain.eml") == _hash(bench, "utc.eml")


def test_a_date_with_a_zone_is_compared_as_far_as_it_is_given(task_bench: TaskBench) -> None:
    """As the same moment without one: neither the last minute of a period in local time nor the offset of a header is lost.
    What is no date is refused, where it would have found nothing."""
    bench = task_bench
    for name, time in (("a", "07:59:59"), ("b", "08:00:00"), ("c", "08:00:30"), ("d", "08:01:00")):
        (bench.source / f"{name}.eml").write_text(_MAIL.format(f"Mon, 1 Jul 2024 {time} +0000"))
    bench.create()
    assert bench.run() == "completed"
    with bench.database.transaction() as conn:
        handle = JobHandle(bench.database, get_job(conn, bench.job))
    opened = partial(opened_index, settings=bench.context.settings)

    def found(query: str) -> str:
        hits, _ = count_all([handle], opened, Wanted(query=query, limit=9))
        return "".join(sorted(hit.container_path[0][0] for hit in hits))

    for minute in ("08:00", "10:00+02:00", "10:00+0200", "08:00Z", "03:00-05:00", "13:30+05:30"):
        for op, wanted in (("=", "bc"), ("<=", "abc"), (">=", "bcd"), ("<", "a"), (">", "d")):
            assert found(f"date:{op}2024-07-01T{minute}") == wanted, (op, minute)
    for second in ("08:00:30", "10:00:30+02:00", "08:00:30Z"):
        assert found(f"date:=2024-07-01T{second}") == "c"
        assert found(f"date:<=2024-07-01T{second}") == "abc"
    for wrong in ("99:99", "10:00+2", "10:00+99:00", "10+02:00"):
        with pytest.raises(UsageError, match="date is a date, as in 2001"):
            found(f"date:=2024-07-01T{wrong}")
