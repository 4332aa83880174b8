"""A handler that breaks each promise on request, run as mutants are: whether the harness sees it. Prints JSON."""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path

from unpacking import make_zip

from core.records import JobOptions, Limits
from mutants.originals import Original, Turns
from mutants.reading import Reading
from mutants.running import Run
from readers.base import Child, LeafHandler, Part, Source, Text
from readers.identification.identify import register_magic
from readers.registry import register

DEEDS = ("none", "index", "write", "far", "memory", "recursion", "metadata", "abort", "hang")
_MAGIC = b"EVIL"
_MEMORY_MB = 1024  # a slot's


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


def main(place: Path) -> None:
    """Each deed in the middle of an archive."""
    register((Misbehaving(),))
    register_magic({_MAGIC: Misbehaving.media_types[0]})
    evil = [  # each of a sort of its own
        Original(deed, f"zip.{deed}", make_zip({"a.txt": b"a", "b": _MAGIC + deed.encode(), "c.txt": b"c"}))
        for deed in DEEDS
    ]
    found: list[Reading] = []
    run = Run(Turns(evil), seed=0, place=place, options=JobOptions(), memory_mb=_MEMORY_MB, report=found.append)
    run.read(range(len(DEEDS)), processes=1)
    print(json.dumps({one.original: {"findings": one.findings, "items": one.items} for one in found}))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
