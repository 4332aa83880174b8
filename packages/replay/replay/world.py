"""The nodes of a trace: effects of its calls on each node in no order, and the state of the tree at each moment, from
which the outcome of a call can be predicted."""

from __future__ import annotations

import errno
from array import array
from itertools import repeat
from typing import NamedTuple

from core.operations import Op
from traces.model import NO_NODE, UNKNOWN_RATIO, Call, NodeKind, Trace

# Bits of `Survey.traits`.
WRITTEN = 1
CHANGED = 2  # created, removed, renamed
WRITE_OPENED = 4  # written through an open, not a create
READ_CREATED = 8  # read through a create
KEEPS_CHILDREN = 16  # children were renamed to each other, or there were too many to distinguish: do not split

_MOST_MOVED = 65_536  # nodes directly below roots that are distinguished


class Survey:
    """Each node's traits, calls, bytes that its file must contain, and ratio (32 bytes a node)."""

    def __init__(self, trace: Trace) -> None:
        nodes = trace.nodes
        self.parents = array("i", (node.parent for node in nodes))
        self.kinds = array("b", (node.kind for node in nodes))
        self.existed = array("b", (node.existed for node in nodes))
        self.sizes = array("q", (node.size for node in nodes))
        self.ratios = array("h", (node.ratio for node in nodes))
        self.traits = array("B", repeat(0, len(nodes)))
        self.calls = array("I", repeat(0, len(nodes)))
        self.extents = array("q", repeat(0, len(nodes)))  # end of the last byte read or written
        self.moved: set[tuple[int, int]] = set()  # nodes that must stay on one path: renamed from one to the other
        self.most_read = self.most_written = 0  # bytes of one call
        for stream, about in enumerate(trace.header.streams):
            if about.calls:
                self._stream(trace, stream)
        for node, extent in enumerate(self.extents):
            if self.existed[node] and self.kinds[node] == NodeKind.FILE and not self.traits[node] & WRITTEN:
                self.sizes[node] = max(self.sizes[node], extent)

    def __len__(self) -> int:
        return len(self.parents)

    def _stream(self, trace: Trace, stream: int) -> None:
        opened: dict[int, list[Op]] = {}  # by node, the ops that opened it, the latest last
        for call in trace.calls(stream):
            op, node = call.op, call.node
            self.calls[node] += 1
            if call.error:
                continue
            if op is Op.READ or op is Op.WRITE:
                self._moved_bytes(call, opened.get(node))
            elif op is Op.OPEN or op is Op.CREATE:
                stack = opened.setdefault(node, [])
                if stack and stack[-1] is not op:  # the trace does not show which of the two a call uses
                    self.traits[node] |= WRITE_OPENED | READ_CREATED
                stack.append(op)
            elif op is Op.CLOSE and node in opened:
                opened[node].pop()
                if not opened[node]:
                    del opened[node]
            if op in CHANGES:
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
            self.ratios[old] = self.ratios[new]  # samples are taken at the end, under the new name
        above = self.parents[old]
        if above != self.parents[new] or (above != NO_NODE and self.is_root(above) and len(self.moved) < _MOST_MOVED):
            self.moved.add((old, new))
        elif above != NO_NODE:
            self.traits[above] |= KEEPS_CHILDREN

    def is_root(self, node: int) -> bool:
        """Return whether the node has no parent; a root is an existing directory."""
        return self.parents[node] == NO_NODE


MISSING, DIRECTORY, FILE = 0, 1, 2
_SETTLED, _NO_FILE = 1, 2  # bits: cannot have existed before; or only as a directory

CHANGES = frozenset({Op.CREATE, Op.RENAME, Op.REMOVE, Op.MKDIR})
PATHLESS = frozenset({Op.READ, Op.WRITE, Op.FSYNC, Op.CLOSE})


class _Entry(NamedTuple):
    """State of a name in a directory."""

    state: int
    inode: int  # of a directory: key of its contents


class World:
    """State of every node, 7 bytes each, and some for the contents of directories that were renamed.

    A node that nothing in the trace explains (another program made it, or the call that did was lost, or belongs to a
    stream that is not played) but that a call found is assumed to have existed from the beginning, if no call found it
    missing before: `prepared` has it in the end."""

    def __init__(self, survey: Survey) -> None:
        self._survey = survey
        self._parents = survey.parents
        size = len(survey)
        self.prepared = array("b", repeat(MISSING, size))  # state before the first call
        self._states = array("b", repeat(MISSING, size))  # state of a node in the first directory of its path
        self._entries = array("i", repeat(0, size))  # number of existing nodes in a directory
        self._settled = array("b", repeat(0, size))  # found missing, or changed: cannot have existed before
        # After renames of directories, a path leads to other directories than at first.
        self._moved = False
        self._inodes: dict[int, int] = {}  # of nodes in `_states` whose directory is not the first of its path
        self._elsewhere: dict[tuple[int, int], _Entry] = {}  # by directory's inode and node
        self._more_entries: dict[int, int] = {}  # of directories beyond the nodes' numbers
        self._next_inode = size
        for node in range(size):
            if survey.is_root(node):
                self._prepare(node, DIRECTORY)
            elif survey.existed[node] and self._states[survey.parents[node]] == DIRECTORY:
                self._prepare(node, _state(survey.kinds[node]))

    def state(self, node: int) -> int:
        """Return the state of a path now."""
        return self._entry(node).state if self._moved else self._states[node]

    def _entry(self, node: int) -> _Entry:
        above = self._parents[node]
        if above != NO_NODE:
            directory = self._entry(above)
            if directory.state != DIRECTORY:
                return _Entry(MISSING, node)
            if directory.inode != above:
                return self._elsewhere.get((directory.inode, node), _Entry(MISSING, node))
        return _Entry(self._states[node], self._inodes.get(node, node))

    def _prepare(self, node: int, state: int) -> None:
        self._states[node] = self.prepared[node] = state
        if state and self._parents[node] != NO_NODE:
            self._entries[self._parents[node]] += 1

    def assume(self, call: Call) -> None:
        """Assume that what a call needs for its recorded outcome existed, unless there is evidence against it."""
        makes = call.op in (Op.CREATE, Op.MKDIR, Op.RENAME)
        if call.error and not (makes and call.error == errno.EEXIST):
            return
        if makes and not call.error:
            self._assume(self._parents[call.node], DIRECTORY)
            if call.op is Op.RENAME and call.other != NO_NODE:
                self._assume(call.other, _state(self._survey.kinds[call.other]) or FILE)
        else:
            kind = _state(self._survey.kinds[call.node])
            self._assume(call.node, DIRECTORY if call.op is Op.SCAN else kind or FILE)

    def _assume(self, node: int, state: int) -> bool:
        if node == NO_NODE or self.state(node):
            return node != NO_NODE
        above = self._parents[node]
        if self._settled[node] & (_SETTLED if state == DIRECTORY else _SETTLED | _NO_FILE):
            return False
        if not self._assume(above, DIRECTORY):
            return False
        if self._settled[above] & _SETTLED or self.prepared[above] != DIRECTORY or self.state(above) != DIRECTORY:
            return False  # not the first directory of its path, or none
        self._prepare(node, state)
        return True

    def predict(self, call: Call) -> int:
        """Predict the errno of a call by path; 0: success."""
        op, node = call.op, call.node
        if op is Op.RENAME:
            return self._predict_rename(call.other, node)
        if above := self._way(node):
            return above
        state = self.state(node)
        if op is Op.MKDIR or op is Op.CREATE:
            return errno.EEXIST if state else 0
        if not state:
            return errno.ENOENT
        if op is Op.SCAN:
            return 0 if state == DIRECTORY else errno.ENOTDIR
        if op is Op.REMOVE and state == DIRECTORY:
            if call.error in (errno.EISDIR, errno.EPERM):
                return errno.EISDIR  # it was an unlink
            return errno.ENOTEMPTY if self._holds(node) else 0
        if op is Op.REMOVE and call.error == errno.ENOTDIR:
            return errno.ENOTDIR  # it was an rmdir
        return 0

    def _predict_rename(self, old: int, new: int) -> int:
        if old == NO_NODE:
            return errno.ENOENT
        if above := self._way(old) or self._way(new):
            return above
        was, there = self.state(old), self.state(new)
        if not was:
            return errno.ENOENT
        if was == DIRECTORY and self._is_below(new, old):
            return errno.EINVAL
        if there and old != new:
            if self._is_below(old, new):
                return errno.ENOTEMPTY
            if was == DIRECTORY:
                return errno.ENOTDIR if there == FILE else errno.ENOTEMPTY if self._holds(new) else 0
            return errno.EISDIR if there == DIRECTORY else 0
        return 0

    def _holds(self, directory: int) -> int:
        inode = self._entry(directory).inode if self._moved else directory
        return self._entries[inode] if inode < len(self._entries) else self._more_entries.get(inode, 0)

    def _is_below(self, node: int, directory: int) -> bool:
        above = self._parents[node]
        while above != NO_NODE and above != directory:
            above = self._parents[above]
        return above == directory

    def _way(self, node: int) -> int:
        """Return the errno of the path to a node; 0 if all directories above it exist."""
        above = self._parents[node]
        if above == NO_NODE or self.state(above) == DIRECTORY:
            return 0
        while above != NO_NODE and not self.state(above):
            above = self._parents[above]
        return errno.ENOTDIR if above != NO_NODE and self.state(above) == FILE else errno.ENOENT

    def make(self, call: Call) -> None:
        """Apply a successful call of CHANGES."""
        op, node = call.op, call.node
        if op is Op.REMOVE:
            self._set(node, _Entry(MISSING, node))
        elif op is not Op.RENAME:
            state = DIRECTORY if op is Op.MKDIR else FILE
            self._set(node, _Entry(state, self._fresh() if self._moved else node))
        elif node != call.other:
            entry = self._entry(call.other)
            self._set(call.other, _Entry(MISSING, call.other))
            self._moved = self._moved or entry.state == DIRECTORY
            self._set(node, entry if entry.state == DIRECTORY else _Entry(entry.state, node))

    def _fresh(self) -> int:
        """Return an inode that no directory has; the old ones may still exist under other names."""
        self._next_inode += 1
        return self._next_inode

    def seen_missing(self, node: int) -> None:
        """Record that a call did not find the node, so that a directory above it cannot be a file either."""
        if self.state(node):
            return
        self._settled[node] = _SETTLED
        above = self._parents[node]
        while above != NO_NODE and not self.state(above):
            self._settled[above] |= _NO_FILE
            above = self._parents[above]

    def _set(self, node: int, entry: _Entry) -> None:
        """Set the state of a path whose directories exist."""
        above = self._parents[node]
        inode = NO_NODE if above == NO_NODE else self._entry(above).inode if self._moved else above
        change = bool(entry.state) - bool(self.state(node))
        if 0 <= inode < len(self._entries):
            self._entries[inode] += change
        elif inode != NO_NODE:
            self._more_entries[inode] = self._more_entries.get(inode, 0) + change
        if inode == above:
            self._states[node] = entry.state
            if self._moved:
                self._inodes[node] = entry.inode
        else:
            self._elsewhere[inode, node] = entry
        self._settled[node] = _SETTLED


def _state(kind: int) -> int:
    return {NodeKind.DIRECTORY: DIRECTORY, NodeKind.FILE: FILE}.get(NodeKind(kind), MISSING)
