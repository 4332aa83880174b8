"""Which files a trace uses, and how: what tools that know of files but not of names that change have to be told."""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Sequence

from core.operations import Op
from traces.last_names import LastNames
from traces.model import Call, Node, NodeKind, Trace
from traces.tree import Extents

_NOBODY, _SEVERAL = -1, -2


class UsedFiles:
    """A file goes by the last name it was given by a rename: written as `x.tmp` and renamed to `x`, it is `x` all along.

    Takes about 35 bytes of memory a node.
    """

    def __init__(self, trace: Trace) -> None:
        """Reads the whole trace once. Raises UsageError when it is damaged."""
        self._nodes: Sequence[Node] = trace.nodes
        count = len(self._nodes)
        self._names = LastNames(count)
        self._extents = Extents(count)
        self._makers = array("l", [_NOBODY]) * count  # streams that created it …
        self._users = array("l", [_NOBODY]) * count  # … and that opened, read or wrote it
        self._writing: set[int] = set()  # streams that write at all
        self._existed = bytearray(count)
        self._used = bytearray(count)
        self._read(trace)
        self._fold()

    def identity(self, node: int) -> int:
        """The node whose name the file ends up with."""
        return self._names[node]

    def size(self, file: int) -> int:
        """Its size before the first call, or as far as it is read or written, whichever is more."""
        return self._extents[file]

    def found(self, file: int) -> bool:
        """Whether it must be there before the first call: it was, or a stream uses it that did not make it, or its
        maker writes nothing at all, so that a tool may open its files for reading only."""
        maker = self._makers[file]
        alone = maker in self._writing and self._users[file] in (_NOBODY, maker)
        return bool(self._existed[file]) or not alone

    def files(self) -> Iterator[int]:
        """Every file that was there or is used, under its last name."""
        return (file for file in range(len(self._nodes)) if self._names[file] == file and self._used[file])

    def _read(self, trace: Trace) -> None:
        for number, node in enumerate(self._nodes):
            if node.kind == NodeKind.FILE and node.existed:
                self._existed[number] = self._used[number] = 1
                self._extents.grow(number, node.size)
        for stream in range(len(trace.header.streams)):
            for call in trace.calls(stream):
                if call.error == 0 and self._nodes[call.node].kind != NodeKind.DIRECTORY:
                    self._take(call, stream)

    def _take(self, call: Call, stream: int) -> None:
        op, node = call.op, call.node
        if op is Op.READ or op is Op.WRITE:
            self._extents.grow(node, call.argument + call.bytes)
            self._use(self._users, node, stream)
            if op is Op.WRITE:
                self._writing.add(stream)
        elif op is Op.OPEN or op is Op.CREATE:
            self._use(self._users if op is Op.OPEN else self._makers, node, stream)
        elif op is Op.RENAME:
            self._names.take(call)

    def _use(self, streams: array[int], node: int, stream: int) -> None:
        _join(streams, node, stream)
        self._used[node] = 1

    def _fold(self) -> None:
        """Every old name points to the last one, which takes over what was said of the old ones."""
        self._names.settle()
        for number in range(len(self._nodes)):
            latest = self._names[number]
            if latest == number:
                continue
            self._extents.grow(latest, self._extents[number])
            self._used[latest] |= self._used[number]
            self._existed[latest] |= self._existed[number]
            for streams in (self._makers, self._users):
                if streams[number] != _NOBODY:
                    _join(streams, latest, streams[number])


def _join(streams: array[int], node: int, stream: int) -> None:
    if streams[node] != stream:
        streams[node] = stream if streams[node] == _NOBODY else _SEVERAL
