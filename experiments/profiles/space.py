"""Space that file systems under test say is in use."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from core.storage.sync import syncfs


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """Of all file systems under test together, by whoever uses them; statvfs(3)."""

    used_bytes: int
    used_inodes: int


def usage(roots: Sequence[Path]) -> Usage | None:
    """Each file system once; None without any."""
    there = {os.stat(root).st_dev: os.statvfs(root) for root in roots}
    if not there:
        return None
    return Usage(
        used_bytes=sum((one.f_blocks - one.f_bfree) * one.f_frsize for one in there.values()),
        used_inodes=sum(one.f_files - one.f_ffree for one in there.values()),
    )


def synced(root: Path) -> None:
    """What is not written yet takes no space yet. Raises OSError."""
    descriptor = os.open(root, os.O_RDONLY)
    try:
        syncfs(descriptor)
    finally:
        os.close(descriptor)
