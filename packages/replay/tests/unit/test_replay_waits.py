"""The waits of a replay: enough of them in every order that they allow, and nobody waits in a circle."""

import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lived_traces import traces
from memory_traces import MemoryTrace, memory_trace
from script_steps import Step, Wait, all_steps

from core.content import Content
from core.operations import Op
from replay import script
from replay.calls import Calls
from replay.plan import Clone, ReplayPlan, plan_replay
from replay.program import Program, compile_replay
from replay.script import INDEXING
from replay.tree import Target, prepare_tree
from traces.model import NO_NODE, Call, Node, NodeKind

CHANGES = (Op.CREATE, Op.MKDIR, Op.REMOVE, Op.RENAME)
PATHLESS = (Op.READ, Op.WRITE, Op.FSYNC, Op.CLOSE)
Chooser = st.one_of(st.randoms(use_true_random=False), st.sampled_from(("first", "last")))


def choice(chooser: Random | str, ready: list[int]) -> int:
    """One client that runs ahead as far as it may, or any."""
    if isinstance(chooser, str):
        return ready[0] if chooser == "first" else ready[-1]
    return chooser.choice(ready)


@pytest.fixture(scope="module")
def scratch() -> Path:
    return Path("/dev/shm" if Path("/dev/shm").is_dir() else tempfile.gettempdir())


def calls_of(trace: MemoryTrace) -> int:
    return trace.header.calls


@given(traces(), st.integers(1, 4), Chooser, st.sampled_from((None, "", "expand")))
def test_calls_end_as_recorded_in_every_order_that_the_waits_allow(
    scratch: Path, trace: MemoryTrace, clients: int, chooser: Random | str, closed: str | None
) -> None:
    """On the prepared tree, by as many clients as there were streams or fewer, whoever runs ahead; also in a closed loop
    (`closed`: the phase of all calls), whose clients wait for each other's tasks besides."""
    if closed is not None:
        trace = replace(trace, header=replace(trace.header, phases=(closed,)))
    streams = sum(1 for stream in trace.header.streams if stream.calls)
    if not streams:
        return
    with tempfile.TemporaryDirectory(prefix="replay-", dir=scratch) as home:
        plan = plan_replay(trace.header, clients=min(clients, streams), speed=None, closed=closed is not None)
        program = compiled(trace, plan, Path(home))
        target = prepared(program, Path(home))
        made = Stepper(program, target, program.plan.clones[0], lambda ready: choice(chooser, ready)).run()
        assert [one for one in made if one.error != one.step.expected] == []
        assert sum(is_call(one.step) for one in made) == calls_of(trace)
        outcomes = sorted((op_of(one.step), one.step.node, one.error) for one in made if is_call(one.step))
        assert outcomes == sorted((c.op, c.node, c.error) for stream in trace.streams for c in stream)
        assert program.adapted == program.unrecorded_opens == 0


@given(traces(most_streams=3, most_calls=24), st.integers(4, 7), Chooser)
def test_clones_of_a_part_of_the_streams_end_as_foretold(
    scratch: Path, trace: MemoryTrace, clients: int, chooser: Random | str
) -> None:
    """What streams would have made that are not played is there, or its absence is foretold."""
    if not any(stream.calls for stream in trace.header.streams):
        return
    with tempfile.TemporaryDirectory(prefix="replay-", dir=scratch) as home:
        program = compiled(trace, plan_replay(trace.header, clients=clients, speed=None), Path(home))
        target = prepared(program, Path(home))
        for clone in program.plan.clones:
            made = Stepper(program, target, clone, lambda ready: choice(chooser, ready)).run()
            assert [one for one in made if one.error != one.step.expected] == []


@given(traces(most_streams=4, most_calls=30), st.integers(1, 4))
def test_dependencies_hold(scratch: Path, trace: MemoryTrace, clients: int) -> None:
    """Of two calls that lay apart in time and depend on each other, the later comes behind the earlier by clients' own
    orders and waits alone."""
    streams = [number for number, stream in enumerate(trace.header.streams) if stream.calls]
    if not streams:
        return
    with tempfile.TemporaryDirectory(prefix="replay-", dir=scratch) as home:
        program = compiled(trace, plan_replay(trace.header, clients=min(clients, len(streams)), speed=None), Path(home))
        clone = program.plan.clones[0]
        scripts = [list(all_steps(program.script(clone, k))) for k in range(len(clone.clients))]
    behind = reachable(scripts)
    where = located(trace, clone.clients, scripts)
    parents = [node.parent for node in trace.nodes]
    calls = [(call, where[stream, at]) for stream in streams for at, call in enumerate(trace.streams[stream])]
    for one, first in calls:
        for other, second in calls:
            apart = one.start_ns + one.duration_ns <= other.start_ns and first != second
            if apart and first[0] != second[0] and depends(one, other, parents):
                assert first in behind[second], f"{other} does not wait for {one}"


@pytest.mark.parametrize(("looked", "renamed"), [(0, 10), (5, 0)])
def test_a_renamed_directory_is_waited_for_from_far_below(tmp_path: Path, looked: int, renamed: int) -> None:
    parents = (NO_NODE, 0, 1, 2, 3)
    nodes = [Node(parent, NodeKind.DIRECTORY, True, 0, 1000, 4) for parent in parents]
    nodes.append(Node(0, NodeKind.MISSING, False, 0, 1000, 4))
    looks = [Call(Op.STAT, looked, 1, 0, 0, 4, NO_NODE, 0, 0), Call(Op.STAT, 30, 1, 0, 0, 4, NO_NODE, 2, 0)]
    streams = [looks, [Call(Op.RENAME, renamed, 10, 0, 0, 5, 1, 0, 0)]]
    trace = memory_trace(nodes, streams)
    program = compiled(trace, plan_replay(trace.header, clients=2, speed=None), tmp_path)
    waits = [[found for _, found in all_steps(program.script(program.plan.clones[0], k))] for k in range(2)]
    assert waits == [[[], [Wait(client=1, steps=1)]], [[Wait(client=0, steps=1)]]]
    assert program.adapted == 0


def depends(one: Call, other: Call, parents: Sequence[int]) -> bool:
    """Whether the order of the two matters: by what issue 7 and docs/replay.md promise."""
    for before, after in ((one, other), (other, one)):
        if before.op in CHANGES and not before.error:
            changed = {before.node, before.other} - {NO_NODE}
            named = set() if after.op in PATHLESS and before is one else {after.node, after.other} - {NO_NODE}
            above = {parents[node] for node in named} if after.op not in PATHLESS else set()
            if changed & (named | above):
                return True
    if one.error or other.error or one.node != other.node:
        return False
    return {one.op, other.op} == {Op.WRITE} or (one.op is Op.WRITE and other.op in (Op.READ, Op.OPEN, Op.STAT))


Place = tuple[int, int]  # client, step


def reachable(scripts: list[list[tuple[Step, list[Wait]]]]) -> dict[Place, set[Place]]:
    """For each step all steps that are over when it begins."""
    out: dict[Place, set[Place]] = {}

    def before(place: Place) -> set[Place]:
        stack = [place]
        while stack:
            at = stack[-1]
            client, step = at
            direct = [(client, step - 1)] if step else []
            direct += [(wait.client, wait.steps - 1) for wait in scripts[client][step][1] if wait.steps]
            missing = [one for one in direct if one not in out]
            assert not set(missing) & set(stack), "a circle of waits"
            if missing:
                stack.append(missing[0])
                continue
            out[at] = set(direct).union(*(out[one] for one in direct))
            stack.pop()
        return out[place]

    for client, steps in enumerate(scripts):
        for step in range(len(steps)):
            before((client, step))
    return out


def located(
    trace: MemoryTrace, clients: Sequence[Sequence[int]], scripts: list[list[tuple[Step, list[Wait]]]]
) -> dict[tuple[int, int], Place]:
    """Where each stream's calls are in the scripts: a client's steps are its streams' calls, merged."""
    out: dict[tuple[int, int], Place] = {}
    for client, (streams, steps) in enumerate(zip(clients, scripts, strict=True)):
        left = dict.fromkeys(streams, 0)
        for at, (step, _) in enumerate(steps):
            stream = next(
                s
                for s in streams
                if left[s] < len(trace.streams[s])
                and (op_of(step), step.node, step.time_ns, step.bytes) == _signature(trace.streams[s][left[s]])
            )
            out[stream, left[stream]] = (client, at)
            left[stream] += 1
    return out


def _signature(call: Call) -> tuple[Op, int, int, int]:
    return call.op, call.node, call.start_ns, call.bytes


def compiled(trace: MemoryTrace, plan: ReplayPlan, home: Path) -> Program:
    return compile_replay(trace, plan, home / "program")


def prepared(program: Program, home: Path) -> Target:
    (home / "target").mkdir()
    target = Target(paths=(home / "target",), replay_id="test")
    for client in range(program.plan.clients):
        prepare_tree(program, target, client=client)
    return target


MS = 1_000_000
Idle = Sequence[tuple[int, int]] | None


def trace_of(
    streams: Sequence[Sequence[Call]], idle: Sequence[Idle], nodes: int, phases: tuple[str, ...]
) -> MemoryTrace:
    """Of files that were there, below one root, unless a call creates them."""
    made = {call.node for calls in streams for call in calls if call.op is Op.CREATE}
    tree = [Node(NO_NODE, NodeKind.DIRECTORY, True, 0, 1000, 0)]
    tree += [Node(0, NodeKind.FILE, number not in made, 0, 1000, 8) for number in range(1, nodes)]
    return memory_trace(tree, streams, phases=phases, idle=idle)


def compiled_of_replay_thinking(trace: MemoryTrace, clients: int, home: Path) -> Program:
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
    program = compiled_of_replay_thinking(trace, len(trace.streams), tmp_path_factory.getbasetemp() / "same")
    calls = {call.node: call for stream in trace.streams for call in stream}
    found = begun(program, lambda step: calls[step.node].duration_ns)
    assert found == {(Op.STAT, node): call.start_ns for node, call in calls.items()}
    slower = begun(program, lambda step: times * calls[step.node].duration_ns)
    assert all(call.start_ns <= slower[Op.STAT, node] <= times * call.start_ns for node, call in calls.items())


@given(lives(), st.integers(1, 4))
def test_streams_are_dealt_out_and_every_call_is_made_once(
    tmp_path_factory: pytest.TempPathFactory, trace: MemoryTrace, clients: int
) -> None:
    clients = min(clients, len(trace.streams))
    program = compiled_of_replay_thinking(trace, clients, tmp_path_factory.getbasetemp() / "dealt")
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
    assert twice(compiled_of_replay_thinking(idle, 2, tmp_path), idle) == {1: 0, 2: 30, 3: 5, 4: 233}
    busy = trace_of(streams, [(), ()], 5, ("expand",))
    assert twice(compiled_of_replay_thinking(busy, 2, tmp_path), busy) == {1: 0, 2: 30, 3: 5, 4: 128}


def test_what_nobody_brought_is_think_time(tmp_path: Path) -> None:
    trace = trace_of([[stat(0, 10, 1), stat(90, 10, 2)]], [[(10 * MS, 89 * MS)]], 3, ("expand",))
    assert twice(compiled_of_replay_thinking(trace, 1, tmp_path), trace) == {1: 0, 2: 100}


def test_a_phase_begins_when_what_came_before_it_is_over(tmp_path: Path) -> None:
    streams = [
        [stat(0, 30, 1), stat(50, 5, 2, phase=1)],
        [stat(0, 40, 3)],
        [stat(0, 35, 4)],
    ]
    trace = trace_of(streams, [(), (), ()], 5, ("expand", "index"))
    assert twice(compiled_of_replay_thinking(trace, 3, tmp_path), trace) == {1: 0, 3: 0, 4: 0, 2: 90}


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
    found = begun(
        compiled_of_replay_thinking(trace, 2, tmp_path), lambda step: 2 * took[Op(step.code & ~INDEXING), step.node]
    )
    assert found[int(Op.OPEN), 2] / MS == max(begins, 60.0)


Key = tuple[int, int]  # code of a step, node


def begun(program: Program, took_ns: Callable[[Step], int]) -> dict[Key, int]:
    """When each step of the first clone begins, by `docs/dev/replay-engine.md`. Fails when clients wait in a circle."""
    clone = program.plan.clones[0]
    scripts = [list(all_steps(program.script(clone, k))) for k in range(len(clone.clients))]
    over: list[list[int]] = [[] for _ in scripts]
    out: dict[Key, int] = {}
    while any(len(done) < len(steps) for done, steps in zip(over, scripts, strict=True)):
        ready = [
            k for k, steps in enumerate(scripts) if len(over[k]) < len(steps) and _may(steps[len(over[k])][1], over)
        ]
        assert ready, "the clients wait for each other"
        for k in ready:
            step, waits = scripts[k][len(over[k])]
            last = over[k][-1] if over[k] else 0
            released = max((over[wait.client][wait.steps - 1] for wait in waits), default=0)
            begin = max(last, released) + step.time_ns if step.first else max(last + step.time_ns, released)
            out[step.code & ~INDEXING, step.node] = begin
            over[k].append(begin + took_ns(step))
    return out


def _may(waits: list[Wait], over: list[list[int]]) -> bool:
    return all(len(over[wait.client]) >= wait.steps for wait in waits)


@dataclass
class Made:
    """A step as it went."""

    client: int
    step: Step
    error: int
    moved: int


@dataclass
class Stepper:
    """The clients of one clone in one process; `choose` picks among the numbers of those that may go on."""

    program: Program
    target: Target
    clone: Clone
    choose: Callable[[list[int]], int]
    made: list[Made] = field(default_factory=list)

    def run(self) -> list[Made]:
        """All steps of all clients. Fails when nobody may go on."""
        scripts = [list(all_steps(self.program.script(self.clone, k))) for k in range(len(self.clone.clients))]
        done = [0] * len(scripts)
        with self.program.table(self.clone) as table:
            slots = self.program.kind(self.clone).slots
            content = Content(self.program.plan.seed, self.clone.number, self.program.most_written)
            calls = [Calls(content, table.content, n, self.program.most_read) for n in slots]
            prefixes = self.target.prefixes(self.clone.number)

            def path(node: int) -> bytes:
                return prefixes[table.places[node]] + table.relative(node)

            try:
                while any(done[k] < len(scripts[k]) for k in range(len(scripts))):
                    ready = [k for k, steps in enumerate(scripts) if self._may(steps, done[k], done)]
                    assert ready, "the clients wait for each other"
                    client = self.choose(ready)
                    step = scripts[client][done[client]][0]
                    self.made.append(self._make(calls[client], client, step, path))
                    done[client] += 1
            finally:
                for one in calls:
                    one.close_all()
        return self.made

    def _may(self, steps: list[tuple[Step, list[Wait]]], at: int, done: list[int]) -> bool:
        return at < len(steps) and all(done[wait.client] >= wait.steps for wait in steps[at][1])

    def _make(self, calls: Calls, client: int, step: Step, path: Callable[[int], bytes]) -> Made:
        try:
            moved = calls.by_code[step.code](
                path(step.node), path(step.other), step.slot, step.bytes, step.argument, step.node
            )
        except OSError as e:
            return Made(client, step, e.errno or 0, 0)
        return Made(client, step, 0, moved)


def is_call(step: Step) -> bool:
    """Whether a trace holds it."""
    return step.code not in script.UNRECORDED


def op_of(step: Step) -> Op:
    return script.OP_OF_CODE[step.code]
