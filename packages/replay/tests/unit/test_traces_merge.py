"""Several traces as one."""

from __future__ import annotations

import dataclasses
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from trace_samples import any_traces, everything, written_and_moved

from core.errors import UsageError
from replay.merge import Align, merge_traces
from traces.model import NO_NODE, Call, MemoryTrace, Node
from traces.write import write_trace


def _call(trace: MemoryTrace, call: Call) -> tuple[object, ...]:
    """A call with what its numbers stand for."""
    other = None if call.other == NO_NODE else _node(trace, call.other)
    return (*call[:5], _node(trace, call.node), other, call.error, trace.header.phases[call.phase])


def _node(trace: MemoryTrace, number: int) -> list[Node]:
    """The node and those above it, without numbers."""
    out = []
    while number != NO_NODE:
        node = trace.nodes[number]
        out.append(node._replace(parent=0))
        number = node.parent
    return out


@settings(max_examples=30)
@given(st.lists(any_traces(), min_size=2, max_size=3), st.sampled_from(Align))
def test_streams_and_trees_stand_beside_each_other(traces: list[MemoryTrace], align: Align) -> None:
    with tempfile.TemporaryDirectory() as scratch:
        paths = [Path(scratch, str(number)) for number in range(len(traces))]
        for trace, path in zip(traces, paths, strict=True):
            write_trace(trace, path)
        done = merge_traces(paths, Path(scratch, "all"), align)
        merged = everything(Path(scratch, "all"))
    assert merged.header == done.header
    assert min(done.shifts_ns) == 0 or align is Align.CLOCK
    expected = [
        [_call(trace, call._replace(start_ns=call.start_ns + shift)) for call in calls]
        for trace, shift in zip(traces, done.shifts_ns, strict=True)
        for calls in trace.streams
    ]
    assert [[_call(merged, call) for call in calls] for calls in merged.streams] == expected
    assert len(merged.nodes) == sum(len(trace.nodes) for trace in traces)
    assert merged.header.lost == 2 * len(traces)


def test_the_clock_says_how_far_apart_they_are(tmp_path: Path) -> None:
    trace = written_and_moved()
    write_trace(trace, tmp_path / "a")
    write_trace(
        MemoryTrace(
            header=dataclasses.replace(trace.header, created=trace.header.created - 1.5),
            nodes=trace.nodes,
            streams=trace.streams,
        ),
        tmp_path / "b",
    )
    both = [tmp_path / "a", tmp_path / "b"]
    assert merge_traces(both, tmp_path / "c", Align.CLOCK).shifts_ns == (1_500_000_000, 0)
    merged = everything(tmp_path / "c")
    assert merged.header.duration_ns == trace.header.duration_ns + 1_500_000_000
    assert merged.header.created == trace.header.created - 1.5
    assert merge_traces(both, tmp_path / "d", Align.START).shifts_ns == (0, 0)


def test_a_merge_that_makes_no_sense_is_refused(tmp_path: Path) -> None:
    write_trace(written_and_moved(), tmp_path / "a")
    with pytest.raises(UsageError, match="two traces"):
        merge_traces([tmp_path / "a"], tmp_path / "b", Align.CLOCK)
    with pytest.raises(UsageError, match="another name"):
        merge_traces([tmp_path / "a", tmp_path / "a"], tmp_path / "a", Align.CLOCK)
    with pytest.raises(UsageError, match="nothing"):
        merge_traces([tmp_path / "a", tmp_path / "nothing"], tmp_path / "b", Align.CLOCK)
    assert {path.name for path in tmp_path.iterdir()} == {"a"}
