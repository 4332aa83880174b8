"""Whole logs of strace: those of programs that ran, those that are none, damaged ones."""

from __future__ import annotations

import re
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from trace_samples import everything

from core.errors import UsageError
from core.operations import Op
from replay.strace.importing import import_strace
from traces.model import NO_NODE, MemoryTrace, NodeKind

LOGS = Path(__file__).parents[1] / "support" / "strace_logs"
DEMO = Path("/tmp/demo")  # where the logs kept there were made


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "-ttt"),
        ("nothing of the kind\n", "-ttt"),
        ("12:30:01 openat(AT_FDCWD, \"f\", O_RDONLY) = 3 <0.000010>\n", "-ttt"),
        ("1700000000.000001 openat(AT_FDCWD, \"/data/f\", O_RDONLY) = 3\n", "strace -T"),
        ("1700000000.000001 getpid() = 3 <0.000010>\n", "--under"),
    ],
)  # fmt: skip
def test_other_logs_are_refused(text: str, says: str, tmp_path: Path) -> None:
    """In one line that says how to make one."""
    (tmp_path / "log").write_text(text)
    with pytest.raises(UsageError, match=re.escape(says)):
        import_strace([tmp_path / "log"], tmp_path / "t")
    assert [path.name for path in tmp_path.iterdir()] == ["log"]


def test_a_clock_that_is_set_back_is_said(tmp_path: Path) -> None:
    log = tmp_path / "log"
    times = (5, 7, 6)
    log.write_text("".join(f'1 1700000000.00000{at} stat("/f", 0x7f) = -1 ENOENT (x) <0.000001>\n' for at in times))
    done = import_strace([log], tmp_path / "t")
    assert done.steps_back == 1
    assert [call.start_ns for call in everything(tmp_path / "t").streams[0]] == [0, 2000, 2000]


def test_logs_of_ff_are_read_by_time(tmp_path: Path) -> None:
    (tmp_path / "log.10").write_text(
        '1700000000.000001 openat(AT_FDCWD, "/f", O_RDONLY) = 3 <0.000001>\n'
        "1700000000.000010 vfork() = 11 <0.000001>\n"
        "1700000000.000040 +++ exited with 0 +++\n"
    )
    (tmp_path / "log.11").write_text(
        '1700000000.000020 read(3, "ab", 2) = 2 <0.000001>\n1700000000.000030 +++ exited with 0 +++\n'
    )
    done = import_strace([tmp_path / "log.11", tmp_path / "log.10"], tmp_path / "t")
    assert done.unknown_descriptors == 0
    trace = everything(tmp_path / "t")
    workers = [stream.worker for stream in trace.header.streams]
    assert dict(zip(workers, [[call.op for call in calls] for calls in trace.streams], strict=True)) == {
        "process 10": [Op.OPEN, Op.CLOSE],
        "process 11": [Op.READ],
    }


@pytest.mark.parametrize("log", ["shell.log", "terminal.log"])
def test_a_shell_script_as_strace_saw_it(log: str, tmp_path: Path) -> None:
    done = import_strace([LOGS / log], tmp_path / "t", under=[DEMO], start_directory=DEMO)
    trace = everything(tmp_path / "t")
    calls = [call for stream in trace.streams for call in stream]
    ops = [call.op for call in calls]
    assert {op.label: ops.count(op) for op in Op} == {
        "scan": 3, "stat": 9, "open": 8, "read": 14, "create": 4, "write": 7, "fsync": 1, "close": 11, "rename": 1,
        "remove": 2, "mkdir": 1,
    }  # fmt: skip
    assert sum(call.bytes for call in calls if call.op is Op.WRITE) == 1113 + 1092 + 1092 + 100
    assert sorted(n.size for n in trace.nodes if n.kind == NodeKind.FILE and n.existed) == [21, 284, 1092]
    assert (done.malformed, done.never_ended, done.steps_back, len(trace.streams)) == (0, 0, 0, 11)
    _tells_a_possible_story(trace)


def test_threads_as_strace_saw_them(tmp_path: Path) -> None:
    done = import_strace([LOGS / "threads-y.log"], tmp_path / "t", under=[DEMO / "w"])
    trace = everything(tmp_path / "t")
    expected = ["create", *["write"] * 4, "read", "fsync", "close", "rename", "stat", "remove"]
    assert [[call.op.label for call in stream] for stream in trace.streams[1:]] == [expected] * 3
    assert dict(done.not_carried) == {"ftruncate": 3}
    assert all(not node.existed for node in trace.nodes if node.kind == NodeKind.FILE)
    _tells_a_possible_story(trace)


@settings(max_examples=30)
@given(st.data())
def test_a_damaged_log_is_read_as_far_as_it_makes_sense(data: st.DataObject) -> None:
    lines = (
        (LOGS / data.draw(st.sampled_from(("shell.log", "terminal.log", "threads-y.log")))).read_bytes().splitlines()
    )
    for _ in range(data.draw(st.integers(1, 6))):
        at = data.draw(st.integers(0, len(lines) - 1))
        cut, rest = data.draw(st.integers(0, len(lines[at]))), data.draw(st.binary(max_size=6))
        lines[at : at + data.draw(st.integers(0, 3))] = [lines[at][:cut] + rest.replace(b"\n", b"9")]
    with tempfile.TemporaryDirectory() as scratch:
        Path(scratch, "log").write_bytes(b"\n".join(lines))
        import_strace([Path(scratch, "log")], Path(scratch, "t"), start_directory=DEMO)
        _tells_a_possible_story(everything(Path(scratch, "t")))


def test_a_path_may_be_deep(tmp_path: Path) -> None:
    """As deep as Linux lets it be."""
    deep = "/a" * 2000
    line = f'1 1700000000.000000 stat("{deep}", {{st_mode=S_IFREG|0644, st_size=9, ...}}) = 0 <0.000010>\n'
    (tmp_path / "log").write_text(line)
    import_strace([tmp_path / "log"], tmp_path / "t")
    nodes = everything(tmp_path / "t").nodes
    assert len(nodes) == 2001
    assert all(node.existed for node in nodes)


def _tells_a_possible_story(trace: MemoryTrace) -> None:
    """Nothing is there before in a directory that is not, and a node's parent stands before it."""
    for number, node in enumerate(trace.nodes):
        assert node.parent < number
        assert not node.existed or node.parent == NO_NODE or trace.nodes[node.parent].existed
