"""What the kernel saw a program do to some directories, by op, from strace's output."""

from __future__ import annotations

import os
import re
import shutil
from collections import Counter
from collections.abc import Iterable

import pytest

SYSCALLS = (
    "open,openat,creat,read,readv,pread64,preadv,preadv2,write,writev,pwrite64,close,fsync,fdatasync,syncfs,"
    "rename,renameat,renameat2,unlink,unlinkat,rmdir,mkdir,mkdirat,stat,lstat,newfstatat,statx,statfs"
)

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


def kernel_counts(trace: str, roots: Iterable[str]) -> tuple[Counter[str], Counter[str], Counter[str]]:
    """Calls, failed calls and bytes by op, of those that name one of the roots (`strace -y` shows descriptors' paths)."""
    calls: Counter[str] = Counter()
    errors: Counter[str] = Counter()
    moved: Counter[str] = Counter()
    directories: set[str] = set()
    for line in trace.splitlines():
        match = _LINE.match(line)
        if not match or not any(root in line for root in roots):
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


def need_strace() -> None:
    """Skip with a reason where there is no strace; CI must have it."""
    if shutil.which("strace") is None:
        if os.environ.get("CI") == "true":
            pytest.fail("strace is not installed; CI must have it")
        pytest.skip("strace is not installed")
