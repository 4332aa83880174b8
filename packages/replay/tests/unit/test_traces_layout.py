"""The names a replayed tree gets."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from replay.table import Layout
from traces.model import NO_NODE, Node, NodeKind


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
