"""The calls of several streams in one order that explains their recorded outcomes.

Calls that do not overlap keep their order. For calls that overlap, a trace does not show which took effect first; here
each takes effect at a point between its start and its end at which its recorded outcome is right: calls that change the
tree as late as possible, all others as soon as their outcome is right. The resulting order is by start, except where
calls on the same names overlapped. Every stream's own order is kept, so clients that play it, and wait only for what
precedes a call in it, can never wait for each other in a circle."""

from __future__ import annotations

import errno
import heapq
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from core.operations import Op
from replay import script
from replay.world import CHANGES, DIRECTORY, FILE, PATHLESS, World
from traces.model import NO_NODE, Call, Trace

Key = tuple[int, int]  # moment of the trace, then a running number


@dataclass(slots=True, eq=False)
class Opened:
    """A descriptor that a stream has open."""

    directory: bool
    slot: int = script.NO_SLOT


@dataclass(slots=True, eq=False)
class Play:
    """A call that is being ordered, with its future form in a script."""

    stream: int
    call: Call
    key: Key
    start_ns: int
    end_ns: int
    code: int
    expected: int
    opened: Opened | None = None  # the one that it opens or uses
    adopts: bool = False  # has to be opened first, unrecorded
    moves_directory: bool = False
    above: tuple[int, ...] = ()  # directories on which its outcome depends, while it is held

    @property
    def names(self) -> tuple[int, ...]:
        """Nodes that the call names."""
        return (self.call.node,) if self.call.other == NO_NODE else (self.call.node, self.call.other)


class Order:
    """One pass over the streams of a clone; iterate once."""

    def __init__(self, trace: Trace, streams: Sequence[int], world: World, parents: Sequence[int]) -> None:
        self._trace = trace
        self._streams = streams
        self._world = world
        self._parents = parents
        self._number = 0
        self._held: dict[int, Play] = {}  # by stream: calls that have not taken effect
        self._named: dict[int, list[Play]] = {}  # of these, by node named
        self._within: dict[int, list[Play]] = {}  # of these, by the directory of a node named
        self._ready: list[tuple[Key, Play]] = []  # a heap: calls that took effect and wait for their turn in the order
        self._open: dict[tuple[int, int], list[Opened]] = {}  # by stream and node, the latest last
        self.adapted = 0

    def __iter__(self) -> Iterator[Play]:
        for start, stream, call in heapq.merge(*(self._timed(stream) for stream in self._streams)):
            self._settle_until(start, stream)
            end = start + call.duration_ns
            play = Play(stream, call, self._key(start), start, end, code=int(call.op), expected=call.error)
            if call.op in PATHLESS:
                self._by_descriptor(play)
            elif (call.op in CHANGES and not call.error) or self._world.predict(call) != call.error:
                self._hold(play)
            else:
                self._take_effect(play)
            yield from self._in_turn()
        for play in sorted(self._held.values(), key=_by_end):
            self._settle(play)
        yield from self._in_turn()

    def _timed(self, stream: int) -> Iterator[tuple[int, int, Call]]:
        """Yield the calls of a stream with start times that never decrease; those of an imported trace may."""
        latest = 0
        for call in self._trace.calls(stream):
            latest = max(latest, call.start_ns)
            yield latest, stream, call

    def _key(self, now: int) -> Key:
        self._number += 1
        return now, self._number

    def _hold(self, play: Play) -> None:
        self._held[play.stream] = play
        play.above = self._all_above(play)
        for table, nodes in ((self._named, play.names), (self._within, play.above)):
            for node in nodes:
                table.setdefault(node, []).append(play)

    def _release(self, play: Play) -> None:
        del self._held[play.stream]
        for table, nodes in ((self._named, play.names), (self._within, play.above)):
            for node in nodes:
                table[node].remove(play)
                if not table[node]:
                    del table[node]

    def _all_above(self, play: Play) -> tuple[int, ...]:
        """Return all directories above the call's names: its outcome may come to depend on any of them."""
        out = []
        for node in play.names:
            while (node := self._parents[node]) != NO_NODE:
                out.append(node)
        return tuple(out)

    def _above(self, play: Play) -> tuple[int, ...]:
        """Return directories that determine the outcome: up to the first existing one above each name."""
        out = []
        for node in play.names:
            above = self._parents[node]
            while above != NO_NODE:
                out.append(above)
                if self._world.state(above):
                    break
                above = self._parents[above]
        return tuple(out)

    def _settle_until(self, now: int, stream: int) -> None:
        """Settle the calls that are over by now, in the order of their ends."""
        while self._held:
            first = min(self._held.values(), key=_by_end)
            if first.end_ns > now:
                break
            self._settle(first)
        if stream in self._held:  # calls of an imported stream may overlap
            self._settle(self._held[stream])

    def _settle(self, play: Play) -> None:
        """Let a call that ends now take effect, after the calls that have to come before it."""
        tried: set[int] = set()
        while self._held.get(play.stream) is play and self._world.predict(play.call) != play.call.error:
            other = next((o for o in self._related(play) if id(o) not in tried and self._fits(o)), None)
            if other is None:
                self._world.assume(play.call)
                break
            tried.add(id(other))
            self._take_effect(other, play.end_ns)
        if self._held.get(play.stream) is play:
            self._take_effect(play, play.end_ns)

    def _fits(self, play: Play) -> bool:
        return self._world.predict(play.call) == play.call.error

    def _related(self, play: Play) -> list[Play]:
        """Return held calls whose effect may matter to this one's outcome, or vice versa."""
        if not self._held:
            return []
        related: dict[int, Play] = {}
        looked_up = [(self._named, above) for above in self._above(play)]
        for node in play.names:
            looked_up.append((self._named, node))
            if play.call.op in CHANGES:  # only such calls change the outcome of calls below them
                looked_up.append((self._within, node))
        for table, node in looked_up:
            related.update((id(other), other) for other in table.get(node, ()) if other is not play)
        return list(related.values())

    def _take_effect(self, play: Play, now: int | None = None) -> None:
        if self._held.get(play.stream) is play:
            self._release(play)
        now = play.start_ns if now is None else now
        self._resolve(play)
        if play.moves_directory:  # it concerns everything below, which cannot be predicted
            play.key = self._key(now)
        heapq.heappush(self._ready, (play.key, play))
        for other in list(self._held.values()) if play.moves_directory else self._related(play):
            if self._held.get(other.stream) is not other:
                continue
            other.key = self._key(now)
            if (other.call.op not in CHANGES or other.call.error) and self._fits(other):
                self._take_effect(other, now)

    def _in_turn(self) -> Iterator[Play]:
        """Yield the calls that no other call can precede any more."""
        if not self._held:
            while self._ready:
                yield heapq.heappop(self._ready)[1]
            return
        first = min(play.key for play in self._held.values())
        while self._ready and self._ready[0][0] < first:
            yield heapq.heappop(self._ready)[1]

    def _resolve(self, play: Play) -> None:
        """Determine the form and the expected outcome of a call, and apply it to the world."""
        call, world = play.call, self._world
        predicted = world.predict(call)
        play.expected = predicted
        state = world.state(call.node)
        if call.op is Op.CREATE and not call.error and predicted == errno.EEXIST and state == FILE:
            play.expected, play.code = 0, script.REPLACE
        elif predicted != call.error:
            self.adapted += 1
            if call.op in CHANGES and not predicted:  # its recorded obstacle is missing, and it must not succeed now
                play.code = script.LOOK + call.op
                play.expected = world.predict(call._replace(op=Op.STAT))
            elif call.op is Op.OPEN and not predicted:
                play.code = script.OPEN_ONLY
        if play.code >= script.LOOK:
            return
        if call.op is Op.REMOVE and (
            predicted in (errno.ENOTEMPTY, errno.ENOTDIR) or (state == DIRECTORY and not predicted)
        ):
            play.code = script.REMOVE_DIRECTORY
        for node in play.names:
            world.seen_missing(node)
        if play.expected:
            return
        if call.op in CHANGES and play.code != script.REPLACE:
            play.moves_directory = call.op is Op.RENAME and world.state(call.other) == DIRECTORY
            world.make(call)
        if call.op in (Op.OPEN, Op.CREATE) and play.code != script.OPEN_ONLY:
            play.opened = Opened(state == DIRECTORY)
            self._open.setdefault((play.stream, call.node), []).append(play.opened)

    def _by_descriptor(self, play: Play) -> None:
        """Prepare a call on a descriptor of the stream; without one, the file is opened first."""
        call, world = play.call, self._world
        key = (play.stream, call.node)
        stack = self._open.get(key)
        if stack is None:
            for other in self._related(play):
                other.key = self._key(play.start_ns)
            world.assume(call._replace(op=Op.STAT, error=0))
            there = not world.predict(call._replace(op=Op.STAT))
            play.opened = Opened(world.state(call.node) == DIRECTORY)
            play.adopts = there
            play.expected = 0 if there else errno.EBADF
            if call.op is not Op.CLOSE and there:
                self._open[key] = [play.opened]
        else:
            play.opened = stack[-1]
            play.expected = 0
            if call.op is Op.CLOSE:
                stack.pop()
                if not stack:
                    del self._open[key]
        if play.opened.directory and call.op is Op.READ:
            play.expected = errno.EISDIR
        elif play.opened.directory and call.op is Op.WRITE:
            play.expected = errno.EBADF  # a directory is open to read
        if call.op is Op.FSYNC and self._parents[call.node] == NO_NODE:
            play.code = script.SYNC_ALL
        self.adapted += play.expected != call.error
        heapq.heappush(self._ready, (play.key, play))


def _by_end(play: Play) -> tuple[int, Key]:
    return play.end_ns, play.key
