"""Who plays what: every stream has its client, clones are whole but for the last."""

import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lived_traces import traces
from memory_traces import MemoryTrace
from replay_traces import reading_trace

from core.content import BLOCK, CONTENT_CLASSES, Content
from core.errors import UsageError
from replay.order import Order
from replay.plan import CLONES_SPREAD, ReplayChoice, plan_replay
from replay.workload import numbers_by_member
from replay.world import Survey, World
from traces.model import Stream, TraceHeader


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
    ("arguments", "shows"),
    [({"clients": 0}, "clients"), ({"clients": 1, "paths": 0}, "paths"), ({"clients": 1, "speed": 0.0}, "x0")],
)
def test_what_cannot_be_planned_is_refused(arguments: dict[str, float], shows: str) -> None:
    with pytest.raises(UsageError, match=shows):
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


@pytest.mark.parametrize("closed", [False, True])
def test_every_host_plans_what_was_asked_for(closed: bool) -> None:
    plan = ReplayChoice(clients=3, paths=("/x", "/y"), shared=True, seed=7, closed=closed).plan(reading_trace().header)
    assert (plan.clients, plan.paths, plan.shared, plan.seed) == (3, 2, True, 7)
    assert (plan.closed, plan.speed) == ((True, None) if closed else (False, 1.0))


@pytest.mark.parametrize("kind", range(CONTENT_CLASSES + 1))
def test_content_is_as_compressible_as_its_class_states(kind: int) -> None:
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


@pytest.mark.parametrize(
    ("clients", "streams", "members", "expected"),
    [
        (9, 3, 2, [[0, 1, 2, 6, 7, 8], [3, 4, 5]]),
        (7, 3, 2, [[0, 1, 2, 6], [3, 4, 5]]),
        (2, 8, 4, [[0, 1]]),
        (4, 1, 4, [[0], [1], [2], [3]]),
    ],
)
def test_a_member_plays_whole_clones(clients: int, streams: int, members: int, expected: list[list[int]]) -> None:
    """Clients of a clone wait for each other in memory."""
    plan = plan_replay(reading_trace(streams=streams).header, clients=clients)
    assert numbers_by_member(plan, members) == expected
