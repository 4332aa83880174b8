"""A plugin that only a campaign's workers load: files that end, hang or starve the process that reads them; and portions of
a few rows in the first worker, so that tasks of a small corpus are written in several there and in one elsewhere."""

import ctypes
import os
import sys
from collections.abc import Iterator

from core.records import Limits
from readers.base import Child, Handler, LeafHandler, Part, Source, Text
from worker.items import portions

HEAD = b"EDBENCH POISON "
WAYS = ("segfault", "hang", "memory", "abort")
PLACES = ("children", "text")
FIRST_WORKER, PORTION_ROWS = "w1", 10


def poison(way: str, place: str) -> bytes:
    """The bytes of a file that does this when its children or its text are taken."""
    return HEAD + f"{way} {place}\n".encode()


class PoisonHandler(LeafHandler):
    """Does what the file says."""

    name = "poison"
    media_types: tuple[str, ...] = ("application/x-edbench-poison",)

    def children(self, source: Source, limits: Limits, part: Part | None = None) -> Iterator[Child]:
        _take(source.head, b"children")
        return iter(())

    def text(self, source: Source, limits: Limits) -> Text:
        _take(source.head, b"text")
        return Text(text="harmless")


def _take(head: bytes, place: bytes) -> None:
    if place not in head:
        return
    if b"segfault" in head:
        ctypes.string_at(0)
    if b"abort" in head:
        os.abort()
    if b"hang" in head:
        while True:
            ctypes.CDLL(None).pause()
    held = []
    while b"memory" in head:
        held.append(bytearray(64 << 20))


HANDLERS: tuple[Handler, ...] = (PoisonHandler(),)
MAGIC = {HEAD: "application/x-edbench-poison"}

if FIRST_WORKER in sys.argv:
    portions.ROWS = PORTION_ROWS
