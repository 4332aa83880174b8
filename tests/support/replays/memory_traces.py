"""Traces in memory, and the files of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from traces.file import TraceWriter
from traces.model import Call, Node, Trace, TraceHeader


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryTrace:
    """A small one."""

    header: TraceHeader
    nodes: Sequence[Node]
    streams: Sequence[Sequence[Call]]

    def calls(self, stream: int) -> Iterator[Call]:
        return iter(self.streams[stream])


def write_trace(trace: Trace, path: Path) -> Path:
    """Write a whole trace, replacing a file of that name. Raises UsageError."""
    with TraceWriter(path) as writer:
        for stream in range(len(trace.header.streams)):
            for call in trace.calls(stream):
                writer.add(stream, call)
        writer.finish(trace.header, trace.nodes)
    return path
