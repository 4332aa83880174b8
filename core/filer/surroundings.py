"""An emulated site as one slot meets it beside its storage calls: processors and database servers.

A slot works on this machine's processors, and waits at its next storage call or transaction until the emulated ones would have
done the same work. A transaction is committed here, and then waited for until the emulated server would have done it: locks
are held no longer for that, and what other slots see of it they see sooner than there.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from core.filer.arbiter import Arbiter
from core.filer.pacing import Pacer

_LEAST_NS = 100_000  # processor time below which nobody is made to wait yet: it adds up


class Surroundings:
    """One a slot's process, made after its fork. `used`: processor seconds of its work so far."""

    def __init__(self, arbiter: Arbiter, pacer: Pacer, worker: int, used: Callable[[], float]) -> None:
        self._arbiter, self._pacer, self._worker, self._used = arbiter, pacer, worker, used
        self._charged = used()
        self._since = 0.0  # when `settle` was done, in processor seconds

    def begin(self) -> None:
        """A task begins: what was used until now was nobody's work."""
        self._charged = self._used()

    def settle(self, now_ns: int) -> int:
        """Wait for what was used since; the monotonic time then. What is used until `resume` is the emulation's own."""
        used = self._used()
        spent = int((used - self._charged) * 1e9)
        if spent >= _LEAST_NS:
            self._charged = used
            now_ns = max(now_ns, self._waited(now_ns - spent, self._arbiter.compute(self._worker, spent, now_ns)))
            self._charged += self._used() - used
        self._since = self._used()
        return now_ns

    def resume(self) -> None:
        """The work goes on."""
        self._charged += self._used() - self._since

    def transaction(self, database: int, rows: int) -> None:
        """One was committed."""
        now = self.settle(time.monotonic_ns())
        self._waited(now, self._arbiter.transact(database, rows, now))
        self.resume()

    def _waited(self, began_ns: int, booked_ns: int) -> int:
        """Wait for it; the time then. How late it is must be told: the call that comes next begins then, and looks punctual."""
        ended = self._pacer.wait_until(booked_ns)
        self._arbiter.tell_wait(booked_ns - began_ns, ended - booked_ns)
        return ended
