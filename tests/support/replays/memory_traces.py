"""Traces in memory, and the files of them."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from traces.file import TraceWriter
from traces.model import Call, Node, Stream, Trace, TraceHeader


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryTrace:
    """A small one."""

    header: TraceHeader
    nodes: Sequence[Node]
    streams: Sequence[Sequence[Call]]

    def calls(self, stream: int) -> Iterator[Call]:
        return iter(self.streams[stream])


def memory_trace(
    nodes: Sequence[Node], streams: Sequence[Sequence[Call]], *, phases: tuple[str, ...] = ("",), created: float = 0.0,
    idle: Sequence[Sequence[tuple[int, int]] | None] | None = None, origin: dict[str, Any] | None = None, lost: int = 0,
) -> MemoryTrace:  # fmt: skip
    """A trace of these, with a header that fits."""
    free = [None if its is None else tuple(its) for its in idle or [None] * len(streams)]
    header = TraceHeader(
        created=created,
        duration_ns=max((call.start_ns + call.duration_ns for calls in streams for call in calls), default=0),
        phases=phases,
        streams=tuple(
            Stream(worker="w1", slot=n, calls=len(calls), idle=its)
            for n, (calls, its) in enumerate(zip(streams, free, strict=True))
        ),
        origin=origin or {},
        lost=lost,
    )
    return MemoryTrace(header=header, nodes=nodes, streams=streams)


def write_trace(trace: Trace, path: Path) -> Path:
    """Write a whole trace, replacing a file of that name. Raises UsageError."""
    with TraceWriter(path) as writer:
        for stream in range(len(trace.header.streams)):
            for call in trace.calls(stream):
                writer.add(stream, call)
        writer.finish(trace.header, trace.nodes)
    return path
