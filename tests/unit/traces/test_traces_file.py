"""The trace file: everything comes back as it was written, and a file that is not whole is refused in one line."""

import dataclasses
import errno
import itertools
import os
import uuid
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from memory_traces import MemoryTrace, write_trace

from core.errors import UsageError
from core.operations import Op
from traces import blocks, file
from traces.blocks import Damaged
from traces.file import TraceWriter, open_trace
from traces.gather import NodeTree
from traces.model import NO_NODE, Call, Node, NodeKind, Stream, TraceHeader
from traces.parts import Row, SpoolHead, SpoolWriter, read_spool

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
    size = write_trace(trace, tmp_path / "t").stat().st_size
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
        patch.setattr(file, "_MOST_HELD", most)
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


FILE, DIRECTORY, MISSING = NodeKind.FILE, NodeKind.DIRECTORY, NodeKind.MISSING


class Story:
    """Calls one after the other, each lasting 5 ns, on paths below /s and /t."""

    def __init__(self) -> None:
        self.tree = NodeTree([b"/s", b"/t/u", b"/s/inner"])
        self.now = 0

    def call(self, op: Op, path: bytes, *, error: int = 0, argument: int = 0, other: bytes = b"") -> None:
        second = self.tree.number(other) if other else NO_NODE
        self.now += 10
        self.tree.see(Call(op, self.now, 5, 0, argument, self.tree.number(path), second, error, 0))

    def node(self, path: bytes) -> Node:
        self.tree.finish()
        return list(self.tree.nodes(lambda n: 500))[self.tree.numbers[path]]

    def found(self, path: bytes) -> tuple[NodeKind, bool]:
        node = self.node(path)
        return node.kind, node.existed


@pytest.fixture
def story() -> Story:
    return Story()


def test_paths_make_a_tree(story: Story) -> None:
    for path in (b"/s/inner/a/b", b"/t/u/c", b"/elsewhere/d", b"/s/inner/a"):
        story.tree.number(path)
    story.tree.finish()
    nodes = list(story.tree.nodes(lambda n: 0))
    assert list(story.tree.numbers) == [
        *(b"/s", b"/t/u", b"/s/inner", b"/s/inner/a", b"/s/inner/a/b", b"/t/u/c"),
        *(b"/", b"/elsewhere", b"/elsewhere/d"),
    ]
    assert [(node.parent, node.name_bytes) for node in nodes] == [
        *((NO_NODE, 0), (NO_NODE, 0), (0, 5), (2, 1), (3, 1), (1, 1)),
        *((NO_NODE, 0), (6, 9), (7, 1)),
    ]


def test_what_was_only_used_existed(story: Story) -> None:
    story.call(Op.STAT, b"/s/d/f", argument=70)
    story.call(Op.OPEN, b"/s/d/f", argument=90)
    story.call(Op.SCAN, b"/s/e", argument=0)
    story.call(Op.REMOVE, b"/s/g")
    story.call(Op.OPEN, b"/s/link", error=errno.ELOOP)
    assert story.node(b"/s/d/f") == Node(story.tree.numbers[b"/s/d"], FILE, True, 70, 500, 1)
    assert story.found(b"/s/d") == story.found(b"/s/e") == story.found(b"/s") == (DIRECTORY, True)
    assert story.found(b"/s/g") == story.found(b"/s/link") == (FILE, True)


def test_what_was_made_did_not_exist(story: Story) -> None:
    story.call(Op.STAT, b"/s/f", error=errno.ENOENT)
    story.call(Op.CREATE, b"/s/f")
    story.call(Op.OPEN, b"/s/f", argument=9)
    story.call(Op.MKDIR, b"/s/d")
    story.call(Op.MKDIR, b"/s/d", error=errno.EEXIST)
    story.call(Op.RENAME, b"/s/e", other=b"/s/d")
    story.call(Op.OPEN, b"/s/e/inside", argument=3)
    assert story.node(b"/s/f")[1:4] == (FILE, False, 0)
    assert story.found(b"/s/d") == (DIRECTORY, False)
    assert story.found(b"/s/e") == (DIRECTORY, False)
    assert story.found(b"/s/e/inside") == (FILE, False)


def test_what_was_taken_away_before_it_was_made_existed(story: Story) -> None:
    story.call(Op.REMOVE, b"/s/f")
    story.call(Op.CREATE, b"/s/f")
    story.call(Op.OPEN, b"/s/old", argument=4)
    story.call(Op.RENAME, b"/s/new", other=b"/s/old")
    story.call(Op.CREATE, b"/s/old")
    story.call(Op.RENAME, b"/s/replaced", other=b"/s/old")
    story.call(Op.REMOVE, b"/s/replaced")
    story.call(Op.CREATE, b"/s/replaced")
    assert story.found(b"/s/f") == story.found(b"/s/old") == (FILE, True)
    assert story.found(b"/s/new") == story.found(b"/s/replaced") == (FILE, False)
    assert story.tree.renamed == {story.tree.numbers[b"/s/old"]: story.tree.numbers[b"/s/replaced"]}


def test_what_was_used_before_it_was_replaced_existed(story: Story) -> None:
    """A rename may replace; what is used after it was there because of it."""
    for path, before in ((b"/s/a", True), (b"/s/b", False)):
        if before:
            story.call(Op.STAT, path, argument=1)
        story.call(Op.CREATE, path + b".tmp")
        story.call(Op.RENAME, path, other=path + b".tmp")
        story.call(Op.STAT, path, argument=2)
    assert (story.found(b"/s/a"), story.found(b"/s/b")) == ((FILE, True), (FILE, False))
    assert (story.node(b"/s/a").size, story.node(b"/s/b").size) == (1, 0)


def test_nothing_is_where_nothing_was_found(story: Story) -> None:
    story.call(Op.STAT, b"/s/x/y", error=errno.ENOENT)
    story.call(Op.CREATE, b"/s/full", error=errno.ENOSPC)
    story.call(Op.RENAME, b"/s/to", other=b"/s/from", error=errno.ENOENT)
    for path in (b"/s/x/y", b"/s/x", b"/s/full", b"/s/to", b"/s/from"):
        assert story.found(path) == (MISSING, False)


def test_a_path_without_evidence_is_unclear_until_it_is_known(story: Story) -> None:
    story.call(Op.STAT, b"/s/d")
    story.call(Op.STAT, b"/s/f", argument=1)
    story.call(Op.SCAN, b"/s/e")
    story.tree.finish()
    assert story.tree.unclear() == [b"/s/d"]
    assert [path for path, _ in story.tree.files()] == [b"/s/d", b"/s/f"]
    story.tree.is_directory(b"/s/d")
    assert story.found(b"/s/d") == (DIRECTORY, True)


HEAD = SpoolHead(job=uuid.UUID(int=5), worker="w1", slot=2, boot="b", wall_ns=-7, phases=("walk", "expand"))
OPENED: Row = (Op.OPEN, 100, 5, 0, 44, b"/s/caf\xe9", b"", 0)
RENAMED: Row = (Op.RENAME, 200, 6, 0, 0, b"/s/new", b"/s/caf\xe9", 2)


def spooled(path: Path) -> SpoolWriter:
    writer = SpoolWriter(path, HEAD)
    writer.write([OPENED, RENAMED], 1)
    writer.write([OPENED], 0)
    return writer


def test_calls_come_back_by_task(tmp_path: Path) -> None:
    spooled(tmp_path / "job" / "p").close()
    head, blocks = read_spool(tmp_path / "job" / "p")
    assert head == HEAD
    first, second = blocks
    assert (first.phase, first.paths) == (1, [b"/s/caf\xe9", b"/s/new"])
    assert first.calls == [
        Call(Op.OPEN, 100, 5, 0, 44, 0, NO_NODE, 0, 1),
        Call(Op.RENAME, 200, 6, 0, 0, 1, 0, 2, 1),
    ]
    assert (second.phase, second.paths, len(second.calls)) == (0, [b"/s/caf\xe9"], 1)


def test_a_part_whose_slot_died_while_it_wrote_is_whole_up_to_there(tmp_path: Path) -> None:
    spooled(tmp_path / "p").close()
    whole = (tmp_path / "p").read_bytes()
    counts = set()
    for length in range(len(whole)):
        (tmp_path / "cut").write_bytes(whole[:length])
        try:
            _, blocks = read_spool(tmp_path / "cut")
        except Damaged:
            counts.add(-1)
            continue
        counts.add(sum(len(block.calls) for block in blocks))
    assert counts == {-1, 0, 2}


def test_a_full_disk_leaves_the_part_as_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    writer = spooled(tmp_path / "p")
    before = (tmp_path / "p").read_bytes()
    really = os.write
    monkeypatch.setattr(os, "write", lambda fd, data: really(fd, data[:10]))
    with pytest.raises(OSError, match=os.strerror(errno.ENOSPC)):
        writer.write([OPENED], 0)
    monkeypatch.undo()
    assert (tmp_path / "p").read_bytes() == before
    writer.write([RENAMED], 0)
    assert [len(block.calls) for block in read_spool(tmp_path / "p")[1]] == [2, 1, 1]
    assert not writer.gone
    (tmp_path / "p").unlink()
    assert writer.gone
    writer.close()
