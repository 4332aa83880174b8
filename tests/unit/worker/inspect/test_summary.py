"""worker.inspect.summary, and what `edbench inspect` prints of it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from unpacking import PNG, make_docx, make_mail, make_zip

from cli.main import OK, main
from worker.inspect.summary import Summary

TRUNCATED = make_zip({"a.txt": b"a" * 500, "b.txt": b"b" * 500}, stored=True)[:600]


def _files(where: Path) -> int:
    (where / "sub").mkdir()
    files = {
        "m.eml": make_mail("s", "text", {"p.png": PNG, "d.docx": make_docx()}),
        "sub/z.zip": make_zip({f"{n}.txt": b"text" for n in range(60)}),
        "sub/cut.zip": TRUNCATED,
        "odd.bin": bytes(range(256)),
        "empty": b"",
    }
    for name, data in files.items():
        (where / name).write_bytes(data)
    (where / "link").symlink_to("nowhere")
    return len(files) + 1


def test_every_file_is_in_the_summary(tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    """With --jsonl one line an item on standard output, and on standard error a summary that counts the same lines by
    format, text state and exception; without, the first items and the same summary."""
    loose = _files(tmp_path)
    assert main(["inspect", str(tmp_path), "-o", "jsonl", "--processes", "1"], {"COLUMNS": "200"}) == OK
    out, err = capfdbinary.readouterr()
    lines = [json.loads(line) for line in out.splitlines()]
    summary = Summary()
    for line in lines:
        summary.take(line)
    assert (summary.loose_files, summary.items) == (loose, len(lines)) == (6, 6 + 2 + 1 + 60 + 1)
    assert (summary.expected, summary.emitted, summary.failed, summary.remainders) == (65, 64, 1, 1)
    by_format = summary.formats
    assert by_format["Zip archives"].exceptions == {"truncated": 1}
    assert by_format["Plain text, source code, logs, JSON"].states == {"ok": 61}
    assert by_format["application/octet-stream"].states == {"unsupported": 1}
    assert by_format["inode/symlink"].exceptions == {"symlink": 1}
    said = b"6 loose files, 70 items, 4 of them with exceptions; children: 65 expected = 64 emitted + 1 failed; 1 cut short"
    assert said in err
    assert main(["inspect", str(tmp_path), "--processes", "1"], {"COLUMNS": "200"}) == OK
    out, err = capfdbinary.readouterr()
    assert said in out
    assert b"only the first 50 of 70 items are shown" in out


def test_counts_of_children_are_in_the_lines(tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    (tmp_path / "cut.zip").write_bytes(TRUNCATED)
    (tmp_path / "whole.zip").write_bytes(make_zip({"m.eml": make_mail("s", "t", {"a.bin": b"a"})}))
    assert main(["inspect", str(tmp_path), "-o", "jsonl", "--processes", "1"], {}) == OK
    found = {
        "/".join(line["container_path"]): line["children"]
        for line in map(json.loads, capfdbinary.readouterr().out.splitlines())
        if line["children"]
    }
    assert found == {
        "cut.zip": {"announced": None, "emitted": 1, "failed": 1, "remainder_unknown": True},
        "whole.zip": {"announced": 1, "emitted": 1, "failed": 0, "remainder_unknown": False},
        "whole.zip/m.eml": {"announced": None, "emitted": 1, "failed": 0, "remainder_unknown": False},
    }
