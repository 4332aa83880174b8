"""What `edbench trace info` counts."""

from hypothesis import given, settings
from memory_traces import MemoryTrace
from trace_samples import any_traces, call, directory, file, sample_trace, written_and_moved

from core.operations import Op
from replay.trace_summary import BINS, TraceSummary, trace_info
from traces.model import NodeKind


@settings(max_examples=30)
@given(any_traces())
def test_every_call_is_counted_once(trace: MemoryTrace) -> None:
    calls = [call for stream in trace.streams for call in stream]
    summary = TraceSummary(trace)
    assert sum(of.calls for of in summary.ops.values()) == len(calls)
    assert sum(of.calls for of in summary.phases.values()) == len(calls)
    assert sum(of.bytes for of in summary.ops.values()) == sum(call.bytes for call in calls)
    assert sum(of.errors for of in summary.ops.values()) == sum(call.error != 0 for call in calls)
    assert sum(of.histogram.total for of in summary.ops.values()) == len(calls)
    assert sum(sum(counts.values()) for counts in summary.timeline.calls) == len(calls)
    assert sum(summary.timeline.busy_ns) == sum(call.duration_ns for call in calls)
    assert sum(summary.busy_ns) == sum(call.duration_ns for call in calls)
    assert len(summary.timeline.busy_ns) <= BINS


@settings(max_examples=30)
@given(any_traces())
def test_every_node_is_counted_once(trace: MemoryTrace) -> None:
    shape = TraceSummary(trace).tree
    kinds = [node.kind for node in trace.nodes]
    assert shape.directories == kinds.count(NodeKind.DIRECTORY)
    assert shape.missing == kinds.count(NodeKind.MISSING)
    existing = [node for node in trace.nodes if node.kind == NodeKind.FILE and node.existed]
    renamed = {call.other for stream in trace.streams for call in stream if call.op is Op.RENAME and not call.error}
    made = {n for n, node in enumerate(trace.nodes) if node.kind == NodeKind.FILE and not node.existed}
    assert shape.existing.number == len(existing)
    assert len(made - renamed) <= shape.made.number <= len(made)
    assert sum(shape.depths.values()) == shape.existing.number + shape.made.number
    assert shape.existing.bytes == sum(n.size for n in trace.nodes if n.kind == NodeKind.FILE and n.existed)
    assert sum(shape.entries.values()) == shape.directories


def test_the_figures_of_a_trace() -> None:
    shown = trace_info(TraceSummary(written_and_moved()), 1500)
    assert shown["calls"] == 15
    assert shown["bytes_per_million_calls"] == 100_000_000
    assert shown["moved_bytes"] == 4096 + 904 + 3000 + 3000
    assert {op: of["calls"] for op, of in shown["ops"].items()} == {
        "scan": 1, "open": 3, "read": 4, "create": 1, "write": 1, "fsync": 1, "close": 3, "rename": 1,
    }  # fmt: skip
    assert shown["ops"]["open"]["errors"] == 1
    assert {phase: sum(of["calls"] for of in ops.values()) for phase, ops in shown["phases"].items()} == {
        "walk": 11, "expand": 4,
    }  # fmt: skip
    assert {
        op: {size: one["calls"] for size, one in of["latency_by_size"].items()}
        for op, of in shown["ops"].items()
        if of["latency_by_size"]
    } == {"read": {"to 4 KiB": 3}, "write": {"to 4 KiB": 1}}
    reads = shown["sizes"]["read"]
    assert (reads["calls"], reads["sequential_share"]) == (4, 1.0)
    assert {one["from"]: one["calls"] for one in reads["by_size"] if one["calls"]} == {0: 1, 512: 1, 2048: 1, 4096: 1}
    tree = shown["tree"]
    assert (tree["existing"]["files"], tree["existing"]["bytes"]) == (1, 5000)
    assert (tree["made"]["files"], tree["made"]["bytes"]) == (1, 3000), "one file under two names"
    assert tree["files_by_depth"] == {2: 2}
    assert (tree["directories"], tree["most_entries"], tree["ratio"]) == (2, 3, 0.5)


def test_think_time_is_between_the_calls_of_a_stream() -> None:
    nodes = [directory(), file(0, 10)]
    streams = [
        [call(Op.STAT, 5_000_000, 1, duration_ns=1000), call(Op.STAT, 5_003_000, 1, duration_ns=500)],
        [call(Op.STAT, 0, 1, duration_ns=7000), call(Op.STAT, 6000, 1, duration_ns=1)],
    ]
    summary = TraceSummary(sample_trace(nodes, streams))
    assert summary.think_ns == 2000
    assert summary.think.total == 1
    assert summary.overlapping == 1


def test_calls_in_flight_are_a_mean_over_time() -> None:
    nodes = [directory(), file(0, 10)]
    busy = [call(Op.READ, start, 1, duration_ns=1000) for start in range(0, 200_000, 1000)]
    summary = TraceSummary(sample_trace(nodes, [busy, busy]))
    assert set(summary.timeline.in_flight) == {2.0}
    assert trace_info(summary, 1)["concurrency"]["mean_in_flight"] == 2.0


def test_reads_that_jump_are_not_sequential() -> None:
    nodes = [directory(), file(0, 100)]
    places = [(Op.READ, 0), (Op.READ, 10), (Op.READ, 50), (Op.CLOSE, 0), (Op.READ, 0), (Op.READ, 60)]
    calls = [call(op, 100 * n, 1, nbytes=10 * (op is Op.READ), argument=at) for n, (op, at) in enumerate(places)]
    assert TraceSummary(sample_trace(nodes, [calls])).access[Op.READ].sequential == 3
