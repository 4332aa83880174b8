"""A plugin whose parser kills, or hangs, the process that runs it; the file says at which point."""

import ctypes
import faulthandler
import os
from collections.abc import Iterator

from core.records import Limits
from readers.base import Child, LeafHandler, Part, Source, Text


class KillerHandler(LeafHandler):
    """Aborts in `children` or in `text`, or hangs where no Python code runs."""

    name = "killer"
    media_types: tuple[str, ...] = ("application/x-killer",)

    def children(self, source: Source, limits: Limits, part: Part | None = None) -> Iterator[Child]:
        if b"children" in source.head:
            _abort()
        if b"hang" in source.head:
            ctypes.CDLL(None).pause()
        return iter(())

    def text(self, source: Source, limits: Limits) -> Text:
        if b"text" in source.head:
            _abort()
        return Text(text="harmless")


def _abort() -> None:
    faulthandler.disable()  # of the tests' own processes: a page of stacks for each would bury what went wrong elsewhere
    os.abort()


HANDLERS = (KillerHandler(),)
MAGIC = {b"KILLER": "application/x-killer"}
