"""Meaning of system calls for the trace: calls on files become calls of the trace, the others are counted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

from core.operations import Op
from replay.strace import arguments
from replay.strace.arguments import AT_FDCWD
from replay.strace.book import NodeBook, normalised
from replay.strace.lines import Event
from replay.strace.processes import Opened, Process, Processes
from traces.model import NO_NODE, Call, NodeKind

TakeCall = Callable[[int, Call], None]  # takes a call of a process for the trace; times are those of the log


class System:
    """State that system calls change, and the output of calls of the trace."""

    def __init__(self, book: NodeBook, place: bytes, take: TakeCall) -> None:
        self.book = book
        self.processes = Processes(place)
        self.not_carried: Counter[str] = Counter()  # calls on files that a trace has no op for, by name
        self.other: Counter[str] = Counter()  # calls that are not about files, by name
        self.elsewhere = 0  # calls on pipes, sockets, devices and paths that are not selected
        self.unknown_descriptors = 0
        self._take = take

    def process(self, pid: int, unfinished: dict[int, tuple[int, str]]) -> Process:
        """Return the process; a new one is the child of the process whose fork is unfinished."""
        process = self.processes.get(pid)
        if process is not None:
            return process
        makers = [(at, maker, text) for maker, (at, text) in unfinished.items() if text.startswith(MAKERS)]
        _, maker, text = max(makers, default=(0, 0, ""))
        parent = self.process(maker, {}) if text else None
        return self.processes.first_met(pid, parent, clone_flags(text))

    def give(
        self, process: Process, op: Op, event: Event, node: int, nbytes: int = 0, argument: int = 0, other: int = NO_NODE
    ) -> None:  # fmt: skip
        """Output a call of the trace, made from one of the log."""
        self.settle(process)
        error = arguments.failure(event.result)
        self._take(process.pid, Call(op, event.start_ns, event.duration_ns, nbytes, argument, node, other, error, 0))

    def settle(self, process: Process) -> None:
        """Output the open or scan that was held back because it might continue."""
        pending, process.pending = process.pending, None
        if pending is None or pending.opened.node is None:
            return
        op, node = pending.op, pending.opened.node
        if pending.may_exist:
            op = Op.OPEN if pending.size else Op.CREATE
            if op is Op.OPEN:
                self.book.found(node, NodeKind.FILE, pending.size)
            else:
                self.book.made(node, NodeKind.FILE)
        argument = pending.size if op in (Op.OPEN, Op.SCAN) else 0
        self._take(process.pid, Call(op, pending.start_ns, pending.duration_ns, 0, argument, node, NO_NODE, 0, 0))

    def closed(self, process: Process, opened: Opened | None, at: int, duration: int) -> None:
        """Output the close of a file whose last descriptor is closed; the end of a directory is part of its scan."""
        if opened is None or opened.node is None or opened.directory:
            return
        self.settle(process)
        self._take(process.pid, Call(Op.CLOSE, at, duration, 0, 0, opened.node, NO_NODE, 0, 0))

    def ended(self, process: Process, at: int) -> None:
        """End a process, and close its open files."""
        self.settle(process)
        for opened in self.processes.ended(process):
            self.closed(process, opened, at, 0)

    def path(self, process: Process, base: str | None, argument: str) -> bytes | None:
        """Return the normalised path of an argument, from a directory's descriptor or (None) the current directory."""
        given = arguments.path(argument)
        if given is None:
            return None
        if given.startswith(b"/"):
            return normalised(b"/", given)
        above = self.directory(process, base)
        return None if above is None else normalised(above, given)

    def directory(self, process: Process, base: str | None) -> bytes | None:
        """Return the path of a directory's descriptor."""
        descriptor = arguments.descriptor(base) if base is not None else arguments.Descriptor(AT_FDCWD, None)
        if descriptor is None:
            return None
        if descriptor.number == AT_FDCWD:
            return arguments.file_path(descriptor.target) or process.place.path
        opened = process.table.opened.get(descriptor.number)
        return opened.path if opened is not None and opened.path else arguments.file_path(descriptor.target)

    def node(self, process: Process, base: str | None, argument: str) -> int | None:
        """Return the node of a path argument; None is counted as elsewhere."""
        path = self.path(process, base, argument)
        node = None if path is None else self.book.node(path)
        self.elsewhere += node is None
        return node

    def opened(self, process: Process, argument: str) -> Opened | None:
        """Return the file of a descriptor, if it has a node; None is counted."""
        descriptor = arguments.descriptor(argument)
        if descriptor is None or descriptor.number < 0:
            self.elsewhere += 1
            return None
        opened = process.table.opened.get(descriptor.number)
        if opened is None and descriptor.target is not None:
            path = arguments.file_path(descriptor.target)
            opened = Opened(None if path is None else self.book.node(path), path)
            process.table.put(descriptor.number, opened)
        if opened is None:
            self.unknown_descriptors += 1
        elif opened.node is None:
            self.elsewhere += 1
        return opened if opened is not None and opened.node is not None else None


Handler = Callable[[System, Process, Event, list[str]], None]
MAKERS = ("clone(", "clone3(", "fork(", "vfork(")


def after(event: Event) -> Event:
    """Return an event at the end of this one that takes no time: the second of two calls for one system call."""
    return event._replace(start_ns=event.start_ns + event.duration_ns, duration_ns=0)


def clone_flags(text: str) -> frozenset[str]:
    """Return the flags among the arguments of clone and clone3; none for fork."""
    _, separator, rest = text.partition("flags=")
    return arguments.flags(rest.split(",", 1)[0].split("}", 1)[0].strip()) if separator else frozenset()
