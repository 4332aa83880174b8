"""Waits of the calls of a replay: for as few calls of other clients as keep the recorded dependencies.

Of two calls of different clients on the same node, the later one in the order (`replay.order`) waits

- if one of them changes the tree (create, mkdir, rename, remove) and the other names the node in any way, or names
  something in it: until the earlier one is over;
- if one of them changes the file (write, and fsync or close of a written file) and the other uses it: for the calls of
  the earlier one's client that were over in the trace when the later one began. Calls on a file's bytes that overlapped
  may overlap again;
- if one of them lists a directory and the other changes its contents: the same.

In addition, everything waits for the rename of a directory and the rename for everything. No wait is repeated: a client
remembers how far the others were when it last waited for them.

Think time is the time between two calls of a stream without the waits for others (decision 52).

The gap before a call runs from the end of the stream's previous call to its start. A slot without a task did not think,
it waited for others. The evidence in the trace, the most exact first:

- the first call of a stream in a phase: a phase begins when everything before it is done, so it waited for all that the
  other streams had done by then;
- the stream had no task (`Stream.idle`), or had made no call yet: the call of another stream that was over last before
  the task came is assumed to have brought it;
- it is not known when streams had tasks: the calls on which its call depends, if they were over within the gap.

The time after the last of these ends is think time. It begins when the previous and the awaited calls are over."""

from __future__ import annotations

import errno
from array import array
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from itertools import repeat
from typing import Final, NamedTuple

from core.operations import Op
from replay import script
from replay.order import Play
from replay.world import CHANGES, PATHLESS
from traces.model import NO_NODE, NO_PHASE, TraceHeader

_INDEX_BITS = 44
_INDEX_MASK = (1 << _INDEX_BITS) - 1
_NEVER = -1
NOTHING_FURTHER: Mapping[int, int] = {}


class _Latest:
    """The latest step of one kind of every client, for each node; most nodes have one client."""

    def __init__(self, nodes: int) -> None:
        self._one = array("q", repeat(_NEVER, nodes))  # client and step
        self._end = array("q", repeat(0, nodes))
        self._more: dict[int, dict[int, tuple[int, int]]] = {}

    def add(self, node: int, client: int, step: int, end_ns: int) -> None:
        """Set this client's latest step."""
        one = self._one[node]
        if one == _NEVER or one >> _INDEX_BITS == client:
            self._one[node] = client << _INDEX_BITS | step
            self._end[node] = end_ns
        else:
            self._more.setdefault(node, {})[client] = (step, end_ns)

    def clear(self, node: int) -> None:
        """Remove all steps, because the call that follows waits for all of them."""
        self._one[node] = _NEVER
        self._more.pop(node, None)

    def ask(self, node: int, wanted: dict[int, int], before_ns: int | None) -> None:
        """Add the steps to wait for; with `before_ns` only those that were over then."""
        one = self._one[node]
        if one == _NEVER:
            return
        _want(wanted, one >> _INDEX_BITS, one & _INDEX_MASK, self._end[node], before_ns)
        more = self._more.get(node)
        if more:
            for client, (step, end_ns) in more.items():
                _want(wanted, client, step, end_ns, before_ns)


def _want(wanted: dict[int, int], client: int, step: int, end_ns: int, before_ns: int | None) -> None:
    """Want step number `step` and all before it; or only those before it, if it overlaps."""
    steps = step + 1 if before_ns is None or end_ns <= before_ns else step
    if steps > wanted.get(client, 0):
        wanted[client] = steps


class Waits:
    """Computation of what each call waits for, from the calls in their order; 40 bytes a node, and some a directory."""

    def __init__(self, parents: Sequence[int], clients: int) -> None:
        nodes = len(parents)
        self._parents = parents
        self._changed = array("q", repeat(_NEVER, nodes))  # the last call that changed the tree there
        self._used = _Latest(nodes)
        self._written = _Latest(nodes)
        self._filled: dict[int, dict[int, tuple[int, int]]] = {}  # by directory: the latest changes of its contents
        self._listed: dict[int, dict[int, tuple[int, int]]] = {}  # by directory: the latest lists of its contents
        self._known: list[dict[int, int]] = [{} for _ in range(clients)]  # steps of others that are certainly over
        self._done = [0] * clients
        self._moved: dict[int, int] = {}  # waits of every client since a directory was renamed
        self._writers: set[tuple[int, int]] = set()  # stream and node of open files that were written

    def steps(self, client: int) -> int:
        """Return the client's number of steps so far."""
        return self._done[client]

    def skip(self, client: int) -> None:
        """Count a step that is no call and that no client waits for."""
        self._done[client] += 1

    def next(self, client: int, play: Play, further: Mapping[int, int] = NOTHING_FURTHER) -> list[tuple[int, int]]:
        """Return the waits of the client's next step as (client, steps). `further`: more waits."""
        wanted = {**further, **{other: max(steps, further.get(other, 0)) for other, steps in self._moved.items()}}
        step = self._done[client]
        changes = play.call.op in CHANGES and not play.expected and play.code < script.LOOK
        for node in play.names:
            self._on_node(node, client, step, play, changes, wanted)
        if play.moves_directory:
            wanted.update(enumerate(self._done))
            self._moved = {client: step + 1}
        self._done[client] += 1
        return self._reduced(client, wanted)

    def _on_node(self, node: int, client: int, step: int, play: Play, changes: bool, wanted: dict[int, int]) -> None:
        op = play.call.op
        by_path = op not in PATHLESS or play.adopts
        if by_path:
            self._after_change(node, wanted)
            self._on_directory(self._parents[node], client, step, play, changes, wanted)
        if changes:
            self._used.ask(node, wanted, None)
            self._written.ask(node, wanted, None)
            self._used.clear(node)
            self._written.clear(node)
            self._changed[node] = client << _INDEX_BITS | step
            self._filled.pop(node, None)
            self._listed.pop(node, None)
            if op is Op.CREATE:
                self._writers.add((play.stream, node))
            return
        self._written.ask(node, wanted, play.start_ns)
        if self._writes(node, play):
            self._used.ask(node, wanted, play.start_ns)
            self._written.add(node, client, step, play.end_ns)
        else:
            self._used.add(node, client, step, play.end_ns)
        if op is Op.SCAN or op in CHANGES:  # a failed one may depend on its contents
            strict = op is not Op.SCAN
            _ask(self._filled.get(node), wanted, None if strict else play.start_ns)
            self._listed.setdefault(node, {})[client] = (step, 0 if strict else play.end_ns)

    def _after_change(self, node: int, wanted: dict[int, int]) -> None:
        changed = self._changed[node]
        if changed != _NEVER:
            _want(wanted, changed >> _INDEX_BITS, changed & _INDEX_MASK, 0, None)

    def _writes(self, node: int, play: Play) -> bool:
        """Return whether the call changes the contents of the file, or syncs them."""
        op, key = play.call.op, (play.stream, node)
        if op is Op.WRITE:
            self._writers.add(key)
            return True
        if op is Op.CLOSE and key in self._writers:
            self._writers.discard(key)
            return True
        return op is Op.FSYNC and key in self._writers

    def _on_directory(
        self, directory: int, client: int, step: int, play: Play, changes: bool, wanted: dict[int, int]
    ) -> None:
        if directory == NO_NODE:
            return
        self._after_change(directory, wanted)
        self._used.add(directory, client, step, play.end_ns)
        if play.expected in (errno.ENOENT, errno.ENOTDIR):  # which of the two may depend on directories further up
            above = self._parents[directory]
            while above != NO_NODE:
                self._after_change(above, wanted)
                self._used.add(above, client, step, play.end_ns)
                above = self._parents[above]
        if changes:
            _ask(self._listed.get(directory), wanted, play.start_ns)
            self._filled.setdefault(directory, {})[client] = (step, play.end_ns)

    def _reduced(self, client: int, wanted: dict[int, int]) -> list[tuple[int, int]]:
        wanted.pop(client, None)
        if not wanted:
            return []
        known = self._known[client]
        out = [(other, steps) for other, steps in sorted(wanted.items()) if steps > known.get(other, 0)]
        known.update(out)
        return out


def _ask(latest: dict[int, tuple[int, int]] | None, wanted: dict[int, int], before_ns: int | None) -> None:
    for client, (step, end_ns) in (latest or {}).items():
        _want(wanted, client, step, end_ns, before_ns)


_REMEMBERED: Final = 256  # calls of a stream; earlier ones were over long before


class Awaited(NamedTuple):
    """Waits of a call's stream before its think time."""

    steps: Mapping[int, int]  # by client of the clone: number of steps done
    until_ns: int  # when the last of these was over in the trace; 0: nothing was awaited


NOTHING: Final = Awaited({}, 0)


class Thinking:
    """Computation of think times from the calls of a clone in their order. `clients`: the client of each stream."""

    def __init__(self, header: TraceHeader, clients: Mapping[int, int]) -> None:
        self._clients = clients
        self._named = [phase != NO_PHASE for phase in header.phases]
        self._idle = {stream: header.streams[stream].idle for stream in clients}
        self._left = {stream: deque(idle or ()) for stream, idle in self._idle.items()}
        self._seen: set[tuple[int, int]] = set()  # stream and phase
        self._ended: dict[int, int] = {}  # by stream that has begun: end of its calls so far
        self._recent: dict[int, deque[tuple[int, int]]] = {s: deque(maxlen=_REMEMBERED) for s in clients}  # end, steps

    def awaited(self, play: Play) -> Awaited:
        """Return what the stream waited for because it had no task, before the call's waits are known."""
        stream, start = play.stream, play.start_ns
        ended = self._ended.get(stream)
        until = self._idle_until(stream, ended or 0, start)
        phase = (stream, play.call.phase)
        if self._named[play.call.phase] and phase not in self._seen:
            self._seen.add(phase)
            return self._over(start, ended or 0)
        if ended is None or until is not None:
            return self._last_over(start if until is None else until, ended or 0)
        return NOTHING

    def think_ns(self, play: Play, awaited: Awaited, waits: Iterable[tuple[int, int]]) -> tuple[int, bool]:
        """Return the think time, and whether it begins after the call's waits and not at the same time."""
        ended, until = self._ended.get(play.stream, 0), awaited.until_ns
        if self._idle[play.stream] is None:
            until = max(until, *(end for end in map(self._end_of, waits) if end <= play.start_ns), 0)
        return max(0, play.start_ns - max(ended, until)), until > ended

    def made(self, play: Play, steps: int) -> None:
        """Record the call as the client's step before `steps`."""
        self._ended[play.stream] = max(self._ended.get(play.stream, 0), play.end_ns)
        self._recent[play.stream].append((play.end_ns, steps))

    def _idle_until(self, stream: int, ended: int, start: int) -> int | None:
        """Return the time of its task's arrival, if it had no task in between."""
        left, until = self._left[stream], None
        while left and left[0][0] < start:
            till = left.popleft()[1]
            if till > ended:
                until = min(till, start)
        return until

    def _over(self, moment: int, ended: int) -> Awaited:
        """Return all steps of the other streams by then."""
        steps: dict[int, int] = {}
        until = 0
        for stream in self._clients:
            found = self._latest(stream, moment)
            if found is not None:
                until = max(until, found[0])
                client = self._clients[stream]
                steps[client] = max(steps.get(client, 0), found[1])
        return Awaited(steps, until) if until > ended else Awaited(steps, 0)

    def _last_over(self, moment: int, ended: int) -> Awaited:
        """Return the call that was over last by then; nothing if that is the stream's own."""
        found = [(*latest, stream) for stream in self._clients if (latest := self._latest(stream, moment)) is not None]
        end, steps, stream = max(found, default=(0, 0, 0))
        return Awaited({self._clients[stream]: steps}, end) if end > ended else NOTHING

    def _latest(self, stream: int, moment: int) -> tuple[int, int] | None:
        return next((one for one in reversed(self._recent[stream]) if one[0] <= moment), None)

    def _end_of(self, wait: tuple[int, int]) -> int:
        """Return the time when the awaited step was over in the trace; 0 if it is not remembered."""
        client, steps = wait
        streams = (stream for stream, its in self._clients.items() if its == client)
        return next((end for stream in streams for end, at in reversed(self._recent[stream]) if at == steps), 0)
