"""What a machine is, and how a directory of it is mounted: for results, and for the members of a crew."""

from __future__ import annotations

import contextlib
import itertools
import os
import platform
import socket
from collections.abc import Collection, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import psutil

from core.mounts import mount_of, read_mountinfo, storage_label
from monitoring.block import boot_id
from monitoring.control_groups import ControlGroups

_PROC = "/proc"
_GROUPS = ControlGroups()
_QUOTA = (("cpu.max",), ("cpu.cfs_quota_us", "cpu.cfs_period_us"))  # of versions 2 and 1; no limit: "max", -1
_NS = 1e9
_TICKS = os.sysconf("SC_CLK_TCK")
_TELLS = os.path.exists(f"{_PROC}/self/task/{os.getpid()}/children")  # the kernel, of children (CONFIG_PROC_CHILDREN)


def processors() -> int:
    """CPUs that this process may use."""
    return len(os.sched_getaffinity(0))


def usable_processors(groups: ControlGroups = _GROUPS) -> float:
    """As `processors`, less where a control group limits CPU time: 1.5 with `docker run --cpus 1.5`."""
    usable: float = processors()
    for at, files in itertools.product(groups.of("cpu"), _QUOTA):
        with contextlib.suppress(OSError, ValueError):
            quota, period = (int(word) for name in files for word in (at / name).read_text().split())
            if quota > 0:
                usable = min(usable, quota / period)
    return usable


def capacities(parts: Iterable[Mapping[str, Any]], what: str, machine: str) -> dict[str, float]:
    """What processes may use together of each machine: no more than it has.

    `what`: processors, memory_bytes. Each part has what it may use itself, the same fact of its machine with `machine_` in
    front where a limit may apply, and the machine's id under `machine`.
    """
    usable: dict[str, float] = {}
    whole: dict[str, float] = {}
    for part in parts:
        at = str(part.get(machine, ""))
        usable[at] = usable.get(at, 0) + part.get(what, 0)
        whole[at] = part.get(f"machine_{what}", part.get(what, 0))
    return {at: min(usable[at], whole[at]) for at in usable}


def host_seconds() -> tuple[float, float]:
    """CPU seconds that the whole host was busy, and those that passed, since it was started."""
    times = psutil.cpu_times()
    busy = sum(getattr(times, name, 0.0) for name in ("user", "system", "nice", "irq", "softirq", "steal"))
    return busy, busy + times.idle + getattr(times, "iowait", 0.0)


class WorkerMeter:
    """Adds up what all worker processes below one process have used, those included that have ended since.

    What a process used after the last look before its end is missed, and so is what a thread waited after that.
    """

    def __init__(self, parent: int, but: Collection[int] = ()) -> None:
        """`but`: processes below it that are no workers."""
        self._parent, self._but = parent, frozenset(but)
        self._known: set[int] = set()
        self._seen: dict[tuple[int, str], tuple[int, int]] = {}  # (process, thread) → on a CPU, waiting, ns
        self._used: dict[int, float] = {}  # by process: seconds on a CPU, with those of threads that have ended

    def read(self) -> tuple[float, float]:
        """Seconds on a CPU and seconds waiting for one, since the processes began."""
        for pid in self._workers():
            exact = 0
            for thread, used in _threads(pid):
                self._seen[pid, thread] = used
                exact += used[0]
            # An index writer's threads last less long than the time between looks; the process counts them in steps of 10 ms.
            self._used[pid] = max(self._used.get(pid, 0.0), exact / _NS, _process_s(pid))
        return sum(self._used.values()), sum(waited for _, waited in self._seen.values()) / _NS

    def _workers(self) -> Iterator[int]:
        for pid in below(self._parent):
            if pid in self._but:
                continue
            if pid not in self._known and _is_worker(command_line(pid)):  # before its exec(2) it is something else
                self._known.add(pid)
            if pid in self._known:
                yield pid


def _is_worker(line: list[str]) -> bool:
    """Slots, or the sandboxes that parse for them."""
    return "-m" in line and line[line.index("-m") :][1:2] in (["worker"], ["worker.box"])


def below(parent: int, *, direct: bool = False) -> list[int]:
    """The processes that live below one, or its children alone; of all its threads.

    Not psutil's: that reads every process of the machine for it, a twentieth of a second where there are some hundred, and this
    is asked every second while they work.
    """
    found: list[int] = []
    parents = [parent]
    while parents:
        children = _children(parents.pop())
        found += children
        if not direct:
            parents += children
    return found


def _children(pid: int) -> list[int]:
    """None where the process is gone."""
    found: list[int] = []
    try:
        for thread in os.listdir(f"{_PROC}/{pid}/task"):
            found += map(int, _read(f"{_PROC}/{pid}/task/{thread}/children").split())
    except OSError:
        if _TELLS:
            return found
        try:
            return [child.pid for child in psutil.Process(pid).children()]
        except psutil.Error:
            return []
    return found


def command_line(pid: int) -> list[str]:
    """Its words; none where it is gone."""
    try:
        return _read(f"{_PROC}/{pid}/cmdline").split("\0")
    except OSError:
        return []


def _read(path: str) -> str:
    """A file of the kernel's, without a file object around it: several hundred of them a second."""
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        return os.read(descriptor, 65_536).decode(errors="replace")
    finally:
        os.close(descriptor)


def _threads(pid: int) -> Iterator[tuple[str, tuple[int, int]]]:
    """Each thread with its nanoseconds on a CPU and in a run queue; nothing for a process that is gone."""
    try:
        names = os.listdir(f"{_PROC}/{pid}/task")
    except OSError:
        return
    for name in names:
        try:
            fields = _read(f"{_PROC}/{pid}/task/{name}/schedstat").split()
        except OSError:
            continue
        if len(fields) >= 2:
            yield name, (int(fields[0]), int(fields[1]))


def _process_s(pid: int) -> float:
    """CPU seconds of a process with its threads, those included that have ended (proc_pid_stat(5)); 0 where it is gone."""
    try:
        fields = _read(f"{_PROC}/{pid}/stat").rpartition(")")[2].split()
    except OSError:
        return 0.0
    return sum(map(int, fields[11:13])) / _TICKS


_CPUINFO = Path("/proc/cpuinfo")


def host() -> dict[str, Any]:
    """Describe this machine, and what of it this process may use."""
    model = next((line.partition(":")[2].strip() for line in _lines(_CPUINFO) if line.startswith("model name")), "")
    return {
        "name": socket.gethostname(),
        "processors": usable_processors(),
        "machine_processors": processors(),
        "model": model or platform.machine(),
        "memory_bytes": client_memory(),
        "machine_memory_bytes": machine_memory(),
        "kernel": platform.release(),
        "boot_id": boot_id(),
    }


def place(path: Path) -> dict[str, Any]:
    """A directory's file system: how it is mounted, and the room there is."""
    mount = mount_of(path)
    room = os.statvfs(path)
    return {
        "path": str(path),
        "label": storage_label(path, read_mountinfo()),
        "mount": None
        if mount is None
        else {"point": mount.point, "type": mount.kind, "source": mount.source, "options": list(mount.options)},
        "free_bytes": room.f_bavail * room.f_frsize,
        "total_bytes": room.f_blocks * room.f_frsize,
        "free_inodes": room.f_favail,
        "device": os.stat(path).st_dev,
    }


def _lines(file: Path) -> list[str]:
    try:
        return file.read_text().splitlines()
    except OSError:
        return []


def client_memory() -> int:
    """Bytes that may cache files here: the machine's, or the limit of a control group if that is less."""
    total, limit = machine_memory(), _GROUPS.memory_limit()
    return total if limit is None else min(total, limit)


def machine_memory() -> int:
    """Bytes of this machine."""
    return int(psutil.virtual_memory().total)


def free_memory() -> int:
    """Bytes that may still be taken without anything being pushed out."""
    available, left = int(psutil.virtual_memory().available), _GROUPS.memory_left()
    return available if left is None else min(available, left)
