"""What a worker asks of the kernel about its processes (Linux: prctl(2), proc(5), cgroups(7))."""

from __future__ import annotations

import contextlib
import ctypes
import functools
import gc
import os
import re
import resource
import signal
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from pathlib import Path

from monitoring.control_groups import ControlGroups

_PR_SET_PDEATHSIG = 1
_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD, _M_ARENA_MAX = -1, -3, -8
_ARENAS = 2  # one for the slot's work, one for the engine's writers and what else runs alongside
_LARGE_BLOCK = 4 << 20  # more than the chunks that files are read in, which come and go all the time
NEW_OBJECTS = 10_000
_OOM_SCORE = 500  # the kernel is to take a slot before its supervisor, the database or the broker
_PROC = Path("/proc")
_TICKS = os.sysconf("SC_CLK_TCK")
_PAGE = os.sysconf("SC_PAGE_SIZE")
STOPPED_STATES = ("T", "t")
DEAD_STATES = ("Z", "X", "x")


def die_with_parent(parent: int) -> None:
    """This process is killed when its parent dies; ends it at once if the parent is gone already."""
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
    with threads of its own, would leave holes in all of them.
    """
    with contextlib.suppress(AttributeError):  # another libc than glibc
        mallopt = ctypes.CDLL(None).mallopt
        mallopt(_M_MMAP_THRESHOLD, _LARGE_BLOCK)
        mallopt(_M_TRIM_THRESHOLD, _LARGE_BLOCK)
        mallopt(_M_ARENA_MAX, _ARENAS)


def freeze() -> None:
    """Before forking: what is loaded is for ever, so the garbage collector keeps its hands off pages that children share;
    and it looks for cycles among new objects fifteen times less often than by itself, where parsers leave few."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(NEW_OBJECTS)


def limit_slot(memory_mb: int) -> None:
    """Private memory of this process at most that much (RLIMIT_DATA), no core files, first in line for the OOM killer."""
    give_memory_back()
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


def _stat_fields(process: int | str) -> list[str]:
    """Fields of /proc/PID/stat from the state on; empty when the process is gone."""
    try:
        text = _read(f"{_PROC}/{process}/stat")
    except (FileNotFoundError, ProcessLookupError):
        return []
    return text.rpartition(")")[2].split()


def _read(path: str) -> str:
    """A small file of the kernel's: several dozen of them a second, so without a file object around each."""
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        return os.read(descriptor, 4096).decode(errors="replace")
    finally:
        os.close(descriptor)


def process_state(pid: int) -> str | None:
    """The state letter of /proc/PID/stat (R, S, D, T, Z …); None when the process is gone."""
    return _state(pid)


def _state(process: int | str) -> str | None:
    fields = _stat_fields(process)
    return fields[0] if fields else None


def waits_in(pid: int) -> str:
    """Where in the kernel the process waits, if the kernel reports it; for people."""
    waiting = _waiting_thread(pid)
    try:
        function = _read(f"{_PROC}/{waiting}/wchan").strip()
    except OSError:
        function = ""
    state = _state(waiting)
    known = f" in {function}" if function.strip("0") else ""
    return "uninterruptible sleep" + known if state == "D" else f"state {state}" + known


def _waiting_thread(pid: int) -> str:
    """Of a process that was killed the first thread has ended, and another may still wait: that one, below /proc."""
    try:
        threads = sorted(os.listdir(f"{_PROC}/{pid}/task"))
    except OSError:
        threads = []
    living = (
        thread for thread in (f"{pid}/task/{one}" for one in threads) if _state(thread) not in (*DEAD_STATES, None)
    )
    return f"{pid}" if process_state(pid) not in DEAD_STATES else next(living, f"{pid}")


def is_running(pid: int) -> bool:
    """Alive and not stopped by a signal or a debugger."""
    state = process_state(pid)
    return state is not None and state not in STOPPED_STATES and state not in DEAD_STATES


@dataclass(frozen=True, slots=True)
class ProcessUse:
    """User and system time of a process, and its resident memory; nothing once it is gone."""

    cpu_s: float
    rss_bytes: int


def process_use(pid: int, *, with_children: bool = False) -> ProcessUse:
    """Of one process, its time on request with that of the children it has waited for."""
    fields = _stat_fields(pid)
    if not fields:
        return ProcessUse(0.0, 0)
    return ProcessUse(sum(int(t) for t in fields[11 : 15 if with_children else 13]) / _TICKS, int(fields[21]) * _PAGE)


@dataclass(frozen=True, slots=True)
class CpuTime:
    """CPU seconds since the host was started: those that any program used, and those that the hypervisor withheld."""

    used_s: float
    stolen_s: float


def cpu_time(cpus: Collection[int], stat: Path = _PROC / "stat") -> CpuTime | None:
    """Time used on these CPUs by any process (proc(5), /proc/stat); None where the kernel does not report them."""
    try:
        lines = stat.read_text(errors="replace").splitlines()
    except OSError:
        return None
    used = stolen = 0
    found = False
    for line in lines:
        name, *ticks = line.split()
        if re.fullmatch(r"cpu\d+", name) and int(name[3:]) in cpus and len(ticks) >= 8:
            user, nice, system, _idle, _iowait, irq, softirq, steal = map(int, ticks[:8])
            used, stolen, found = used + user + nice + system + irq + softirq, stolen + steal, True
    return CpuTime(used / _TICKS, stolen / _TICKS) if found else None


def children_of(pid: int) -> list[int]:
    """Its child processes that live; none where the process is gone or the kernel does not say."""
    try:
        return [int(text) for text in _read(f"{_PROC}/{pid}/task/{pid}/children").split()]
    except (OSError, ValueError):
        return []


class RunQueueMeter:
    """Seconds that the threads of some processes waited for a CPU (schedstat's second number).

    Processes and threads come and go; what one waited between the last look and its end is not counted.
    """

    def __init__(self) -> None:
        self.seconds = 0.0
        self.of: dict[int, float] = {}  # by process, those of the last look
        self._last: dict[tuple[int, int], int] = {}

    def look(self, pids: Iterable[int]) -> float:
        """Take in the present counters of these processes; the total so far."""
        seen: dict[tuple[int, int], int] = {}
        of: dict[int, float] = {}
        for pid in pids:
            of[pid] = self.of.get(pid, 0.0)
            for tid, waited in _thread_waits(pid):
                before = self._last.get((pid, tid), 0)
                of[pid] += (waited - before if waited >= before else waited) / 1e9
                seen[pid, tid] = waited
            self.seconds += of[pid] - self.of.get(pid, 0.0)
        self._last, self.of = seen, of
        return self.seconds


def _thread_waits(pid: int) -> Iterable[tuple[int, int]]:
    directory = f"{_PROC}/{pid}/task"
    try:
        tids = os.listdir(directory)
    except (FileNotFoundError, ProcessLookupError):
        return
    for tid in tids:
        try:
            yield int(tid), int(_read(f"{directory}/{tid}/schedstat").split()[1])
        except (OSError, IndexError, ValueError):
            continue  # ended in between, or a kernel without schedstat


def thread_count() -> int:
    """Threads of this process; a fork is only safe with one."""
    return len(os.listdir(_PROC / "self/task"))


def oom_kills() -> int | None:
    """Processes of this control group that the kernel killed when memory ran out; None where it does not report
    that."""
    file = _oom_file()
    return None if file is None else _oom_count(file)


@functools.cache
def _oom_file() -> Path | None:
    """The first file that reports it; determined once, because a supervisor asks four times a second."""
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
    """Candidates, the best first: the group and those around it (version 2, version 1), the whole machine."""
    for at in ControlGroups(_PROC).of("memory"):
        yield from (at / "memory.events", at / "memory.oom_control")
    yield _PROC / "vmstat"
