"""Handlers of the system calls that go by a path: open, stat, rename and their like."""

from __future__ import annotations

import errno

from core.operations import Op
from replay.strace import arguments
from replay.strace.book import State
from replay.strace.calls import Handler, System, after
from replay.strace.lines import Event
from replay.strace.processes import Opened, Pending, Process
from traces.model import NodeKind

_WRITING = frozenset(("O_WRONLY", "O_RDWR"))
_KINDS = {"DIR": NodeKind.DIRECTORY, "REG": NodeKind.FILE, "LNK": NodeKind.FILE}


def open_at(system: System, process: Process, event: Event, given: list[str]) -> None:
    """open, openat, openat2 (flags in a structure) and creat."""
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
        opened.directory = True  # no reading, and no close of its own
        return
    op, may_exist = _way_in(system, process, event, node, flags, directory)
    size = book.size(node) if op is Op.OPEN and not directory else 0
    process.pending = Pending(op, opened, event.start_ns, event.duration_ns, size, may_exist)
    if directory:
        process.pending.op = Op.STAT  # until it is read


def _way_in(
    system: System, process: Process, event: Event, node: int, flags: frozenset[str], directory: bool
) -> tuple[Op, bool]:
    """OPEN of what was there or CREATE of what was not; and whether a look at its size may yet turn the one into the
    other. Truncation comes nearest to removal and creation."""
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
    """stat, newfstatat, statx, access, readlink, statfs …: of a descriptor itself where the path is empty."""
    if given[1] in ('""', "NULL") or arguments.descriptor(given[1]) is not None:
        stat_descriptor(system, process, event, given)
    else:
        _stat(system, process, event, system.node(process, given[0], given[1]))


def stat_descriptor(system: System, process: Process, event: Event, given: list[str]) -> None:
    """Part of the open that it follows; else a call of its own."""
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
    elif not error or error == errno.EINVAL:  # readlink of what is no link
        _found(system, node, kind, size)
    system.give(process, Op.STAT, event, node, argument=0 if kind == "DIR" else size or 0)


def _found(system: System, node: int, kind: str, size: int | None) -> None:
    system.book.found(node, _KINDS.get(kind), None if kind == "DIR" else size)


def mkdir_at(system: System, process: Process, event: Event, given: list[str]) -> None:
    """mkdir, mkdirat."""
    if (node := system.node(process, given[0], given[1])) is None:
        return
    error = arguments.failure(event.result)
    if not error:
        system.book.made(node, NodeKind.DIRECTORY)
    elif error == errno.EEXIST:
        system.book.found(node, None, None)
    system.give(process, Op.MKDIR, event, node)


def unlink_at(system: System, process: Process, event: Event, given: list[str]) -> None:
    """unlink, rmdir and unlinkat, of a directory with AT_REMOVEDIR."""
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
    """rename, renameat and renameat2; an exchange of two names is not carried."""
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
    """link, symlink and their like, of which the new name is last: what comes nearest to making a link, an empty file that is
    created and closed."""
    first = 2 if event.name.startswith("link") else 1
    if (node := system.node(process, given[first], given[first + 1])) is None:
        return
    system.not_carried[f"{event.name}, carried as the creation of an empty file"] += 1
    if not arguments.failure(event.result):
        system.book.made(node, NodeKind.FILE)
    system.give(process, Op.CREATE, event, node)
    if not arguments.failure(event.result):
        system.give(process, Op.CLOSE, after(event), node)


def change_directory(system: System, process: Process, event: Event, given: list[str]) -> None:
    """chdir, and fchdir to a descriptor."""
    by_name = event.name == "chdir"
    path = system.path(process, None, given[0]) if by_name else system.directory(process, given[0])
    if path is not None and not arguments.failure(event.result):
        process.place.path = path


def told_directory(_system: System, process: Process, _event: Event, given: list[str]) -> None:
    """getcwd returns the current directory of the process."""
    path = arguments.path(given[0])
    if path is not None and path.startswith(b"/"):
        process.place.path = path


def _here(handler: Handler, *before: int) -> Handler:
    """Of a call whose names have no descriptor of a directory: the current one is put before the arguments at these positions."""

    def handled(system: System, process: Process, event: Event, given: list[str]) -> None:
        for position in reversed(before):
            given.insert(position, "AT_FDCWD")
        handler(system, process, event, given)

    return handled


_STATS = ("stat", "lstat", "stat64", "lstat64", "access", "readlink", "statfs")
_STATS_AT = ("newfstatat", "fstatat64", "statx", "faccessat", "faccessat2", "readlinkat")
HANDLERS: dict[str, Handler] = {
    "open": _here(open_at, 0), "creat": _here(open_at, 0), "openat": open_at, "openat2": open_at,
    **dict.fromkeys(_STATS, _here(stat_at, 0)), **dict.fromkeys(_STATS_AT, stat_at),
    "fstat": stat_descriptor, "fstat64": stat_descriptor, "fstatfs": stat_descriptor,
    "mkdir": _here(mkdir_at, 0), "mkdirat": mkdir_at,
    "unlink": _here(unlink_at, 0), "rmdir": _here(unlink_at, 0), "unlinkat": unlink_at,
    "rename": _here(rename_at, 0, 1), "renameat": rename_at, "renameat2": rename_at,
    "link": _here(link_at, 0, 1), "symlink": _here(link_at, 1), "linkat": link_at, "symlinkat": link_at,
    "chdir": change_directory, "fchdir": change_directory, "getcwd": told_directory,
}  # fmt: skip
