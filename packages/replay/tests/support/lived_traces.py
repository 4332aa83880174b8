"""Traces that really happened: random calls of several streams, made on a real directory in an order of their own.

Calls overlap in time, and each takes effect at a moment between its start and its end, so that what is recorded is what
a file system answered when these calls came together."""

import os
import shutil
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random

from hypothesis import strategies as st
from memory_traces import MemoryTrace, memory_trace

from core.operations import Op
from traces.model import NO_NODE, Call, Node, NodeKind

CHANGES = (Op.CREATE, Op.MKDIR, Op.REMOVE, Op.RENAME)
DIRECTORY, FILE, MISSING = NodeKind.DIRECTORY, NodeKind.FILE, NodeKind.MISSING


@dataclass(frozen=True, slots=True)
class Wish:
    """A call that a stream wants to make; `effect` is when in its duration, of 8 parts, it takes effect."""

    stream: int
    op: Op
    node: int
    other: int
    gap: int
    duration: int
    effect: int  # of a call that changes the tree: at its end, as `replay.order` takes it where two overlap
    size: int
    contrary: bool  # remove: unlink of a directory, or rmdir of a file
    sane: bool  # rather a call that can succeed on what is there then; `pick` chooses among those
    pick: float


@st.composite
def nodes(draw: st.DrawFn, most: int = 8) -> list[Node]:
    """One or two roots and what is below them, a part of it there before."""
    found = [Node(NO_NODE, DIRECTORY, True, 0, 1000, 0) for _ in range(draw(st.integers(1, 2)))]
    for _ in range(draw(st.integers(2, most))):
        parent = draw(st.integers(0, len(found) - 1))
        there = found[parent].existed and found[parent].kind is DIRECTORY and draw(st.booleans())
        kind = draw(st.sampled_from((DIRECTORY, FILE)))
        size = draw(st.integers(0, 9000)) if there and kind is FILE else 0
        ratio = draw(st.sampled_from((0, 250, 1000)))
        name_bytes = len(found) + 6  # no two alike: two directories hold no common name, as is so here
        found.append(Node(parent, kind if there else MISSING, there, size, ratio, name_bytes))
    return found


def wishes(dice: Random, count: int, streams: int, calls: int) -> list[Wish]:
    """So many calls, of any op on any node."""
    return [
        Wish(
            stream=dice.randrange(streams),
            op=op,
            node=dice.randrange(count),
            other=dice.randrange(count),
            gap=dice.randrange(1, 5_000),
            duration=dice.randrange(13_000),
            effect=dice.randrange(9) if op not in CHANGES else 8,
            size=dice.randrange(9001),
            contrary=dice.random() < 0.1,
            sane=dice.random() < 0.75,
            pick=dice.random(),
        )
        for op in dice.choices(list(Op), k=calls)
    ]


@st.composite
def traces(draw: st.DrawFn, most_streams: int = 4, most_calls: int = 60) -> MemoryTrace:
    """A trace that happened. Its calls come from one seed: drawn one by one, most of them would be the simplest call."""
    tree = draw(nodes())
    streams = draw(st.integers(1, most_streams))
    dice = Random(draw(st.integers(0, 1 << 32)))
    return lived(tree, wishes(dice, len(tree), streams, draw(st.integers(1, most_calls))), streams)


def lived(tree: Sequence[Node], wanted: Sequence[Wish], streams: int) -> MemoryTrace:
    """Make the calls on a directory of their own, which is gone afterwards. Times are in nanoseconds."""
    home = tempfile.mkdtemp(prefix="lived-", dir="/dev/shm" if Path("/dev/shm").is_dir() else None)
    world = _World(tree, home)
    try:
        clocks = [0] * streams
        planned = []
        for number, wish in enumerate(wanted):
            start = clocks[wish.stream] + wish.gap
            clocks[wish.stream] = start + wish.duration
            planned.append((start + wish.duration * wish.effect / 8, number, start, wish))
        calls: list[list[Call]] = [[] for _ in range(streams)]
        for _, _, start, wish in sorted(planned, key=lambda one: one[:2]):
            call = world.make(wish, start)
            if call is not None:
                calls[wish.stream].append(call)
    finally:
        for fd in (fd for stack in world.opened.values() for fd in stack):
            os.close(fd)
        shutil.rmtree(home)
    return memory_trace(list(tree), calls)


def looked_at(tree: Sequence[Node]) -> MemoryTrace:
    """One stream that looks at every node once."""
    calls = [Call(Op.STAT, k, 1, 0, 0, k, NO_NODE, 0 if node.existed else 2, 0) for k, node in enumerate(tree)]
    return memory_trace(list(tree), [calls])


class _World:
    """The real directory; a node is called by its number, below its parent."""

    def __init__(self, tree: Sequence[Node], home: str) -> None:
        self.paths: list[str] = []
        self.opened: dict[tuple[int, int], list[int]] = {}
        for number, node in enumerate(tree):
            above = home if node.parent == NO_NODE else self.paths[node.parent]
            self.paths.append(os.path.join(above, str(number)))
            if node.existed and node.kind is DIRECTORY:
                os.mkdir(self.paths[-1])
            elif node.existed:
                Path(self.paths[-1]).write_bytes(b"x" * node.size)

    def make(self, wish: Wish, start: int) -> Call | None:
        wish = self.sensible(wish) if wish.sane else wish
        key = (wish.stream, wish.node)
        if wish.op in (Op.READ, Op.WRITE, Op.FSYNC, Op.CLOSE) and key not in self.opened:
            return None
        moved = error = 0
        try:
            moved = self._make(wish, key)
        except OSError as e:
            error = e.errno or 0
        if moved < 0:
            return None
        other = wish.other if wish.op is Op.RENAME else NO_NODE
        argument = wish.size // 2 if wish.op in (Op.READ, Op.WRITE) else 0
        return Call(wish.op, start, wish.duration, moved, argument, wish.node, other, error, 0)

    def sensible(self, wish: Wish) -> Wish:
        """The wish with an op that what is there allows."""
        path = self.paths[wish.node]
        ops = [Op.CREATE, Op.MKDIR, Op.RENAME, Op.RENAME]
        if os.path.isdir(path):
            ops = [Op.SCAN, Op.STAT, Op.OPEN, Op.REMOVE, Op.RENAME]
        elif os.path.isfile(path):
            ops = [Op.STAT, Op.OPEN, Op.REMOVE, Op.RENAME]
        if (wish.stream, wish.node) in self.opened:
            ops += [Op.READ, Op.WRITE, Op.WRITE, Op.CLOSE, Op.FSYNC]
        there = [k for k, found in enumerate(self.paths) if k != wish.node and os.path.lexists(found)]
        other = there[wish.other % len(there)] if there else wish.other
        ops = [op for op in ops if (op in CHANGES) is (wish.op in CHANGES)] or [wish.op]
        return replace(wish, op=ops[int(wish.pick * len(ops))], other=other)

    def _make(self, wish: Wish, key: tuple[int, int]) -> int:
        path = self.paths[wish.node]
        if wish.op is Op.SCAN:
            os.listdir(path)
        elif wish.op is Op.STAT:
            os.lstat(path)
        elif wish.op is Op.OPEN:
            flags = os.O_RDONLY if os.path.isdir(path) else os.O_RDWR
            self._keep(key, os.open(path, flags))
        elif wish.op is Op.CREATE:
            self._keep(key, os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR))
        elif wish.op is Op.RENAME:
            os.rename(self.paths[wish.other], path)
        elif wish.op is Op.REMOVE:
            (os.rmdir if os.path.isdir(path) is not wish.contrary else os.unlink)(path)
        elif wish.op is Op.MKDIR:
            os.mkdir(path)
        else:
            return self._make_opened(wish, key)
        return 0

    def _keep(self, key: tuple[int, int], fd: int) -> None:
        self.opened.setdefault(key, []).append(fd)

    def _make_opened(self, wish: Wish, key: tuple[int, int]) -> int:
        fd = self.opened[key][-1]
        if wish.op is Op.READ:
            return len(os.pread(fd, wish.size, wish.size // 2))
        if wish.op is Op.WRITE:
            if os.path.isdir(f"/proc/self/fd/{fd}"):
                return -1
            return os.pwrite(fd, b"y" * wish.size, wish.size // 2)
        if wish.op is Op.FSYNC:
            os.fsync(fd)
            return 0
        self.opened[key].pop()
        if not self.opened[key]:
            del self.opened[key]
        os.close(fd)
        return 0
