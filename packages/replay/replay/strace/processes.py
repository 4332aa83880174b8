"""Processes of an strace log: open files and current directory of each."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from core.operations import Op
from replay.strace.book import NOWHERE


@dataclass(slots=True, eq=False)
class Opened:
    """One open file: several descriptors, also of several processes, may refer to it."""

    node: int | None  # None: not a file, or not selected
    path: bytes | None = None
    directory: bool = False
    append: bool = False
    position: int = 0
    references: int = 0
    scanned: bool = False  # its SCAN has been given


@dataclass(slots=True)
class Descriptors:
    """Descriptors of a process, or of threads that share them."""

    users: int = 1
    opened: dict[int, Opened] = field(default_factory=dict)
    close_on_exec: set[int] = field(default_factory=set)

    def put(self, number: int, opened: Opened, *, close_on_exec: bool = False) -> Opened | None:
        """Set a descriptor; return the file that this closes for good."""
        before = self.drop(number)
        self.opened[number] = opened
        opened.references += 1
        if close_on_exec:
            self.close_on_exec.add(number)
        return before

    def drop(self, number: int) -> Opened | None:
        """Remove a descriptor; return its file if that was the last reference to it."""
        self.close_on_exec.discard(number)
        opened = self.opened.pop(number, None)
        if opened is None:
            return None
        opened.references -= 1
        return None if opened.references else opened

    def copy(self) -> Descriptors:
        """Return the copy that fork makes."""
        for opened in self.opened.values():
            opened.references += 1
        return Descriptors(opened=dict(self.opened), close_on_exec=set(self.close_on_exec))

    def drop_all(self, numbers: Iterator[int] | list[int]) -> list[Opened]:
        """Remove several descriptors; return the files that this closes."""
        return [opened for number in numbers if (opened := self.drop(number)) is not None]


@dataclass(slots=True)
class Place:
    """The current directory; threads share it."""

    path: bytes = NOWHERE


@dataclass(slots=True)
class Pending:
    """An open or scan that may continue: the fstat after an open is part of it, as is all of a directory's reading."""

    op: Op
    opened: Opened
    start_ns: int
    duration_ns: int
    size: int = 0  # of a file; entries of a directory
    may_exist: bool = False  # opened with O_CREAT, and it is not known yet whether it existed


@dataclass(slots=True)
class Process:
    """One process or thread."""

    pid: int
    table: Descriptors
    place: Place
    pending: Pending | None = None


class Processes:
    """All processes; one whose beginning the log does not show starts with no open files."""

    def __init__(self, place: bytes) -> None:
        self._place = place
        self._running: dict[int, Process] = {}

    def get(self, pid: int) -> Process | None:
        """Return the process, if it is known."""
        return self._running.get(pid)

    def first_met(self, pid: int, parent: Process | None, flags: frozenset[str]) -> Process:
        """Add a new process, as its parent's call created it."""
        if parent is None:
            process = Process(pid, Descriptors(), Place(self._place))
        else:
            process = Process(pid, self._table(parent, flags), self._its_place(parent, flags))
        self._running[pid] = process
        return process

    def _table(self, parent: Process, flags: frozenset[str]) -> Descriptors:
        if "CLONE_FILES" not in flags:
            return parent.table.copy()
        parent.table.users += 1
        return parent.table

    def _its_place(self, parent: Process, flags: frozenset[str]) -> Place:
        return parent.place if "CLONE_FS" in flags else Place(parent.place.path)

    def ended(self, process: Process) -> list[Opened]:
        """Remove a process that ended; return the files that its end closed."""
        self._running.pop(process.pid, None)
        process.table.users -= 1
        return [] if process.table.users else process.table.drop_all(list(process.table.opened))

    def __iter__(self) -> Iterator[Process]:
        return iter(list(self._running.values()))
