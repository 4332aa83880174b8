"""A process of ours from its first line to its last; in between is what it is for. Each of them pays for both ends."""

from __future__ import annotations

import atexit
import gc
import os
import sys
from contextlib import suppress
from importlib import import_module
from typing import NoReturn

# New objects after which the collector looks for cycles among them. A start makes tens of thousands, nearly all of which
# stay: to look at them after every 20,000 took a tenth of the start of `inspect`, and by default it is after every 700.
_NEW_OBJECTS = 100_000


def begin(module: str) -> NoReturn:
    """Load that module, do what its `run` does, and end with the exit status that it gives."""
    gc.set_threshold(_NEW_OBJECTS, *gc.get_threshold()[1:])  # before there is anything to collect
    status: list[int] = []
    atexit.register(_leave, status)  # the first that is registered runs last, behind threads, loggers, temporary files
    status.append(import_module(module).run())
    sys.exit(status[0])


def _leave(status: list[int]) -> None:
    """End here: the interpreter would take every module apart for the kernel, which takes all of it anyway."""
    if status:
        for stream in (sys.stdout, sys.stderr):
            with suppress(OSError, ValueError, AttributeError):  # whoever read it went away; closed; never there
                stream.flush()
        os._exit(status[0])
