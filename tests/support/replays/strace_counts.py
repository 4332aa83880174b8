"""What the kernel saw a program do to some directories, by op, from strace's output."""

import re
from collections import Counter
from collections.abc import Iterable

SYSCALLS = (
    "open,openat,openat2,creat,read,readv,pread64,preadv,preadv2,write,writev,pwrite64,close,fsync,fdatasync,syncfs,"
    "rename,renameat,renameat2,unlink,unlinkat,rmdir,mkdir,mkdirat,stat,lstat,fstat,newfstatat,statx,statfs,fcntl"
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
    """The op that a system call by itself amounts to; `path` for opens that are part of another."""
    if call in ("open", "openat", "openat2", "creat"):
        if "O_PATH" in arguments:
            return "path"
        if "O_DIRECTORY" in arguments:
            return "scan"
        return "create" if "O_CREAT" in arguments else "open"
    return _CLASS.get(call)


def kernel_counts(trace: str, roots: Iterable[str]) -> tuple[Counter[str], Counter[str], Counter[str]]:
    """Calls, failed calls and bytes by op, of those that name one of the roots (`strace -y` shows descriptors' paths)."""
    calls: Counter[str] = Counter()
    errors: Counter[str] = Counter()
    moved: Counter[str] = Counter()
    descriptors = _Descriptors()
    for line in trace.splitlines():
        match = _LINE.match(line)
        if not match or not any(root in line for root in roots):
            continue
        call, arguments, result = match[1], match[2], int(match[3])
        op = descriptors.op(call, arguments, result)
        if op is None:
            continue
        calls[op] += 1
        errors[op] += result < 0
        if op in ("read", "write"):
            moved[op] += max(result, 0)
    return calls, +errors, moved


class _Descriptors:
    """Those of directories and of paths (O_PATH): part of the call that they were opened for, and so is their close."""

    def __init__(self) -> None:
        self._directories: set[str] = set()
        self._paths: set[str] = set()

    def op(self, call: str, arguments: str, result: int) -> str | None:
        """As `class_of`, with what the descriptors say."""
        op, used = class_of(call, arguments), arguments.split("<")[0]
        if call == "fcntl":
            if "F_DUPFD" in arguments and used in self._directories:
                self._directories.add(str(result))
            return None
        if op == "path":
            if result < 0:  # a path that is looked at itself, or the directory above one that is made
                return "mkdir" if "O_DIRECTORY" in arguments else "stat"
            self._paths.add(str(result))
            return None
        if op == "scan" and result >= 0:
            self._directories.add(str(result))
        if op == "close" and (used in self._directories or used in self._paths):
            self._directories.discard(used)
            self._paths.discard(used)
            return None
        if call == "fstat" or (call == "newfstatat" and "AT_EMPTY_PATH" in arguments):
            return "stat" if used in self._paths else None
        return op
