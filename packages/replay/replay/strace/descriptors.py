"""Handlers of the system calls that go by a descriptor: read, write, close, and what passes descriptors on."""

from __future__ import annotations

import re

from core.operations import Op
from replay.strace import arguments, names
from replay.strace.calls import Handler, System, after, clone_flags
from replay.strace.lines import Event
from replay.strace.processes import Opened, Pending, Process
from traces.model import NodeKind

_ENTRIES = re.compile(r"/\* (\d+) entries \*/")
_MOST = 1 << 31  # bytes that Linux moves in one call
_DOTS = 2  # "." and ".." are entries for getdents and none of a scan


def moves(*parts: tuple[Op, int, int | None]) -> Handler:
    """A call that moves bytes: for each file the op, and the positions of its descriptor and of the offset among the arguments
    (None: at the file's position). Of two, as for sendfile, the source's part has the whole duration, the target's none."""

    def handled(system: System, process: Process, event: Event, given: list[str]) -> None:
        for op, descriptor, offset in parts:
            _move(system, process, event, given[descriptor], op, None if offset is None else given[offset])
            if event.result.startswith(("0", "-")):
                break
            event = after(event)

    return handled


def _move(system: System, process: Process, event: Event, descriptor: str, op: Op, offset: str | None) -> None:
    """Take bytes read from or written to a file, at an offset or (None, NULL, -1) at the file's position."""
    opened = system.opened(process, descriptor)
    if opened is None or opened.node is None:
        return
    system.settle(process)
    moved = 0 if arguments.failure(event.result) else min(max(arguments.returned(event.result) or 0, 0), _MOST)
    given = None if offset is None else arguments.number(offset)
    if op is Op.WRITE and opened.append:
        opened.position = system.book.size(opened.node)
    start = opened.position if given is None or given < 0 else given
    if given is None or given < 0:
        opened.position += moved
    if op is Op.WRITE:
        system.book.written_to(opened.node, start + moved)
    elif moved:
        system.book.read_to(opened.node, start + moved)
    system.give(process, op, event, opened.node, moved, start)


def seek(_system: System, process: Process, event: Event, given: list[str]) -> None:
    """Set the file's position. This is no call of the trace."""
    descriptor = arguments.descriptor(given[0])
    opened = None if descriptor is None else process.table.opened.get(descriptor.number)
    position = arguments.returned(event.result)
    if (
        opened is not None
        and position is not None
        and position >= 0
        and given[2] in ("SEEK_SET", "SEEK_CUR", "SEEK_END")
    ):
        opened.position = position


def directory_entries(system: System, process: Process, event: Event, given: list[str]) -> None:
    """One scan for each time a directory is read from its beginning, however many calls that takes."""
    opened = system.opened(process, given[0])
    if opened is None or opened.node is None:
        return
    opened.directory = True
    system.book.found(opened.node, NodeKind.DIRECTORY, None)
    match = _ENTRIES.search(event.arguments)
    entries = int(match[1]) if match else 0
    pending = process.pending
    if pending is not None and pending.opened is opened:
        if pending.op is not Op.SCAN:
            pending.op, pending.size = Op.SCAN, 0
            entries = max(0, entries - _DOTS)
        pending.duration_ns += event.duration_ns
        pending.size += entries
    elif not opened.scanned:
        system.settle(process)
        process.pending = Pending(Op.SCAN, opened, event.start_ns, event.duration_ns, max(0, entries - _DOTS))
    elif entries:  # the call that finds the end is no loss
        system.not_carried[f"{event.name} that continues after other calls"] += 1
    opened.scanned = True


def sync(system: System, process: Process, event: Event, given: list[str]) -> None:
    """fsync and its like; of a directory, too."""
    opened = system.opened(process, given[0])
    if opened is not None and opened.node is not None:
        system.give(process, Op.FSYNC, event, opened.node)


def truncate_descriptor(system: System, process: Process, event: Event, given: list[str]) -> None:
    """Not carried; how long the file is now matters for what is appended."""
    opened = system.opened(process, given[0])
    if opened is not None and opened.node is not None:
        system.not_carried[event.name] += 1
        size = arguments.number(given[1])
        if size is not None and not arguments.failure(event.result):
            system.settle(process)
            system.book.cut_to(opened.node, size)


def map_file(system: System, process: Process, event: Event, given: list[str]) -> None:
    """What is read through a mapping is not in the log."""
    descriptor = arguments.descriptor(given[4]) if len(given) > 4 else None
    opened = None if descriptor is None else process.table.opened.get(descriptor.number)
    if opened is not None and opened.node is not None:
        system.not_carried[event.name] += 1
    else:
        system.other[event.name] += 1


def close(system: System, process: Process, event: Event, given: list[str]) -> None:
    """A close of the trace if it was the last descriptor of the file; part of a scan for a directory."""
    descriptor = arguments.descriptor(given[0])
    if descriptor is None or event.result.startswith("-1 EBADF"):
        return
    opened = process.table.opened.get(descriptor.number)
    if opened is None or opened.node is None:
        system.elsewhere += 1
    pending = process.pending
    if pending is not None and pending.opened is opened and opened is not None and opened.directory:
        pending.duration_ns += event.duration_ns
    system.closed(process, process.table.drop(descriptor.number), event.start_ns, event.duration_ns)


def close_many(system: System, process: Process, event: Event, given: list[str]) -> None:
    """close_range: from the first to the last, or marked for the next exec."""
    first, last = arguments.number(given[0]), arguments.number(given[1])
    if first is None or arguments.failure(event.result):
        return
    meant = [n for n in process.table.opened if n >= first and (last is None or last < 0 or n <= last)]
    if len(given) > 2 and "CLOSE_RANGE_CLOEXEC" in given[2]:
        process.table.close_on_exec.update(meant)
        return
    _close_all(system, process, process.table.drop_all(meant), event)


def duplicate(system: System, process: Process, event: Event, given: list[str]) -> None:
    """dup, dup2, dup3, and fcntl with F_DUPFD; other uses of fcntl but for FD_CLOEXEC mean nothing here."""
    if event.name in ("fcntl", "fcntl64") and not given[1].startswith("F_DUPFD"):
        _set_flag(process, given)
        return
    descriptor, new = arguments.descriptor(given[0]), arguments.returned(event.result)
    if descriptor is None or new is None or new < 0 or new == descriptor.number:
        return
    opened = process.table.opened.get(descriptor.number)
    if opened is None:
        _close_all(system, process, process.table.drop_all([new]), event)
        return
    closing = given[1:2] == ["F_DUPFD_CLOEXEC"] or "O_CLOEXEC" in given[2:3]
    system.closed(process, process.table.put(new, opened, close_on_exec=closing), event.start_ns, 0)


def _set_flag(process: Process, given: list[str]) -> None:
    descriptor = arguments.descriptor(given[0])
    if descriptor is not None and given[1] == "F_SETFD" and len(given) > 2:
        change = process.table.close_on_exec
        (change.add if "FD_CLOEXEC" in given[2] else change.discard)(descriptor.number)


def no_file(system: System, process: Process, event: Event, given: list[str]) -> None:
    """Descriptors of what is no file: pipes, sockets, events."""
    new = [arguments.returned(event.result)]
    if event.name in ("pipe", "pipe2", "socketpair") and not arguments.failure(event.result):
        new = [arguments.number(n) for n in given[-1 if event.name != "pipe2" else 0].strip("[]").split(", ")]
    for number in new:
        if number is not None and number >= 0:
            process.table.put(number, Opened(None), close_on_exec="CLOEXEC" in event.arguments)
    system.elsewhere += 1


def make_process(system: System, process: Process, event: Event, _given: list[str]) -> None:
    """clone, fork, vfork: the child begins with what its parent has open."""
    child = arguments.returned(event.result)
    if child is not None and child > 0 and system.processes.get(child) is None:
        system.processes.first_met(child, process, clone_flags(event.arguments))


def run_program(system: System, process: Process, event: Event, _given: list[str]) -> None:
    """exec closes what is marked for it."""
    if not arguments.failure(event.result):
        _close_all(system, process, process.table.drop_all(sorted(process.table.close_on_exec)), event)


def _close_all(system: System, process: Process, closed: list[Opened], event: Event) -> None:
    for opened in closed:
        system.closed(process, opened, event.start_ns, 0)


_NO_FILES = (
    "pipe", "pipe2", "socket", "socketpair", "accept", "accept4", "eventfd", "eventfd2", "epoll_create",
    "epoll_create1", "memfd_create", "timerfd_create", "signalfd", "signalfd4", "inotify_init", "inotify_init1",
    "pidfd_open", "userfaultfd", "perf_event_open", "io_uring_setup", "bpf", "fanotify_init",
)  # fmt: skip

HANDLERS: dict[str, Handler] = {
    **names.HANDLERS,
    **dict.fromkeys(("read", "readv"), moves((Op.READ, 0, None))),
    **dict.fromkeys(("pread64", "preadv", "preadv2"), moves((Op.READ, 0, 3))),
    **dict.fromkeys(("write", "writev"), moves((Op.WRITE, 0, None))),
    **dict.fromkeys(("pwrite64", "pwritev", "pwritev2"), moves((Op.WRITE, 0, 3))),
    **dict.fromkeys(("sendfile", "sendfile64"), moves((Op.READ, 1, 2), (Op.WRITE, 0, None))),
    **dict.fromkeys(("copy_file_range", "splice"), moves((Op.READ, 0, 1), (Op.WRITE, 2, 3))),
    "lseek": seek, "_llseek": seek, "getdents": directory_entries, "getdents64": directory_entries,
    "fsync": sync, "fdatasync": sync, "syncfs": sync, "sync_file_range": sync,
    "ftruncate": truncate_descriptor, "ftruncate64": truncate_descriptor, "mmap": map_file, "mmap2": map_file,
    "close": close, "close_range": close_many,
    "dup": duplicate, "dup2": duplicate, "dup3": duplicate, "fcntl": duplicate, "fcntl64": duplicate,
    "clone": make_process, "clone3": make_process, "fork": make_process, "vfork": make_process,
    "execve": run_program, "execveat": run_program,
    **dict.fromkeys(_NO_FILES, no_file),
}  # fmt: skip

# Calls on files that a trace has no op for.
NOT_CARRIED = frozenset((
    "truncate", "truncate64", "fallocate", "fadvise64", "readahead", "chmod", "fchmod", "fchmodat", "fchmodat2", "chown",
    "fchown", "lchown", "fchownat", "utime", "utimes", "utimensat", "futimesat", "mknod", "mknodat", "flock", "setxattr", "lsetxattr", "fsetxattr", "getxattr", "lgetxattr",
    "fgetxattr", "listxattr", "llistxattr", "flistxattr", "removexattr", "lremovexattr", "fremovexattr", "sync",
    "io_uring_enter", "io_submit", "open_by_handle_at", "name_to_handle_at", "mount", "umount2", "vmsplice",
))  # fmt: skip
