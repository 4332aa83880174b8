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
    """openat: from a directory or the current one."""
    _open(system, process, event, given[0], given[1], given[2])


def open_path(system: System, process: Process, event: Event, given: list[str]) -> None:
    """open."""
    _open(system, process, event, None, given[0], given[1])


def creat(system: System, process: Process, event: Event, given: list[str]) -> None:
    """open to write, made or cut to nothing."""
    _open(system, process, event, None, given[0], "O_WRONLY|O_CREAT|O_TRUNC")


def openat2(system: System, process: Process, event: Event, given: list[str]) -> None:
    """openat with its flags in a structure."""
    _, _, rest = given[2].partition("flags=")
    _open(system, process, event, given[0], given[1], rest.split(",", 1)[0].split("}", 1)[0])


def _open(system: System, process: Process, event: Event, base: str | None, name: str, how: str) -> None:
    flags = arguments.flags(how)
    path = system.path(process, base, name)
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
    """newfstatat, statx, faccessat, readlinkat: of a descriptor itself where the path is empty."""
    if given[1] in ('""', "NULL") or arguments.descriptor(given[1]) is not None:
        stat_descriptor(system, process, event, given)
    else:
        _stat(system, process, event, system.node(process, given[0], given[1]))


def stat_path(system: System, process: Process, event: Event, given: list[str]) -> None:
    """stat, lstat, access, readlink, statfs."""
    _stat(system, process, event, system.node(process, None, given[0]))


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
    """mkdirat."""
    _mkdir(system, process, event, system.node(process, given[0], given[1]))


def mkdir_path(system: System, process: Process, event: Event, given: list[str]) -> None:
    """mkdir."""
    _mkdir(system, process, event, system.node(process, None, given[0]))


def _mkdir(system: System, process: Process, event: Event, node: int | None) -> None:
    if node is None:
        return
    error = arguments.failure(event.result)
    if not error:
        system.book.made(node, NodeKind.DIRECTORY)
    elif error == errno.EEXIST:
        system.book.found(node, None, None)
    system.give(process, Op.MKDIR, event, node)


def unlink_at(system: System, process: Process, event: Event, given: list[str]) -> None:
    """unlinkat, of a directory with AT_REMOVEDIR."""
    directory = len(given) > 2 and "AT_REMOVEDIR" in given[2]
    _remove(system, process, event, system.node(process, given[0], given[1]), directory)


def unlink_path(system: System, process: Process, event: Event, given: list[str]) -> None:
    """unlink and rmdir."""
    _remove(system, process, event, system.node(process, None, given[0]), event.name == "rmdir")


def _remove(system: System, process: Process, event: Event, node: int | None, directory: bool) -> None:
    if node is None:
        return
    error = arguments.failure(event.result)
    if not error:
        system.book.removed(node, NodeKind.DIRECTORY if directory else NodeKind.FILE)
    elif error == errno.ENOENT:
        system.book.absent(node)
    system.give(process, Op.REMOVE, event, node)


def rename_at(system: System, process: Process, event: Event, given: list[str]) -> None:
    """renameat and renameat2; an exchange of two names is not carried."""
    if len(given) > 4 and "RENAME_EXCHANGE" in given[4]:
        system.not_carried["rename with RENAME_EXCHANGE"] += 1
        return
    _rename(system, process, event, system.node(process, given[0], given[1]), system.node(process, given[2], given[3]))


def rename_path(system: System, process: Process, event: Event, given: list[str]) -> None:
    """rename."""
    _rename(system, process, event, system.node(process, None, given[0]), system.node(process, None, given[1]))


def _rename(system: System, process: Process, event: Event, old: int | None, new: int | None) -> None:
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
    """linkat and symlinkat: the new name."""
    first = 2 if event.name == "linkat" else 1
    _link(system, process, event, system.node(process, given[first], given[first + 1]))


def link_path(system: System, process: Process, event: Event, given: list[str]) -> None:
    """link and symlink."""
    _link(system, process, event, system.node(process, None, given[1]))


def _link(system: System, process: Process, event: Event, node: int | None) -> None:
    """What comes nearest to making a link: an empty file is created and closed."""
    if node is None:
        return
    system.not_carried[f"{event.name}, carried as the creation of an empty file"] += 1
    if not arguments.failure(event.result):
        system.book.made(node, NodeKind.FILE)
    system.give(process, Op.CREATE, event, node)
    if not arguments.failure(event.result):
        system.give(process, Op.CLOSE, after(event), node)


def change_directory(system: System, process: Process, event: Event, given: list[str]) -> None:
    """chdir."""
    path = system.path(process, None, given[0])
    if path is not None and not arguments.failure(event.result):
        process.place.path = path


def change_to_descriptor(system: System, process: Process, event: Event, given: list[str]) -> None:
    """fchdir."""
    path = system.directory(process, given[0])
    if path is not None and not arguments.failure(event.result):
        process.place.path = path


def told_directory(_system: System, process: Process, _event: Event, given: list[str]) -> None:
    """getcwd returns the current directory of the process."""
    path = arguments.path(given[0])
    if path is not None and path.startswith(b"/"):
        process.place.path = path


HANDLERS: dict[str, Handler] = {
    "open": open_path, "openat": open_at, "openat2": openat2, "creat": creat,
    "stat": stat_path, "lstat": stat_path, "stat64": stat_path, "lstat64": stat_path, "access": stat_path,
    "readlink": stat_path, "statfs": stat_path,
    "newfstatat": stat_at, "fstatat64": stat_at, "statx": stat_at, "faccessat": stat_at, "faccessat2": stat_at,
    "readlinkat": stat_at,
    "fstat": stat_descriptor, "fstat64": stat_descriptor, "fstatfs": stat_descriptor,
    "mkdir": mkdir_path, "mkdirat": mkdir_at, "unlink": unlink_path, "rmdir": unlink_path, "unlinkat": unlink_at,
    "rename": rename_path, "renameat": rename_at, "renameat2": rename_at,
    "link": link_path, "symlink": link_path, "linkat": link_at, "symlinkat": link_at,
    "chdir": change_directory, "fchdir": change_to_descriptor, "getcwd": told_directory,
}  # fmt: skip
