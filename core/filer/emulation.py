"""The emulated filer as one process's storage layer uses it."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path

from core.filer.arbiter import Arbiter
from core.filer.load import load_filer
from core.filer.machine import SpeedMeter
from core.filer.model import FilerModel
from core.filer.pacing import Pacer
from core.filer.places import arbiter_path
from core.filer.surroundings import Surroundings
from core.histogram import FIRST_BITS
from core.operations import Op
from core.records import Phase
from core.settings import Settings

OCTAVES = 45
SERVED_WORDS = 2 + (max(Op) + 1) * OCTAVES  # waited in queues, overshoot, then the calls that are mostly overshoot


def octave(duration_ns: int) -> int:
    """Which power of two a duration lies under; those that a histogram's first bucket holds are one."""
    return min(max(duration_ns.bit_length(), FIRST_BITS), OCTAVES - 1)


class EmulatedFiler:
    """Makes every call last as long as the arbiter says. One a process, made after its fork.

    `around`: the site that the slot works on beside, if any; a call begins when its processors have done what came before.
    `served`: `SERVED_WORDS` to which it adds the nanoseconds that calls waited in queues, and that they took longer than
    booked (their overshoot: until the process had a processor again, and until what lies beneath had done the call); then
    calls of which the overshoot is more than half, by op and `octave` of their duration.
    """

    def __init__(
        self, arbiter: Arbiter, pacer: Pacer, served: memoryview | None = None, around: Surroundings | None = None
    ) -> None:
        self.around = around
        self.digest = arbiter.digest
        self._arbiter = arbiter
        self._book = arbiter.book
        self._wait_until = pacer.wait_until
        self.served = memoryview(bytearray(8 * SERVED_WORDS)).cast("q") if served is None else served

    def works_on(self, phase: Phase) -> None:
        """The calls that follow are of a task of that phase: a protocol may have other filer ops for those of phase index."""
        self._arbiter.tell_phase(indexing=phase is Phase.INDEX)

    def serve(
        self, op: Op, nbytes: int, arrived_ns: int, path: bytes = b"", argument: int = 0, other: bytes = b""
    ) -> int:
        booked = self._book(op, nbytes, arrived_ns, path, argument, other)
        ended = self._wait_until(booked)
        served = self.served
        served[0] += self._arbiter.waited_ns
        over = ended - booked
        served[1] += over
        if 2 * over > ended - arrived_ns:
            served[2 + op * OCTAVES + octave(ended - arrived_ns)] += 1
        return ended


def emulated_filer(
    settings: Settings,
    served: memoryview | None = None,
    worker: str = "",
    used: Callable[[], float] = time.process_time,
) -> EmulatedFiler | None:
    """The filer that these settings ask for, attached, as a worker of that name meets it; `used`: processor seconds of the
    slot's work so far. Raises UsageError, StorageFault."""
    model = load_filer(settings.filer)
    if model is None:
        return None
    number = 0 if model.site is None else model.site.worker(worker)
    arbiter, pacer = _attached(settings, model, number), Pacer()
    # Where nobody watches, what is measured now is as good as there is.
    if model.site is not None and not arbiter.knows_speed:
        arbiter.tell_speed(SpeedMeter().speed)
    around = None if model.site is None else Surroundings(arbiter, pacer, number, used)
    return EmulatedFiler(arbiter, pacer, served, around)


def open_arbiter(settings: Settings) -> Arbiter | None:
    """The arbiter of the filer that these settings ask for, made when there is none; raises UsageError, StorageFault."""
    model = load_filer(settings.filer)
    return None if model is None else _attached(settings, model)


def _attached(settings: Settings, model: FilerModel, client: int = 0) -> Arbiter:
    directory = Path(os.path.abspath(settings.filer_arbiter)) if settings.filer_arbiter else None
    return Arbiter(arbiter_path(model, settings.scratch, directory), model, client)
