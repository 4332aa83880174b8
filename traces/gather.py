"""Creation of one trace from the parts that the slots of all workers wrote (docs/dev/trace-format.md)."""

from __future__ import annotations

import errno
import heapq
import os
import stat
import zlib
from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from core.errors import SourceFileError, StorageFault, UsageError, read_problem
from core.operations import Op
from core.plain import grouped
from core.storage.layer import Storage
from traces.blocks import Damaged, zstd
from traces.file import TraceWriter
from traces.model import NO_NODE, UNKNOWN_RATIO, Call, Node, NodeKind, Stream, TraceHeader
from traces.parts import SpoolHead, read_spool

_NEVER = (1 << 63) - 1
_REFUSED = frozenset(  # the path exists, though the call failed
    {errno.EACCES, errno.EPERM, errno.ELOOP, errno.ENXIO, errno.EISDIR, errno.ENOTEMPTY}
)
_FOLLOWING = frozenset({Op.READ, Op.WRITE, Op.FSYNC, Op.CLOSE})  # calls that follow an open or create of the file
_LONGEST_NAME = (1 << 15) - 1


class NodeTree:
    """Paths that calls named, and those above them up to a root; some 300 bytes of memory each.

    `roots` are absolute paths; a path below none of them is below "/"."""

    def __init__(self, roots: Iterable[bytes]) -> None:
        self.numbers: dict[bytes, int] = {}  # node numbers of all paths, parents first
        self.renamed: dict[int, int] = {}  # old name → new name, the latest
        self._parents = array("i")
        self._names = array("h")
        self._directories = bytearray()  # 1: known to be one
        self._sizes = array("q")
        self._sized = array("q")  # when that size was seen
        self._made = array("q")  # time of their first success; _NEVER if there was none
        self._used = array("q")
        self._taken = array("q")  # removed or renamed
        self._put = array("q")  # another renamed to this
        for root in sorted(set(roots)):
            if not any(root.startswith(other.rstrip(b"/") + b"/") for other in self.numbers):
                self._add(root, NO_NODE, 0)

    def __len__(self) -> int:
        return len(self._parents)

    def number(self, path: bytes) -> int:
        """Return the node of a path; add it if there is none."""
        number = self.numbers.get(path)
        if number is not None:
            return number
        missing = [path]
        while (above := os.path.dirname(missing[-1])) not in self.numbers:
            if above == missing[-1]:
                self._add(missing.pop(), NO_NODE, 0)
                break
            missing.append(above)
        while missing:
            path = missing.pop()
            above = os.path.dirname(path)
            self._add(path, self.numbers[above], min(len(path) - len(above.rstrip(b"/")) - 1, _LONGEST_NAME))
        return self.numbers[path]

    def see(self, call: Call) -> None:
        """Record a call, in any order."""
        op, start, node = call.op, call.start_ns, call.node
        if op in _FOLLOWING:
            return
        end = start + call.duration_ns
        if call.error:
            making = op is Op.CREATE or op is Op.MKDIR
            if call.error == errno.EEXIST if making else call.error in _REFUSED:
                self._used[node] = min(self._used[node], end)
        elif op is Op.OPEN or op is Op.STAT:
            self._used[node] = min(self._used[node], end)
            if end < self._sized[node] and call.argument:
                self._sizes[node], self._sized[node] = call.argument, end
        elif op is Op.SCAN:
            self._directories[node] = 1
            self._used[node] = min(self._used[node], end)
        elif op is Op.CREATE or op is Op.MKDIR:
            self._directories[node] |= op is Op.MKDIR
            self._made[node] = min(self._made[node], start)
        elif op is Op.REMOVE:
            self._taken[node] = min(self._taken[node], end)
        elif op is Op.RENAME:
            self._put[node] = min(self._put[node], start)
            self._taken[call.other] = min(self._taken[call.other], end)
            self.renamed[call.other] = node

    def finish(self) -> None:
        """Determine what existed before; call it after the last call."""
        count = len(self)
        seen = bytearray(count)
        for n in reversed(range(count)):  # children first: a node with children was a directory
            evidence = min(self._made[n], self._used[n], self._taken[n], self._put[n]) != _NEVER
            seen[n] |= evidence or self._parents[n] == NO_NODE
            if seen[n] and self._parents[n] != NO_NODE:
                seen[self._parents[n]] = self._directories[self._parents[n]] = 1
        self._seen = seen
        self._existed = bytearray(count)
        for n in range(count):  # parents first: nodes in a new directory are new
            above = self._parents[n]
            self._existed[n] = seen[n] and (above == NO_NODE or (self._existed[above] and self._stood(n)))

    def _stood(self, n: int) -> bool:
        made, used, taken, put = self._made[n], self._used[n], self._taken[n], self._put[n]
        if made != _NEVER:
            return taken < made and not put < taken
        if put != _NEVER:
            return min(used, taken) < put
        return True

    def unclear(self) -> list[bytes]:
        """Return the existing paths that were only looked at: no call shows whether each is a file or a directory."""
        return [
            path
            for path, n in self.numbers.items()
            if self._existed[n] and not self._directories[n] and self._sizes[n] == 0
        ]

    def is_directory(self, path: bytes) -> None:
        """Record that a path is a directory, as found on the storage."""
        self._directories[self.numbers[path]] = 1

    def files(self) -> Iterator[tuple[bytes, int]]:
        """Yield path and number of every file that existed at some time."""
        return ((path, n) for path, n in self.numbers.items() if self._seen[n] and not self._directories[n])

    def root_of(self, n: int) -> int:
        """Return the root above a node."""
        while self._parents[n] != NO_NODE:
            n = self._parents[n]
        return n

    def nodes(self, ratio: Callable[[int], int]) -> Iterator[Node]:
        """Yield all nodes in order; `ratio` returns the ratio of each file."""
        for n in range(len(self)):
            name, parent, existed = self._names[n], self._parents[n], bool(self._existed[n])
            if not self._seen[n]:
                yield Node(parent, NodeKind.MISSING, False, 0, UNKNOWN_RATIO, name)
            elif self._directories[n]:
                yield Node(parent, NodeKind.DIRECTORY, existed, 0, UNKNOWN_RATIO, name)
            else:
                yield Node(parent, NodeKind.FILE, existed, self._sizes[n] if existed else 0, ratio(n), name)

    def _add(self, path: bytes, parent: int, name_bytes: int) -> None:
        self.numbers[path] = len(self._parents)
        self._parents.append(parent)
        self._names.append(name_bytes)
        self._directories.append(parent == NO_NODE)
        self._sizes.append(0)
        for times in (self._sized, self._made, self._used, self._taken, self._put):
            times.append(_NEVER)


FILES_OF_A_CLASS = 8
MOST_FILES = 512
PIECE = 32_768  # bytes; from the beginning and from the middle of each file
_LONGEST_SUFFIX = 16
_LEVEL = 1

_NONE = -1  # class of a node that is not a file


class Ratios:
    """Compressed ÷ raw bytes in thousandths, of the files in a sample, and by class for others: files below the same
    root with the same suffix."""

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
        """Return the ratio of a file of the tree; for a renamed one that of the new name."""
        n = self._renamed.get(n, n)
        ratio = self._of_file.get(n)
        if ratio is not None:
            return ratio
        kind = self._class_of[n]
        return UNKNOWN_RATIO if kind == _NONE else self._of_class[kind]

    def _samples(self, tree: NodeTree) -> list[list[tuple[bytes, int]]]:
        """Return some files of the most frequent classes, spread over the tree and the same each time."""
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
    """Return raw and compressed bytes of the sample of one file; None if nothing can be read."""
    try:
        with storage.open(path) as file:
            data = file.pread(PIECE, 0)
            if file.size > 2 * PIECE:
                data += file.pread(PIECE, file.size // 2)
    except (SourceFileError, StorageFault):  # removed since, or not readable
        return None
    return (len(data), len(zstd.compress(data, _LEVEL))) if data else None


def _thousandths(raw: int, small: int) -> int:
    return min(1000, round(1000 * small / raw))


LEAST_IDLE_NS: Final = 50_000_000  # a commit, a message and a claim take less, unless a thread waits for a CPU


@dataclass(frozen=True, slots=True, kw_only=True)
class Gathered:
    """A written trace."""

    path: Path
    bytes: int
    calls: int
    lost: int  # calls that are missing from it
    nodes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Gathering:
    """Sources of a trace. Paths of calls are as the workers saw them."""

    parts: Sequence[Path]
    roots: Sequence[bytes]  # absolute: the source, the storage root
    phases: Sequence[str]
    origin: Mapping[str, Any]
    counted: int  # calls of the job, by its counters; 0 if they were not counted
    # Tasks of each worker's slot: from, to, seconds since the epoch, in order. None: unknown.
    tasks: Mapping[tuple[str, int], Sequence[tuple[float, float]]] | None = None


@dataclass(slots=True)
class _Part:
    path: Path
    head: SpoolHead
    first_ns: int  # start of its first call on its host's monotonic clock …
    wall_ns: int = 0  # … plus this: on the common clock

    @property
    def start_ns(self) -> int:
        return self.first_ns + self.wall_ns


def gather_trace(gathering: Gathering, storage: Storage, target: Path) -> Gathered:
    """Write the trace of these parts to `target`, replacing an existing one.

    `storage` reads files for their kind and compressibility. Raises UsageError if the trace cannot be written."""
    parts = _parts(gathering.parts)
    streams = _streams(parts)
    start = min((part.start_ns for part in parts), default=0)
    tree = NodeTree(gathering.roots)
    phases = list(gathering.phases)
    counts = [0] * len(streams)
    end = 0
    with TraceWriter(target) as writer:
        for number, of_stream in enumerate(streams.values()):
            for call in _calls(of_stream, start, tree, phases):
                tree.see(call)
                writer.add(number, call)
                counts[number] += 1
                end = max(end, call.start_ns + call.duration_ns)
        tree.finish()
        _look_at_unclear(tree, storage)
        header = TraceHeader(
            created=start / 1e9,
            duration_ns=end,
            phases=tuple(phases),
            streams=tuple(
                Stream(worker=key[0], slot=key[1], calls=count, idle=_idle(gathering, key, start))
                for key, count in zip(streams, counts, strict=True)
            ),
            origin=gathering.origin,
            lost=max(0, gathering.counted - sum(counts)),
        )
        size = writer.finish(header, tree.nodes(Ratios(tree, storage).of))
    return Gathered(path=target, bytes=size, calls=header.calls, lost=header.lost, nodes=len(tree))


def _parts(paths: Iterable[Path]) -> list[_Part]:
    """Return the parts that have calls, in order of time."""
    out = []
    for path in paths:
        try:
            head, blocks = read_spool(path)
            first = next(blocks, None)
        except Damaged:  # its slot died while it created the file
            continue
        except OSError as e:
            raise UsageError(read_problem(f"{path}, a part of the trace,", e)) from e
        if first is not None:
            out.append(_Part(path, head, first.calls[0].start_ns))
    _set_clocks(out)
    return sorted(out, key=lambda part: (part.start_ns, part.path))


def _set_clocks(parts: Iterable[_Part]) -> None:
    """Set one wall clock for all parts of a host, that of its first part, so that what its slots did to each other
    stays in order even if the wall clock is set meanwhile."""
    of_boot: dict[str, int] = {}
    for part in sorted(parts, key=lambda part: (part.first_ns, part.path)):
        boot = part.head.boot or str(part.path)
        part.wall_ns = of_boot.setdefault(boot, part.head.wall_ns)


def _streams(parts: Sequence[_Part]) -> dict[tuple[str, int], list[_Part]]:
    streams = grouped(parts, lambda part: (part.head.worker, part.head.slot))
    return dict(sorted(streams.items(), key=lambda stream: (len(stream[0][0]), stream[0])))


def _calls(parts: Sequence[_Part], trace_ns: int, tree: NodeTree, phases: list[str]) -> Iterator[Call]:
    """Yield the calls of one stream, with the numbers and times of the trace."""
    start_ns = 0
    for part in parts:
        head, blocks = read_spool(part.path)
        by = part.wall_ns - trace_ns
        for block in blocks:
            nodes = [tree.number(path) for path in block.paths]
            if (name := head.phases[block.phase]) not in phases:
                phases.append(name)
            phase = phases.index(name)
            for op, start, duration, nbytes, argument, node, other, error, _ in block.calls:
                start_ns = max(start_ns, start + by)
                second = NO_NODE if other == NO_NODE else nodes[other]
                yield Call(op, start_ns, duration, nbytes, argument, nodes[node], second, error, phase)


def _idle(gathering: Gathering, slot: tuple[str, int], start_ns: int) -> tuple[tuple[int, int], ...] | None:
    """Return the times without a task, except those below LEAST_IDLE_NS, between consecutive tasks."""
    if gathering.tasks is None:
        return None
    out = []
    free = 0
    for claimed_s, finished_s in gathering.tasks.get(slot, ()):
        claimed, finished = (round(moment * 1e9) - start_ns for moment in (claimed_s, finished_s))
        if claimed - free >= LEAST_IDLE_NS:
            out.append((free, claimed))
        free = max(free, finished)
    return tuple(out)


def _look_at_unclear(tree: NodeTree, storage: Storage) -> None:
    for path in tree.unclear():
        try:
            if stat.S_ISDIR(storage.stat(path).st_mode):
                tree.is_directory(path)
        except (SourceFileError, StorageFault):  # removed since, or not readable: it stays an empty file
            continue
