"""How compressible the files of a trace are, from a bounded sample: a replay writes files of the same kind."""

from __future__ import annotations

import heapq
import os
import zlib
from array import array

from core.errors import SourceFileError, StorageFault
from core.storage.layer import Storage
from traces.blocks import zstd
from traces.model import UNKNOWN_RATIO
from traces.nodes import NodeTree

FILES_OF_A_CLASS = 8
MOST_FILES = 512
PIECE = 32_768  # bytes; from the beginning and from the middle of each file
_LONGEST_SUFFIX = 16
_LEVEL = 1

_NONE = -1  # of a node that is no file


class Ratios:
    """Compressed ÷ raw bytes in thousandths, of the files in a sample, and of others as of their class: files below
    the same root whose names end alike."""

    def __init__(self, tree: NodeTree, storage: Storage) -> None:
        self._renamed = tree.renamed
        self._class_of = array("i", (_NONE,)) * len(tree)  # of each node, a position in `_of_class`
        self._of_file: dict[int, int] = {}
        self._of_class: list[int] = []
        for sample in self._samples(tree):
            measured = [(n, sizes) for path, n in sample if (sizes := _sizes(storage, path)) is not None]
            self._of_file |= {n: _thousandths(*sizes) for n, sizes in measured}
            raw, small = (sum(sizes[k] for _, sizes in measured) for k in (0, 1))
            self._of_class.append(_thousandths(raw, small) if raw else UNKNOWN_RATIO)

    def of(self, n: int) -> int:
        """Of a file of the tree; one that was renamed is as the new name's."""
        n = self._renamed.get(n, n)
        ratio = self._of_file.get(n)
        if ratio is not None:
            return ratio
        kind = self._class_of[n]
        return UNKNOWN_RATIO if kind == _NONE else self._of_class[kind]

    def _samples(self, tree: NodeTree) -> list[list[tuple[bytes, int]]]:
        """Some of each class, spread over the tree and the same each time; of the classes with the most files."""
        numbers: dict[tuple[int, bytes], int] = {}
        chosen: list[list[tuple[int, bytes, int]]] = []
        counts: list[int] = []
        for path, n in tree.files():
            if n in tree.renamed:
                continue
            suffix = os.path.splitext(path)[1][:_LONGEST_SUFFIX].lower()
            kind = self._class_of[n] = numbers.setdefault((tree.root_of(n), suffix), len(numbers))
            if kind == len(counts):
                counts.append(0)
                chosen.append([])
            counts[kind] += 1
            order = (-zlib.crc32(path), path, n)
            if len(chosen[kind]) < FILES_OF_A_CLASS:
                heapq.heappush(chosen[kind], order)
            elif order > chosen[kind][0]:
                heapq.heapreplace(chosen[kind], order)
        largest = sorted(range(len(counts)), key=lambda kind: -counts[kind])[: MOST_FILES // FILES_OF_A_CLASS]
        sampled = set(largest)
        return [
            [(path, n) for _, path, n in sorted(held)] if kind in sampled else [] for kind, held in enumerate(chosen)
        ]


def _sizes(storage: Storage, path: bytes) -> tuple[int, int] | None:
    """Raw and compressed bytes of the sample of one file; None where there is nothing to be read."""
    try:
        with storage.open(path) as file:
            data = file.pread(PIECE, 0)
            if file.size > 2 * PIECE:
                data += file.pread(PIECE, file.size // 2)
    except (SourceFileError, StorageFault):  # gone since, or not for us
        return None
    return (len(data), len(zstd.compress(data, _LEVEL))) if data else None


def _thousandths(raw: int, small: int) -> int:
    return min(1000, round(1000 * small / raw))
