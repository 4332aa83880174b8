"""What is left of a task, for slots that have no work: no phase ends with one slot at work and the others waiting.

How long a file takes is not known before: one of 1 MB may be read with two calls, or be a mail store of a hundred
messages, each of which becomes a file. So a slot looks, while it works, whether others have nothing to do. Where slots
wait for a core rather than for storage, more tasks would only cost more."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Generic, TypeVar

from monitoring.processes import RunQueueMeter
from sql.workers import WORKERS
from worker.phases.task import TaskWork

_T = TypeVar("_T")
EVERY_SECONDS = 1.0  # between looks
LEAST_SECONDS = 4.0  # that a part takes, if all bytes of the task take as long as those before: a task costs 60 ms of CPU time by itself
CROWDED = 0.25  # share of the time that a slot waits for a core: with more, slots without work have none either


class Rest(Generic[_T]):
    """The entries of a task; those that it does not take are `parts` for tasks that follow."""

    def __init__(self, work: TaskWork, entries: Sequence[_T], weight: Callable[[_T], int]) -> None:
        self._work = work
        self._entries = entries
        self._weights = [weight(entry) for entry in entries]
        self._limited = work.job.options.at_a_time(work.claimed.phase) is not None
        self._queue = RunQueueMeter()
        self.parts: Sequence[Sequence[_T]] = ()

    def taken(self) -> Iterator[_T]:
        """Yield entries until slots without work are seen; then cut what is left into a part for each of them and one
        for this slot, none of them too short to be worth a task. Raises DatabaseFault."""
        begun = looked = time.monotonic()
        waited = self._waited()
        done, left = 0, sum(self._weights)
        for number, entry in enumerate(self._entries):
            now = time.monotonic()
            if number and not self._limited and now - looked >= EVERY_SECONDS:
                looked = now
                worth = min(len(self._entries) - number, int((now - begun) / done * left / LEAST_SECONDS))
                crowded = self._waited() - waited > CROWDED * (now - begun)
                if worth > 1 and not crowded and (idle := self._idle()) > 0:
                    parts = min(worth, idle + 1)
                    self.parts = [self._entries[number + n :: parts] for n in range(parts)]
                    return
            yield entry
            done += self._weights[number]
            left -= self._weights[number]

    def _waited(self) -> float:
        """Return the seconds that this slot and its sandbox have waited for a core."""
        return self._queue.look(filter(None, (os.getpid(), self._work.context.tally.sandbox)))

    def _idle(self) -> int:
        with self._work.database.transaction() as conn:
            return WORKERS.idle_slots(conn, job=self._work.job.id, phase=self._work.claimed.phase.value)
