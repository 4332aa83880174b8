"""The window of tasks that may be out, and its shares by job. Pure arithmetic."""

from __future__ import annotations

import heapq
import uuid
from collections.abc import Sequence

from core.records import Priority
from sql.states import Demand

LEAST_FACTOR = 2  # a slot works on one task, and another waits for it in the broker
MOST_FACTOR = 8
AHEAD_SECONDS = 0.1  # work to be ready at the broker, where tasks are short
_MEMORY_SECONDS = 1.0  # how far back the rate of sending looks
WEIGHTS = {Priority.LOW: 1, Priority.NORMAL: 4, Priority.HIGH: 16}  # tasks out of jobs that all have enough to do


class Window:
    """The number of tasks that may be dispatched or running: slots × a factor.

    The factor is 2 for tasks that take long; for short ones it grows so that about 0.1 s of them are ready, and a slot
    does not wait for the queue manager's next look."""

    def __init__(self) -> None:
        self._rate = 0.0  # tasks a second
        self._last = 0.0

    def note_sent(self, tasks: int, now: float) -> None:
        """Tasks were sent at `now` (monotonic seconds); in a steady state as many have ended."""
        passed = max(now - self._last, 1e-3)
        keep = max(0.0, 1.0 - passed / _MEMORY_SECONDS)
        self._rate = keep * self._rate + (1.0 - keep) * (tasks / passed)
        self._last = now

    def size(self, slots: int) -> int:
        """The window for so many live slots; 0 without any."""
        ahead = int(self._rate * AHEAD_SECONDS)
        return slots + min(max(ahead, slots * (LEAST_FACTOR - 1)), slots * (MOST_FACTOR - 1))


def widened(window: int, slots: int, demands: Sequence[Demand]) -> int:
    """The window where jobs have a window factor of their own."""
    return max([window, *(slots * d.window_factor for d in demands)])


def shares(window: int, demands: Sequence[Demand], slots: int = 0) -> dict[uuid.UUID, int]:
    """Return how many more tasks each job may dispatch, given one at a time to the job that has the fewest out for its
    priority, so that none waits for ever.

    Jobs that want nothing, or have out what they may have at most, are absent; the sum with what is out stays within
    `window`. Of `slots` live ones, those that are reserved stay free of all other jobs' tasks."""
    free = window - sum(d.dispatched + d.running for d in demands)
    wanted = [_wanted(d, slots) for d in demands]
    kept = [_Reserved(d, slots, demands) for d in demands if d.reserve_slots]
    weights = [WEIGHTS[d.priority] for d in demands]
    queue = [((d.dispatched + d.running) / weights[n], n) for n, d in enumerate(demands) if wanted[n] > 0]
    heapq.heapify(queue)
    given: dict[uuid.UUID, int] = {}
    while free > 0 and queue:
        out, n = heapq.heappop(queue)
        demand = demands[n]
        others = [one for one in kept if not one.owner.shares_with(demand)]
        if any(one.room <= 0 for one in others):
            continue
        for one in others:
            one.room -= 1
        given[demand.job] = given.get(demand.job, 0) + 1
        free -= 1
        if given[demand.job] < wanted[n]:
            heapq.heappush(queue, (out + 1 / weights[n], n))
    return given


class _Reserved:
    """Slots that are reserved for `owner`, and the `room` for tasks of other jobs, one at least: two jobs must not stop each
    other. A message that waits at the broker is among these: it would take the slot before the owner's."""

    def __init__(self, owner: Demand, slots: int, demands: Sequence[Demand]) -> None:
        out = sum(d.dispatched + d.running for d in demands if not owner.shares_with(d))
        self.owner, self.room = owner, max(1, slots - owner.reserve_slots) - out


def _wanted(demand: Demand, slots: int) -> int:
    limits = [limit for limit in (demand.most_out, demand.window_factor * slots) if limit]
    return min([demand.pending, *(limit - demand.dispatched - demand.running for limit in limits)])
