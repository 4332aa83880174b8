"""Storage that does not answer is said within seconds, where a command would wait in silence for a server that has gone.

A call to such a mount cannot be interrupted, nor can a process end that has one in it. So the first one is a child's, and the
command waits for the child alone: Ctrl-C ends it. The child goes once the storage answers, or is unmounted.

Limits: only the beginning of a command, and of its summary, is looked at. What a command asks of storage that goes away later waits
as before; and the page (`serve`) is not looked at at all, because it has to come up.
"""

from __future__ import annotations

import os
import select
import sys
from collections.abc import Callable
from pathlib import Path

_PATIENCE_SECONDS = 5.0  # a filer under load takes a second or two
_MOST_FILES = 4_096  # that a command has open when it looks


def await_answer(
    *directories: Path,
    waits: str = "",
    look: Callable[[Path], object] = os.statvfs,
    patience: float = _PATIENCE_SECONDS,
) -> None:
    """Until the storage below each of them answers, whatever it answers; when that takes long it is said, and again when it is
    over. `waits`: what waits for it, said before. `look` asks the storage: no cache of the kernel's has what `statvfs` tells."""
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
            os.waitpid(child, 0)  # it is at its end; one that is not is left to whoever takes orphans
        finally:
            os.close(ended)


def _looking(directory: Path, look: Callable[[Path], object]) -> tuple[int, int]:
    """A child that looks, and a descriptor that is at its end when the child is."""
    ended, held = os.pipe()
    child = os.fork()
    if child == 0:
        _look_and_go(directory, look, held)
    os.close(held)
    return child, ended


def _look_and_go(directory: Path, look: Callable[[Path], object], held: int) -> None:
    """In the child. It keeps nothing open that somebody may wait for the end of: it may be here for long."""
    try:
        os.closerange(0, held)
        os.closerange(held + 1, _MOST_FILES)
        look(directory)
    finally:
        os._exit(0)  # whatever the storage said


def _within(ended: int, seconds: float | None) -> bool:
    waiting = select.poll()
    waiting.register(ended, select.POLLIN)
    return bool(waiting.poll(None if seconds is None else seconds * 1e3))


def _say(line: str) -> None:
    print(f"edbench: {line}", file=sys.stderr, flush=True)
