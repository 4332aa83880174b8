"""What strace sees of a program, imported, is what the program's own recorder saw."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from debian_programs import program
from trace_samples import everything

from core.operations import Op
from replay.strace.importing import import_strace

_ROOT = Path(__file__).parents[4]
# Works through the storage layer, as a worker does, and prints op, bytes and error of every call it recorded.
_PROGRAM = """
import errno, json, os, sys
from core.errors import EdbenchError
from core.storage.layer import Storage
from recording import MemoryRecorder
recorder = MemoryRecorder()
storage = Storage(recorder)
root = os.fsencode(sys.argv[1])
storage.mkdir(root + b"/made/deep")
for number in range(3):
    storage.write_file(root + b"/made/deep/f%d" % number, [b"x" * 70_000, b"y" * 5])
for entry in sorted(storage.scan(root + b"/made/deep"), key=lambda entry: entry.name):
    path = root + b"/made/deep/" + entry.name
    storage.stat(path)
    with storage.open(path) as file:
        file.read(50_000)
        file.pread(1_000, 69_000)
        file.readall()
try:
    storage.open(root + b"/none")
except EdbenchError:
    pass
storage.remove(root + b"/made/deep/f1")
print(json.dumps([[r.op.label, r.bytes, r.error] for r in recorder.records]))
"""


def test_an_import_gives_what_was_recorded(tmp_path: Path) -> None:
    strace = program("strace", "strace")
    data, log = tmp_path / "data", tmp_path / "log"
    data.mkdir()
    ended = subprocess.run(
        [strace, "-f", "-ttt", "-T", "-o", str(log), sys.executable, "-c", _PROGRAM, str(data)],
        cwd=_ROOT,
        env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1", "PYTHONPATH": f"{_ROOT}/tests/support/systems"},
        capture_output=True, text=True, check=False, timeout=300,
    )  # fmt: skip
    if "PTRACE" in ended.stderr:
        pytest.skip("this system lets nobody trace a program")
    assert ended.returncode == 0, ended.stderr
    recorded = json.loads(ended.stdout)
    done = import_strace(log, tmp_path / "t", under=[data])
    (stream,) = everything(tmp_path / "t").streams
    assert [[call.op.label, call.bytes, call.error] for call in stream] == recorded
    assert sum(call.op is Op.READ for call in stream) > 6
    assert done.malformed == 0
