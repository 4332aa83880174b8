"""A trace as JSON lines and back."""

from __future__ import annotations

import io
import json
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from memory_traces import MemoryTrace
from trace_samples import any_traces, everything, written_and_moved

from core.errors import UsageError
from replay.jsonl import export_jsonl, import_jsonl


def exported(trace: MemoryTrace) -> str:
    out = io.StringIO()
    export_jsonl(trace, out)
    return out.getvalue()


@settings(max_examples=30)
@given(any_traces())
def test_nothing_is_lost_on_the_way(trace: MemoryTrace) -> None:
    with tempfile.TemporaryDirectory() as scratch:
        source, target = Path(scratch, "t.jsonl"), Path(scratch, "t")
        source.write_text(exported(trace), encoding="utf-8")
        import_jsonl(source, target)
        assert everything(target) == trace


def test_every_line_is_an_object_that_states_what_it_is() -> None:
    lines = [json.loads(line) for line in exported(written_and_moved()).splitlines()]
    assert [line["type"] for line in lines] == ["trace", *["call"] * 15, *["node"] * 5, "end"]
    assert lines[1] == {
        "type": "call", "stream": 0, "op": "scan", "start_ns": 0, "duration_ns": 10, "bytes": 0, "argument": 1,
        "node": 1, "other": -1, "error": 0, "phase": 0,
    }  # fmt: skip
    assert lines[18]["kind"] == "file"


def refusal(text: str, tmp_path: Path) -> str:
    (tmp_path / "t.jsonl").write_text(text, encoding="utf-8")
    with pytest.raises(UsageError) as caught:
        import_jsonl(tmp_path / "t.jsonl", tmp_path / "t")
    assert [path.name for path in tmp_path.iterdir()] == ["t.jsonl"], "nothing is left of a trace that is not whole"
    assert "\n" not in str(caught.value)
    return str(caught.value)


@pytest.mark.parametrize("cut", [0.02, 0.3, 0.6, 0.9, 0.99])
def test_a_file_cut_short_is_refused(cut: float, tmp_path: Path) -> None:
    text = exported(written_and_moved())
    assert "cut short" in refusal(text[: int(len(text) * cut)], tmp_path) or cut < 0.1
    lines = text.splitlines(keepends=True)
    refusal("".join(lines[: max(1, int(len(lines) * cut))]), tmp_path)


@pytest.mark.parametrize(
    ("old", "new", "shows"),
    [
        ('"op":"scan"', '"op":"dance"', "line 2"),
        ('"start_ns":1000000,', '"start_ns":-1,', "line 3"),
        ('"start_ns":2000000,', '"start_ns":1,', "line 4"),
        ('"node":1,"other"', '"node":99,"other"', "do not match the file"),
        ('"stream":1,', '"stream":7,', "stream"),
        ('"node":3,"parent":1', '"node":3,"parent":9', "out of order"),
        ('"calls":15,"nodes"', '"calls":14,"nodes"', "do not match the file"),
        ('"argument":1,', "", "argument"),
        ('"phase":1}', '"phase":2}', "phase"),
        ("edbench-trace-jsonl/1", "edbench-trace-jsonl/9", "first line"),
        ('{"type":"node","node":0', "[1]\n{", "line 17"),
    ],
)
def test_a_wrong_line_is_named(old: str, new: str, shows: str, tmp_path: Path) -> None:
    text = exported(written_and_moved())
    assert old in text
    assert shows in refusal(text.replace(old, new, 1), tmp_path)


def test_what_is_no_text_is_refused(tmp_path: Path) -> None:
    (tmp_path / "t.jsonl").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(UsageError, match="UTF-8"):
        import_jsonl(tmp_path / "t.jsonl", tmp_path / "t")
