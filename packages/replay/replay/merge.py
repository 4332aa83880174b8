"""Merging of several traces into one: their streams side by side on one time axis, their trees next to each other."""

from __future__ import annotations

import enum
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path

import msgspec

from core.errors import UsageError
from traces.file import TraceWriter, open_trace
from traces.model import NO_NODE, Call, Node, Stream, Trace, TraceHeader


class Align(enum.StrEnum):
    """Common time of merged traces."""

    CLOCK = "clock"  # each trace at its wall clock: traces of hosts that worked at the same time overlap
    START = "start"  # all begin together


def merge_traces(sources: Sequence[Path], target: Path, align: Align) -> tuple[int, ...]:
    """Write one trace that contains all of them; return the start of each in it, ns. Raises UsageError for fewer than
    two, or one that cannot be read."""
    if len(sources) < 2:
        raise UsageError("merge: give two or more traces")
    if target.resolve() in {source.resolve() for source in sources}:
        raise UsageError(f"{target} is one of the traces to merge; give another name for the result")
    with ExitStack() as stack:
        traces = [stack.enter_context(open_trace(source)) for source in sources]
        header, shifts = _header(traces, align)
        writer = stack.enter_context(TraceWriter(target))
        _add_calls(traces, header, shifts, writer)
        writer.finish(header, _nodes(traces))
    return shifts


def _header(traces: Sequence[Trace], align: Align) -> tuple[TraceHeader, tuple[int, ...]]:
    headers = [trace.header for trace in traces]
    first = min(header.created for header in headers)
    shifts = tuple(
        round((header.created - first) * 1e9) if align is Align.CLOCK and header.calls else 0 for header in headers
    )
    merged = TraceHeader(
        created=first,
        duration_ns=max(shift + header.duration_ns for shift, header in zip(shifts, headers, strict=True)),
        phases=tuple(dict.fromkeys(phase for header in headers for phase in header.phases)),
        streams=tuple(
            _later(stream, shift) for shift, header in zip(shifts, headers, strict=True) for stream in header.streams
        ),
        origin={
            "merged": [
                {"shift_ns": shift, "created": header.created, "origin": dict(header.origin)}
                for shift, header in zip(shifts, headers, strict=True)
            ]
        },
        lost=sum(header.lost for header in headers),
    )
    return merged, shifts


def _later(stream: Stream, shift: int) -> Stream:
    idle = None if stream.idle is None else tuple((start + shift, end + shift) for start, end in stream.idle)
    return msgspec.structs.replace(stream, idle=idle)


def _add_calls(traces: Sequence[Trace], merged: TraceHeader, shifts: Sequence[int], writer: TraceWriter) -> None:
    streams = nodes = 0
    for trace, shift in zip(traces, shifts, strict=True):
        phases = [merged.phases.index(phase) for phase in trace.header.phases]
        for number in range(len(trace.header.streams)):
            for call in trace.calls(number):
                writer.add(streams + number, _moved(call, shift, nodes, phases))
        streams += len(trace.header.streams)
        nodes += len(trace.nodes)


def _moved(call: Call, shift: int, nodes: int, phases: Sequence[int]) -> Call:
    return call._replace(
        start_ns=call.start_ns + shift,
        node=call.node + nodes,
        other=call.other if call.other == NO_NODE else call.other + nodes,
        phase=phases[call.phase],
    )


def _nodes(traces: Sequence[Trace]) -> Iterator[Node]:
    before = 0
    for trace in traces:
        for node in trace.nodes:
            yield node if node.parent == NO_NODE else node._replace(parent=node.parent + before)
        before += len(trace.nodes)
