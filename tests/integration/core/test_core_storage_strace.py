"""Call records against what the kernel saw: a fixed workload under strace (design §4)."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).parents[3]
SYSCALLS = (
    "open,openat,creat,read,readv,pread64,preadv,preadv2,write,writev,pwrite64,close,fsync,fdatasync,syncfs,"
    "rename,renameat,renameat2,unlink,unlinkat,rmdir,mkdir,mkdirat,stat,lstat,newfstatat,statx,statfs"
)

# Does everything the storage layer can, twice over: with each fsync policy, with files small, large and missing.
WORKLOAD = r"""
import io, json, os, sys
from collections import Counter
from core.errors import EdbenchError
from core.operations import MemoryRecorder
from core.records import FsyncPolicy
from core.storage import Storage

root = os.fsencode(sys.argv[1])
recorder = MemoryRecorder()
for policy in FsyncPolicy:
    storage = Storage(recorder, policy)
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

_LINE = re.compile(r"^(?:\d+ +)?(?:<\.\.\. )?(\w+)(?:\(| resumed>)(.*)\s=\s(-?\d+)", re.DOTALL)
_CLASS = {
    **dict.fromkeys(("read", "readv", "pread64", "preadv", "preadv2"), "read"),
    **dict.fromkeys(("write", "writev", "pwrite64"), "write"),
    **dict.fromkeys(("fsync", "fdatasync", "syncfs"), "fsync"),
    **dict.fromkeys(("rename", "renameat", "renameat2"), "rename"),
    **dict.fromkeys(("unlink", "unlinkat", "rmdir"), "remove"),
    **dict.fromkeys(("mkdir", "mkdirat"), "mkdir"),
    **dict.fromkeys(("stat", "lstat", "newfstatat", "statx", "statfs"), "stat"),
    "close": "close",
}


def class_of(call: str, arguments: str) -> str | None:
    """The op that a system call on the storage amounts to; None for parts of another (fstat, a directory's close)."""
    if call in ("open", "openat", "creat"):
        if "O_DIRECTORY" in arguments:
            return "scan"
        return "create" if "O_CREAT" in arguments else "open"
    if call == "newfstatat" and "AT_EMPTY_PATH" in arguments:
        return None  # fstat: part of open or scan
    return _CLASS.get(call)


def kernel_counts(trace: str, root: str) -> tuple[Counter[str], Counter[str], Counter[str]]:
    """Calls, failed calls and bytes by op, of those that name the root (`strace -y` shows descriptors' paths)."""
    calls: Counter[str] = Counter()
    errors: Counter[str] = Counter()
    moved: Counter[str] = Counter()
    directories: set[str] = set()
    for line in trace.splitlines():
        match = _LINE.match(line)
        if not match or root + "/fs" not in line:
            continue
        call, arguments, result = match[1], match[2], int(match[3])
        op = class_of(call, arguments)
        if op == "scan" and result >= 0:
            directories.add(f"{result}<")
        if op == "close" and any(arguments.startswith(fd) for fd in directories):
            directories.discard(arguments.split("<")[0] + "<")
            continue
        if op is None:
            continue
        calls[op] += 1
        errors[op] += result < 0
        if op in ("read", "write"):
            moved[op] += max(result, 0)
    return calls, +errors, moved


def test_records_are_what_the_kernel_saw(tmp_path: Path) -> None:
    """Per op, recorded calls, errors and bytes equal the system calls on the storage root: none is missed or made up."""
    if shutil.which("strace") is None:
        if os.environ.get("CI") == "true":
            pytest.fail("strace is not installed; CI must have it")
        pytest.skip("strace is not installed")
    (tmp_path / "fs").mkdir()
    local = tmp_path / "local"
    local.write_bytes(b"y" * 2_500_000)
    trace = tmp_path / "trace"
    done = subprocess.run(
        [
            *("strace", "-f", "-y", "-s", "0", "-o", str(trace), "-e", f"trace={SYSCALLS}"),
            *(sys.executable, "-c", WORKLOAD, str(tmp_path / "fs"), str(local)),
        ],
        cwd=REPOSITORY,
        env={**os.environ, "PYTHONPATH": str(REPOSITORY)},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    if "PTRACE" in done.stderr.upper() and os.environ.get("CI") != "true":
        pytest.skip(f"strace may not trace here: {done.stderr.strip()}")
    assert done.returncode == 0, done.stderr
    recorded = json.loads(done.stdout)
    calls, errors, moved = kernel_counts(trace.read_text(errors="replace"), str(tmp_path))
    assert recorded["calls"] == dict(calls)
    assert recorded["errors"] == dict(errors)
    assert (recorded["read"], recorded["write"]) == (moved["read"], moved["write"])
    assert set(recorded["calls"]) == {
        *("scan", "stat", "open", "read", "create", "write", "fsync", "close", "rename", "remove", "mkdir")
    }
