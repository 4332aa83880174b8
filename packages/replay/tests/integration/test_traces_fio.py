"""fio itself runs the job that an export makes."""

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest
from memory_traces import MemoryTrace
from trace_samples import directory, sample_trace, written_and_moved

from core.operations import Op
from replay.exports import export_trace
from replay.jsonl import ExportFormat
from replay.table import Layout

pytestmark = pytest.mark.skipif(shutil.which("fio") is None, reason="fio is not installed")


def run(trace: MemoryTrace, tmp_path: Path) -> dict[str, dict[str, object]]:
    """What fio reports of each section."""
    export_trace(trace, ExportFormat.FIO, tmp_path / "job")
    (tmp_path / "target").mkdir()
    command = [
        "fio",
        "--output-format=json",
        f"--output={tmp_path / 'said.json'}",
        str(tmp_path / "job" / "replay.fio"),
    ]
    ended = subprocess.run(
        command, cwd=tmp_path / "target", env={**os.environ, "TRACE_DIR": str(tmp_path / "job")}, check=False,
        capture_output=True, text=True, timeout=300,
    )  # fmt: skip
    text = (tmp_path / "said.json").read_text()
    assert ended.returncode == 0, ended.stderr + text
    return {job["jobname"]: job for job in json.loads(text[text.index("{") :])["jobs"]}


def test_fio_makes_the_reads_and_writes_of_the_trace(tmp_path: Path) -> None:
    trace = written_and_moved()
    jobs = run(trace, tmp_path)
    moved = {
        name: [(job[way]["total_ios"], job[way]["io_bytes"]) for way in ("read", "write")]  # type: ignore[index]
        for name, job in jobs.items()
    }
    assert moved == {
        "prepare": [(0, 0), (2, 8000)],
        "stream0": [(2, 5000), (1, 3000)],
        "stream1": [(1, 3000), (0, 0)],
    }
    assert all(job["error"] == 0 for job in jobs.values())
    layout = Layout(trace.nodes)
    sizes = {number: (tmp_path / "target" / layout.path(number).decode()).stat().st_size for number in (2, 4)}
    assert sizes == {2: 5000, 4: 3000}


def test_a_trace_without_files_to_fill_runs_too(tmp_path: Path) -> None:
    made = written_and_moved()
    calls = [call for call in made.streams[0] if call.op in (Op.CREATE, Op.WRITE, Op.CLOSE) and call.node == 3]
    nodes = [directory(), directory(0, name_bytes=4), made.nodes[2]._replace(existed=False, size=0), made.nodes[3]]
    jobs = run(sample_trace(nodes, [calls]), tmp_path)
    assert jobs["stream0"]["write"]["io_bytes"] == 3000  # type: ignore[index]
