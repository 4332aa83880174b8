"""Who plays what: every stream has its client, clones are whole but for the last."""

from __future__ import annotations

import json
import uuid
import zlib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lived_traces import traces
from replay_traces import reading_trace

from core.content import BLOCK, CONTENT_CLASSES, Content
from core.errors import StorageFault, UsageError
from core.records import ReplayChoice
from replay.host import plan_of, replay_host, target_of
from replay.order import Order
from replay.plan import CLONES_SPREAD, ReplayPlan, plan_replay
from replay.workload import clients_by_member, slots_for
from replay.world import Survey, World
from traces.file import write_trace
from traces.model import MemoryTrace, Stream, TraceHeader


def header(*calls: int, duration_ns: int = 1_000_000) -> TraceHeader:
    streams = tuple(Stream(worker="w", slot=k, calls=n) for k, n in enumerate(calls))
    return TraceHeader(created=0.0, duration_ns=duration_ns, phases=("",), streams=streams, origin={})


Headers = st.lists(st.integers(0, 50), min_size=1, max_size=12).filter(any).map(lambda calls: header(*calls))


@given(Headers, st.integers(1, 60), st.booleans())
def test_all_streams_are_played(found: TraceHeader, clients: int, shared: bool) -> None:
    """In every clone but a last partial one each stream with calls has exactly one client, and every client plays."""
    plan = plan_replay(found, clients=clients, shared=shared, seed=3)
    played = sorted(number for number, stream in enumerate(found.streams) if stream.calls)
    assert plan.clients == clients
    for clone in plan.clones:
        streams = sorted(stream for client in clone.clients for stream in client)
        assert all(clone.clients)
        assert streams == sorted(set(streams))
        if clone is plan.clones[-1] and clients % len(played) and len(plan.clones) > 1:
            assert set(streams) < set(played)
        else:
            assert streams == played
    seats = [(seat.clone.number, seat.position) for seat in map(plan.seat, range(clients))]
    assert seats == [(clone.number, at) for clone in plan.clones for at in range(len(clone.clients))]


@given(Headers, st.integers(1, 60), st.sampled_from((None, 1.0, 2.5)))
def test_a_plan_survives_json(found: TraceHeader, clients: int, speed: float | None) -> None:
    plan = plan_replay(found, clients=clients, paths=2, speed=speed)
    plain = json.loads(json.dumps(plan.to_json()))
    assert ReplayPlan.from_json(plain) == plan
    assert plain.keys() == {"clones", "paths", "speed", "closed", "shared", "seed"}
    assert all(clone.keys() == {"clients", "shift_ns"} for clone in plain["clones"])


def test_clones_begin_one_after_the_other() -> None:
    duration = 80_000_000
    plan = plan_replay(header(5, 5, duration_ns=duration), clients=8)
    assert [clone.shift_ns for clone in plan.clones] == [round(duration * CLONES_SPREAD) * k // 4 for k in range(4)]
    fast = plan_replay(header(5, 5, duration_ns=duration), clients=8, speed=None)
    assert {clone.shift_ns for clone in fast.clones} == {0}


def test_fewer_clients_share_the_busy_streams_out() -> None:
    plan = plan_replay(header(100, 1, 90, 2), clients=2)
    assert plan.clones[0].clients == ((0, 3), (1, 2))


def test_clones_of_the_same_streams_have_their_scripts_in_common() -> None:
    plan = plan_replay(header(1, 1, 1), clients=8)
    keys = [clone.key for clone in plan.clones]
    assert keys[0] == keys[1] != keys[2]


@pytest.mark.parametrize(
    ("arguments", "says"),
    [({"clients": 0}, "clients"), ({"clients": 1, "paths": 0}, "paths"), ({"clients": 1, "speed": 0.0}, "x0")],
)
def test_what_cannot_be_planned_is_refused(arguments: dict[str, float], says: str) -> None:
    with pytest.raises(UsageError, match=says):
        plan_replay(header(1), **arguments)  # type: ignore[arg-type]


def test_a_trace_without_calls_is_refused() -> None:
    with pytest.raises(UsageError, match="no calls"):
        plan_replay(header(0, 0), clients=1)


@given(traces())
def test_every_outcome_is_explained(trace: MemoryTrace) -> None:
    survey = Survey(trace)
    order = Order(trace, range(len(trace.streams)), World(survey), survey.parents)
    plays = list(order)
    assert [(p.call, p.expected) for p in plays if p.expected != p.call.error] == []
    assert order.adapted == 0
    for stream, calls in enumerate(trace.streams):
        assert [play.call for play in plays if play.stream == stream] == list(calls)


def test_the_last_user_removes_what_is_shared(tmp_path: Path) -> None:
    """Members of one host with scratch of their own share its memory until the last of them has left."""
    job = uuid.uuid4()
    with replay_host(tmp_path, job) as one:
        with replay_host(tmp_path, job) as other:
            assert other.directory == one.directory
            assert other.progress(0) == one.progress(0)
            assert one.progress(0).is_dir()
            assert one.progress(1) != one.progress(0)
        assert one.progress(0).is_dir()
    assert not one.directory.exists()
    assert not one.memory.exists()
    with replay_host(tmp_path / "b", job) as last:
        with replay_host(tmp_path / "a", job) as first:
            shared = first.progress(0)
        assert not first.directory.exists()
        assert shared.is_dir()
        assert last.progress(0) == shared
    assert not last.memory.exists()


def test_what_killed_processes_left_is_removed_by_the_next_replay(tmp_path: Path) -> None:
    left = tmp_path / "replay" / uuid.uuid4().hex
    (left / "program").mkdir(parents=True)
    (left / "lock").touch()
    with replay_host(tmp_path, uuid.uuid4()) as running:
        assert not left.exists()
        with replay_host(tmp_path, uuid.uuid4()):
            assert running.directory.exists()


def test_one_process_of_a_host_makes_the_program(tmp_path: Path) -> None:
    """The second finds it, even when the trace is gone by then; what somebody began and left is made anew."""
    trace = tmp_path / "t.edbtrace"
    write_trace(reading_trace(), trace)
    choice = ReplayChoice(clients=2, paths=("/x",), speed=0.0)
    with replay_host(tmp_path, uuid.uuid4()) as host:
        (host.directory / "program").mkdir()
        made = host.program(trace, choice, lambda: None)
        trace.unlink()
        assert host.program(trace, choice, lambda: None) == made
    assert (made.calls, made.plan.clients, made.plan.speed) == (32, 2, None)


@pytest.mark.parametrize("closed", [False, True])
def test_every_host_plans_what_was_asked_for(closed: bool) -> None:
    plan = plan_of(
        reading_trace().header, ReplayChoice(clients=3, paths=("/x", "/y"), shared=True, seed=7, closed=closed)
    )
    assert (plan.clients, plan.paths, plan.shared, plan.seed) == (3, 2, True, 7)
    assert (plan.closed, plan.speed) == ((True, None) if closed else (False, 1.0))


def test_a_damaged_trace_is_refused(tmp_path: Path) -> None:
    trace = tmp_path / "t.edbtrace"
    write_trace(reading_trace(), trace)
    trace.write_bytes(trace.read_bytes()[:-1])
    with replay_host(tmp_path, uuid.uuid4()) as host, pytest.raises(UsageError, match="cut short"):
        host.program(trace, ReplayChoice(clients=1, paths=("/x",)), lambda: None)


def test_scratch_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    (tmp_path / "scratch").write_bytes(b"")
    with pytest.raises(StorageFault, match="EDBENCH_SCRATCH"), replay_host(tmp_path / "scratch", uuid.uuid4()):
        raise AssertionError("not reached")


def test_memory_that_cannot_be_had_is_told(tmp_path: Path) -> None:
    """As a full /dev/shm is: the slot lives, and the replay says why it ended."""
    with replay_host(tmp_path, uuid.uuid4()) as host:
        host.memory = tmp_path / "full"
        host.memory.touch()
        with pytest.raises(StorageFault, match="free memory"):
            host.progress(0)


def test_the_target_is_named_for_the_job() -> None:
    job = uuid.uuid4()
    homes = target_of(job, ReplayChoice(clients=1, paths=("/a", "/b"))).homes()
    assert homes == (Path(f"/a/edbench-replay-{job.hex}"), Path(f"/b/edbench-replay-{job.hex}"))


@pytest.mark.parametrize("kind", range(CONTENT_CLASSES + 1))
def test_content_is_as_compressible_as_its_class_says(kind: int) -> None:
    content = Content(seed=1, clone=0)
    raw = bytes(content.piece(kind, 7, 0, 128 * BLOCK))
    assert len(zlib.compress(raw)) / len(raw) == pytest.approx(kind / CONTENT_CLASSES, abs=0.03)


@given(st.integers(1, CONTENT_CLASSES), st.integers(0, 1 << 31), st.integers(0, 1 << 40), st.integers(0, 50_000))
def test_a_piece_is_the_same_each_time(kind: int, node: int, offset: int, size: int) -> None:
    content = Content(seed=1, clone=2)
    first = bytes(content.piece(kind, node, offset, size))
    content.piece(kind, node + 1, 0, 50_000)
    assert len(first) == size
    assert bytes(content.piece(kind, node, offset, size)) == first


def test_no_block_is_like_another() -> None:
    blocks = set()
    for clone in range(2):
        content = Content(seed=1, clone=clone)
        for node in range(20):
            raw = bytes(content.piece(4, node, 0, 64 * BLOCK))
            blocks |= {raw[at : at + BLOCK] for at in range(0, len(raw), BLOCK)}
    assert len(blocks) == 2 * 20 * 64


def test_zeros_are_zeros() -> None:
    assert not any(Content(seed=1, clone=0).piece(0, 5, 0, 10_000))


def test_whole_clones_fit_on_a_member() -> None:
    assert slots_for(clients=4, streams=1, workers=[1, 1]) == 2
    assert slots_for(clients=9, streams=3, workers=[1, 1]) == 6
    assert slots_for(clients=2, streams=8, workers=[1, 1, 1, 1]) == 2


def test_a_member_measures_the_clients_that_it_plays() -> None:
    assert clients_by_member(clients=9, streams=3, members=2) == [6, 3]
    assert clients_by_member(clients=7, streams=3, members=2) == [4, 3]
    assert clients_by_member(clients=2, streams=8, members=4) == [2]
    assert clients_by_member(clients=4, streams=1, members=4) == [1, 1, 1, 1]
