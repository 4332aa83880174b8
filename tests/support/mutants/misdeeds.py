"""A plugin whose handler breaks each promise on request: whether the harness sees it."""

import os
import signal
from collections.abc import Iterator
from pathlib import Path

from core.records import Limits
from readers.base import Child, LeafHandler, Part, Source, Text

_MAGIC = b"EVIL"
EXPECTED = {  # what a file asks for → what has to be found
    "index": "unnamed: IndexError",
    "write": "fence: open for writing 'escaped.txt'",
    "far": "fence: os.mkdir '/proc/escaped'",
    "memory": "unnamed: MemoryError",
    "recursion": "unnamed: RecursionError",
    "metadata": "NUL in metadata",
    "abort": "killed_parser",
    "hang": "timeout",
}


class Misbehaving(LeafHandler):
    """Does what its file says."""

    name = "misbehaving"
    media_types: tuple[str, ...] = ("application/x-misbehaving",)

    def children(self, source: Source, limits: Limits, part: Part | None = None) -> Iterator[Child]:
        if source.head == _MAGIC + b"abort":
            os.abort()
        if source.head == _MAGIC + b"hang":
            signal.raise_signal(signal.SIGALRM)  # as when the deadline is over
        return iter(())

    def text(self, source: Source, limits: Limits) -> Text:
        deed = source.head.removeprefix(_MAGIC)
        if deed == b"index":
            return Text(text=str([][1]))
        if deed == b"write":
            Path("escaped.txt").write_text("x")
        elif deed == b"far":
            os.mkdir("/proc/escaped")
        elif deed == b"memory":
            return Text(text=str(len(bytearray(3_000_000_000))))
        elif deed == b"recursion":
            return self.text(source, limits)
        elif deed == b"metadata":
            return Text(text="x", metadata={"title": "a\0b"})
        return Text(text="harmless")


HANDLERS = (Misbehaving(),)
MAGIC = {_MAGIC: Misbehaving.media_types[0]}
