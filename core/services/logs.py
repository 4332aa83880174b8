"""Files that processes' output is appended to: for their owner and group to read, and never larger than twice a bound.

Whoever writes keeps his descriptor: what is kept is copied away and the file is emptied, which works because everybody
appends. Limit: a line written between the copy and the emptying is lost.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
from pathlib import Path
from typing import IO

MOST_BYTES = 16_000_000  # of a log, and of the older one beside it
_MODE = 0o640
_FLAGS = os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW


def open_log(log: Path, *, afresh: bool = False) -> IO[bytes]:
    """For appending; whatever the umask and whatever made it, others than owner and group cannot read it."""
    descriptor = os.open(log, _FLAGS | (os.O_TRUNC if afresh else os.O_APPEND), _MODE)
    os.fchmod(descriptor, _MODE)
    return open(descriptor, "wb")


def rotate(log: Path) -> None:
    """Keep one older log beside a new empty one; for one that nobody writes to."""
    with contextlib.suppress(FileNotFoundError):
        with contextlib.suppress(PermissionError):  # root wrote it, in a directory that is not his
            log.chmod(_MODE)
        log.replace(_older(log))


def trim(log: Path) -> None:
    """The same while it is written to, once it has grown too large. Full disks do not keep it from being emptied."""
    try:
        if log.stat().st_size <= MOST_BYTES:
            return
        with log.open("r+b") as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if os.fstat(file.fileno()).st_size > MOST_BYTES:  # nobody else was quicker
                with contextlib.suppress(OSError):
                    _copy(file, _older(log))
                os.ftruncate(file.fileno(), 0)
    except (FileNotFoundError, BlockingIOError):
        return


def _copy(source: IO[bytes], target: Path) -> None:
    draft = target.with_name(f"{target.name}.tmp")
    try:
        with open_log(draft, afresh=True) as file:
            shutil.copyfileobj(source, file)
        draft.replace(target)
    finally:
        draft.unlink(missing_ok=True)


def _older(log: Path) -> Path:
    return log.with_name(log.name + ".1")
