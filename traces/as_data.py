"""What a trace holds, as plain data: for `--json`, and what tables and pictures are made from."""

from __future__ import annotations

from collections import Counter
from typing import Any, TypedDict

from core.histogram import Histogram
from core.operations import Op
from traces.model import NO_PHASE
from traces.summary import Access, OpSummary, Timeline, TraceSummary
from traces.tree import Files, TreeShape

SCHEMA = "edbench-trace-info/1"
NO_PHASE_NAME = "(no phases)"

Classes = list[dict[str, int]]  # each with `from`, `below` and how many


class SizedInfo(TypedDict):
    """Calls of one op that moved bytes of one class of size (core.operations)."""

    calls: int
    p50_us: float
    p95_us: float
    p99_us: float


class OpInfo(TypedDict):
    """Calls of one op. Those that moved nothing are in no class of size."""

    calls: int
    share: float
    errors: int
    bytes: int
    busy_s: float
    mean_us: float
    p50_us: float
    p95_us: float
    p99_us: float
    max_us: float
    latency_by_size: dict[str, SizedInfo]


class AccessInfo(TypedDict):
    """Sizes of an op's calls."""

    calls: int
    sequential_share: float
    by_size: Classes


class ThinkInfo(TypedDict):
    """Time between calls."""

    total_s: float
    share: float
    p50_us: float
    p95_us: float
    p99_us: float
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
    """By bins of the trace's time."""

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
    """What a trace holds. Percentiles are at most 3.2 % off (core.histogram)."""

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
    """Everything; `size` is the file's."""
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
            for stream, (_, _, busy) in zip(header.streams, summary.busiest, strict=True)
        ],
        "concurrency": _concurrency(summary),
        "timeline": _timeline(summary.timeline),
        "tree": _tree(summary.tree),
    }


def _op(of: OpSummary, calls: int) -> OpInfo:
    p50, p95, p99 = of.durations.percentiles((50, 95, 99), of.longest_ns)
    return {
        "calls": of.calls,
        "share": of.calls / calls if calls else 0.0,
        "errors": of.errors,
        "bytes": of.bytes,
        "busy_s": of.busy_ns / 1e9,
        "mean_us": of.busy_ns / of.calls / 1e3 if of.calls else 0.0,
        "p50_us": p50 / 1e3,
        "p95_us": p95 / 1e3,
        "p99_us": p99 / 1e3,
        "max_us": of.longest_ns / 1e3,
        "latency_by_size": {size: _sized(calls, of.longest_ns) for size, calls in of.durations.by_size().items()},
    }


def _sized(durations: Histogram, longest_ns: int) -> SizedInfo:
    p50, p95, p99 = durations.percentiles((50, 95, 99), longest_ns)
    return {"calls": durations.total, "p50_us": p50 / 1e3, "p95_us": p95 / 1e3, "p99_us": p99 / 1e3}


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
    """Classes from one power of two to the next, without those below the first and above the last in use."""
    if not counts:
        return []
    return [
        {"from": (1 << bits) >> 1, "below": 1 << bits, what: counts[bits]}
        for bits in range(min(counts), max(counts) + 1)
    ]


def _think(summary: TraceSummary) -> ThinkInfo:
    total = sum(busy for _, _, busy in summary.busiest) + summary.think_ns
    p50, p95, p99 = summary.think.percentiles((50, 95, 99))
    return {
        "total_s": summary.think_ns / 1e9,
        "share": summary.think_ns / total if total else 0.0,
        "p50_us": p50 / 1e3,
        "p95_us": p95 / 1e3,
        "p99_us": p99 / 1e3,
        "overlapping_calls": summary.overlapping,
        "histogram": dict(sorted(summary.think.counts.items())),
    }


def _concurrency(summary: TraceSummary) -> ConcurrencyInfo:
    busy = sum(busy for _, _, busy in summary.busiest)
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
    """The class that holds the middle one, as [from, below]."""
    rank = -(-sum(counts.values()) // 2)
    for bits in sorted(counts):
        rank -= counts[bits]
        if rank <= 0:
            return [(1 << bits) >> 1, 1 << bits]
    return [0, 0]
