"""The trace file: everything comes back as it was written, and a file that is not whole is refused in one line."""

from __future__ import annotations

import dataclasses
import itertools
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.errors import UsageError
from core.operations import Op
from traces import blocks, write
from traces.model import NO_NODE, Call, MemoryTrace, Node, NodeKind, Stream, TraceHeader
from traces.read import open_trace
from traces.write import TraceWriter, write_trace

BIG = 1 << 62
PHASES = ("walk", "expand")


def header(*calls: int, phases: tuple[str, ...] = PHASES) -> TraceHeader:
    return TraceHeader(
        created=1.25,
        duration_ns=7,
        phases=phases,
        streams=tuple(Stream(worker=f"w{n}", slot=n, calls=count) for n, count in enumerate(calls)),
        origin={"kind": "job", "labels": ["ü"]},
        lost=3,
    )


def sample() -> MemoryTrace:
    """Two streams, three nodes."""
    nodes = [
        Node(NO_NODE, NodeKind.DIRECTORY, True, 0, 1000, 0),
        Node(0, NodeKind.FILE, True, 5_000_000_000, 250, 12),
        Node(0, NodeKind.MISSING, False, 0, 1000, 255),
    ]
    first = [
        Call(Op.OPEN, 10, 5, 0, 5_000_000_000, 1, NO_NODE, 0, 0),
        Call(Op.READ, 10, 9, 1 << 20, 1 << 32, 1, NO_NODE, 0, 1),  # it began before the one before it had ended
        Call(Op.RENAME, 900, 1, 0, 0, 2, 1, 2, 1),
    ]
    second = [Call(Op.STAT, 3, 0, 0, 0, 2, NO_NODE, 2, 0)]
    return MemoryTrace(header=header(3, 1), nodes=nodes, streams=[first, second])


def written(path: Path) -> Path:
    write_trace(sample(), path / "t")
    return path / "t"


def read_all(path: Path) -> None:
    with open_trace(path) as trace:
        list(trace.nodes)
        for stream in range(len(trace.header.streams)):
            list(trace.calls(stream))


def refusal(path: Path) -> str:
    """What reading the whole file is refused with, in one line."""
    with pytest.raises(UsageError) as caught:
        read_all(path)
    assert "\n" not in str(caught.value)
    assert str(path) in str(caught.value)
    return str(caught.value)


def test_a_trace_comes_back_as_it_was_written(tmp_path: Path) -> None:
    trace = sample()
    size = write_trace(trace, tmp_path / "t")
    assert [path.stat().st_size for path in tmp_path.iterdir()] == [size]
    with open_trace(tmp_path / "t") as found:
        assert (found.header, list(found.nodes), found.size) == (trace.header, trace.nodes, size)
        assert found.nodes[1:] == trace.nodes[1:]
        streams = [found.calls(0), found.calls(1)]
        together = list(itertools.zip_longest(*streams))
    assert [[c for c in calls if c is not None] for calls in zip(*together, strict=True)] == trace.streams
    assert isinstance(trace.streams[0][0].op, Op)


numbers = st.one_of(st.integers(0, 300), st.integers(0, BIG))


@given(
    st.lists(
        st.tuples(
            st.sampled_from(list(Op)), numbers, numbers, numbers, numbers, st.integers(0, 4), st.integers(-1, 4),
            st.integers(0, 133), st.integers(0, 1),
        ),
        max_size=40,
    ),
    st.integers(1, 7),
    st.integers(1, 9),
)  # fmt: skip
def test_any_calls_come_back(
    tmp_path_factory: pytest.TempPathFactory, rows: list[tuple[int, ...]], block: int, most: int
) -> None:
    calls = sorted((Call._make(row) for row in rows), key=lambda call: call.start_ns)
    streams = [calls[0::2], calls[1::2], []]
    nodes = [Node(n - 1, NodeKind.DIRECTORY, True, n, 0, n) for n in range(5)]
    trace = MemoryTrace(header=header(*map(len, streams)), nodes=nodes, streams=streams)
    path = tmp_path_factory.mktemp("t") / "t"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(blocks, "BLOCK_CALLS", block)
        patch.setattr(blocks, "BLOCK_NODES", block)
        patch.setattr(write, "_MOST_HELD", most)
        with TraceWriter(path) as writer:
            for number, call in sorted(
                ((n, c) for n, calls in enumerate(streams) for c in calls), key=lambda pair: pair[1].start_ns
            ):
                writer.add(number, call)
            writer.finish(trace.header, nodes)
    with open_trace(path) as found:
        assert [list(found.calls(n)) for n in range(3)] == streams
        assert list(found.nodes) == nodes


def test_a_trace_that_was_cut_short_is_refused(tmp_path: Path) -> None:
    whole = written(tmp_path).read_bytes()
    for length in range(len(whole)):
        (tmp_path / "cut").write_bytes(whole[:length])
        assert "cut short" in refusal(tmp_path / "cut") or length < len(blocks.MAGIC)


def test_a_damaged_trace_is_refused(tmp_path: Path) -> None:
    whole = bytearray(written(tmp_path).read_bytes())
    for at in range(len(whole)):
        whole[at] ^= 0x5A
        (tmp_path / "bad").write_bytes(whole)
        refusal(tmp_path / "bad")
        whole[at] ^= 0x5A


def test_what_is_no_trace_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"PK\x03\x04" * 100)
    assert "is not a trace of edbench" in refusal(tmp_path / "a")
    (tmp_path / "b").write_bytes(b"edbench-trace/2\n" + bytes(100))
    assert "format '2'" in refusal(tmp_path / "b")
    assert "is a directory" in refusal(tmp_path)
    assert "does not exist" in refusal(tmp_path / "c")


def test_numbers_without_meaning_are_damage(tmp_path: Path) -> None:
    trace = sample()
    good = trace.streams[0][0]
    for bad in ({"node": 3}, {"other": 3}, {"phase": 2}, {"op": 99}, {"duration_ns": -1}):
        streams = [[good._replace(**bad)], []]
        write_trace(dataclasses.replace(trace, header=header(1, 0), streams=streams), tmp_path / "bad")
        assert "out of range" in refusal(tmp_path / "bad")
    for node in (Node(1, NodeKind.FILE, True, 0, 0, 1), Node(0, NodeKind.FILE, True, 0, 1001, 1)):
        write_trace(dataclasses.replace(trace, nodes=[trace.nodes[0], node, trace.nodes[2]]), tmp_path / "bad")
        assert "damaged" in refusal(tmp_path / "bad")


def test_a_file_that_is_not_finished_leaves_nothing(tmp_path: Path) -> None:
    before = written(tmp_path).read_bytes()
    with TraceWriter(tmp_path / "t") as writer:
        writer.add(0, sample().streams[0][0])
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == {"t": before}


def test_a_writer_takes_no_nonsense(tmp_path: Path) -> None:
    first, second, _ = sample().streams[0]
    with TraceWriter(tmp_path / "t") as writer:
        writer.add(0, first)
        with pytest.raises(ValueError, match="after one at"):
            writer.add(0, second._replace(start_ns=9))
        with pytest.raises(ValueError, match="counts"):
            writer.finish(header(2), [])
    with pytest.raises(UsageError, match=r"cannot write the trace .*/none/t: No such file"):
        TraceWriter(tmp_path / "none" / "t")
