"""Processes as the kernel describes them (Linux: proc(5)): their state, their CPU time and waits, their descendants."""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

_PROC = "/proc"
_TICKS = os.sysconf("SC_CLK_TCK")
_PAGE = os.sysconf("SC_PAGE_SIZE")
_LISTS_CHILDREN = os.path.exists(
    f"{_PROC}/self/task/{os.getpid()}/children"
)  # the kernel, of children (CONFIG_PROC_CHILDREN)
STOPPED_STATES = ("T", "t")
DEAD_STATES = ("Z", "X", "x")


def _stat_fields(process: int | str) -> list[str]:
    """Fields of /proc/PID/stat from the state on; empty when the process is gone."""
    try:
        text = _read(f"{_PROC}/{process}/stat")
    except (FileNotFoundError, ProcessLookupError):
        return []
    return text.rpartition(")")[2].split()


def _read(path: str) -> str:
    """A file of the kernel's, without a file object around it: several hundred of them a second."""
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        return os.read(descriptor, 65_536).decode(errors="replace")
    finally:
        os.close(descriptor)


def process_state(process: int | str) -> str | None:
    """The state letter of /proc/PID/stat (R, S, D, T, Z …), or of a thread's below it; None when it is gone."""
    fields = _stat_fields(process)
    return fields[0] if fields else None


def waits_in(pid: int) -> str:
    """Describe the state in which the process waits, and where in the kernel if the kernel reports it."""
    waiting = _waiting_thread(pid)
    try:
        function = _read(f"{_PROC}/{waiting}/wchan").strip()
    except OSError:
        function = ""
    state = process_state(waiting)
    known = f" in {function}" if function.strip("0") else ""
    return "uninterruptible sleep" + known if state == "D" else f"state {state}" + known


def _waiting_thread(pid: int) -> str:
    """Return the path below /proc of the first thread that lives: a killed process may have ended in part."""
    try:
        threads = sorted(os.listdir(f"{_PROC}/{pid}/task"))
    except OSError:
        threads = []
    living = (
        thread
        for thread in (f"{pid}/task/{one}" for one in threads)
        if process_state(thread) not in (*DEAD_STATES, None)
    )
    return f"{pid}" if process_state(pid) not in DEAD_STATES else next(living, f"{pid}")


def is_running(pid: int) -> bool:
    """Return whether the process is alive and not stopped by a signal or a debugger."""
    state = process_state(pid)
    return state is not None and state not in STOPPED_STATES and state not in DEAD_STATES


@dataclass(frozen=True, slots=True)
class ProcessUse:
    """User and system time of a process, and its resident memory; nothing once it is gone."""

    cpu_s: float
    rss_bytes: int


def process_use(pid: int, *, with_children: bool = False) -> ProcessUse:
    """Return the CPU time and memory of one process, on request with the time of the children it has waited for."""
    fields = _stat_fields(pid)
    if not fields:
        return ProcessUse(0.0, 0)
    return ProcessUse(sum(int(t) for t in fields[11 : 15 if with_children else 13]) / _TICKS, int(fields[21]) * _PAGE)


@dataclass(frozen=True, slots=True)
class CpuTime:
    """CPU seconds since the host was started: those that any program used, and those that the hypervisor withheld."""

    used_s: float
    stolen_s: float


def cpu_time(cpus: Collection[int], stat: Path = Path(_PROC, "stat")) -> CpuTime | None:
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


class RunQueueMeter:
    """Seconds that the threads of some processes waited for a CPU (schedstat's second number).

    Processes and threads come and go; what one waited between the last look and its end is not counted."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self.of: dict[int, float] = {}  # by process, those of the last look
        self.ran: dict[int, float] = {}  # seconds on a CPU of the threads that live, likewise
        self._last: dict[tuple[int, int], int] = {}

    def look(self, pids: Iterable[int]) -> float:
        """Add the present counters of these processes; return the total so far."""
        seen: dict[tuple[int, int], int] = {}
        of: dict[int, float] = {}
        self.ran = {}
        for pid in pids:
            of[pid], self.ran[pid] = self.of.get(pid, 0.0), 0.0
            for tid, ran, waited in _threads(pid):
                before = self._last.get((pid, tid), 0)
                of[pid] += (waited - before if waited >= before else waited) / 1e9
                self.ran[pid] += ran / 1e9
                seen[pid, tid] = waited
            self.seconds += of[pid] - self.of.get(pid, 0.0)
        self._last, self.of = seen, of
        return self.seconds


class WorkerMeter:
    """Adds up what all worker processes below one process have used, those included that have ended since.

    What a process used after the last look before its end is missed, and so is what a thread waited after that."""

    def __init__(self, parent: int, but: Collection[int] = ()) -> None:
        """`but`: processes below it that are no workers."""
        self._parent, self._but = parent, frozenset(but)
        self._known: set[int] = set()
        self._queue = RunQueueMeter()
        self._used: dict[int, float] = {}  # by process: seconds on a CPU, with those of threads that have ended

    def read(self) -> tuple[float, float]:
        """Seconds on a CPU and seconds waiting for one, since the processes began."""
        waited = self._queue.look(self._workers())
        for pid, ran in self._queue.ran.items():
            # An index writer's threads last less long than the time between looks; the process counts them in steps of 10 ms.
            self._used[pid] = max(self._used.get(pid, 0.0), ran, process_use(pid).cpu_s)
        return sum(self._used.values()), waited

    def _workers(self) -> Iterator[int]:
        for pid in below(self._parent):
            if pid in self._but:
                continue
            if pid not in self._known and _is_worker(command_line(pid)):  # before its exec(2) it is something else
                self._known.add(pid)
            if pid in self._known:
                yield pid


def _is_worker(line: list[str]) -> bool:
    """Return whether this is the command line of a slot, or of a sandbox that parses for one."""
    return "-m" in line and line[line.index("-m") :][1:2] in (["worker"], ["worker.sandbox"])


def below(parent: int, *, direct: bool = False) -> list[int]:
    """Return the descendants of a process, or its children alone, of all its threads.

    psutil is not used: it reads every process of the machine for this, a twentieth of a second where there are some
    hundred, and this is called every second while they work."""
    found: list[int] = []
    parents = [parent]
    while parents:
        children = _children(parents.pop())
        found += children
        if not direct:
            parents += children
    return found


def _children(pid: int) -> list[int]:
    """Return the children of all threads of a process; none if it is gone."""
    found: list[int] = []
    try:
        for thread in os.listdir(f"{_PROC}/{pid}/task"):
            found += map(int, _read(f"{_PROC}/{pid}/task/{thread}/children").split())
    except OSError:
        if _LISTS_CHILDREN:
            return found
        import psutil  # few kernels are built without

        try:
            return [child.pid for child in psutil.Process(pid).children()]
        except psutil.Error:
            return []
    return found


def command_line(pid: int) -> list[str]:
    """Return the words of a process's command line; none if it is gone."""
    try:
        return _read(f"{_PROC}/{pid}/cmdline").split("\0")
    except OSError:
        return []


def _threads(pid: int) -> Iterator[tuple[int, int, int]]:
    """Each thread with its nanoseconds on a CPU and in a run queue; nothing for a process that is gone."""
    directory = f"{_PROC}/{pid}/task"
    try:
        names = os.listdir(directory)
    except OSError:
        return
    for name in names:
        try:
            ran, waited, *_ = map(int, _read(f"{directory}/{name}/schedstat").split())
        except (OSError, ValueError):
            continue  # ended in between, or a kernel without schedstat
        yield int(name), ran, waited
