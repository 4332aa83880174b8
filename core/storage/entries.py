"""What the storage layer says about directories and file systems."""

from __future__ import annotations

import enum
import os
import stat
from typing import NamedTuple


class EntryKind(enum.Enum):
    """What a directory entry is; a link is never followed to find out."""

    FILE = "file"
    DIRECTORY = "directory"
    LINK = "link"
    SPECIAL = "special"  # FIFO, socket or device


class Entry(NamedTuple):
    """One entry of a directory."""

    name: bytes
    kind: EntryKind


class Space(NamedTuple):
    """Room on a file system for an unprivileged user."""

    free_bytes: int
    free_inodes: int
    total_bytes: int


def entry_kind(entry: os.DirEntry[bytes] | os.DirEntry[str]) -> EntryKind:
    """By the directory's own type field; only a file system without one costs an lstat(2).

    An entry whose lstat(2) is refused counts as a file: the caller's own `stat` of it reports why, and the other
    entries of the directory are read.
    """
    try:
        if entry.is_symlink():
            return EntryKind.LINK
        if entry.is_file(follow_symlinks=False):
            return EntryKind.FILE
        if entry.is_dir(follow_symlinks=False):
            return EntryKind.DIRECTORY
    except PermissionError:
        return EntryKind.FILE
    return EntryKind.SPECIAL


def size_of(info: os.stat_result) -> int:
    """As call records have it: a directory's own size says nothing about what it holds."""
    return 0 if stat.S_ISDIR(info.st_mode) else info.st_size
