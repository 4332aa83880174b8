"""The tree of a trace in numbers, and how far files were written."""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from traces.last_names import LastNames
from traces.model import NO_NODE, Node, NodeKind


class Extents:
    """For each node, the byte after the last one that was written or read; 8 bytes of memory a node."""

    def __init__(self, nodes: int) -> None:
        self._ends = array("q", bytes(8 * nodes))

    def grow(self, node: int, end: int) -> None:
        """The file reaches at least to here."""
        if end > self._ends[node]:
            self._ends[node] = end

    def __getitem__(self, node: int) -> int:
        return self._ends[node]


@dataclass(slots=True)
class Files:
    """The files that were there before, or those that were made."""

    number: int = 0
    bytes: int = 0
    sizes: Counter[int] = field(default_factory=Counter)  # bit length of the size → files

    def take(self, size: int) -> None:
        """One more."""
        self.number += 1
        self.bytes += size
        self.sizes[size.bit_length()] += 1


@dataclass(slots=True)
class TreeShape:
    """What the nodes of a trace look like."""

    existing: Files = field(default_factory=Files)
    made: Files = field(default_factory=Files)
    directories: int = 0
    directories_made: int = 0
    missing: int = 0  # names under which nothing was found
    depths: Counter[int] = field(default_factory=Counter)  # parts of the path below its root → files
    entries: Counter[int] = field(default_factory=Counter)  # bit length of a directory's entries → directories
    most_entries: int = 0
    name_bytes: int = 0  # of all nodes but roots, added up
    names: int = 0
    packed_bytes: int = 0  # what the bytes of existing files would be compressed, by the recorded ratios


def tree_shape(nodes: Sequence[Node], written: Extents, names: LastNames) -> TreeShape:
    """Two passes over the nodes. `written` says how large the made files became, under any of their names: a file that
    was written under a temporary name is one file, under the one it has in the end."""
    for number in range(len(nodes)):
        written.grow(names[number], written[number])
    shape = TreeShape()
    depths = array("H")
    entries = array("l")
    directories = []
    for number, node in enumerate(nodes):
        depth = 0
        if node.parent != NO_NODE:
            depth = min(depths[node.parent] + 1, 0xFFFF)
            entries[node.parent] += 1
            shape.names += 1
            shape.name_bytes += node.name_bytes
        depths.append(depth)
        entries.append(0)
        if node.kind == NodeKind.DIRECTORY:
            directories.append(number)
            shape.directories += 1
            shape.directories_made += not node.existed
        elif node.kind == NodeKind.MISSING:
            shape.missing += 1
        elif node.existed or names[number] == number:
            _take_file(shape, node, depth, written[number])
    for number in directories:
        shape.entries[entries[number].bit_length()] += 1
        shape.most_entries = max(shape.most_entries, entries[number])
    return shape


def _take_file(shape: TreeShape, node: Node, depth: int, written: int) -> None:
    shape.depths[depth] += 1
    if node.existed:
        shape.existing.take(node.size)
        shape.packed_bytes += node.size * node.ratio // 1000
    else:
        shape.made.take(written)
