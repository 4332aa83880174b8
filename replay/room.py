"""Whether a replay may use its target paths, and whether they have the room."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Final

from core.errors import UsageError
from replay.program import Program
from replay.tree import HOME

MARGIN: Final = 0.1  # of the bytes and inodes needed, that have to be free beside them
_MOST_PATH: Final = 4095  # bytes; PATH_MAX without its end
_ID_BYTES: Final = 64  # of a replay's, at most
_TREE_BYTES: Final = 16  # of the name of a tree below
_NOT_OURS_TO_COUNT: Final = frozenset({"lost+found", ".snapshot", ".snapshots", ".zfs"})  # in an empty file system


def check_paths(paths: Sequence[Path], *, force: bool = False) -> None:
    """Every path is a directory that this user may write in, none twice or within another, and empty unless `force`.

    Touches nothing. Raises UsageError in one line.
    """
    if not paths:
        raise UsageError("no path is given; give a directory with --path")
    real = [_checked(path, force) for path in paths]
    for number, path in enumerate(real):
        for other in real[number + 1 :]:
            if path == other:
                raise UsageError(f"{path} is given twice; give each path once")
            if path in other.parents or other in path.parents:
                raise UsageError(f"{path} and {other} are inside each other; give separate directories")


def _checked(path: Path, force: bool) -> Path:
    try:
        real = path.resolve(strict=True)
        if not stat.S_ISDIR(real.stat().st_mode):
            raise UsageError(f"{path} is not a directory; give a directory")
        if not os.access(real, os.R_OK | os.W_OK | os.X_OK):
            raise UsageError(f"permission denied: this user may not write in {path}; give it access, or another path")
        held = sorted(entry for entry in os.listdir(real) if entry not in _NOT_OURS_TO_COUNT)
    except OSError as e:
        raise UsageError(f"{path} cannot be used: {e.strerror or e}") from e
    if held and not force:
        left = " (left by an earlier replay)" if held[0].startswith(HOME) else ""
        raise UsageError(f"{path} is not empty: it contains {held[0]!r}{left}; give an empty directory, or --force")
    return real


def check_room(program: Program, paths: Sequence[Path], *, force: bool = False) -> None:
    """`check_paths`, and bytes and inodes for the whole replay with MARGIN, where several paths may be on one file system.

    Raises UsageError in one line that says what is there and what is needed.
    """
    check_paths(paths, force=force)
    if len(paths) != program.plan.paths:
        raise UsageError(f"the replay was planned for {program.plan.paths} paths, but {len(paths)} are given")
    together: dict[int, list[int]] = {}
    try:
        for number, path in enumerate(paths):
            together.setdefault(path.stat().st_dev, []).append(number)
            longest = len(os.fsencode(path.resolve())) + len(HOME) + _ID_BYTES + _TREE_BYTES + 3 + program.longest
            if longest > _MOST_PATH:
                raise UsageError(f"{path} is too long: with the trace's depth, paths would have {longest} bytes")
        for numbers in together.values():
            _check_system(program, [paths[number] for number in numbers], numbers)
    except OSError as e:
        raise UsageError(f"{e.filename or paths[0]} cannot be used: {e.strerror or e}") from e


def _check_system(program: Program, paths: Sequence[Path], numbers: Iterable[int]) -> None:
    """One file system and the paths on it."""
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
