"""A program on scratch: scripts and tables read as they were written, and what is damaged is refused."""

import os
import pickle
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lived_traces import looked_at, nodes, traces
from memory_traces import MemoryTrace
from script_steps import Step, Wait, all_steps

from core.errors import UsageError
from core.operations import Op
from replay.plan import Spread, plan_replay
from replay.program import compile_replay, open_program
from replay.script import BLOCK_STEPS, ScriptWriter
from replay.table import CallTable, Layout
from replay.tree import Target
from replay.world import Survey
from traces.model import NO_NODE, Call, Node, NodeKind

Steps = st.builds(
    Step,
    code=st.integers(0, 42),
    expected=st.integers(0, 133),
    first=st.integers(0, 1),
    waits=st.just(0),
    slot=st.integers(-1, 1 << 30),
    node=st.integers(0, (1 << 32) - 1),
    other=st.integers(0, (1 << 32) - 1),
    bytes=st.integers(0, (1 << 32) - 1),
    argument=st.integers(0, (1 << 64) - 1),
    time_ns=st.integers(0, (1 << 64) - 1),
)
Waits = st.lists(st.builds(Wait, st.integers(0, (1 << 32) - 1), st.integers(0, (1 << 64) - 1)), max_size=3)


@settings(max_examples=25)
@given(st.lists(st.tuples(Steps, Waits), max_size=5), st.integers(1, 2 * BLOCK_STEPS))
def test_a_script_is_read_as_it_was_written(
    tmp_path_factory: pytest.TempPathFactory, some: list[tuple[Step, list[Wait]]], times: int
) -> None:
    path = tmp_path_factory.getbasetemp() / "script"
    steps = [(step._replace(waits=len(waits)), waits) for step, waits in some] * (times // max(1, len(some)))
    with ScriptWriter(path) as writer:
        for step, waits in steps:
            writer.add(step, waits)
    assert writer.steps == len(steps)
    assert list(all_steps(path)) == steps


@settings(max_examples=25)
@given(st.integers(1, 200))
def test_a_script_that_is_cut_is_refused(tmp_path_factory: pytest.TempPathFactory, lost: int) -> None:
    path = tmp_path_factory.getbasetemp() / "cut"
    with ScriptWriter(path) as writer:
        for number in range(50):
            writer.add((1, 0, 0, 0, -1, number * 7919, 0, 0, 0, number * 104_729), ())
    os.truncate(path, max(1, path.stat().st_size - lost))
    with pytest.raises(UsageError, match="compile it again"):
        list(all_steps(path))


@settings(max_examples=25)
@given(traces(most_calls=10), st.integers(1, 4), st.booleans())
def test_a_program_is_found_again(
    tmp_path_factory: pytest.TempPathFactory, trace: MemoryTrace, clients: int, shared: bool
) -> None:
    if not trace.header.calls:
        return
    home = tmp_path_factory.getbasetemp() / "found"
    program = compile_replay(trace, plan_replay(trace.header, clients=clients, shared=shared), home)
    assert open_program(home) == program == pickle.loads(pickle.dumps(program))


def test_no_program_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="the replay program in"):
        open_program(tmp_path)
    (tmp_path / "program.json").write_text("{}")
    with pytest.raises(UsageError, match="the replay program in"):
        open_program(tmp_path)


@settings(max_examples=25)
@given(nodes(12), st.integers(1, 3), st.booleans())
def test_every_node_has_its_place_below_the_replays_own_directory(
    tmp_path_factory: pytest.TempPathFactory, tree: list[Node], paths: int, shared: bool
) -> None:
    """As the layout says, with the recorded length of its name, and nowhere else."""
    trace = looked_at(tree)
    home = tmp_path_factory.getbasetemp() / "placed"
    try:
        program = compile_replay(trace, plan_replay(trace.header, clients=2, paths=paths, shared=shared), home)
    except UsageError:  # fewer subtrees than paths: see below
        return
    target = Target(paths=tuple(Path(f"/p{k}") for k in range(paths)), replay_id="id")
    layout = Layout(tree)
    for clone in program.plan.clones:
        prefixes = target.prefixes(clone.number)
        with program.table(clone) as table:
            for node in range(len(tree)):
                assert table.relative(node) == layout.path(node)
                whole = os.fsdecode(prefixes[table.places[node]] + table.relative(node))
                home_of_it = next(p for p in target.homes() if whole.startswith(f"{p}/"))
                assert os.path.normpath(whole) == whole
                assert home_of_it.name == "edbench-replay-id"


def custodians(*renamed: tuple[int, int]) -> MemoryTrace:
    """A root with six directories of a file each; `renamed`: files (old node, new node) moved."""
    tree = [Node(NO_NODE, NodeKind.DIRECTORY, True, 0, 1000, 0)]
    tree += [Node(0, NodeKind.DIRECTORY, True, 0, 1000, 5) for _ in range(6)]
    for top in range(1, 7):
        tree.append(Node(top, NodeKind.FILE, True, 100, 500, 8))
        tree.append(Node(top, NodeKind.MISSING, False, 0, 1000, 8))
    found = looked_at(tree)
    moved = [Call(Op.RENAME, 100 + k, 1, 0, 0, new, old, 0, 0) for k, (old, new) in enumerate(renamed)]
    return MemoryTrace(header=found.header, nodes=found.nodes, streams=[[*found.streams[0], *moved]])


def places_of(trace: MemoryTrace, paths: int, clients: int = 1) -> list[int]:
    return list(Spread(Survey(trace), plan_replay(trace.header, clients=clients, paths=paths)).places)


@pytest.mark.parametrize("paths", [2, 3])
def test_every_path_gets_load(paths: int) -> None:
    trace = custodians()
    places = places_of(trace, paths)
    tops = [number for number, node in enumerate(trace.nodes) if node.parent == 0]
    assert sorted(places[top] for top in tops) == sorted(k % paths for k in range(6))
    assert all(places[k] == places[node.parent] for k, node in enumerate(trace.nodes) if node.parent > 0)


def test_what_is_too_much_for_one_path_is_divided() -> None:
    trace = custodians()
    assert set(places_of(trace, 6)) == set(range(6))
    tree = [node if node.parent != 0 else node._replace(parent=max(0, k - 1)) for k, node in enumerate(trace.nodes)]
    assert set(places_of(looked_at(tree), 3)) == set(range(3))  # all below one directory


def test_rename_partners_stay_together() -> None:
    """A rename from one path to another would be refused by the system."""
    trace = custodians()
    files = [number for number, node in enumerate(trace.nodes) if node.kind is NodeKind.FILE]
    free = [number for number, node in enumerate(trace.nodes) if node.kind is NodeKind.MISSING]
    for old in files[:3]:
        for new in free[3:]:
            places = places_of(custodians((old, new)), 6 - 1)
            assert places[old] == places[new]


def test_more_paths_than_there_is_to_divide_are_refused() -> None:
    tree = [Node(NO_NODE, NodeKind.DIRECTORY, True, 0, 1000, 0), Node(0, NodeKind.FILE, True, 100, 500, 4)]
    with pytest.raises(UsageError, match="give fewer paths"):
        places_of(looked_at(tree), 5)
    assert set(places_of(looked_at(tree), 5, clients=5)) <= set(range(5))


def test_clones_share_what_was_there_and_is_only_read(tmp_path: Path) -> None:
    trace = custodians()
    file = next(number for number, node in enumerate(trace.nodes) if node.kind is NodeKind.FILE)
    removed = Call(Op.REMOVE, 100, 1, 0, 0, file, NO_NODE, 0, 0)
    trace = MemoryTrace(header=trace.header, nodes=trace.nodes, streams=[[*trace.streams[0], removed]])
    program = compile_replay(trace, plan_replay(trace.header, clients=3, shared=True), tmp_path / "program")
    with CallTable(tmp_path / "program" / program.plan.clones[0].key) as table:
        own = [table.places[node] & 1 for node in range(len(table))]
    assert own == [int(not node.existed or number == file) for number, node in enumerate(trace.nodes)]
