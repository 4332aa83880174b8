"""The content of a trace in numbers and as plain data, for JSON, tables and charts. `TraceSummary` reads a trace once
and keeps a bounded amount (and 30 bytes per node)."""

from __future__ import annotations

from array import array
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, TypedDict

from core.histogram import Histogram
from core.operations import Op
from monitoring.aggregate import CallSum
from traces.model import NO_NODE, NO_PHASE, Call, Node, NodeKind, Trace


class LastNames:
    """Map from each node to the node that it was renamed to, through any number of renames; an unrenamed node maps to
    itself.

    A name that several files had in turn maps to the last of them. Takes 8 bytes of memory a node."""

    def __init__(self, nodes: int) -> None:
        self._names = array("q", range(nodes))

    def take(self, rename: Call) -> None:
        """Take a rename that succeeded."""
        if rename.other != NO_NODE:
            self._names[rename.other] = rename.node

    def settle(self) -> None:
        """Follow every name to its end; once, after the last `take`."""
        for number in range(len(self._names)):
            self._names[number] = self._last(number)

    def _last(self, number: int) -> int:
        """Return the last name; a circle of renames ends where it closes."""
        if self._names[number] == number:
            return number
        seen: set[int] = set()
        while self._names[number] != number and number not in seen:
            seen.add(number)
            number = self._names[number]
        return number

    def __getitem__(self, node: int) -> int:
        return self._names[node]


def grow(ends: array[int], node: int, end: int) -> None:
    """Record that the file of a node has at least `end` bytes. `ends`: for each node the byte after the last one
    written or read."""
    if end > ends[node]:
        ends[node] = end


@dataclass(slots=True)
class Files:
    """The files that existed before, or those that were created."""

    number: int = 0
    bytes: int = 0
    sizes: Counter[int] = field(default_factory=Counter)  # bit length of the size → files

    def take(self, size: int) -> None:
        """Count one more file."""
        self.number += 1
        self.bytes += size
        self.sizes[size.bit_length()] += 1


@dataclass(slots=True)
class TreeShape:
    """Sizes, depths and names of the nodes of a trace."""

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
    packed_bytes: int = 0  # compressed bytes of the existing files, by the recorded ratios


def tree_shape(nodes: Sequence[Node], written: array[int], names: LastNames) -> TreeShape:
    """Summarise the tree in two passes over the nodes. `written` has the size of each created file, under any of its
    names: a file written under a temporary name counts as one file, under its last name."""
    for number in range(len(nodes)):
        grow(written, names[number], written[number])
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


BINS = 200  # of the trace's time, at most
_DATA = (Op.READ, Op.WRITE)


@dataclass(slots=True)
class Access:
    """Sizes and order of reads, or of writes."""

    sizes: Counter[int] = field(default_factory=Counter)  # bit length of the bytes moved → calls
    sequential: int = 0  # calls that begin where the stream's last one on that file ended, or at 0 as its first one


@dataclass(slots=True, kw_only=True)
class Timeline:
    """The trace's time in equal bins."""

    bin_ns: int
    calls: list[Counter[Op]]  # calls that began in each bin
    busy_ns: list[int]  # of all streams in each bin; divided by the bin's length, the mean number of calls in flight

    @property
    def in_flight(self) -> list[float]:
        """Mean number of calls in flight, bin by bin."""
        return [busy / self.bin_ns for busy in self.busy_ns]


class TraceSummary:
    """Content of `edbench trace info`, from one pass over a trace. Raises UsageError if the trace is damaged."""

    def __init__(self, trace: Trace) -> None:
        self.header = header = trace.header
        self._counted: defaultdict[tuple[int, Op], CallSum] = defaultdict(CallSum)  # by number of the phase
        self.access = {op: Access() for op in _DATA}
        self.think = Histogram()  # between the end of a call and the start of the stream's next
        self.think_ns = self.overlapping = 0  # of that; calls that began before the stream's last one had ended
        self._extents, self._names = array("q", bytes(8 * len(trace.nodes))), LastNames(len(trace.nodes))
        bins = min(BINS, max(1, header.duration_ns))
        self.timeline = Timeline(
            bin_ns=-(-max(1, header.duration_ns) // bins), calls=[Counter() for _ in range(bins)], busy_ns=[0] * bins
        )
        self.busy_ns = [self._read(trace, number) for number in range(len(header.streams))]
        self._names.settle()
        self.tree = tree_shape(trace.nodes, self._extents, self._names)
        self.phases = {(header.phases[phase], op): of for (phase, op), of in self._counted.items()}
        self.ops: dict[Op, CallSum] = {}
        for (_, op), of in sorted(self.phases.items(), key=lambda pair: pair[0][1]):
            self.ops.setdefault(op, CallSum()).merge(of, of.histogram)

    def _read(self, trace: Trace, stream: int) -> int:
        """Take the calls of one stream; return the sum of their durations, ns."""
        ended = -1  # no call yet: what is before the first one is no think time
        busy = 0
        nexts: dict[int, int] = {}  # file → where its next sequential call would begin
        for call in trace.calls(stream):
            self._count(call)
            self._place(call)
            if call.op in _DATA:
                self._size(call, nexts)
            elif call.op is Op.CLOSE:
                nexts.pop(call.node, None)
            elif call.op is Op.RENAME and not call.error:
                self._names.take(call)
            pause = call.start_ns - ended
            if pause < 0:
                self.overlapping += 1
            elif ended >= 0:
                self.think.record(pause)
                self.think_ns += pause
            ended = max(ended, call.start_ns + call.duration_ns)
            busy += call.duration_ns
        return busy

    def _count(self, call: Call) -> None:
        of = self._counted[call.phase, call.op]
        of.calls += 1
        of.errors += call.error != 0
        of.bytes += call.bytes
        of.total_ns += call.duration_ns
        of.max_ns = max(of.max_ns, call.duration_ns)
        of.histogram.record(call.duration_ns, call.bytes)

    def _size(self, call: Call, nexts: dict[int, int]) -> None:
        if call.error:
            return
        access = self.access[call.op]
        access.sizes[call.bytes.bit_length()] += 1
        access.sequential += nexts.get(call.node, 0) == call.argument
        end = call.argument + call.bytes
        nexts[call.node] = end
        if call.op is Op.WRITE:
            grow(self._extents, call.node, end)

    def _place(self, call: Call) -> None:
        timeline = self.timeline
        width, last_bin = timeline.bin_ns, len(timeline.busy_ns) - 1
        first = min(call.start_ns // width, last_bin)
        timeline.calls[first][call.op] += 1
        left = call.duration_ns
        room = (first + 1) * width - call.start_ns
        while left > room and first < last_bin:
            timeline.busy_ns[first] += room
            left -= room
            first += 1
            room = width
        timeline.busy_ns[first] += left


SCHEMA = "edbench-trace-info/1"
NO_PHASE_NAME = "(no phases)"

Classes = list[dict[str, int]]  # each with `from`, `below` and how many


class Percentiles(TypedDict):
    """Percentiles in microseconds."""

    p50_us: float
    p95_us: float
    p99_us: float


class SizedInfo(Percentiles):
    """Calls of one op that moved bytes of one class of size (core.operations)."""

    calls: int


class OpInfo(Percentiles):
    """Calls of one op. Calls that moved no bytes are in no size class."""

    calls: int
    share: float
    errors: int
    bytes: int
    busy_s: float
    mean_us: float
    max_us: float
    latency_by_size: dict[str, SizedInfo]


class AccessInfo(TypedDict):
    """Sizes of an op's calls."""

    calls: int
    sequential_share: float
    by_size: Classes


class ThinkInfo(Percentiles):
    """Time between calls."""

    total_s: float
    share: float
    overlapping_calls: int
    histogram: dict[int, int]


class StreamInfo(TypedDict):
    """One stream of calls."""

    worker: str
    slot: int
    calls: int
    busy_s: float


class ConcurrencyInfo(TypedDict):
    """Calls in flight; the peak is the mean over `over_s`."""

    streams: int
    mean_in_flight: float
    peak_in_flight: float
    over_s: float


class TimelineInfo(TypedDict):
    """Calls and calls in flight, by bins of the trace's time."""

    bin_s: float
    calls: dict[str, list[int]]
    in_flight: list[float]


class FilesInfo(TypedDict):
    """Files by size."""

    files: int
    bytes: int
    median_class: list[int]
    by_size: Classes


class TreeInfo(TypedDict):
    """The files and the shape of their tree."""

    existing: FilesInfo
    made: FilesInfo
    directories: int
    directories_made: int
    missing: int
    most_entries: int
    mean_name_bytes: float
    ratio: float
    files_by_depth: dict[int, int]
    directories_by_entries: Classes


class TraceInfo(TypedDict):
    """Summary of a trace. Percentiles are at most 3.2 % off (core.histogram)."""

    schema: str
    bytes: int
    bytes_per_million_calls: int
    created: float
    duration_s: float
    origin: dict[str, Any]
    calls: int
    lost: int
    moved_bytes: int
    ops: dict[str, OpInfo]
    phases: dict[str, dict[str, OpInfo]]
    sizes: dict[str, AccessInfo]
    think: ThinkInfo
    streams: list[StreamInfo]
    concurrency: ConcurrencyInfo
    timeline: TimelineInfo
    tree: TreeInfo


def trace_info(summary: TraceSummary, size: int) -> TraceInfo:
    """Return the summary; `size` is the file's."""
    header = summary.header
    return {
        "schema": SCHEMA,
        "bytes": size,
        "bytes_per_million_calls": round(size / header.calls * 1e6) if header.calls else 0,
        "created": header.created,
        "duration_s": header.duration_ns / 1e9,
        "origin": dict(header.origin),
        "calls": header.calls,
        "lost": header.lost,
        "moved_bytes": sum(op.bytes for op in summary.ops.values()),
        "ops": {op.label: _op(of, header.calls) for op, of in summary.ops.items()},
        "phases": _phases(summary),
        "sizes": {op.label: _access(access) for op, access in summary.access.items()},
        "think": _think(summary),
        "streams": [
            {"worker": stream.worker, "slot": stream.slot, "calls": stream.calls, "busy_s": busy / 1e9}
            for stream, busy in zip(header.streams, summary.busy_ns, strict=True)
        ],
        "concurrency": _concurrency(summary),
        "timeline": _timeline(summary.timeline),
        "tree": _tree(summary.tree),
    }


def _op(of: CallSum, calls: int) -> OpInfo:
    return {
        "calls": of.calls,
        "share": of.calls / calls if calls else 0.0,
        "errors": of.errors,
        "bytes": of.bytes,
        "busy_s": of.total_ns / 1e9,
        "mean_us": of.total_ns / of.calls / 1e3 if of.calls else 0.0,
        **_percentiles(of.histogram, of.max_ns),
        "max_us": of.max_ns / 1e3,
        "latency_by_size": {
            size: {"calls": one.total, **_percentiles(one, of.max_ns)} for size, one in of.histogram.by_size().items()
        },
    }


def _percentiles(of: Histogram, longest_ns: int | None = None) -> Percentiles:
    p50, p95, p99 = of.percentiles((50, 95, 99), longest_ns)
    return {"p50_us": p50 / 1e3, "p95_us": p95 / 1e3, "p99_us": p99 / 1e3}


def _phases(summary: TraceSummary) -> dict[str, dict[str, OpInfo]]:
    out: dict[str, dict[str, OpInfo]] = {}
    for (phase, op), of in sorted(summary.phases.items(), key=lambda pair: (pair[0][0], pair[0][1])):
        out.setdefault(NO_PHASE_NAME if phase == NO_PHASE else phase, {})[op.label] = _op(of, summary.header.calls)
    return out


def _access(access: Access) -> AccessInfo:
    calls = sum(access.sizes.values())
    return {
        "calls": calls,
        "sequential_share": access.sequential / calls if calls else 0.0,
        "by_size": _classes(access.sizes, "calls"),
    }


def _classes(counts: Counter[int], what: str) -> Classes:
    """Return the classes from one power of two to the next, from the first to the last in use."""
    if not counts:
        return []
    return [
        {"from": (1 << bits) >> 1, "below": 1 << bits, what: counts[bits]}
        for bits in range(min(counts), max(counts) + 1)
    ]


def _think(summary: TraceSummary) -> ThinkInfo:
    total = sum(summary.busy_ns) + summary.think_ns
    return {
        "total_s": summary.think_ns / 1e9,
        "share": summary.think_ns / total if total else 0.0,
        **_percentiles(summary.think),
        "overlapping_calls": summary.overlapping,
        "histogram": dict(sorted(summary.think.counts.items())),
    }


def _concurrency(summary: TraceSummary) -> ConcurrencyInfo:
    busy = sum(summary.busy_ns)
    return {
        "streams": len(summary.header.streams),
        "mean_in_flight": busy / max(1, summary.header.duration_ns),
        "peak_in_flight": max(summary.timeline.in_flight, default=0.0),
        "over_s": summary.timeline.bin_ns / 1e9,  # the peak is the mean over so long
    }


def _timeline(timeline: Timeline) -> TimelineInfo:
    ops = [op for op in Op if any(counts[op] for counts in timeline.calls)]
    return {
        "bin_s": timeline.bin_ns / 1e9,
        "calls": {op.label: [counts[op] for counts in timeline.calls] for op in ops},
        "in_flight": timeline.in_flight,
    }


def _tree(shape: TreeShape) -> TreeInfo:
    return {
        "existing": _files(shape.existing),
        "made": _files(shape.made),
        "directories": shape.directories,
        "directories_made": shape.directories_made,
        "missing": shape.missing,
        "most_entries": shape.most_entries,
        "mean_name_bytes": shape.name_bytes / shape.names if shape.names else 0.0,
        "ratio": shape.packed_bytes / shape.existing.bytes if shape.existing.bytes else 1.0,
        "files_by_depth": dict(sorted(shape.depths.items())),
        "directories_by_entries": _classes(shape.entries, "directories"),
    }


def _files(files: Files) -> FilesInfo:
    return {
        "files": files.number,
        "bytes": files.bytes,
        "median_class": _median_class(files.sizes),
        "by_size": _classes(files.sizes, "files"),
    }


def _median_class(counts: Counter[int]) -> list[int]:
    """Return the class of the median, as [from, below]."""
    rank = -(-sum(counts.values()) // 2)
    for bits in sorted(counts):
        rank -= counts[bits]
        if rank <= 0:
            return [(1 << bits) >> 1, 1 << bits]
    return [0, 0]
