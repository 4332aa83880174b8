"""Think times: what is left of the gaps between calls when waiting for others is taken out, and that nothing is lost by it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from random import Random

import pytest
from closed_loops import begun
from hypothesis import given, settings
from hypothesis import strategies as st

from core.operations import Op
from replay.plan import plan_replay
from replay.program import Program, compile_replay
from replay.script import INDEXING, Step, all_steps
from traces.model import NO_NODE, Call, MemoryTrace, Node, NodeKind, Stream, TraceHeader

MS = 1_000_000
Idle = Sequence[tuple[int, int]] | None


def trace_of(
    streams: Sequence[Sequence[Call]], idle: Sequence[Idle], nodes: int, phases: tuple[str, ...]
) -> MemoryTrace:
    """Of files that were there, below one root, unless a call creates them."""
    made = {call.node for calls in streams for call in calls if call.op is Op.CREATE}
    tree = [Node(NO_NODE, NodeKind.DIRECTORY, True, 0, 1000, 0)]
    tree += [Node(0, NodeKind.FILE, number not in made, 0, 1000, 8) for number in range(1, nodes)]
    about = tuple(
        Stream(worker="w", slot=k, calls=len(calls), idle=None if its is None else tuple(its))
        for k, (calls, its) in enumerate(zip(streams, idle, strict=True))
    )
    ends = max((call.start_ns + call.duration_ns for calls in streams for call in calls), default=0)
    header = TraceHeader(created=0.0, duration_ns=ends, phases=phases, streams=about, origin={})
    return MemoryTrace(header=header, nodes=tree, streams=streams)


def compiled(trace: MemoryTrace, clients: int, home: Path) -> Program:
    return compile_replay(trace, plan_replay(trace.header, clients=clients, closed=True), home / "program")


@st.composite
def lives(draw: st.DrawFn) -> MemoryTrace:
    """Slots that look at files, think, and now and then have no task; each call is of a file of its own."""
    dice = Random(draw(st.integers(0, 1 << 32)))
    phases = draw(st.sampled_from((("",), ("walk", "expand", "index"))))
    marked = draw(st.booleans())
    streams: list[list[Call]] = []
    idle: list[Idle] = []
    nodes = 1
    for _ in range(draw(st.integers(1, 4))):
        calls, free, now, phase = [], list[tuple[int, int]](), 0, 0
        for _ in range(dice.randrange(1, 12)):
            gap = dice.choice((0, dice.randrange(1, 40)))
            if gap > 1 and dice.random() < 0.4:
                free.append((now, now + dice.randrange(1, gap)))
            phase = min(len(phases) - 1, phase + (dice.random() < 0.2))
            calls.append(Call(Op.STAT, now + gap, dice.randrange(1, 20), 0, 0, nodes, NO_NODE, 0, phase))
            now, nodes = calls[-1].start_ns + calls[-1].duration_ns, nodes + 1
        streams.append(calls)
        idle.append(free if marked else None)
    return trace_of(streams, idle, nodes, phases)


@given(lives(), st.integers(1, 4))
def test_on_a_storage_as_fast_every_call_begins_when_it_was_recorded(
    tmp_path_factory: pytest.TempPathFactory, trace: MemoryTrace, times: int
) -> None:
    """Whatever a gap is taken for. On one that is so many times as slow nothing is over sooner, nor later than as many times."""
    program = compiled(trace, len(trace.streams), tmp_path_factory.getbasetemp() / "same")
    calls = {call.node: call for stream in trace.streams for call in stream}
    found = begun(program, lambda step: calls[step.node].duration_ns)
    assert found == {(Op.STAT, node): call.start_ns for node, call in calls.items()}
    slower = begun(program, lambda step: times * calls[step.node].duration_ns)
    assert all(call.start_ns <= slower[Op.STAT, node] <= times * call.start_ns for node, call in calls.items())


@settings(max_examples=60)
@given(lives(), st.integers(1, 4))
def test_streams_are_dealt_out_and_every_call_is_made_once(
    tmp_path_factory: pytest.TempPathFactory, trace: MemoryTrace, clients: int
) -> None:
    clients = min(clients, len(trace.streams))
    program = compiled(trace, clients, tmp_path_factory.getbasetemp() / "dealt")
    clone = program.plan.clones[0]
    scripts = [list(all_steps(program.script(clone, k))) for k in range(clients)]
    made = sorted(step.node for steps in scripts for step, _ in steps)
    assert made == sorted(call.node for stream in trace.streams for call in stream)
    for streams, steps in zip(clone.clients, scripts, strict=True):
        for stream in streams:
            its = [call.node for call in trace.streams[stream]]
            assert [step.node for step, _ in steps if step.node in set(its)] == its
    if clients == 1:
        assert not any(waits for _, waits in scripts[0])
        took = sum(step.time_ns + 7 for step, _ in scripts[0])
        assert max(begun(program, lambda _step: 7).values()) + 7 == took


def stat(start: int, duration: int, node: int, phase: int = 0) -> Call:
    return Call(Op.STAT, start * MS, duration * MS, 0, 0, node, NO_NODE, 0, phase)


def twice(program: Program, trace: MemoryTrace) -> dict[int, float]:
    """When each node's last call begins on a storage twice as slow, in milliseconds."""
    took = {(call.op, call.node): call.duration_ns for stream in trace.streams for call in stream}

    def of(step: Step) -> int:
        return 2 * took[Op(step.code & ~INDEXING), step.node]

    return {node: moment / MS for (_, node), moment in begun(program, of).items()}


def test_a_slot_without_a_task_did_not_think(tmp_path: Path) -> None:
    streams = [[stat(0, 10, 1), stat(20, 100, 2)], [stat(5, 5, 3), stat(123, 4, 4)]]
    idle = trace_of(streams, [(), [(10 * MS, 121 * MS)]], 5, ("expand",))
    assert twice(compiled(idle, 2, tmp_path), idle) == {1: 0, 2: 30, 3: 5, 4: 233}
    busy = trace_of(streams, [(), ()], 5, ("expand",))
    assert twice(compiled(busy, 2, tmp_path), busy) == {1: 0, 2: 30, 3: 5, 4: 128}


def test_what_nobody_brought_is_think_time(tmp_path: Path) -> None:
    trace = trace_of([[stat(0, 10, 1), stat(90, 10, 2)]], [[(10 * MS, 89 * MS)]], 3, ("expand",))
    assert twice(compiled(trace, 1, tmp_path), trace) == {1: 0, 2: 100}


def test_a_phase_begins_when_what_came_before_it_is_over(tmp_path: Path) -> None:
    streams = [
        [stat(0, 30, 1), stat(50, 5, 2, phase=1)],
        [stat(0, 40, 3)],
        [stat(0, 35, 4)],
    ]
    trace = trace_of(streams, [(), (), ()], 5, ("expand", "index"))
    assert twice(compiled(trace, 3, tmp_path), trace) == {1: 0, 3: 0, 4: 0, 2: 90}


@pytest.mark.parametrize(("idle", "begins"), [(None, 64.0), ((), 44.0)])
def test_where_nobody_knows_of_tasks_a_dependency_in_the_gap_was_waited_for(
    tmp_path: Path, idle: Idle, begins: float
) -> None:
    create = Call(Op.CREATE, 0, 30 * MS, 0, 0, 2, NO_NODE, 0, 0)
    streams = [[create], [stat(0, 2, 1), Call(Op.OPEN, 34 * MS, MS, 0, 0, 2, NO_NODE, 0, 0)]]
    if idle is not None:
        streams[1][1] = streams[1][1]._replace(start_ns=42 * MS)
    trace = trace_of(streams, [idle, idle], 3, ("",))
    took = {(call.op, call.node): call.duration_ns for stream in streams for call in stream}
    found = begun(compiled(trace, 2, tmp_path), lambda step: 2 * took[Op(step.code & ~INDEXING), step.node])
    assert found[int(Op.OPEN), 2] / MS == max(begins, 60.0)
