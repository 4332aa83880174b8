"""A trace as JSON lines, for fio and for elbencho."""

import dataclasses
import io
import json
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from memory_traces import MemoryTrace, write_trace
from trace_samples import any_traces, call, directory, everything, file, sample_trace, written_and_moved

from core.errors import UsageError
from core.operations import Op
from replay.exports import LONGEST_NAME, UsedFiles, export_elbencho, export_trace
from replay.jsonl import ExportFormat, export_jsonl
from replay.merge import Align, merge_traces
from replay.table import Layout
from traces.model import NO_NODE, Call, Node, NodeKind


def exported(trace: MemoryTrace, target: Path) -> list[str]:
    """The losses of a fio export."""
    return list(export_trace(trace, ExportFormat.FIO, target).losses)


def paths_of(trace: MemoryTrace) -> list[str]:
    layout = Layout(trace.nodes)
    return [layout.path(number).decode() for number in range(len(trace.nodes))]


@settings(max_examples=30)
@given(any_traces())
def test_json_lines_have_everything(trace: MemoryTrace) -> None:
    out = io.StringIO()
    export_jsonl(trace, out)
    first, *calls, last = (json.loads(line) for line in out.getvalue().splitlines())
    nodes = calls[trace.header.calls :]
    del calls[trace.header.calls :]
    known = {"type": "trace", "format": "edbench-trace-jsonl/1"} | dataclasses.asdict(trace.header)
    assert first == json.loads(msgspec.json.encode(known))
    assert calls == [
        {"type": "call", "stream": stream} | call._asdict() | {"op": Op(call.op).label}
        for stream, its in enumerate(trace.streams)
        for call in its
    ]
    assert nodes == [
        {"type": "node", "node": number} | node._asdict() | {"kind": NodeKind(node.kind).name.lower()}
        for number, node in enumerate(trace.nodes)
    ]
    assert last == {"type": "end", "calls": trace.header.calls, "nodes": len(trace.nodes)}


def test_a_stream_becomes_an_iolog(tmp_path: Path) -> None:
    trace = written_and_moved()
    exported(trace, tmp_path / "fio")
    _, _, read, _, made = paths_of(trace)
    assert (tmp_path / "fio" / "stream0.iolog").read_text().splitlines() == [
        "fio version 3 iolog",
        f"1 {read} add",
        f"1001 {read} open",
        f"2001 {read} read 0 4096",
        f"2501 {read} read 4096 904",
        f"3001 {read} close",
        f"4001 {made} add",
        f"4001 {made} open",
        f"5001 {made} write 0 3000",
        f"6001 {made} sync 0 0",
        f"7001 {made} close",
    ]
    assert f"9001 {made} open" in (tmp_path / "fio" / "stream1.iolog").read_text()


def test_what_a_fio_job_loses_is_counted_and_stands_in_it(tmp_path: Path) -> None:
    """Ops without a word, failed calls, reads of nothing; the same sentences in the job."""
    losses = exported(written_and_moved(), tmp_path / "fio")
    assert losses[0] == "calls that an iolog cannot express: scan 1, read 1, rename 1, open (failed) 1"
    job = (tmp_path / "fio" / "replay.fio").read_text()
    assert all(f"# Lost: {line}\n" in job for line in losses)


def test_files_that_must_be_there_are_made_first(tmp_path: Path) -> None:
    """One that was there, and one that another stream opens than made it: as long as they are read."""
    trace = written_and_moved()
    exported(trace, tmp_path / "fio")
    _, folder, read, _, made = paths_of(trace)
    prepared = (tmp_path / "fio" / "prepare.iolog").read_text()
    assert f"1 {read} write 0 5000\n" in prepared
    assert f"1 {made} write 0 3000\n" in prepared
    assert (tmp_path / "fio" / "files.txt").read_text().split() == [read, made]
    assert (tmp_path / "fio" / "directories.txt").read_text().split() == [folder.partition("/")[0], folder]


def test_an_open_file_is_opened_once(tmp_path: Path) -> None:
    """fio has one descriptor for each file: the second open and the first close are left out."""
    nodes = [directory(), file(0, 100)]
    ops = (Op.OPEN, Op.OPEN, Op.READ, Op.CLOSE, Op.READ, Op.CLOSE, Op.CLOSE)
    calls = [call(op, n * 1000, 1, nbytes=10 * (op is Op.READ)) for n, op in enumerate(ops)]
    exported(sample_trace(nodes, [calls]), tmp_path / "fio")
    lines = (tmp_path / "fio" / "stream0.iolog").read_text().splitlines()[1:]
    assert [line.split()[2] for line in lines] == ["add", "open", "read", "read", "close"]


def test_what_fio_cannot_hold_is_left_out(tmp_path: Path) -> None:
    nodes = [directory(), directory(0, name_bytes=200), file(1, 10, name_bytes=LONGEST_NAME - 200)]
    streams = [[call(Op.OPEN, 0, 2), call(Op.READ, 1, 2, nbytes=5)], [call(Op.STAT, 0, 1)]]
    losses = exported(sample_trace(nodes, streams), tmp_path / "fio")
    assert any("1 file whose path is longer" in line for line in losses)
    assert not list((tmp_path / "fio").glob("stream*.iolog"))
    assert "[stream" not in (tmp_path / "fio" / "replay.fio").read_text()


def test_a_file_goes_by_its_last_name() -> None:
    nodes = [directory(), *[file(0, 70 if n == 0 else 0, existed=n == 0) for n in range(5)]]
    renames = [(1, 2), (2, 3), (4, 5), (5, 4)]
    calls = [call(Op.RENAME, n, new, other=old) for n, (old, new) in enumerate(renames)]
    used = UsedFiles(sample_trace(nodes, [calls]))
    assert [used.identity(n) for n in (1, 2, 3)] == [3, 3, 3]
    assert used.identity(4) == used.identity(5)
    assert list(used.files()) == [3]
    assert used.size(3) == 70
    assert used.found(3)


def test_only_a_writer_makes_its_own_files() -> None:
    nodes = [directory(), file(0, 0, existed=False), file(0, 0, existed=False)]
    reader = [call(Op.CREATE, 0, 1), call(Op.READ, 1, 1, nbytes=1)]
    writer = [call(Op.CREATE, 0, 2), call(Op.WRITE, 1, 2, nbytes=9), call(Op.READ, 2, 2, nbytes=9)]
    used = UsedFiles(sample_trace(nodes, [reader, writer]))
    assert used.found(1)
    assert not used.found(2)


def test_a_tree_file_of_elbencho() -> None:
    trace = written_and_moved()
    out = io.StringIO()
    losses = export_elbencho(trace, out)
    lines = out.getvalue().splitlines()
    root, folder, read, _, made = paths_of(trace)
    assert [line for line in lines if line[0] != "#"] == [
        f"d {root}", f"d {folder}", f"f 5000 {read}", f"f 3000 {made}"
    ]  # fmt: skip
    assert [line for line in lines if line.startswith("# Lost: ")] == [f"# Lost: {line}" for line in losses]
    assert "15 calls" in losses[0]


def test_a_target_that_cannot_be_written_is_refused(tmp_path: Path) -> None:
    (tmp_path / "x").touch()
    with pytest.raises(UsageError, match="not empty"):
        export_trace(written_and_moved(), ExportFormat.FIO, tmp_path)
    with pytest.raises(UsageError, match="cannot write"):
        export_trace(written_and_moved(), ExportFormat.JSONL, tmp_path / "no" / "where")
    with pytest.raises(UsageError, match="cannot write"):
        export_trace(written_and_moved(), ExportFormat.FIO, tmp_path / "no" / "where")


def test_the_script_makes_directories_and_empty_files(tmp_path: Path) -> None:
    trace = written_and_moved()
    exported(trace, tmp_path / "fio")
    (tmp_path / "target").mkdir()
    subprocess.run(["sh", str(tmp_path / "fio" / "prepare.sh")], cwd=tmp_path / "target", check=True)
    found = {str(path.relative_to(tmp_path / "target")) for path in (tmp_path / "target").rglob("*")}
    root, folder, read, _, made = paths_of(trace)
    assert found == {root, folder, read, made}


@pytest.mark.parametrize("form", ExportFormat)
def test_nothing_is_left_of_an_export_that_failed(form: ExportFormat, tmp_path: Path) -> None:
    class Damaged:
        def __init__(self) -> None:
            self.header, self.nodes = written_and_moved().header, written_and_moved().nodes

        def calls(self, stream: int) -> Iterator[Call]:
            yield from written_and_moved().calls(stream)
            raise UsageError("damaged")

    with pytest.raises(UsageError, match="damaged"):
        export_trace(Damaged(), form, tmp_path / "x")
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []


def _node(parent: int, name_bytes: int) -> Node:
    return Node(parent, NodeKind.DIRECTORY, existed=True, size=0, ratio=0, name_bytes=name_bytes)


@st.composite
def _trees(draw: st.DrawFn) -> list[Node]:
    nodes: list[Node] = []
    for number in range(draw(st.integers(1, 60))):
        parent = draw(st.integers(NO_NODE, number - 1))
        nodes.append(_node(parent, 0 if parent == NO_NODE else draw(st.integers(2, 255))))
    return nodes


@given(_trees())
def test_paths_have_the_recorded_shape_and_never_meet(nodes: list[Node]) -> None:
    """Same depth, same name lengths, no two alike, not even with capitals and small letters taken for the same."""
    layout = Layout(nodes)
    paths = [layout.path(number) for number in range(len(nodes))]
    assert len({path.lower() for path in paths}) == len(nodes)
    for node, path in zip(nodes, paths, strict=True):
        if node.parent == NO_NODE:
            assert b"/" not in path
        else:
            above, _, name = path.rpartition(b"/")
            assert above == paths[node.parent]
            assert len(name) == node.name_bytes
    assert layout.longest == max(map(len, paths))
    assert paths == [Layout(nodes).path(number) for number in range(len(nodes))]


def test_names_that_cannot_be_told_apart_in_their_length_get_longer() -> None:
    layout = Layout([_node(NO_NODE, 0), *[_node(0, 1) for _ in range(40)], _node(0, 2)])
    names = [layout.name(number) for number in range(1, 42)]
    assert len(set(names)) == 41
    assert [len(name) for name in names] == [1] * 36 + [2] * 5


def test_lengths_out_of_range_become_the_nearest() -> None:
    """What an odd trace says of a name may not make an impossible one."""
    layout = Layout([_node(NO_NODE, 0), _node(0, 0), _node(0, 4000)])
    assert [len(layout.name(number)) for number in (1, 2)] == [1, 255]


def test_a_full_directory_keeps_its_names_apart() -> None:
    """All 1,296 names of two bytes are used before one gets longer."""
    layout = Layout([_node(NO_NODE, 0), *[_node(0, 2) for _ in range(1296)]])
    assert len({layout.name(number) for number in range(1, 1297)}) == 1296
    assert all(len(layout.name(number)) == 2 for number in range(1, 1297))


def _call(trace: MemoryTrace, call: Call) -> tuple[object, ...]:
    """A call with what its numbers stand for."""
    other = None if call.other == NO_NODE else _node_of_traces_merge(trace, call.other)
    return (*call[:5], _node_of_traces_merge(trace, call.node), other, call.error, trace.header.phases[call.phase])


def _node_of_traces_merge(trace: MemoryTrace, number: int) -> list[Node]:
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
        shifts = merge_traces(paths, Path(scratch, "all"), align)
        merged = everything(Path(scratch, "all"))
    assert min(shifts) == 0 or align is Align.CLOCK
    expected = [
        [_call(trace, call._replace(start_ns=call.start_ns + shift)) for call in calls]
        for trace, shift in zip(traces, shifts, strict=True)
        for calls in trace.streams
    ]
    assert [[_call(merged, call) for call in calls] for calls in merged.streams] == expected
    assert len(merged.nodes) == sum(len(trace.nodes) for trace in traces)
    assert merged.header.lost == 2 * len(traces)


def test_the_clock_states_how_far_apart_they_are(tmp_path: Path) -> None:
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
    assert merge_traces(both, tmp_path / "c", Align.CLOCK) == (1_500_000_000, 0)
    merged = everything(tmp_path / "c")
    assert merged.header.duration_ns == trace.header.duration_ns + 1_500_000_000
    assert merged.header.created == trace.header.created - 1.5
    assert merge_traces(both, tmp_path / "d", Align.START) == (0, 0)
