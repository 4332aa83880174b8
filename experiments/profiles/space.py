"""Space that file systems under test say is in use."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from core.storage.sync import syncfs

_LOOK_S, _PATIENCE_S = 0.25, 60.0


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


def usage_at_rest(
    roots: Sequence[Path], still: float, look: Callable[[Sequence[Path]], Usage | None] = usage,
    now: Callable[[], float] = time.monotonic, wait: Callable[[float], None] = time.sleep,
) -> Usage | None:  # fmt: skip
    """When the space has been the same for so many seconds: a storage may tell of it once a second, or write and free
    it later. None where it does not come to rest within a minute."""
    began = since = now()
    last = look(roots)
    while now() - since < still:
        if now() - began > _PATIENCE_S:
            return None
        wait(_LOOK_S)
        if (told := look(roots)) != last:
            last, since = told, now()
    return last


def synced(root: Path) -> None:
    """What is not written yet takes no space yet. Raises OSError."""
    descriptor = os.open(root, os.O_RDONLY)
    try:
        syncfs(descriptor)
    finally:
        os.close(descriptor)
