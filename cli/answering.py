"""Report storage that does not answer, instead of waiting in silence for a server that is down.

A call to such a mount cannot be interrupted, and a process with an open call cannot end. So a child makes the first call, and the
command waits for the child only: Ctrl-C ends it. The child ends when the storage answers or is unmounted.

Limits: only the start of a command, and of its summary, is covered; a storage that fails later blocks as before. `serve` is not
covered, because the web UI has to start.
"""

from __future__ import annotations

import os
import select
import sys
from collections.abc import Callable
from pathlib import Path

_PATIENCE_SECONDS = 5.0  # a filer under load takes a second or two
_MOST_FILES = 4_096  # open descriptors of a command at this point


def await_answer(
    *directories: Path,
    waits: str = "",
    look: Callable[[Path], object] = os.statvfs,
    patience: float = _PATIENCE_SECONDS,
) -> None:
    """Wait until the storage of each directory answers, with whatever; print a line when that takes long, and another when it
    answers. `waits`: a prefix of that line; `look` calls the storage: the kernel caches nothing of `statvfs`."""
    for directory in dict.fromkeys(directories):
        child, ended = _looking(directory, look)
        try:
            if not _within(ended, patience):
                _say(
                    f"{waits}the storage at {directory} has not answered for {patience:g} s: is its server up? Waiting for it;"
                    " Ctrl-C ends this"
                )
                _within(ended, None)
                _say(f"the storage at {directory} answers")
            os.waitpid(child, 0)  # it is ending; one that blocks is left to init
        finally:
            os.close(ended)


def _looking(directory: Path, look: Callable[[Path], object]) -> tuple[int, int]:
    """A child that calls the storage, and a descriptor that ends with the child."""
    ended, held = os.pipe()
    child = os.fork()
    if child == 0:
        _look_and_go(directory, look, held)
    os.close(held)
    return child, ended


def _look_and_go(directory: Path, look: Callable[[Path], object], held: int) -> None:
    """In the child. It closes every descriptor that another process may wait on: it may block for long."""
    try:
        os.closerange(0, held)
        os.closerange(held + 1, _MOST_FILES)
        look(directory)
    finally:
        os._exit(0)  # whatever the storage answered


def _within(ended: int, seconds: float | None) -> bool:
    waiting = select.poll()
    waiting.register(ended, select.POLLIN)
    return bool(waiting.poll(None if seconds is None else seconds * 1e3))


def _say(line: str) -> None:
    print(f"edbench: {line}", file=sys.stderr, flush=True)
