"""The tree behind a job's calls: which paths there are, and what existed before the first call.

What existed is concluded from what calls found: a file or directory that was made (both fail where something is) was
not there before, one that was only used was. Times are nanoseconds on the clock of the trace.
"""

from __future__ import annotations

import errno
import os
from array import array
from collections.abc import Callable, Iterable, Iterator

from core.operations import Op
from traces.model import NO_NODE, UNKNOWN_RATIO, Call, Node, NodeKind

_NEVER = (1 << 63) - 1
_REFUSED = frozenset(  # something is there, though the call failed
    {errno.EACCES, errno.EPERM, errno.ELOOP, errno.ENXIO, errno.EISDIR, errno.ENOTEMPTY}
)
_SAYS_NOTHING = frozenset({Op.READ, Op.WRITE, Op.FSYNC, Op.CLOSE})  # of a file that was opened or made before
_LONGEST_NAME = (1 << 15) - 1


class NodeTree:
    """Every path that a call named, and those above it up to a root; some 300 bytes of memory each.

    `roots` are absolute paths; a path below none of them is below "/".
    """

    def __init__(self, roots: Iterable[bytes]) -> None:
        self.numbers: dict[bytes, int] = {}  # of every path, parents first
        self.renamed: dict[int, int] = {}  # old name → new name, the latest
        self._parents = array("i")
        self._names = array("h")
        self._directories = bytearray()  # 1: known to be one
        self._sizes = array("q")
        self._sized = array("q")  # when that size was seen
        self._made = array("q")  # when these first succeeded; _NEVER if they did not
        self._used = array("q")
        self._taken = array("q")  # removed or renamed
        self._put = array("q")  # another renamed to this
        for root in sorted(set(roots)):
            if not any(root.startswith(other.rstrip(b"/") + b"/") for other in self.numbers):
                self._add(root, NO_NODE, 0)

    def __len__(self) -> int:
        return len(self._parents)

    def number(self, path: bytes) -> int:
        """The node of a path, made if there is none."""
        number = self.numbers.get(path)
        if number is not None:
            return number
        missing = [path]
        while (above := os.path.dirname(missing[-1])) not in self.numbers:
            if above == missing[-1]:
                self._add(missing.pop(), NO_NODE, 0)
                break
            missing.append(above)
        while missing:
            path = missing.pop()
            above = os.path.dirname(path)
            self._add(path, self.numbers[above], min(len(path) - len(above.rstrip(b"/")) - 1, _LONGEST_NAME))
        return self.numbers[path]

    def see(self, call: Call) -> None:
        """Take note of a call, in any order."""
        op, start, node = call.op, call.start_ns, call.node
        if op in _SAYS_NOTHING:
            return
        end = start + call.duration_ns
        if call.error:
            making = op is Op.CREATE or op is Op.MKDIR
            if call.error == errno.EEXIST if making else call.error in _REFUSED:
                self._used[node] = min(self._used[node], end)
        elif op is Op.OPEN or op is Op.STAT:
            self._used[node] = min(self._used[node], end)
            if end < self._sized[node] and call.argument:
                self._sizes[node], self._sized[node] = call.argument, end
        elif op is Op.SCAN:
            self._directories[node] = 1
            self._used[node] = min(self._used[node], end)
        elif op is Op.CREATE or op is Op.MKDIR:
            self._directories[node] |= op is Op.MKDIR
            self._made[node] = min(self._made[node], start)
        elif op is Op.REMOVE:
            self._taken[node] = min(self._taken[node], end)
        elif op is Op.RENAME:
            self._put[node] = min(self._put[node], start)
            self._taken[call.other] = min(self._taken[call.other], end)
            self.renamed[call.other] = node

    def finish(self) -> None:
        """Conclude what was there before; after the last call."""
        count = len(self)
        seen = bytearray(count)
        for n in reversed(range(count)):  # children first: what held something was a directory
            evidence = min(self._made[n], self._used[n], self._taken[n], self._put[n]) != _NEVER
            seen[n] |= evidence or self._parents[n] == NO_NODE
            if seen[n] and self._parents[n] != NO_NODE:
                seen[self._parents[n]] = self._directories[self._parents[n]] = 1
        self._seen = seen
        self._existed = bytearray(count)
        for n in range(count):  # parents first: what is in a new directory is new
            above = self._parents[n]
            self._existed[n] = seen[n] and (above == NO_NODE or (self._existed[above] and self._stood(n)))

    def _stood(self, n: int) -> bool:
        made, used, taken, put = self._made[n], self._used[n], self._taken[n], self._put[n]
        if made != _NEVER:
            return taken < made and not put < taken
        if put != _NEVER:
            return min(used, taken) < put
        return True

    def unclear(self) -> list[bytes]:
        """Paths that existed and were only looked at: no call shows whether each is a file or a directory."""
        return [path for path, n in self.numbers.items() if self._existed[n] and self._is_unclear(n)]

    def _is_unclear(self, n: int) -> bool:
        return not self._directories[n] and self._sizes[n] == 0

    def is_directory(self, path: bytes) -> None:
        """Note that a path is a directory, as found on the storage."""
        self._directories[self.numbers[path]] = 1

    def files(self) -> Iterator[tuple[bytes, int]]:
        """Path and number of every file that was there at some time."""
        return ((path, n) for path, n in self.numbers.items() if self._seen[n] and not self._directories[n])

    def root_of(self, n: int) -> int:
        """The root above a node."""
        while self._parents[n] != NO_NODE:
            n = self._parents[n]
        return n

    def nodes(self, ratio: Callable[[int], int]) -> Iterator[Node]:
        """All nodes in order; `ratio` is asked for that of each file."""
        for n in range(len(self)):
            name, parent, existed = self._names[n], self._parents[n], bool(self._existed[n])
            if not self._seen[n]:
                yield Node(parent, NodeKind.MISSING, False, 0, UNKNOWN_RATIO, name)
            elif self._directories[n]:
                yield Node(parent, NodeKind.DIRECTORY, existed, 0, UNKNOWN_RATIO, name)
            else:
                yield Node(parent, NodeKind.FILE, existed, self._sizes[n] if existed else 0, ratio(n), name)

    def _add(self, path: bytes, parent: int, name_bytes: int) -> None:
        self.numbers[path] = len(self._parents)
        self._parents.append(parent)
        self._names.append(name_bytes)
        self._directories.append(parent == NO_NODE)
        self._sizes.append(0)
        for times in (self._sized, self._made, self._used, self._taken, self._put):
            times.append(_NEVER)
