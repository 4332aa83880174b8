"""Call records against what the kernel saw: a fixed workload under strace (design §4)."""

import json
import os
import sys
from pathlib import Path

import pytest
from debian_programs import program
from recording import run
from strace_counts import SYSCALLS, kernel_counts

# Does everything the storage layer can, twice over: with each fsync policy, with files small, large and missing.
WORKLOAD = r"""
import io, json, os, sys
from collections import Counter
from core.errors import EdbenchError
from recording import MemoryRecorder
from core.records import FsyncPolicy
from core.storage.layer import Storage

root = os.fsencode(sys.argv[1])
recorder = MemoryRecorder()
for policy in FsyncPolicy:
    storage = Storage(recorder, policy)
    if sys.argv[3] == "beneath":
        storage.keep_below(root, own=True, hold=policy is FsyncPolicy.TASK)
    base = root + b"/" + policy.value.encode()
    storage.root_identity(root)
    storage.space(root)
    for n in range(20):
        storage.write_file(base + b"/%d/f%d" % (n % 3, n), [b"x" * 1000] * (n * 200))
    os.mkfifo(base + b"/fifo")
    os.symlink(b"fifo", base + b"/link")
    for directory in (base, base + b"/0", base + b"/1", base + b"/gone"):
        try:
            entries = storage.scan(directory)
        except EdbenchError:
            continue
        for entry in entries:
            path = directory + b"/" + entry.name
            storage.stat(path)
            try:
                with io.BufferedReader(storage.open(path), 1 << 20) as file:
                    while file.read(100_000):
                        pass
                with storage.open(path) as raw:
                    raw.readall()
                    raw.pread(10, 5)
            except EdbenchError:
                pass
    with storage.create(base + b"/direct") as file:
        file.write(b"abc")
        file.sync()
    storage.rename(base + b"/direct", base + b"/renamed")
    storage.sync_written()
    storage.sync_tree(base)
    storage.copy_in(sys.argv[2], base + b"/published")
    try:
        storage.remove(base + b"/gone")
    except EdbenchError:
        pass
    storage.remove_tree(base)
print(json.dumps({
    "calls": Counter(r.op.label for r in recorder.records),
    "errors": Counter(r.op.label for r in recorder.records if r.error),
    "read": sum(r.bytes for r in recorder.records if r.op.label == "read"),
    "write": sum(r.bytes for r in recorder.records if r.op.label == "write"),
}))
"""


@pytest.mark.parametrize("where", ["anywhere", "beneath"])
def test_records_are_what_the_kernel_saw(tmp_path: Path, where: str) -> None:
    program("strace", "strace")
    (tmp_path / "fs").mkdir()
    local = tmp_path / "local"
    local.write_bytes(b"y" * 2_500_000)
    trace = tmp_path / "trace"
    done = run(
        *("strace", "-f", "-y", "-s", "0", "-o", str(trace), "-e", f"trace={SYSCALLS}"),
        *(sys.executable, "-c", WORKLOAD, str(tmp_path / "fs"), str(local), where),
    )
    if "PTRACE" in done.stderr.upper() and os.environ.get("CI") != "true":
        pytest.skip(f"strace may not trace here: {done.stderr.strip()}")
    assert done.returncode == 0, done.stderr
    recorded = json.loads(done.stdout)
    calls, errors, moved = kernel_counts(trace.read_text(errors="replace"), [f"{tmp_path}/fs"])
    assert recorded["calls"] == dict(calls)
    assert recorded["errors"] == dict(errors)
    assert (recorded["read"], recorded["write"]) == (moved["read"], moved["write"])
    assert set(recorded["calls"]) == {
        *("scan", "stat", "open", "read", "create", "write", "fsync", "close", "rename", "remove", "mkdir")
    }
