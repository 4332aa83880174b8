"""Kernel settings of a worker's processes (Linux: prctl(2), mallopt(3), setrlimit(2), cgroups(7))."""

from __future__ import annotations

import contextlib
import ctypes
import functools
import gc
import os
import resource
import signal
import struct
from collections.abc import Iterable, Iterator
from pathlib import Path

from monitoring.control_groups import ControlGroups

_PR_SET_PDEATHSIG = 1
_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD, _M_ARENA_MAX = -1, -3, -8
_ARENAS = 2  # one for the slot's work, one for the engine's writers and what else runs alongside
_LARGE_BLOCK = 4 << 20  # more than the chunks that files are read in, which come and go all the time
NEW_OBJECTS = 10_000
_TURN_NS = 12_000_000
_KEEP_POLICY = 8  # linux/sched.h: SCHED_FLAG_KEEP_POLICY
_SCHED_SETATTR = {"x86_64": 314, "aarch64": 274}  # libc has no function for it before glibc 2.41
_OOM_SCORE = 500  # the kernel is to take a slot before its supervisor, the database or the broker
_PROC = Path("/proc")


def die_with_parent(parent: int) -> None:
    """Request that the kernel kill this process when its parent dies; end it at once if the parent is gone already."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(_PR_SET_PDEATHSIG, int(signal.SIGKILL), 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "prctl(PR_SET_PDEATHSIG)")
    if os.getppid() != parent:
        os._exit(1)


def give_memory_back() -> None:
    """Return freed memory to the kernel (mallopt(3)); does nothing where libc cannot do that.

    By itself glibc returns a large block only until the first one is freed: from then on it takes blocks of that size,
    up to 32 MB, from its heap, where a small object after each keeps it, and a process stays as large as the large
    items that it has met. And it has a heap for each of up to eight threads a core: writers of the index, a task's each
    with threads of its own, would leave holes in all of them."""
    with contextlib.suppress(AttributeError):  # another libc than glibc
        mallopt = ctypes.CDLL(None).mallopt
        mallopt(_M_MMAP_THRESHOLD, _LARGE_BLOCK)
        mallopt(_M_TRIM_THRESHOLD, _LARGE_BLOCK)
        mallopt(_M_ARENA_MAX, _ARENAS)


def freeze() -> None:
    """Keep the garbage collector away from loaded objects before a fork, so that children share their pages; and have
    it look for cycles among new objects fifteen times less often than by default: parsers leave few."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(NEW_OBJECTS)


def take_longer_turns() -> None:
    """Request longer turns on a CPU (sched_setattr(2), from Linux 6.12 on; others ignore it): where more slots run than
    there are cores, each turn begins with the caches of another process. Database and broker keep short turns."""
    if (number := _SCHED_SETATTR.get(os.uname().machine)) is not None:
        nice = os.getpriority(os.PRIO_PROCESS, 0)
        attributes = struct.pack("=IIQiIQQQ", 48, 0, _KEEP_POLICY, nice, 0, _TURN_NS, 0, 0)
        ctypes.CDLL(None).syscall(number, 0, attributes, 0)


def limit_slot(memory_mb: int) -> None:
    """Limit this process's private memory (RLIMIT_DATA), allow no core files, be the OOM killer's first choice, and take
    longer turns."""
    give_memory_back()
    take_longer_turns()
    _, hard = resource.getrlimit(resource.RLIMIT_DATA)
    wanted = memory_mb * 1_000_000
    if hard != resource.RLIM_INFINITY:
        wanted = min(wanted, hard)
    resource.setrlimit(resource.RLIMIT_DATA, (wanted, hard))
    resource.setrlimit(resource.RLIMIT_CORE, (0, resource.getrlimit(resource.RLIMIT_CORE)[1]))
    try:
        (_PROC / "self/oom_score_adj").write_text(str(_OOM_SCORE))
    except OSError:
        return  # not every container lets us; it only matters when memory runs out


def thread_count() -> int:
    """Return the number of threads of this process; a fork is only safe with one."""
    return len(os.listdir(_PROC / "self/task"))


def ended_children() -> Iterator[tuple[int, int]]:
    """Yield the process id and the status of each child that has ended."""
    with contextlib.suppress(ChildProcessError):
        while (ended := os.waitpid(-1, os.WNOHANG))[0]:
            yield ended


def oom_kills() -> int | None:
    """Return the number of processes of this control group that the kernel killed when memory ran out; None if it does
    not report that."""
    file = _oom_file()
    return None if file is None else _oom_count(file)


@functools.cache
def _oom_file() -> Path | None:
    """Return the first file that reports it; determined once, because a supervisor reads it four times a second."""
    return next((file for file in _oom_files() if _oom_count(file) is not None), None)


def _oom_count(file: Path) -> int | None:
    try:
        text = file.read_text()  # to its end: the kernel gives /proc/vmstat a page at a time
    except OSError:
        return None
    for line in text.splitlines():
        name, _, value = line.partition(" ")
        if name == "oom_kill" and value.strip().isdigit():
            return int(value)
    return None


def _oom_files() -> Iterable[Path]:
    """Return the candidates, the best first: the group and those around it (version 2, version 1), the whole
    machine."""
    for at in ControlGroups(_PROC).of("memory"):
        yield from (at / "memory.events", at / "memory.oom_control")
    yield _PROC / "vmstat"
