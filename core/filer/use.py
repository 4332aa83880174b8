"""The file of an arbiter: the first user creates it, the last removes it; those of killed users are removed later.

Each user locks a byte of it (fcntl(2), shared). The kernel releases the lock when a process is killed, but the file
stays: so a process that finds no other lock on it creates a new one, and nothing of an old run's queues and caches is
in the next."""

from __future__ import annotations

import errno
import fcntl
import hashlib
import os
import re
import stat
import threading
from collections.abc import Collection
from pathlib import Path

from core.errors import StorageFault, system_errors

SHARED_MEMORY = Path("/dev/shm")
PREFIX = "edbench-filer-"  # of all arbiters' names
_NAME = re.compile(re.escape(PREFIX) + "[0-9a-f]{24}")  # as `arbiter_path` makes them
_USE_BYTE = 1
_File = tuple[int, int, int]  # process, device, inode

# Record locks belong to the process: a second look at a file of its own would find it unlocked, and closing it unlocks it.
_open_here: dict[_File, int] = {}
_turn = threading.Lock()  # between threads of this process, which share record locks


def arbiter_path(digest: str, home: Path | str, directory: Path | None = None) -> Path:
    """The file for each emulated filer and `home`: a run, whose members may have scratch of their own, or an
    installation's scratch. `directory` belongs to one installation, whose processes share it."""
    key = hashlib.sha256(f"{os.geteuid()} {'' if directory else home} {digest}".encode()).hexdigest()[:24]
    return (directory or SHARED_MEMORY) / f"{PREFIX}{key}"


def no_common_arbiter(database: str, hosts: Collection[tuple[str, str]], arbiter: str) -> str | None:
    """The reason why workers on these (host name, boot id) share no arbiter, and what to do; None if they share one.

    Workers of one kernel share its memory; containers do not unless `arbiter` (EDBENCH_FILER_ARBITER) names a directory
    that is the same for all of them."""
    if len({boot for _, boot in hosts}) > 1:
        return (
            f"the workers of {database} run on several hosts ({', '.join(sorted(host for host, _ in hosts))}),"
            " which cannot share one emulated filer; run them on one host, or without an emulated filer"
        )
    if len({host for host, _ in hosts}) > 1 and not arbiter:
        return (
            f"the workers of {database} run in several containers; set EDBENCH_FILER_ARBITER"
            " to a directory that all of them and this command share"
        )
    return None


def attach(path: Path, size: int) -> int:
    """Open the file of `size` bytes, marked as in use: empty if no other process uses it. Raises StorageFault."""
    with _turn:
        return _attach(path, size)


def _attach(path: Path, size: int) -> int:
    while True:
        fd = _open(path)
        try:
            if _file(fd) not in _open_here and _taken_alone(fd):
                if os.fstat(fd).st_size:
                    _remove(path, fd)
                else:
                    _sweep(path)
            fcntl.lockf(fd, fcntl.LOCK_SH, 1, _USE_BYTE)
            if os.fstat(fd).st_nlink:  # else another process, or the lines above, removed it
                os.posix_fallocate(fd, 0, size)  # full memory shows here, not as SIGBUS later
                _open_here[_file(fd)] = _open_here.get(_file(fd), 0) + 1
                return fd
        except OSError as e:
            os.close(fd)
            raise StorageFault(f"the emulated filer's arbiter {path}: {e.strerror}", errno=e.errno or 0) from e
        os.close(fd)


def let_go(path: Path, fd: int, *, remove: bool) -> None:
    """Close the file; `remove`: delete it too unless another process uses it. Raises StorageFault."""
    with _turn:
        _let_go(path, fd, remove=remove)


def _let_go(path: Path, fd: int, *, remove: bool) -> None:
    try:
        if remove and _taken_alone(fd):
            _remove(path, fd)
    except OSError as e:
        raise StorageFault(f"the emulated filer's arbiter {path}: {e.strerror}") from e
    finally:
        left = _open_here.pop(_file(fd), 1) - 1
        if left:
            _open_here[_file(fd)] = left
        os.close(fd)


def _taken_alone(fd: int) -> bool:
    """Return whether no other process uses the file. Then it is locked exclusively, until it is locked otherwise or
    closed."""
    try:
        fcntl.lockf(fd, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, _USE_BYTE)
    except OSError as e:
        if e.errno in (errno.EACCES, errno.EAGAIN):
            return False
        raise
    return True


def _remove(path: Path, fd: int) -> None:
    """Remove a file that only this process has locked; if it is removed already, its name may belong to another
    file."""
    if os.fstat(fd).st_nlink:
        path.unlink(missing_ok=True)


def _sweep(own: Path) -> None:
    """Remove the arbiters in a directory that killed processes of this user left."""
    try:
        names = os.listdir(own.parent)
    except OSError:
        return  # a directory that may be used and not listed
    for path in (own.parent / name for name in names if _NAME.fullmatch(name) and name != own.name):
        try:
            info = path.lstat()
            if (os.getpid(), info.st_dev, info.st_ino) in _open_here:
                continue
            fd = _open(path, create=False)
        except (OSError, StorageFault):
            continue  # removed meanwhile, or not ours
        try:
            if _taken_alone(fd):
                _remove(path, fd)
        finally:
            os.close(fd)


def _file(fd: int) -> _File:
    info = os.fstat(fd)
    return os.getpid(), info.st_dev, info.st_ino


def _open(path: Path, *, create: bool = True) -> int:
    with system_errors(StorageFault, f"the emulated filer's arbiter {path} cannot be opened"):
        flags = os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
        fd = os.open(path, flags | (os.O_CREAT if create else 0), 0o600)
    info = os.fstat(fd)
    if not stat.S_ISREG(info.st_mode) or info.st_uid != os.geteuid():
        os.close(fd)
        raise StorageFault(f"the emulated filer's arbiter {path} was not created by edbench; remove it, then try again")
    return fd


def _new_turn() -> None:
    """Replace the lock in a forked child: the thread that held it is in the parent."""
    global _turn
    _turn = threading.Lock()


os.register_at_fork(after_in_child=_new_turn)
