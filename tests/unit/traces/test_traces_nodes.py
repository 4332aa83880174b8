"""What stood before the first call, concluded from what the calls found."""

from __future__ import annotations

import errno

import pytest

from core.operations import Op
from traces.model import NO_NODE, Call, Node, NodeKind
from traces.nodes import NodeTree

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


def test_somebody_may_look_where_no_call_tells(story: Story) -> None:
    story.call(Op.STAT, b"/s/d")
    story.call(Op.STAT, b"/s/f", argument=1)
    story.call(Op.SCAN, b"/s/e")
    story.tree.finish()
    assert story.tree.unclear() == [b"/s/d"]
    assert [path for path, _ in story.tree.files()] == [b"/s/d", b"/s/f"]
    story.tree.is_directory(b"/s/d")
    assert story.found(b"/s/d") == (DIRECTORY, True)
