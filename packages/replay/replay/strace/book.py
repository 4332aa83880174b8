"""The tree that a program's calls touch, as far as the calls have shown it."""

from __future__ import annotations

import enum
from array import array
from collections.abc import Iterator, Sequence
from functools import lru_cache

from core.names import MAX_NAME_BYTES
from traces.model import NO_NODE, UNKNOWN_RATIO, Node, NodeKind

_KNOWN_PATHS = 65_536
_UNKNOWN = 3  # kind that the calls have not shown
NOWHERE = b"?"  # the directory that a program was started in, if the log does not show it


class State(enum.IntEnum):
    """Whether a path exists now."""

    UNKNOWN = 0
    THERE = 1
    GONE = 2


class NodeBook:
    """Every path that is met becomes a node; links are not followed. Takes about 250 bytes of memory and its name a
    path.

    `under`: only paths in these directories, which become the roots; all but /proc, /sys and /dev if there are none."""

    def __init__(self, under: Sequence[bytes] = ()) -> None:
        self._under = tuple(under)
        self._parents = array("q")
        self._names: list[bytes] = []
        self._kinds = array("b")
        self._existed = bytearray()
        self._sizes = array("q")  # before the first call
        self._now = array("q")  # current size
        self._changed = bytearray()  # 1: its current size is no evidence of its size before
        self._state = bytearray()
        self._children: dict[tuple[int, bytes], int] = {}
        self._moved: dict[int, int] = {}  # directory that was renamed → its old node
        self.node = lru_cache(_KNOWN_PATHS)(self._node)

    def __len__(self) -> int:
        return len(self._parents)

    def _node(self, path: bytes) -> int | None:
        """Return the node of a normalised path; None if it is not selected."""
        root = self._root(path)
        if root is None:
            return None
        node = self._child(NO_NODE, root)
        for part in path[len(root) :].split(b"/"):
            if part:
                node = self._child(node, part)
        return node

    def _root(self, path: bytes) -> bytes | None:
        if self._under:
            return next(
                (root for root in self._under if path == root or path.startswith(root.rstrip(b"/") + b"/")), None
            )
        if path.startswith(b"/"):
            return None if path.startswith((b"/proc/", b"/sys/", b"/dev/")) or path in _KERNEL else b"/"
        return NOWHERE

    def _child(self, parent: int, name: bytes) -> int:
        node = self._children.get((parent, name))
        if node is None:
            node = self._children[parent, name] = self._new(parent, name)
        return node

    def _new(self, parent: int, name: bytes) -> int:
        root = parent == NO_NODE
        self._parents.append(parent)
        self._names.append(name)
        self._kinds.append(NodeKind.DIRECTORY if root else _UNKNOWN)
        self._existed.append(root)
        self._sizes.append(0)
        self._now.append(0)
        self._changed.append(0)
        self._state.append(State.THERE if root else State.UNKNOWN)
        return len(self._parents) - 1

    def state(self, node: int) -> State:
        """Return whether the node exists, as far as the calls have shown."""
        return State(self._state[node])

    def is_directory(self, node: int) -> bool:
        """Return whether the node is known to be a directory."""
        return self._kinds[node] == NodeKind.DIRECTORY

    def size(self, node: int) -> int:
        """Return the current size, as far as it is known."""
        return self._now[node]

    def found(self, node: int, kind: NodeKind | None, size: int | None) -> None:
        """Record that a call found the node, so it exists, and so do the directories above it."""
        while self._found_one(node, kind, size):
            node, kind, size = self._parents[node], NodeKind.DIRECTORY, None

    def _found_one(self, node: int, kind: NodeKind | None, size: int | None) -> bool:
        """Record the node as found; return whether the directory above it has to be recorded as well."""
        above = (self._state[node] == State.UNKNOWN or self._kinds[node] == NodeKind.MISSING) and self._found_first(
            node
        )
        self._state[node] = State.THERE
        if size is not None:
            self._now[node] = size
        if kind is not None:
            self._kinds[node] = kind
        if not self._changed[node]:
            self._copy_before(node)
        return above

    def _found_first(self, node: int) -> bool:
        """Record that the node existed before the first call, even if a call found nothing: then a program outside the
        logs made it. Return whether the directory above it existed too; False for a root."""
        parent = self._parents[node]
        if self._kinds[node] == NodeKind.MISSING:
            self._kinds[node] = _UNKNOWN
        if parent in self._moved:  # it was moved when its directory was renamed
            self._moved[node] = self._child(self._moved[parent], self._names[node])
            self.found(self._moved[node], None, None)
            self._state[self._moved[node]] = State.GONE
            return False
        self._existed[node] = 1
        return parent != NO_NODE

    def _copy_before(self, node: int) -> None:
        """Copy the known size and kind to the node's state before the first call, under its name at that time."""
        before = self._moved.get(node, node)
        if self._existed[before]:
            self._sizes[before] = max(self._sizes[before], self._now[node])
            self._kinds[before] = self._kinds[node]

    def read_to(self, node: int, end: int) -> None:
        """Record that the node has at least `end` bytes."""
        if end > self._now[node]:
            self._now[node] = end
            if not self._changed[node]:
                self._copy_before(node)

    def written_to(self, node: int, end: int) -> None:
        """Record that a call extended the node to `end`, if it was shorter."""
        if end > self._now[node]:
            self._now[node] = end
            self._changed[node] = 1

    def cut_to(self, node: int, size: int) -> None:
        """Record that a call set the node's size."""
        self._now[node] = size
        self._changed[node] = 1

    def made(self, node: int, kind: NodeKind) -> None:
        """Record that a call created the node."""
        self.found(self._parents[node], NodeKind.DIRECTORY, None)
        self._kinds[node] = kind
        self._now[node] = 0
        self._changed[node] = 1
        self._state[node] = State.THERE

    def absent(self, node: int) -> None:
        """Record that a call found nothing at the node."""
        if self._state[node] == State.UNKNOWN and self._kinds[node] == _UNKNOWN:
            self._kinds[node] = NodeKind.MISSING
        self._state[node] = State.GONE

    def removed(self, node: int, kind: NodeKind) -> None:
        """Record that a call removed the node, so it existed."""
        if self._state[node] == State.UNKNOWN:
            self.found(node, kind, None)
        self._state[node] = State.GONE

    def renamed(self, old: int, new: int) -> None:
        """Record that a call renamed the node."""
        if self._state[old] == State.UNKNOWN:
            self.found(old, None, None)
        kind = self._kinds[old]
        size = self._now[old]
        self.made(new, NodeKind(kind) if kind != _UNKNOWN else NodeKind.FILE)
        self._kinds[new] = kind
        self._now[new] = size
        self._state[old] = State.GONE
        if kind in (NodeKind.DIRECTORY, _UNKNOWN):
            self._moved[new] = old

    def nodes(self) -> Iterator[Node]:
        """Yield all nodes as before the first call; one of unknown kind is a directory if it has children."""
        parents = set(self._parents)
        existed = bytearray(len(self._parents))
        for number, parent in enumerate(self._parents):
            kind, before = self._kinds[number], bool(self._existed[number])
            if number in parents and kind in (_UNKNOWN, NodeKind.FILE):
                kind = NodeKind.DIRECTORY
                before = before or self._state[number] == State.UNKNOWN
            elif kind == _UNKNOWN:
                kind = NodeKind.FILE if before else NodeKind.MISSING
            if before and parent != NO_NODE and not existed[parent]:
                before = False  # a program outside the logs put it into a directory that the calls made
                kind = NodeKind.DIRECTORY if kind == NodeKind.DIRECTORY else NodeKind.MISSING
            existed[number] = before
            file = kind == NodeKind.FILE and before
            yield Node(
                parent=parent,
                kind=NodeKind(kind),
                existed=before,
                size=self._sizes[number] if file else 0,
                ratio=UNKNOWN_RATIO,
                name_bytes=0 if parent == NO_NODE else min(len(self._names[number]), MAX_NAME_BYTES),
            )


_KERNEL = frozenset((b"/proc", b"/sys", b"/dev"))


def normalised(base: bytes, path: bytes) -> bytes:
    """Join a path to the directory `base`, without `.`, `..` and doubled slashes. Links are not followed."""
    whole = path if path.startswith(b"/") else base + b"/" + path
    root = b"/" if whole.startswith(b"/") else b""
    parts: list[bytes] = []
    for part in whole.split(b"/"):
        if part == b"..":
            if parts and parts[-1] != NOWHERE:
                parts.pop()
        elif part not in (b"", b"."):
            parts.append(part)
    return root + b"/".join(parts)
