"""The file tree that a replay works on: created before and removed after it, never outside of its own directory.

A replay checks its target paths and their free space first, and drops what it has just written from the cache of the
client."""

from __future__ import annotations

import errno
import os
import re
import stat
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from core.content import Content
from core.errors import StorageFault, UsageError, system_errors
from core.names import display_name
from core.residency import Dropped, drop_pages
from core.storage.errors import storage_fault
from replay.program import Program
from replay.table import EVERYWHERE, OWN_DIRECTORY, OWN_FILE, SHARED_DIRECTORY, SHARED_FILE, CallTable

HOME: Final = "edbench-replay-"  # followed by the replay's id: the directory on each path that contains everything
_ID: Final = re.compile(r"[A-Za-z0-9-]{1,64}")
_SHARED: Final = b"shared"
_DIRECTORY_MODE: Final = 0o750
_FILE_MODE: Final = 0o640
_CREATE: Final = os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC | os.O_NOFOLLOW


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """Location of a replay's files: below `<path>/edbench-replay-<replay_id>/` of every path.

    `replay_id`: letters, digits and `-`, at most 64; else ValueError. `null`: files have their sizes and no content:
    reads return zeros from the system, writes are discarded. On a file system without holes they would still take their
    space (tmpfs has holes)."""

    paths: tuple[Path, ...]
    replay_id: str
    null: bool = False

    def __post_init__(self) -> None:
        if not _ID.fullmatch(self.replay_id):
            raise ValueError(f"{self.replay_id!r} is not the id of a replay")

    def homes(self) -> tuple[Path, ...]:
        """Return the directory of this replay on each path."""
        return tuple(path / f"{HOME}{self.replay_id}" for path in self.paths)

    def own(self, clone: int, place: int) -> bytes:
        """Return the top of a clone's own tree at one place, without a trailing slash."""
        homes = self.homes()
        return os.path.join(os.fsencode(homes[(place + clone) % len(homes)]), b"clone%d" % clone)

    def shared(self, place: int) -> bytes:
        """Return the top of the tree that clones share at one place, without a trailing slash."""
        return os.path.join(os.fsencode(self.homes()[place]), _SHARED)

    def prefixes(self, clone: int) -> list[bytes]:
        """Return the prefixes of a node's relative path, by `Table.places`."""
        out = []
        for place in range(len(self.paths)):
            out += [self.shared(place) + b"/", self.own(clone, place) + b"/"]
        return out


def prepare_tree(program: Program, target: Target, *, client: int) -> None:
    """Create this client's part of its clone's tree, unrecorded: clients of a clone divide it among them.

    Every byte is written, except on null storage. All clients have to finish before the first of them starts to play.
    Raises StorageFault in one line."""
    seat = program.plan.seat(client)
    with program.table(seat.clone) as table:
        maker = _Maker(program, target, table, seat.clone.number)
        for home in target.homes():
            maker.home(os.fsencode(home))
        maker.directories_of_all()
        maker.files_of(seat.position, len(seat.clone.clients))


def own_files(program: Program, target: Target, *, client: int) -> Iterator[bytes]:
    """Yield the files that `prepare_tree` makes for this client."""
    seat = program.plan.seat(client)
    with program.table(seat.clone) as table:
        maker = _Maker(program, target, table, seat.clone.number)
        for path, _ in maker.of_part(seat.position, len(seat.clone.clients)):
            yield path


class _Maker:
    """Creator of a clone's tree, and of the shared one. Others may create the same directories."""

    def __init__(self, program: Program, target: Target, table: CallTable, clone: int) -> None:
        self._table = table
        self._content = Content(program.plan.seed, clone)
        self._null = target.null
        self._paths = range(program.plan.paths)
        self._tops = [(OWN_DIRECTORY, OWN_FILE, [target.own(clone, place) for place in self._paths])]
        if clone == 0:
            self._tops.append((SHARED_DIRECTORY, SHARED_FILE, [target.shared(place) for place in self._paths]))

    def home(self, path: bytes) -> None:
        """Create the replay's own directory, or use another client's; never a link or another user's."""
        self._mkdir(path)
        info = os.lstat(path)
        if not stat.S_ISDIR(info.st_mode) or info.st_uid != os.geteuid():
            raise StorageFault(f"{display_name(path)} was not created by edbench; move it away", errno=errno.ENOTDIR)

    def directories_of_all(self) -> None:
        """Create all directories in every client: the second client finds them, and no client waits for another."""
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

    def files_of(self, part: int, parts: int) -> None:
        """Create each `parts`-th of all files, from number `part` on."""
        for path, node in self.of_part(part, parts):
            self._write(path, node)

    def of_part(self, part: int, parts: int) -> Iterator[tuple[bytes, int]]:
        """Yield paths and nodes of these files."""
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
            finally:
                os.close(fd)
        except OSError as e:
            raise storage_fault("write", path, e) from e


def remove_trees(target: Target) -> None:
    """Remove this replay's directories on all paths, links as links; missing ones are no error.

    Raises StorageFault in one line, after everything that can be removed is."""
    wrong: list[StorageFault] = []
    for home in target.homes():
        try:
            _remove_tree(os.fsencode(home))
        except StorageFault as e:
            wrong.append(e)
    if wrong:
        raise wrong[0]


def _remove_tree(home: bytes) -> None:
    """Remove a tree without recursion, because it may be deeper than Python's stack."""
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
    """Remove everything in a directory except its directories, and return these."""
    directories = []
    with os.scandir(directory) as entries:
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                directories.append(entry.path)
            else:
                os.unlink(entry.path)
    return directories


def drop_own(program: Program, target: Target, *, client: int) -> Dropped:
    """Write out this client's part of the tree, and drop its pages; directories and inodes stay cached.

    Every client drops its own files: each may be on another host."""
    paths = [Path(os.fsdecode(path)) for path in own_files(program, target, client=client)]
    return drop_pages(paths, everything=False)


MARGIN: Final = 0.1  # share of the bytes and inodes needed that has to be free in addition
_MOST_PATH: Final = 4095  # bytes; PATH_MAX without its end
_ID_BYTES: Final = 64  # longest replay id
_TREE_BYTES: Final = 16  # longest name of a tree below it
_NOT_OURS_TO_COUNT: Final = frozenset({"lost+found", ".snapshot", ".snapshots", ".zfs"})  # in an empty file system


def check_paths(paths: Sequence[Path], *, not_empty: bool = False) -> None:
    """Check that every path is a directory that this user may write in, none twice or within another, and empty unless
    `not_empty`.

    Touches nothing. Raises UsageError in one line."""
    if not paths:
        raise UsageError("no path is given; give a directory with --path")
    real = [_checked(path, not_empty) for path in paths]
    for number, path in enumerate(real):
        for other in real[number + 1 :]:
            if path == other:
                raise UsageError(f"{path} is given twice; give each path once")
            if path in other.parents or other in path.parents:
                raise UsageError(f"one of {path} and {other} is inside the other; give separate directories")


def _checked(path: Path, not_empty: bool) -> Path:
    with system_errors(UsageError, f"{path} cannot be used"):
        real = path.resolve(strict=True)
        if not stat.S_ISDIR(real.stat().st_mode):
            raise UsageError(f"{path} is not a directory; give a directory")
        if not os.access(real, os.R_OK | os.W_OK | os.X_OK):
            raise UsageError(
                f"permission denied: this user cannot write to {path}; grant it access, or give another path"
            )
        held = sorted(entry for entry in os.listdir(real) if entry not in _NOT_OURS_TO_COUNT)
    if held and not not_empty:
        left = " (left by an earlier replay)" if held[0].startswith(HOME) else ""
        raise UsageError(f"{path} is not empty: it contains {held[0]!r}{left}; give an empty directory, or --not-empty")
    return real


def check_room(program: Program, paths: Sequence[Path], *, not_empty: bool = False) -> None:
    """Call `check_paths`, and check that there are bytes and inodes for the whole replay with MARGIN, even if several
    paths are on one file system.

    Raises UsageError in one line with what is there and what is needed."""
    check_paths(paths, not_empty=not_empty)
    if len(paths) != program.plan.paths:
        raise UsageError(f"the replay was planned for {program.plan.paths} paths, but {len(paths)} are given")
    together: dict[int, list[int]] = {}
    try:
        for number, path in enumerate(paths):
            together.setdefault(path.stat().st_dev, []).append(number)
            longest = len(os.fsencode(path.resolve())) + len(HOME) + _ID_BYTES + _TREE_BYTES + 3 + program.longest
            if longest > _MOST_PATH:
                raise UsageError(f"{path} is too long: with the trace's depth, paths would be {longest} bytes long")
        for numbers in together.values():
            _check_system(program, [paths[number] for number in numbers], numbers)
    except OSError as e:
        raise UsageError(f"{e.filename or paths[0]} cannot be used: {e.strerror or e}") from e


def _check_system(program: Program, paths: Sequence[Path], numbers: Iterable[int]) -> None:
    rooms = [program.rooms[number] for number in numbers]
    size = round(sum(room.bytes for room in rooms) * (1 + MARGIN))
    inodes = round(sum(room.inodes for room in rooms) * (1 + MARGIN)) + len(rooms) * 3  # home and trees
    info = os.statvfs(paths[0])
    names = ", ".join(str(path) for path in paths)
    free = info.f_bavail * info.f_frsize
    if size > free:
        raise UsageError(
            f"{names}: the replay needs {size / 1e9:,.3f} GB (10 % to spare), {free / 1e9:,.3f} GB are free;"
            " free space, or use fewer clients"
        )
    if info.f_files and inodes > info.f_favail:  # 0: the file system makes them as it needs them
        raise UsageError(
            f"{names}: the replay needs {inodes:,} inodes (10 % to spare), {info.f_favail:,} are free;"
            " remove files, or use fewer clients"
        )
