"""The kernel's mount table (proc_pid_mountinfo(5)): what is mounted where, told without touching what is mounted."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

MOUNTINFO = Path("/proc/self/mountinfo")

_OCTAL = re.compile(rb"\\([0-3][0-7]{2})")


@dataclass(frozen=True, slots=True)
class MountEntry:
    """One line of mountinfo. Names are as `os.fsdecode` gives them."""

    id: int
    device: str  # MAJOR:MINOR of the file system; major 0 where no block device lies under it
    point: str
    kind: str  # file system type
    source: str  # block device, server:export, or whatever the file system says
    options: tuple[str, ...]  # of the mount and of the file system


def unescaped(text: str) -> str:
    r"""A field of the kernel's tables with its \040 and the like turned back."""
    if "\\" not in text:
        return text
    return os.fsdecode(_OCTAL.sub(lambda found: bytes([int(found[1], 8)]), os.fsencode(text)))


def parse_mountinfo(text: str) -> list[MountEntry]:
    """Every mount in the table's order; lines that are not understood are left out."""
    entries = (_entry(line) for line in text.split("\n"))
    return [entry for entry in entries if entry is not None]


def _entry(line: str) -> MountEntry | None:
    left, separator, right = line.partition(" - ")
    fields, rest = left.split(" "), right.split(" ")
    if not separator or len(fields) < 6 or len(rest) < 3 or not re.fullmatch("[0-9]{1,10}", fields[0]):
        return None
    options = dict.fromkeys([*fields[5].split(","), *rest[2].split(",")])
    return MountEntry(int(fields[0]), fields[2], unescaped(fields[4]), rest[0], unescaped(rest[1]), tuple(options))


def read_mountinfo(path: Path = MOUNTINFO) -> list[MountEntry]:
    """The mount table of this process; empty where there is none."""
    try:
        return parse_mountinfo(os.fsdecode(path.read_bytes()))
    except OSError:
        return []


def holding(path: str | os.PathLike[str], entries: Sequence[MountEntry]) -> MountEntry | None:
    """The mount that an absolute path without symbolic links lies on; of equal mount points the last is in force."""
    name = os.fspath(path)
    best: MountEntry | None = None
    for entry in entries:
        inside = name == entry.point or name.startswith(entry.point.rstrip("/") + "/")
        if inside and (best is None or len(entry.point) >= len(best.point)):
            best = entry
    return best
