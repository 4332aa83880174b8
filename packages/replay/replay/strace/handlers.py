"""Handlers of the system calls: those with a path (open, stat, rename), then those with a descriptor (read, write,
close, and calls that pass descriptors on)."""

from __future__ import annotations

import errno
import re

from core.operations import Op
from replay.strace import arguments
from replay.strace.book import State
from replay.strace.calls import Handler, System, after, clone_flags
from replay.strace.lines import Event
from replay.strace.processes import Opened, Pending, Process
from traces.model import NodeKind

_WRITING = frozenset(("O_WRONLY", "O_RDWR"))
_KINDS = {"DIR": NodeKind.DIRECTORY, "REG": NodeKind.FILE, "LNK": NodeKind.FILE}


def open_at(system: System, process: Process, event: Event, given: list[str]) -> None:
    """Handle open, openat, openat2 (flags in a structure) and creat."""
    how = "O_WRONLY|O_CREAT|O_TRUNC" if event.name == "creat" else given[2]
    if event.name == "openat2":
        how = how.partition("flags=")[2].split(",", 1)[0].split("}", 1)[0]
    flags = arguments.flags(how)
    path = system.path(process, given[0], given[1])
    node = None if path is None else system.book.node(path)
    if node is None or "O_TMPFILE" in flags:
        system.elsewhere += node is None
        system.not_carried["open with O_TMPFILE"] += node is not None
        _put(process, event, flags, Opened(None, path))
    elif error := arguments.failure(event.result):
        _failed_open(system, process, event, node, error, flags)
    else:
        _opened(system, process, event, node, path, flags)


def _failed_open(system: System, process: Process, event: Event, node: int, error: int, flags: frozenset[str]) -> None:
    creating = "O_CREAT" in flags
    if error == errno.ENOENT and not creating:
        system.book.absent(node)
    elif error == errno.EEXIST:
        system.book.found(node, None, None)
    system.give(process, Op.CREATE if creating else Op.STAT if "O_PATH" in flags else Op.OPEN, event, node)


def _opened(
    system: System, process: Process, event: Event, node: int, path: bytes | None, flags: frozenset[str]
) -> None:
    book = system.book
    directory = "O_DIRECTORY" in flags or book.is_directory(node)
    opened = Opened(node, path, directory=directory, append="O_APPEND" in flags)
    _put(process, event, flags, opened)
    system.settle(process)
    if "O_PATH" in flags:
        book.found(node, NodeKind.DIRECTORY if directory else None, None)
        system.give(process, Op.STAT, event, node)
        opened.directory = True  # it is not read, and has no close of its own
        return
    op, may_exist = _way_in(system, process, event, node, flags, directory)
    size = book.size(node) if op is Op.OPEN and not directory else 0
    process.pending = Pending(op, opened, event.start_ns, event.duration_ns, size, may_exist)
    if directory:
        process.pending.op = Op.STAT  # until it is read


def _way_in(
    system: System, process: Process, event: Event, node: int, flags: frozenset[str], directory: bool
) -> tuple[Op, bool]:
    """Return OPEN for an existing file or CREATE for a new one, and whether a later look at its size may turn one into
    the other. Truncation is approximated by removal and creation."""
    book = system.book
    there = book.state(node)
    if "O_CREAT" in flags and (there != State.THERE or "O_EXCL" in flags):
        may_exist = there == State.UNKNOWN and not flags & {"O_EXCL", "O_TRUNC"}
        if not may_exist:
            book.made(node, NodeKind.FILE)
        return Op.CREATE, may_exist
    if "O_TRUNC" in flags and flags & _WRITING:
        book.found(node, NodeKind.FILE, None)
        system.give(process, Op.REMOVE, event._replace(duration_ns=0), node)
        book.made(node, NodeKind.FILE)
        return Op.CREATE, False
    book.found(node, NodeKind.DIRECTORY if directory else None, None)
    return Op.OPEN, False


def _put(process: Process, event: Event, flags: frozenset[str], opened: Opened) -> None:
    number = arguments.returned(event.result)
    if number is not None and number >= 0:
        process.table.put(number, opened, close_on_exec="O_CLOEXEC" in flags)


def stat_at(system: System, process: Process, event: Event, given: list[str]) -> None:
    """Handle stat, newfstatat, statx, access, readlink, statfs …; an empty path means the descriptor."""
    if given[1] in ('""', "NULL") or arguments.descriptor(given[1]) is not None:
        stat_descriptor(system, process, event, given)
    else:
        _stat(system, process, event, system.node(process, given[0], given[1]))


def stat_descriptor(system: System, process: Process, event: Event, given: list[str]) -> None:
    """Handle fstat: it is a part of the open that it follows, else a call of its own."""
    opened = system.opened(process, given[0])
    if opened is None or opened.node is None:
        return
    pending = process.pending
    if pending is None or pending.opened is not opened or event.result.startswith("-1"):
        _stat(system, process, event, opened.node)
        return
    kind, size = arguments.mode_and_size(event.arguments)
    pending.duration_ns += event.duration_ns
    if kind == "DIR":
        opened.directory = True
        pending.op = Op.SCAN if pending.op is Op.SCAN else Op.STAT
    elif size is not None and pending.op in (Op.OPEN, Op.CREATE):
        pending.size = size
    if not pending.may_exist:
        _found(system, opened.node, kind, size)


def _stat(system: System, process: Process, event: Event, node: int | None) -> None:
    if node is None:
        return
    kind, size = arguments.mode_and_size(event.arguments)
    error = arguments.failure(event.result)
    if error == errno.ENOENT:
        system.book.absent(node)
    elif not error or error == errno.EINVAL:  # readlink of a file that is not a link
        _found(system, node, kind, size)
    system.give(process, Op.STAT, event, node, argument=0 if kind == "DIR" else size or 0)


def _found(system: System, node: int, kind: str, size: int | None) -> None:
    system.book.found(node, _KINDS.get(kind), None if kind == "DIR" else size)


def mkdir_at(system: System, process: Process, event: Event, given: list[str]) -> None:
    """Handle mkdir and mkdirat."""
    if (node := system.node(process, given[0], given[1])) is None:
        return
    error = arguments.failure(event.result)
    if not error:
        system.book.made(node, NodeKind.DIRECTORY)
    elif error == errno.EEXIST:
        system.book.found(node, None, None)
    system.give(process, Op.MKDIR, event, node)


def unlink_at(system: System, process: Process, event: Event, given: list[str]) -> None:
    """Handle unlink, rmdir and unlinkat, which removes a directory with AT_REMOVEDIR."""
    if (node := system.node(process, given[0], given[1])) is None:
        return
    directory = event.name == "rmdir" or any("AT_REMOVEDIR" in flags for flags in given[2:])
    error = arguments.failure(event.result)
    if not error:
        system.book.removed(node, NodeKind.DIRECTORY if directory else NodeKind.FILE)
    elif error == errno.ENOENT:
        system.book.absent(node)
    system.give(process, Op.REMOVE, event, node)


def rename_at(system: System, process: Process, event: Event, given: list[str]) -> None:
    """Handle rename, renameat and renameat2; an exchange of two names is not carried."""
    if len(given) > 4 and "RENAME_EXCHANGE" in given[4]:
        system.not_carried["rename with RENAME_EXCHANGE"] += 1
        return
    old, new = system.node(process, given[0], given[1]), system.node(process, given[2], given[3])
    if old is None or new is None:
        return
    error = arguments.failure(event.result)
    system.settle(process)
    if not error:
        system.book.renamed(old, new)
    elif error == errno.ENOENT:
        system.book.absent(old)
    system.give(process, Op.RENAME, event, new, other=old)


def link_at(system: System, process: Process, event: Event, given: list[str]) -> None:
    """Handle link, symlink and the like, whose new name is last: a link is approximated by an empty file that is
    created and closed."""
    first = 2 if event.name.startswith("link") else 1
    if (node := system.node(process, given[first], given[first + 1])) is None:
        return
    system.not_carried[f"{event.name}, recorded as the creation of an empty file"] += 1
    if not arguments.failure(event.result):
        system.book.made(node, NodeKind.FILE)
    system.give(process, Op.CREATE, event, node)
    if not arguments.failure(event.result):
        system.give(process, Op.CLOSE, after(event), node)


def change_directory(system: System, process: Process, event: Event, given: list[str]) -> None:
    """Handle chdir, and fchdir to a descriptor."""
    by_name = event.name == "chdir"
    path = system.path(process, None, given[0]) if by_name else system.directory(process, given[0])
    if path is not None and not arguments.failure(event.result):
        process.place.path = path


def current_directory(_system: System, process: Process, _event: Event, given: list[str]) -> None:
    """Handle getcwd, which returns the current directory of the process."""
    path = arguments.path(given[0])
    if path is not None and path.startswith(b"/"):
        process.place.path = path


def _here(handler: Handler, *before: int) -> Handler:
    """Adapt a handler to calls without descriptors of directories: insert AT_FDCWD at these positions."""

    def handled(system: System, process: Process, event: Event, given: list[str]) -> None:
        for position in reversed(before):
            given.insert(position, "AT_FDCWD")
        handler(system, process, event, given)

    return handled


_ENTRIES = re.compile(r"/\* (\d+) entries \*/")
_MOST = 1 << 31  # bytes that Linux moves in one call
_DOTS = 2  # "." and ".." are entries of getdents, but not of a scan


def moves(*parts: tuple[Op, int, int | None]) -> Handler:
    """Return the handler of a call that moves bytes: for each file the op, and the positions of its descriptor and of
    the offset among the arguments (None: at the file's position). For two files, as in sendfile, the source's part has
    the whole duration, the target's none."""

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
    """Set the file's position. This is not a call of the trace."""
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
    """Output one scan for each time a directory is read from its beginning, however many calls that takes."""
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
    elif entries:  # the call that finds the end is not counted as lost
        system.not_carried[f"{event.name} that continues after other calls"] += 1
    opened.scanned = True


def sync(system: System, process: Process, event: Event, given: list[str]) -> None:
    """Handle fsync and the like; of a directory, too."""
    opened = system.opened(process, given[0])
    if opened is not None and opened.node is not None:
        system.give(process, Op.FSYNC, event, opened.node)


def truncate_descriptor(system: System, process: Process, event: Event, given: list[str]) -> None:
    """Count ftruncate, which is not carried, and set the file's size, which later appends need."""
    opened = system.opened(process, given[0])
    if opened is not None and opened.node is not None:
        system.not_carried[event.name] += 1
        size = arguments.number(given[1])
        if size is not None and not arguments.failure(event.result):
            system.settle(process)
            system.book.cut_to(opened.node, size)


def map_file(system: System, process: Process, event: Event, given: list[str]) -> None:
    """Count mmap: reads through a mapping are not in the log."""
    descriptor = arguments.descriptor(given[4]) if len(given) > 4 else None
    opened = None if descriptor is None else process.table.opened.get(descriptor.number)
    if opened is not None and opened.node is not None:
        system.not_carried[event.name] += 1
    else:
        system.other[event.name] += 1


def close(system: System, process: Process, event: Event, given: list[str]) -> None:
    """Output a close if it was the last descriptor of the file; for a directory it is part of a scan."""
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
    """Handle close_range: close from the first to the last, or mark them for the next exec."""
    first, last = arguments.number(given[0]), arguments.number(given[1])
    if first is None or arguments.failure(event.result):
        return
    meant = [n for n in process.table.opened if n >= first and (last is None or last < 0 or n <= last)]
    if len(given) > 2 and "CLOSE_RANGE_CLOEXEC" in given[2]:
        process.table.close_on_exec.update(meant)
        return
    _close_all(system, process, process.table.drop_all(meant), event)


def duplicate(system: System, process: Process, event: Event, given: list[str]) -> None:
    """Handle dup, dup2, dup3, and fcntl with F_DUPFD; other uses of fcntl except FD_CLOEXEC have no meaning here."""
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
    """Handle calls that create descriptors other than files: pipes, sockets, events."""
    new = [arguments.returned(event.result)]
    if event.name in ("pipe", "pipe2", "socketpair") and not arguments.failure(event.result):
        new = [arguments.number(n) for n in given[-1 if event.name != "pipe2" else 0].strip("[]").split(", ")]
    for number in new:
        if number is not None and number >= 0:
            process.table.put(number, Opened(None), close_on_exec="CLOEXEC" in event.arguments)
    system.elsewhere += 1


def make_process(system: System, process: Process, event: Event, _given: list[str]) -> None:
    """Handle clone, fork, vfork: the child begins with its parent's open files."""
    child = arguments.returned(event.result)
    if child is not None and child > 0 and system.processes.get(child) is None:
        system.processes.first_met(child, process, clone_flags(event.arguments))


def run_program(system: System, process: Process, event: Event, _given: list[str]) -> None:
    """Handle exec, which closes the descriptors marked for it."""
    if not arguments.failure(event.result):
        _close_all(system, process, process.table.drop_all(sorted(process.table.close_on_exec)), event)


def _close_all(system: System, process: Process, closed: list[Opened], event: Event) -> None:
    for opened in closed:
        system.closed(process, opened, event.start_ns, 0)


_STATS = ("stat", "lstat", "stat64", "lstat64", "access", "readlink", "statfs")
_STATS_AT = ("newfstatat", "fstatat64", "statx", "faccessat", "faccessat2", "readlinkat")
_NO_FILES = (
    "pipe", "pipe2", "socket", "socketpair", "accept", "accept4", "eventfd", "eventfd2", "epoll_create",
    "epoll_create1", "memfd_create", "timerfd_create", "signalfd", "signalfd4", "inotify_init", "inotify_init1",
    "pidfd_open", "userfaultfd", "perf_event_open", "io_uring_setup", "bpf", "fanotify_init",
)  # fmt: skip

HANDLERS: dict[str, Handler] = {
    "open": _here(open_at, 0), "creat": _here(open_at, 0), "openat": open_at, "openat2": open_at,
    **dict.fromkeys(_STATS, _here(stat_at, 0)), **dict.fromkeys(_STATS_AT, stat_at),
    "fstat": stat_descriptor, "fstat64": stat_descriptor, "fstatfs": stat_descriptor,
    "mkdir": _here(mkdir_at, 0), "mkdirat": mkdir_at,
    "unlink": _here(unlink_at, 0), "rmdir": _here(unlink_at, 0), "unlinkat": unlink_at,
    "rename": _here(rename_at, 0, 1), "renameat": rename_at, "renameat2": rename_at,
    "link": _here(link_at, 0, 1), "symlink": _here(link_at, 1), "linkat": link_at, "symlinkat": link_at,
    "chdir": change_directory, "fchdir": change_directory, "getcwd": current_directory,
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
