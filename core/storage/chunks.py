"""The bytes of a file to be written, in pieces that suit a filer."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing_extensions import Buffer

WRITE_SIZE = 1 << 20  # small chunks are gathered into writes of this many bytes


def gathered(chunks: Iterable[Buffer]) -> Iterator[Buffer]:
    """The same bytes in pieces of WRITE_SIZE, the last one smaller; large chunks are not copied."""
    held = bytearray()
    for chunk in chunks:
        view = memoryview(chunk)
        if view.ndim != 1 or view.itemsize != 1:
            view = view.cast("B")
        while view:
            if not held and len(view) >= WRITE_SIZE:
                yield view[:WRITE_SIZE]
                view = view[WRITE_SIZE:]
                continue
            room = WRITE_SIZE - len(held)
            held += view[:room]
            view = view[room:]
            if len(held) == WRITE_SIZE:
                yield held
                held = bytearray()
    if held:
        yield held


def local_chunks(path: str | bytes, alive: Callable[[], None] | None = None) -> Iterator[bytes]:
    """A file on local scratch, in pieces of WRITE_SIZE; raises OSError. `alive` is told before each."""
    with open(path, "rb") as file:
        while chunk := file.read(WRITE_SIZE):
            if alive is not None:
                alive()
            yield chunk
