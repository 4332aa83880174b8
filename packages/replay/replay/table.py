"""The table of a program: for every node its path, what is prepared there and its content; and the bytes and files of
the tree.

It is stored in files that are mapped, so that a client uses memory only for what it touches.

A trace contains no names, so they are generated: each as long as the recorded one, distributed over the alphabet as
hashes are (a directory that is filled in sorted order is easier for a file system than most directories), in lower case
only (so that no two are the same on a filer that ignores case), and the same each time for the same trace."""

from __future__ import annotations

import mmap
from array import array
from collections import defaultdict
from collections.abc import Sequence
from functools import lru_cache
from itertools import repeat
from pathlib import Path
from typing import Self

from core.content import BLOCK, CONTENT_CLASSES
from core.errors import reading_errors
from core.names import MAX_NAME_BYTES
from core.operations import Op
from replay import script
from replay.order import Play
from replay.plan import Spread
from replay.world import CHANGES, DIRECTORY, FILE, Survey, World
from traces.model import NO_NODE, Node

_DIGITS = b"0123456789abcdefghijklmnopqrstuvwxyz"
_BASE = len(_DIGITS)
_VARIED = 10  # digits of a name that differ from its siblings'; 36^10 is more than any directory contains
_SPREAD = 2_259_683_671_048_777  # about 36^10 / golden ratio, and no multiple of 2 or 3: each product occurs once
_FILL = b"_"
_CACHED_DIRECTORIES = 65_536


class Layout:
    """Relative paths of the nodes of a trace.

    Root number n is called `root<n>`; every other name has the recorded length. Only if a directory contains more names
    of one length than 36 letters can distinguish (37 of one byte, 1,297 of two) the rest are a byte longer; lengths
    outside 1 to 255 become the nearest. Takes about 20 bytes of memory a node."""

    def __init__(self, nodes: Sequence[Node]) -> None:
        self._parents = array("q")
        self._ordinals = array("q")  # position among the siblings of that length; for a root among the roots
        self._lengths = array("B")  # of the name; 0 of a root
        self.longest = 0  # bytes of the longest relative path
        self._number(nodes)
        self._above = lru_cache(_CACHED_DIRECTORIES)(self._prefix)

    def _number(self, nodes: Sequence[Node]) -> None:
        taken: dict[tuple[int, int], int] = defaultdict(int)
        totals = array("i")  # of the relative path, in bytes
        roots = 0
        for node in nodes:
            if node.parent == NO_NODE:
                ordinal, length, total = roots, 0, len(_root(roots))
                roots += 1
            else:
                length = min(max(node.name_bytes, 1), MAX_NAME_BYTES)
                while length < _VARIED and taken[node.parent, length] >= _BASE**length:
                    length += 1
                ordinal = taken[node.parent, length]
                taken[node.parent, length] = ordinal + 1
                total = totals[node.parent] + 1 + length
            self._parents.append(node.parent)
            self._ordinals.append(ordinal)
            self._lengths.append(length)
            totals.append(total)
            self.longest = max(self.longest, total)

    def name(self, node: int) -> bytes:
        """Return the last part of the path."""
        length = self._lengths[node]
        return _name(self._ordinals[node], length) if length else _root(self._ordinals[node])

    def path(self, node: int) -> bytes:
        """Return the path below the top of the tree, parts separated by `/`; it begins with its root's name."""
        parent = self._parents[node]
        return self.name(node) if parent == NO_NODE else self._above(parent) + self.name(node)

    def _prefix(self, directory: int) -> bytes:
        parts = [b""]
        while directory != NO_NODE:
            parts.append(self.name(directory))
            directory = self._parents[directory]
        return b"/".join(reversed(parts))


def _root(ordinal: int) -> bytes:
    return b"root%d" % ordinal


def _name(ordinal: int, length: int) -> bytes:
    varied = min(length, _VARIED)
    rest = (ordinal + 1) * _SPREAD % _BASE**varied
    name = bytearray(_FILL * length)
    for position in range(varied - 1, -1, -1):
        rest, digit = divmod(rest, _BASE)
        name[position] = _DIGITS[digit]
    return bytes(name)


# Bits of `Table.prepare`.
OWN_DIRECTORY, OWN_FILE, SHARED_DIRECTORY, SHARED_FILE, EVERYWHERE = 1, 2, 4, 8, 16

_FILES = ("paths", "offsets", "places", "content", "prepare", "sizes")


def write_table(directory: Path, layout: Layout, survey: Survey, spread: Spread, world: World) -> None:
    """Write the table's files. Raises OSError."""
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
    """Return the bytes of each prepared file; an assumed one gets the bytes that are read and written."""
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
    """Return what to create for each node. A directory is also in a clone's own tree if anything below it is."""
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
    """A mapped table. Raises UsageError if it is not complete."""

    def __init__(self, directory: Path) -> None:
        maps = self._maps = dict[str, mmap.mmap]()
        with reading_errors(f"the table of the replay in {directory}", "; compile it again"):
            for name in _FILES:
                with (directory / name).open("rb") as file:
                    maps[name] = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        self.blob = maps["paths"]  # all relative paths
        self.offsets = memoryview(maps["offsets"]).cast("Q")  # start of each node's path in it; one more than nodes
        self.places = memoryview(maps["places"])  # path number times two, plus one for a clone's own
        self.content = memoryview(maps["content"])  # class of compressibility
        self.prepare = memoryview(maps["prepare"])
        self.sizes = memoryview(maps["sizes"]).cast("Q")  # bytes of each prepared file

    def __len__(self) -> int:
        return len(self.places)

    def relative(self, node: int) -> bytes:
        """Return the node's path below its tree."""
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


def rounded(size: int) -> int:
    """Return the bytes of the blocks that `size` bytes take."""
    return -(-size // BLOCK) * BLOCK


class Growth:
    """Sizes of files during the calls of one clone; 9 bytes a node. Lists are by place (`Spread.places`)."""

    def __init__(self, survey: Survey, spread: Spread, paths: int) -> None:
        self._places = spread.places
        self._sizes = array("q", repeat(0, len(survey)))  # grown by the calls so far
        self._bytes, self._files = [0] * paths, [0] * paths
        self.bytes, self.files = [0] * paths, [0] * paths  # the most at any time

    def follow(self, play: Play) -> None:
        """Apply one more call."""
        call = play.call
        if play.expected or play.code >= script.LOOK:
            return
        if call.op is Op.WRITE:
            self._grow(call.node, call.argument + call.bytes)
        elif call.op in CHANGES:
            self._change(play)

    def _change(self, play: Play) -> None:
        call, place = play.call, self._places[play.call.node]
        if call.op is Op.REMOVE:
            self._forget(call.node)
            self._files[place] -= 1
        elif call.op is Op.RENAME:
            if call.other != NO_NODE and call.other != call.node:
                self._forget(call.node)
                self._sizes[call.node], self._sizes[call.other] = self._sizes[call.other], 0
        elif play.code not in (script.REPLACE, script.REPLACE_TO_READ):
            self._files[place] += 1
            self.files[place] = max(self.files[place], self._files[place])

    def _grow(self, node: int, size: int) -> None:
        place, before = self._places[node], self._sizes[node]
        if size > before:
            self._sizes[node] = size
            self._bytes[place] += rounded(size) - rounded(before)
            self.bytes[place] = max(self.bytes[place], self._bytes[place])

    def _forget(self, node: int) -> None:
        self._bytes[self._places[node]] -= rounded(self._sizes[node])
        self._sizes[node] = 0


def prepared_volume(table: CallTable, paths: int) -> tuple[list[int], list[int], list[int], list[int]]:
    """Return, by place, bytes and files of a clone's own tree, and of the shared one."""
    own_bytes, own_files, shared_bytes, shared_files = ([0] * paths for _ in range(4))
    for node in range(len(table)):
        what, size = table.prepare[node], rounded(table.sizes[node])
        places = range(paths) if what & EVERYWHERE else (table.places[node] >> 1,)
        for place in places:
            if what & (OWN_DIRECTORY | OWN_FILE):
                own_bytes[place] += size or BLOCK
                own_files[place] += 1
            if what & (SHARED_DIRECTORY | SHARED_FILE):
                shared_bytes[place] += size or BLOCK
                shared_files[place] += 1
    return own_bytes, own_files, shared_bytes, shared_files
