"""What of the time between two calls of a stream is think time, and what is waiting for others (decision 52).

The gap before a call runs from the end of the stream's call before it to its start. A slot that had no task did not think, it waited
for others to get so far. What the trace says of that, the most exact first:

- the first call of a stream in a phase: a phase begins when what comes before it is done, so it waited for all that the other
  streams had done by then;
- the stream had no task (`Stream.idle`), or had made no call yet: whichever call of another stream was over last before its
  task came is taken to have brought it;
- nobody knows when streams had tasks: what its call depends on, where that was over within the gap.

What is left behind the last of these ends is think time. It begins when the call before is over and so is what is awaited.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping
from typing import Final, NamedTuple

from replay.order import Play
from traces.model import NO_PHASE, TraceHeader

_REMEMBERED: Final = 256  # calls of a stream; what was over before them was over long before


class Awaited(NamedTuple):
    """What a call's stream waited for, before it thought."""

    steps: Mapping[int, int]  # by client of the clone: that many steps done
    until_ns: int  # when the last of it was over in the trace; 0: nothing was awaited


NOTHING: Final = Awaited({}, 0)


class Thinking:
    """Takes the calls of a clone in their order. `clients`: who plays each stream."""

    def __init__(self, header: TraceHeader, clients: Mapping[int, int]) -> None:
        self._clients = clients
        self._named = [phase != NO_PHASE for phase in header.phases]
        self._idle = {stream: header.streams[stream].idle for stream in clients}
        self._left = {stream: deque(idle or ()) for stream, idle in self._idle.items()}
        self._seen: set[tuple[int, int]] = set()  # stream and phase
        self._ended: dict[int, int] = {}  # of each stream that has begun, when its calls so far were over
        self._recent: dict[int, deque[tuple[int, int]]] = {s: deque(maxlen=_REMEMBERED) for s in clients}  # end, steps

    def awaited(self, play: Play) -> Awaited:
        """What its stream had no work for, before its waits are known."""
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
        """The think time, and whether it begins after the call's waits and not beside them."""
        ended, until = self._ended.get(play.stream, 0), awaited.until_ns
        if self._idle[play.stream] is None:
            until = max(until, *(end for end in map(self._end_of, waits) if end <= play.start_ns), 0)
        return max(0, play.start_ns - max(ended, until)), until > ended

    def made(self, play: Play, steps: int) -> None:
        """The call is the client's step before `steps`."""
        self._ended[play.stream] = max(self._ended.get(play.stream, 0), play.end_ns)
        self._recent[play.stream].append((play.end_ns, steps))

    def _idle_until(self, stream: int, ended: int, start: int) -> int | None:
        """When its task came, where it had none in between."""
        left, until = self._left[stream], None
        while left and left[0][0] < start:
            till = left.popleft()[1]
            if till > ended:
                until = min(till, start)
        return until

    def _over(self, moment: int, ended: int) -> Awaited:
        """Everything that the other streams had done by then."""
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
        """The call that was over last by then; nothing where that is the stream's own."""
        found = [(*latest, stream) for stream in self._clients if (latest := self._latest(stream, moment)) is not None]
        end, steps, stream = max(found, default=(0, 0, 0))
        return Awaited({self._clients[stream]: steps}, end) if end > ended else NOTHING

    def _latest(self, stream: int, moment: int) -> tuple[int, int] | None:
        return next((one for one in reversed(self._recent[stream]) if one[0] <= moment), None)

    def _end_of(self, wait: tuple[int, int]) -> int:
        """When that was over in the trace; 0 where it is not remembered."""
        client, steps = wait
        streams = (stream for stream, its in self._clients.items() if its == client)
        return next((end for stream in streams for end, at in reversed(self._recent[stream]) if at == steps), 0)
