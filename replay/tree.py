"""The file tree that a replay works on: made before, removed after, never outside of its own directory."""

from __future__ import annotations

import errno
import os
import re
import stat
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from core.content import Content
from core.errors import StorageFault
from core.names import display_name
from core.storage.errors import storage_fault
from replay.program import Program
from replay.table import EVERYWHERE, OWN_DIRECTORY, OWN_FILE, SHARED_DIRECTORY, SHARED_FILE, CallTable

HOME: Final = "edbench-replay-"  # and the replay's id: the directory on each path that everything is below
_ID: Final = re.compile(r"[A-Za-z0-9-]{1,64}")
_SHARED: Final = b"shared"
_DIRECTORY_MODE: Final = 0o750
_FILE_MODE: Final = 0o640
_CREATE: Final = os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC | os.O_NOFOLLOW
_TICK_S: Final = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """Where a replay's files are: below `<path>/edbench-replay-<replay_id>/` of every path.

    `replay_id`: letters, digits and `-`, at most 64; else ValueError. `null`: files have their sizes and hold nothing: what is
    read is zeros that the system makes, what is written is discarded. On a file system that keeps no holes (tmpfs does) they
    would take their room all the same.
    """

    paths: tuple[Path, ...]
    replay_id: str
    null: bool = False

    def __post_init__(self) -> None:
        if not _ID.fullmatch(self.replay_id):
            raise ValueError(f"{self.replay_id!r} is not the id of a replay")

    def homes(self) -> tuple[Path, ...]:
        """The directory of this replay on each path."""
        return tuple(path / f"{HOME}{self.replay_id}" for path in self.paths)

    def own(self, clone: int, place: int) -> bytes:
        """The top of a clone's own tree at one place, without a slash behind."""
        homes = self.homes()
        return os.path.join(os.fsencode(homes[(place + clone) % len(homes)]), b"clone%d" % clone)

    def shared(self, place: int) -> bytes:
        """The top of what clones share at one place, without a slash behind."""
        return os.path.join(os.fsencode(self.homes()[place]), _SHARED)

    def prefixes(self, clone: int) -> list[bytes]:
        """What stands before a node's relative path, by `Table.places`."""
        out = []
        for place in range(len(self.paths)):
            out += [self.shared(place) + b"/", self.own(clone, place) + b"/"]
        return out


@dataclass(frozen=True, slots=True, kw_only=True)
class Prepared:
    """What one client made of the tree."""

    directories: int
    files: int
    bytes: int


def prepare_tree(
    program: Program, target: Target, *, client: int, between: Callable[[], None] | None = None
) -> Prepared:
    """Make this client's part of its clone's tree, unrecorded: clients of a clone divide it among them.

    Every byte is written, except on null storage. All clients have to be through before the first of them starts. `between` is called about once
    a second; what it raises ends the work. Raises StorageFault in one line.
    """
    seat = program.plan.seat(client)
    with program.table(seat.clone) as table:
        maker = _Maker(program, target, table, seat.clone.number, between)
        for home in target.homes():
            maker.home(os.fsencode(home))
        maker.directories_of_all()
        maker.files_of(seat.position, len(seat.clone.clients))
    return Prepared(directories=maker.directories, files=maker.files, bytes=maker.bytes)


def own_files(program: Program, target: Target, *, client: int) -> Iterator[bytes]:
    """The files that `prepare_tree` makes for this client."""
    seat = program.plan.seat(client)
    with program.table(seat.clone) as table:
        maker = _Maker(program, target, table, seat.clone.number, None)
        for path, _ in maker.of_part(seat.position, len(seat.clone.clients)):
            yield path


class _Maker:
    """Makes a clone's tree; the first clone's also what all share. Others may be making the same directories."""

    def __init__(
        self, program: Program, target: Target, table: CallTable, clone: int, between: Callable[[], None] | None
    ) -> None:
        self._table = table
        self._content = Content(program.plan.seed, clone)
        self._null = target.null
        self._paths = range(program.plan.paths)
        self._tops = [(OWN_DIRECTORY, OWN_FILE, [target.own(clone, place) for place in self._paths])]
        if clone == 0:
            self._tops.append((SHARED_DIRECTORY, SHARED_FILE, [target.shared(place) for place in self._paths]))
        self._between = between
        self._next_tick = time.monotonic() + _TICK_S
        self.directories = self.files = self.bytes = 0

    def home(self, path: bytes) -> None:
        """The replay's own directory: made, or made by another client; never a link or somebody else's."""
        self._mkdir(path)
        info = os.lstat(path)
        if not stat.S_ISDIR(info.st_mode) or info.st_uid != os.geteuid():
            raise StorageFault(f"{display_name(path)} was not created by edbench; move it away", errno=errno.ENOTDIR)

    def directories_of_all(self) -> None:
        """Every client makes all of them: who comes second finds them, and nobody waits for anybody."""
        for _, _, tops in self._tops:
            for top in tops:
                self._mkdir(top)
        prepare, places = self._table.prepare, self._table.places
        for node in range(len(self._table)):
            what = prepare[node]
            for bit, _, tops in self._tops:
                if what & bit:
                    for place in self._paths if what & EVERYWHERE else (places[node] >> 1,):
                        self._mkdir(tops[place] + b"/" + self._table.relative(node))
            self._tick()

    def files_of(self, part: int, parts: int) -> None:
        """Of all files to be made, each `parts`-th from number `part` on."""
        for path, node in self.of_part(part, parts):
            self._write(path, node)

    def of_part(self, part: int, parts: int) -> Iterator[tuple[bytes, int]]:
        """Their paths and nodes."""
        prepare, places, number = self._table.prepare, self._table.places, 0
        for node in range(len(self._table)):
            for _, bit, tops in self._tops:
                if prepare[node] & bit:
                    number += 1
                    if number % parts == part:
                        yield tops[places[node] >> 1] + b"/" + self._table.relative(node), node

    def _mkdir(self, path: bytes) -> None:
        try:
            os.mkdir(path, _DIRECTORY_MODE)
            self.directories += 1
        except FileExistsError:
            return
        except OSError as e:
            raise storage_fault("make directory", path, e) from e

    def _write(self, path: bytes, node: int) -> None:
        size, kind, offset = self._table.sizes[node], self._table.content[node], 0
        try:
            fd = os.open(path, _CREATE, _FILE_MODE)
            try:
                if self._null:
                    os.ftruncate(fd, size)
                    offset = size
                while offset < size:
                    piece = self._content.piece(kind, node, offset, min(size - offset, self._content.most))
                    offset += os.pwrite(fd, piece, offset)
                    self._tick()
            finally:
                os.close(fd)
        except OSError as e:
            raise storage_fault("write", path, e) from e
        self.files += 1
        self.bytes += size
        self._tick()

    def _tick(self) -> None:
        if self._between is not None and time.monotonic() > self._next_tick:
            self._next_tick = time.monotonic() + _TICK_S
            self._between()


def remove_trees(target: Target) -> None:
    """Remove this replay's directories on all paths, links as links; nothing is wrong when they are gone.

    Raises StorageFault in one line, after it has removed what it could.
    """
    wrong: list[StorageFault] = []
    for home in target.homes():
        try:
            _remove_tree(os.fsencode(home))
        except StorageFault as e:
            wrong.append(e)
    if wrong:
        raise wrong[0]


def _remove_tree(home: bytes) -> None:
    """Without recursion: a tree may be deeper than Python's stack."""
    wrong: OSError | None = None
    where: bytes = home
    left = [(home, False)]
    while left:
        path, emptied = left.pop()
        try:
            if emptied:
                os.rmdir(path)
            elif stat.S_ISDIR(os.lstat(path).st_mode):
                left.append((path, True))
                left += [(below, False) for below in _emptied(path)]
            else:
                os.unlink(path)
        except FileNotFoundError:
            continue
        except OSError as e:
            if wrong is None:
                wrong, where = e, path
    if wrong is not None:
        raise storage_fault("remove", where, wrong) from wrong


def _emptied(directory: bytes) -> list[bytes]:
    """Removes everything in it but the directories, and names these."""
    directories = []
    with os.scandir(directory) as entries:
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                directories.append(entry.path)
            else:
                os.unlink(entry.path)
    return directories
