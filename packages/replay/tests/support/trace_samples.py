"""Traces for tests: any at all, and what a file holds."""

from collections.abc import Sequence
from pathlib import Path

from hypothesis import strategies as st
from memory_traces import MemoryTrace, memory_trace

from core.operations import Op
from traces.file import open_trace
from traces.model import NO_NODE, Call, Node, NodeKind, Trace

numbers = st.one_of(st.integers(0, 300), st.integers(0, 1 << 60))
PHASES = ("walk", "expand")


@st.composite
def any_traces(draw: st.DrawFn) -> MemoryTrace:
    """Whatever the format can hold."""
    nodes = []
    for number in range(draw(st.integers(1, 12))):
        parent = draw(st.integers(NO_NODE, number - 1))
        nodes.append(
            Node(
                parent=parent,
                kind=draw(st.sampled_from(NodeKind)),
                existed=draw(st.booleans()),
                size=draw(numbers),
                ratio=draw(st.integers(0, 1000)),
                name_bytes=0 if parent == NO_NODE else draw(st.integers(1, 255)),
            )
        )
    streams = [draw(_streams(len(nodes))) for _ in range(draw(st.integers(0, 3)))]
    return sample_trace(nodes, streams, created=draw(st.floats(0, 2e9)))


@st.composite
def _streams(draw: st.DrawFn, nodes: int) -> list[Call]:
    starts = sorted(draw(st.lists(st.integers(0, 10**12), max_size=8)))
    return [
        Call(
            op=draw(st.sampled_from(Op)),
            start_ns=start,
            duration_ns=draw(st.integers(0, 10**11)),
            bytes=draw(numbers),
            argument=draw(numbers),
            node=draw(st.integers(0, nodes - 1)),
            other=draw(st.integers(NO_NODE, nodes - 1)),
            error=draw(st.integers(0, 200)),
            phase=draw(st.integers(0, len(PHASES) - 1)),
        )
        for start in starts
    ]


def sample_trace(nodes: Sequence[Node], streams: Sequence[Sequence[Call]], *, created: float = 100.0) -> MemoryTrace:
    """A trace of these with something in every field of its header."""
    return memory_trace(
        list(nodes), [list(calls) for calls in streams], phases=PHASES, created=created, lost=2,
        idle=[((0, n), (n + 1, n + 5)) if n else None for n in range(len(streams))], origin={"job": "ü", "labels": []},
    )  # fmt: skip


def directory(parent: int = NO_NODE, *, name_bytes: int = 0, existed: bool = True) -> Node:
    return Node(parent, NodeKind.DIRECTORY, existed, 0, 1000, name_bytes)


def file(parent: int, size: int, *, existed: bool = True, name_bytes: int = 8, ratio: int = 500) -> Node:
    return Node(parent, NodeKind.FILE, existed, size if existed else 0, ratio, name_bytes)


def call(
    op: Op, start_ns: int, node: int, *, duration_ns: int = 10, nbytes: int = 0, argument: int = 0,
    other: int = NO_NODE, error: int = 0, phase: int = 0,
) -> Call:  # fmt: skip
    return Call(op, start_ns, duration_ns, nbytes, argument, node, other, error, phase)


def written_and_moved() -> MemoryTrace:
    """Stream 0 reads a file, writes one under a temporary name and renames it; stream 1 then reads that one."""
    nodes = [
        directory(),
        directory(0, name_bytes=4),
        file(1, 5000, name_bytes=9),
        file(1, 0, existed=False, name_bytes=12),
        file(1, 0, existed=False, name_bytes=8),
    ]
    first = [
        call(Op.SCAN, 0, 1, argument=1),
        call(Op.OPEN, 1_000_000, 2, argument=5000),
        call(Op.READ, 2_000_000, 2, nbytes=4096),
        call(Op.READ, 2_500_000, 2, nbytes=904, argument=4096),
        call(Op.READ, 2_600_000, 2, argument=5000),
        call(Op.CLOSE, 3_000_000, 2),
        call(Op.CREATE, 4_000_000, 3),
        call(Op.WRITE, 5_000_000, 3, nbytes=3000),
        call(Op.FSYNC, 6_000_000, 3),
        call(Op.CLOSE, 7_000_000, 3),
        call(Op.RENAME, 8_000_000, 4, other=3),
    ]
    second = [
        call(Op.OPEN, 9_000_000, 4, argument=3000, phase=1),
        call(Op.READ, 10_000_000, 4, nbytes=3000, phase=1),
        call(Op.CLOSE, 11_000_000, 4, phase=1),
        call(Op.OPEN, 12_000_000, 3, error=2, phase=1),
    ]
    return sample_trace(nodes, [first, second])


def everything(path: Path) -> MemoryTrace:
    """What a trace file holds, in memory."""
    with open_trace(path) as opened:
        return copied(opened)


def copied(trace: Trace) -> MemoryTrace:
    header = trace.header
    streams = [list(trace.calls(number)) for number in range(len(header.streams))]
    return MemoryTrace(header=header, nodes=list(trace.nodes), streams=streams)
