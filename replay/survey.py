"""The first look at a trace: what its calls do to each node, in no order between streams."""

from __future__ import annotations

from array import array
from itertools import repeat

from core.operations import Op
from traces.model import NO_NODE, UNKNOWN_RATIO, Call, NodeKind, Trace

# Bits of `Survey.traits`.
WRITTEN = 1
CHANGED = 2  # created, removed, renamed
WRITE_OPENED = 4  # written through an open, not a create
READ_CREATED = 8  # read through a create
KEEPS_CHILDREN = 16  # children were renamed to one another, or there were too many to tell them apart: not to be split

_MOST_MOVED = 65_536  # right below roots, told apart


class Survey:
    """Per node, as arrays (32 bytes a node): traits, calls, bytes that its file must hold, ratio of its content."""

    def __init__(self, trace: Trace) -> None:
        nodes = trace.nodes
        self.parents = array("i", (node.parent for node in nodes))
        self.kinds = array("b", (node.kind for node in nodes))
        self.existed = array("b", (node.existed for node in nodes))
        self.sizes = array("q", (node.size for node in nodes))
        self.ratios = array("h", (node.ratio for node in nodes))
        self.traits = array("B", repeat(0, len(nodes)))
        self.calls = array("I", repeat(0, len(nodes)))
        self.extents = array("q", repeat(0, len(nodes)))  # where the last byte read or written ends
        self.moved: set[tuple[int, int]] = set()  # nodes that must stay on one path: renamed from one to the other
        self.most_read = self.most_written = 0  # bytes of one call
        for stream, about in enumerate(trace.header.streams):
            if about.calls:
                self._stream(trace, stream)
        self._finish()

    def __len__(self) -> int:
        return len(self.parents)

    def _stream(self, trace: Trace, stream: int) -> None:
        opened: dict[int, list[Op]] = {}  # by node, what opened it, the latest last
        for call in trace.calls(stream):
            op, node = call.op, call.node
            self.calls[node] += 1
            if call.error:
                continue
            if op is Op.READ or op is Op.WRITE:
                self._moved_bytes(call, opened.get(node))
            elif op is Op.OPEN or op is Op.CREATE:
                stack = opened.setdefault(node, [])
                if stack and stack[-1] is not op:  # which of the two a call uses, the trace does not say
                    self.traits[node] |= WRITE_OPENED | READ_CREATED
                stack.append(op)
            elif op is Op.CLOSE and node in opened:
                opened[node].pop()
                if not opened[node]:
                    del opened[node]
            if op in _CHANGES:
                self.traits[node] |= CHANGED
                if op is Op.RENAME and call.other != NO_NODE:
                    self._renamed(call.other, node)

    def _moved_bytes(self, call: Call, opened: list[Op] | None) -> None:
        node = call.node
        self.extents[node] = max(self.extents[node], call.argument + call.bytes)
        if call.op is Op.WRITE:
            self.most_written = max(self.most_written, call.bytes)
            self.traits[node] |= WRITTEN
            if not opened or opened[-1] is not Op.CREATE:
                self.traits[node] |= WRITE_OPENED
        else:
            self.most_read = max(self.most_read, call.bytes)
            if opened and opened[-1] is Op.CREATE:
                self.traits[node] |= READ_CREATED

    def _renamed(self, old: int, new: int) -> None:
        self.traits[old] |= CHANGED
        self.extents[new] = max(self.extents[new], self.extents[old])
        if self.ratios[old] == UNKNOWN_RATIO:
            self.ratios[old] = self.ratios[new]  # samples are taken in the end, under the new name
        above = self.parents[old]
        if above != self.parents[new] or (above != NO_NODE and self.is_root(above) and len(self.moved) < _MOST_MOVED):
            self.moved.add((old, new))
        elif above != NO_NODE:
            self.traits[above] |= KEEPS_CHILDREN

    def _finish(self) -> None:
        for node, extent in enumerate(self.extents):
            if self.existed[node] and self.kinds[node] == NodeKind.FILE and not self.traits[node] & WRITTEN:
                self.sizes[node] = max(self.sizes[node], extent)

    def is_root(self, node: int) -> bool:
        """Whether it has no parent; a root is a directory that is there."""
        return self.parents[node] == NO_NODE


_CHANGES = frozenset({Op.CREATE, Op.RENAME, Op.REMOVE, Op.MKDIR})
