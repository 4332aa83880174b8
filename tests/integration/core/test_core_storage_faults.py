"""core.storage.layer on file systems that are full, read-only and gone: real ones, in a mount namespace of a child."""

import json
import os
import subprocess
import sys
from typing import Any

import pytest
from recording import run

# Runs with a mount namespace of its own; prints one JSON object: what → what happened.
CHILD = r"""
import errno, json, os, subprocess, sys
from core.errors import EdbenchError
from recording import MemoryRecorder
from core.records import FsyncPolicy
from core.storage.layer import Storage

root = os.fsencode(sys.argv[1])
recorder = MemoryRecorder()
storage = Storage(recorder)
out = {}

def mount(*options):
    subprocess.run(["mount", *options], check=True)

def attempt(what, call):
    before = len(recorder.records)
    try:
        call()
    except EdbenchError as e:
        out[what] = {"type": type(e).__name__, "errno": errno.errorcode.get(e.errno, e.errno), "text": str(e)}
        errors = {r.error for r in recorder.records[before:]}
        out[what]["recorded"] = sorted(errno.errorcode[n] for n in errors if n)
    else:
        out[what] = None

mount("-t", "tmpfs", "-o", "size=1m", "none", sys.argv[1])
full = [bytes(300_000)] * 5
attempt("full", lambda: storage.write_file(root + b"/a/f", full))
out["left"] = os.listdir(root + b"/a")
attempt("after", lambda: storage.write_file(root + b"/a/g", [b"x" * 1000]))
mount("-o", "remount,bind,ro", sys.argv[1])  # works without real root too
attempt("read-only", lambda: storage.write_file(root + b"/a/h", [b"x"]))
attempt("still read", lambda: storage.open(root + b"/a/g").close())
before = storage.root_identity(root)
subprocess.run(["umount", sys.argv[1]], check=True)
attempt("gone", lambda: storage.open(root + b"/a/g"))
out["other root"] = storage.root_identity(root) != before
mount("-t", "tmpfs", "-o", "nr_inodes=5", "none", sys.argv[1])
for n in range(6):
    attempt("inodes", lambda: storage.write_file(root + b"/%d" % n, [b"x"]))
print(json.dumps(out))
"""


def in_namespace(*command: str) -> subprocess.CompletedProcess[str]:
    user = [] if os.geteuid() == 0 else ["--map-root-user"]
    return run("unshare", *user, "--mount", *command)


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    directory = tmp_path_factory.mktemp("mount")
    try:
        probe = in_namespace("mount", "-t", "tmpfs", "none", str(directory))
    except FileNotFoundError:
        pytest.skip("no unshare(1) here")
    if probe.returncode:
        pytest.skip(f"no mount namespaces here: {probe.stderr.strip()}")
    done = in_namespace(sys.executable, "-c", CHILD, str(directory))
    assert done.returncode == 0, done.stderr
    result: dict[str, Any] = json.loads(done.stdout)
    return result


def test_a_full_file_system_is_a_fault_that_leaves_nothing(found: dict[str, Any]) -> None:
    assert (found["full"]["type"], found["full"]["errno"], found["full"]["recorded"]) == (
        "StorageFault",
        "ENOSPC",
        ["ENOENT", "ENOSPC"],  # ENOENT: the directory was made first
    )
    assert "free space" in found["full"]["text"]
    assert found["left"] == []
    assert found["after"] is None


def test_inodes_can_run_out_too(found: dict[str, Any]) -> None:
    assert (found["inodes"]["type"], found["inodes"]["errno"]) == ("StorageFault", "ENOSPC")


def test_a_read_only_file_system_is_a_fault(found: dict[str, Any]) -> None:
    assert (found["read-only"]["type"], found["read-only"]["errno"]) == ("StorageFault", "EROFS")
    assert "mount it writable" in found["read-only"]["text"]
    assert found["still read"] is None


def test_an_unmounted_root_is_distinguished_from_a_vanished_file(found: dict[str, Any]) -> None:
    """The file looks vanished, but the root has another identity: the caller suspends instead."""
    assert (found["gone"]["type"], found["gone"]["errno"]) == ("SourceFileError", "ENOENT")
    assert found["other root"] is True
