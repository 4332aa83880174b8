"""The table of a program: for every node its path, what is prepared there, and what its content is like.

Lies in files that are mapped, so that a client takes memory for what it touches only.
"""

from __future__ import annotations

import mmap
from array import array
from itertools import repeat
from pathlib import Path
from typing import Self

from core.content import CONTENT_CLASSES
from core.errors import UsageError
from core.reading import read_problem
from replay.spread import Spread
from replay.survey import Survey
from replay.world import DIRECTORY, FILE, World
from traces.layout import Layout
from traces.model import NO_NODE

# Bits of `Table.prepare`.
OWN_DIRECTORY, OWN_FILE, SHARED_DIRECTORY, SHARED_FILE, EVERYWHERE = 1, 2, 4, 8, 16

_FILES = ("paths", "offsets", "places", "content", "prepare", "sizes")


def write_table(directory: Path, layout: Layout, survey: Survey, spread: Spread, world: World) -> None:
    """Write the table's files; raises OSError."""
    size = len(survey)
    offsets = array("Q", repeat(0, size + 1))
    with (directory / "paths").open("wb") as file:
        at = 0
        for node in range(size):
            at += file.write(layout.path(node))
            offsets[node + 1] = at
    columns = {
        "offsets": offsets,
        "places": array("B", (p << 1 | s for p, s in zip(spread.places, spread.private, strict=True))),
        "content": array("B", (round(ratio * CONTENT_CLASSES / 1000) for ratio in survey.ratios)),
        "prepare": _prepare(survey, spread, world),
        "sizes": _sizes(survey, world),
    }
    for name, column in columns.items():
        with (directory / name).open("wb") as file:
            column.tofile(file)


def _sizes(survey: Survey, world: World) -> array[int]:
    """Bytes of each file that is prepared; one that was taken to have been there has what is read and written of it."""
    return array(
        "Q",
        (
            0 if state != FILE else size if existed else extent
            for state, size, existed, extent in zip(
                world.prepared, survey.sizes, survey.existed, survey.extents, strict=True
            )
        ),
    )


def _prepare(survey: Survey, spread: Spread, world: World) -> array[int]:
    """What to make of each node, and where. A directory stands in a clone's own tree also for what is below it."""
    size = len(survey)
    own_below = array("B", spread.private)
    for node in range(size - 1, -1, -1):
        if own_below[node] and survey.parents[node] != NO_NODE:
            own_below[survey.parents[node]] = 1
    out = array("B", repeat(0, size))
    for node in range(size):
        if world.prepared[node] == DIRECTORY:
            own = OWN_DIRECTORY if own_below[node] else 0
            shared = 0 if spread.private[node] else SHARED_DIRECTORY
            out[node] = own | shared | (EVERYWHERE if spread.everywhere[node] else 0)
        elif world.prepared[node] == FILE:
            out[node] = OWN_FILE if spread.private[node] else SHARED_FILE
    return out


class CallTable:
    """A table, mapped. Raises UsageError when it is not whole."""

    def __init__(self, directory: Path) -> None:
        try:
            maps = {name: _map(directory / name) for name in _FILES}
        except (OSError, ValueError) as e:
            raise UsageError(f"{read_problem(f'the table of the replay in {directory}', e)}; compile it again") from e
        self._maps = maps
        self.blob = maps["paths"]  # all relative paths
        self.offsets = memoryview(maps["offsets"]).cast("Q")  # of each node's in it; one more than nodes
        self.places = memoryview(maps["places"])  # path number times two, plus one for a clone's own
        self.content = memoryview(maps["content"])  # class of compressibility
        self.prepare = memoryview(maps["prepare"])
        self.sizes = memoryview(maps["sizes"]).cast("Q")  # bytes of what is prepared

    def __len__(self) -> int:
        return len(self.places)

    def relative(self, node: int) -> bytes:
        """Its path below its tree."""
        return self.blob[self.offsets[node] : self.offsets[node + 1]]

    def close(self) -> None:
        for view in (self.offsets, self.places, self.content, self.prepare, self.sizes):
            view.release()
        for mapped in self._maps.values():
            mapped.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _map(path: Path) -> mmap.mmap:
    with path.open("rb") as file:
        return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
