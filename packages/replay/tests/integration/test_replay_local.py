"""Replays by real processes: every call is made, at its time, by the system calls of the storage layer; deaths are told."""

import itertools
import os
import resource
import signal
import subprocess
import sys
import textwrap
import time
from dataclasses import replace
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import debian_programs
import pytest
from memory_traces import MemoryTrace
from recording import MemoryRecorder
from relay_traces import MS, SIZE, compiled, relay, run_local
from strace_counts import SYSCALLS, kernel_counts

from core.errors import RunFailed, StorageFault
from core.filer.arbiter import Arbiter
from core.filer.emulation import EmulatedFiler, Pacer
from core.filer.model import FilerModel, load_filer
from core.operations import CallRecord, Op
from core.records import Phase
from core.storage.layer import Storage
from replay.client import run_client, shared_steps
from replay.tree import prepare_tree, remove_trees
from traces.model import NO_NODE, Call, Stream


@pytest.mark.parametrize("clients", [1, 2, 3, 5])
def test_every_call_is_made_as_recorded(tmp_path: Path, clients: int) -> None:
    """By fewer, as many and more clients than streams; the tree is gone afterwards."""
    trace = relay()
    program, target = compiled(tmp_path, trace, clients)
    found = run_local(program, target)
    assert found.merged.differences == ()
    assert len(found.clients) == found.merged.clients == clients
    assert found.merged.calls == program.calls
    if clients <= 3:
        recorded = [call for stream in trace.streams for call in stream]
        for op in {call.op for call in recorded}:
            assert found.merged.ops[op].calls == sum(1 for call in recorded if call.op is op)
            assert found.merged.ops[op].bytes == sum(call.bytes for call in recorded if call.op is op)
            assert found.merged.ops[op].errors == sum(1 for call in recorded if call.op is op and call.error)
    assert sum(found.merged.by_second) == found.merged.calls
    assert os.listdir(tmp_path / "path") == []


def test_on_null_storage_the_same_calls_are_made_and_nothing_is_held(tmp_path: Path) -> None:
    program, target = compiled(tmp_path, relay(), 2)
    found = run_local(program, replace(target, null=True), keep=True).merged
    assert found.differences == ()
    assert found.calls == program.calls
    left = [path.stat() for path in (tmp_path / "path").rglob("*") if path.is_file()]
    assert sorted({info.st_size for info in left}) == [SIZE]
    assert {info.st_blocks for info in left} == {0}
    remove_trees(target)


class Noted:
    """A storage that answers as it does, or a filer that takes this long; the calls are recorded."""

    def __init__(self, takes_ns: int = 0) -> None:
        self.takes_ns = takes_ns
        self.calls: list[tuple[Op, int, int, int]] = []  # op, start, end, bytes

    def serve(self, op: Op, nbytes: int, arrived_ns: int, *_call: object) -> int:
        end = max(time.monotonic_ns(), arrived_ns + self.takes_ns)
        self.calls.append((op, arrived_ns, end, nbytes))
        return end


def test_calls_are_made_at_their_time(tmp_path: Path) -> None:
    trace = relay(1)
    program, target = compiled(tmp_path, trace, 1, speed=0.5)
    noted = Noted()
    prepare_tree(program, target, client=0)
    start = time.monotonic_ns() + 20 * MS
    found = run_client(program, target, client=0, done=shared_steps(1), start_ns=start, station=noted)
    assert [(op, nbytes) for op, _, _, nbytes in noted.calls] == [(call.op, call.bytes) for call in trace.streams[0]]
    late = 0
    for (_, begun, _, _), call in zip(noted.calls, trace.streams[0], strict=True):
        assert begun >= start + 2 * call.start_ns
        late += begun - start - 2 * call.start_ns
    response = sum(one.response_total_ns for one in found.ops.values())
    service = sum(one.service_total_ns for one in found.ops.values())
    assert response - service == late
    assert service == sum(end - begun for _, begun, end, _ in noted.calls)
    assert sum(found.due_by_second) == found.calls
    assert found.last_due_s == max(2 * call.start_ns for call in trace.streams[0]) / 1e9


def test_in_a_closed_loop_a_call_comes_when_the_one_before_it_is_over_and_thought_about(tmp_path: Path) -> None:
    trace = relay(1)
    program, target = compiled(tmp_path, trace, 1, closed=True)
    noted = Noted(MS)
    prepare_tree(program, target, client=0)
    start = time.monotonic_ns()
    found = run_client(program, target, client=0, done=shared_steps(1), start_ns=start, station=noted)
    assert [op for op, *_ in noted.calls] == [call.op for call in trace.streams[0]]
    for (_, _, ended, _), (_, begun, _, _) in pairwise(noted.calls):
        assert begun >= ended + MS  # the think time of all calls
    assert found.elapsed_s >= (2 * found.calls - 1) * MS / 1e9
    assert (found.due_by_second, found.last_due_s) == ((), 0.0)


def test_a_slot_that_had_no_task_waits_for_who_brought_it(tmp_path: Path) -> None:
    """However late that one is: the second client, idle until the first had done all, thinks behind it and not before."""
    whole = relay(1)
    ends = whole.streams[0][-1].start_ns + MS
    late = Call(Op.STAT, ends + 5 * MS, MS, 0, 0, 1, NO_NODE, 0, 0)
    streams = (whole.header.streams[0], Stream(worker="w", slot=1, calls=1, idle=((0, ends + MS),)))
    header = replace(whole.header, streams=streams, duration_ns=ends + 6 * MS)
    trace = MemoryTrace(header=header, nodes=whole.nodes, streams=[whole.streams[0], [late]])
    program, target = compiled(tmp_path, trace, 2, closed=True)
    first, second = run_local(program, target, station=partial(Noted, 5 * MS)).clients
    assert second.elapsed_s >= (6 * (first.calls - 1) + 5) * MS / 1e9  # each of the first's, and its think time


def test_an_emulated_filer_delays_the_calls(tmp_path: Path) -> None:
    program, target = compiled(tmp_path, relay(), 3)
    found = run_local(program, target, station=partial(Noted, MS))
    assert found.merged.differences == ()
    assert all(one.service.percentiles((0.1,))[0] >= MS // 2 for one in found.merged.ops.values())


def story_by_storage(root: Path) -> list[CallRecord]:
    """What the first stream of `relay` does, made by the storage layer."""
    recorder = MemoryRecorder()
    storage = Storage(recorder)
    path = os.fsencode(root)
    storage.stat(path + b"/old")
    storage.mkdir(path + b"/dir")
    with storage.open(path + b"/old") as file:
        file.pread(SIZE, 0)
        file.pread(SIZE, SIZE)
    with storage.create(path + b"/dir/new.tmp") as new:
        new.write(b"x" * (SIZE - 1))
        new.write(b"x")
        new.sync()
    storage.rename(path + b"/dir/new.tmp", path + b"/dir/new")
    storage.scan(path + b"/dir")
    storage.remove(path + b"/dir/new")
    return recorder.records


def test_the_system_calls_are_the_storage_layers(tmp_path: Path) -> None:
    debian_programs.program("strace", "strace")
    trace = relay(1)
    program, target = compiled(tmp_path, trace, 1)
    prepare_tree(program, target, client=0)
    seen = counted(
        tmp_path,
        f"""
        import time
        from pathlib import Path
        from replay.client import run_client, shared_steps
        from replay.program import open_program
        from replay.tree import Target
        target = Target(paths=(Path({str(tmp_path / "path")!r}),), replay_id="test")
        found = run_client(open_program(Path({str(tmp_path / "program")!r})), target, client=0,
                           done=shared_steps(1), start_ns=time.monotonic_ns())
        assert not found.differences, found.differences
        """,
        tmp_path / "path",
    )
    other = tmp_path / "other"
    other.mkdir()
    (other / "old").write_bytes(b"x" * SIZE)
    module = Path(__file__)
    expected = counted(
        tmp_path,
        f"""
        import sys
        sys.path[:0] = {[str(module.parent), *(path for path in sys.path if "/tests/support" in path)]!r}
        from pathlib import Path
        from {module.stem} import story_by_storage
        story_by_storage(Path({str(other)!r}))
        """,
        other,
    )
    assert seen == expected
    assert seen[0]["read"] == 2
    assert seen[0]["write"] == 2


def counted(tmp_path: Path, program: str, root: Path) -> tuple[dict[str, int], ...]:
    """Calls, failed calls and bytes below `root` of a Python program under strace."""
    log = tmp_path / "strace"
    command = ["strace", "-f", "-y", "-e", f"trace={SYSCALLS}", "-o", str(log)]
    done = subprocess.run(
        [*command, sys.executable, "-c", textwrap.dedent(program)],
        cwd=Path(__file__).parents[4],
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    return tuple(dict(found) for found in kernel_counts(log.read_text(), [str(root)]))


class DiesAt:
    """A filer whose client is killed at its n-th call."""

    def __init__(self, calls: int) -> None:
        self.left = calls

    def serve(self, op: Op, nbytes: int, arrived_ns: int, *_call: object) -> int:
        self.left -= 1
        if not self.left:
            os.kill(os.getpid(), signal.SIGKILL)
        return arrived_ns


@pytest.mark.parametrize("station", [lambda: os.kill(os.getpid(), signal.SIGKILL), partial(DiesAt, 3)])
def test_a_client_that_dies_ends_those_that_wait_for_it(tmp_path: Path, station: Any) -> None:
    """Before the start, and in the middle of its calls."""
    program, target = compiled(tmp_path, relay(), 3)
    with pytest.raises(RunFailed, match="died") as error:
        run_local(program, target, station=station)
    assert "\n" not in str(error.value)
    assert os.listdir(tmp_path / "path") == []


class ForbidsFiles:
    """From the first call on no file can be opened any more."""

    def serve(self, op: Op, nbytes: int, arrived_ns: int, *_call: object) -> int:
        resource.setrlimit(resource.RLIMIT_NOFILE, (3, 3))
        return arrived_ns


def test_a_broken_storage_ends_it_in_one_line(tmp_path: Path) -> None:
    program, target = compiled(tmp_path, relay(1), 1)
    with pytest.raises(StorageFault, match="Too many open files; raise the limit") as error:
        run_local(program, target, station=ForbidsFiles)
    assert "\n" not in str(error.value)
    assert os.listdir(tmp_path / "path") == []


def test_what_differs_is_counted(tmp_path: Path) -> None:
    program, target = compiled(tmp_path, relay(1), 1)
    prepare_tree(program, target, client=0)
    removed = next(path for path in target.homes()[0].rglob("*") if path.is_file())
    removed.unlink()
    found = run_client(program, target, client=0, done=shared_steps(1), start_ns=time.monotonic_ns())
    reported = {(d.op, d.expected, d.found): d.calls for d in found.differences}
    assert reported[Op.STAT, 0, 2] == 1
    assert reported[Op.OPEN, 0, 2] == 1
    assert found.calls == program.calls


_FILER = """
name = "mine"
protocol = "r1"
[metadata]
service_us.default = 0.01
[data]
service_us.default = 0.01
"""
_PHASES = (Phase.WALK, Phase.EXPAND, Phase.INDEX)


def _filer(tmp_path: Path) -> FilerModel:
    file = tmp_path / "filer.toml"
    file.write_text(_FILER)
    model = load_filer(str(file))
    assert model is not None
    return model


def _of_all_phases() -> MemoryTrace:
    """Phases change with each call or two, and streams differ in them."""
    trace = relay()
    turns = itertools.cycle((0, 2, 2, 1, 0, 2, 1))
    streams = [[call._replace(phase=next(turns)) for call in stream] for stream in trace.streams]
    return replace(trace, header=replace(trace.header, phases=tuple(map(str, _PHASES))), streams=streams)


def _ops(arbiter: Arbiter) -> dict[str, float]:
    return {name: counts.filer_ops for name, counts in arbiter.snapshot().stations.items()}


@pytest.mark.parametrize("closed", [False, True])
@pytest.mark.parametrize("clients", [1, 3])
def test_a_replay_asks_for_the_filer_ops_of_the_job(tmp_path: Path, clients: int, closed: bool) -> None:
    """Protocol r1 counts calls of phase index otherwise: those of the trace, and no others. Clients that play several streams too."""
    model, trace = _filer(tmp_path), _of_all_phases()
    with Arbiter(tmp_path / "edbench-filer-job", model) as job:
        slot = EmulatedFiler(job, Pacer())
        for call in itertools.chain(*trace.streams):
            slot.works_on(_PHASES[call.phase])
            slot.serve(call.op, call.bytes, 0, b"", call.argument)
        asked, other = _ops(job), _other(model, trace, tmp_path)
    assert asked != other, "of all phases alike it would be another number"
    program, target = compiled(tmp_path, trace, clients, closed=closed)
    path = tmp_path / "edbench-filer-replay"
    with Arbiter(path, model) as arbiter:
        found = run_local(program, target, station=lambda: EmulatedFiler(Arbiter(path, model), Pacer()))
        assert found.merged.differences == ()
        assert _ops(arbiter) == pytest.approx(asked)


def _other(model: FilerModel, trace: MemoryTrace, tmp_path: Path) -> dict[str, float]:
    with Arbiter(tmp_path / "edbench-filer-other", model) as arbiter:
        for call in itertools.chain(*trace.streams):
            arbiter.book(Op(call.op), call.bytes, 0, b"", call.argument)
        return _ops(arbiter)
