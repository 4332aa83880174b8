"""What it costs to record sizes and waits, in processor time: classes of size at each call and each second, run-queue delay
of slots each second, the overshoot of each emulated call.

`python -m benchmarks.costs.waits`; part of `make bench`.
"""

from __future__ import annotations

import json
import multiprocessing
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from typing import cast

from benchmarks.figures import Figure
from benchmarks.processor_time import microseconds_of
from core.filer.arbiter import Arbiter
from core.filer.emulation import EmulatedFiler
from core.filer.pacing import Pacer
from core.operations import MOST_BYTES, Op
from core.records import Phase
from monitoring.live import REGION_BYTES, LiveRecorder, RegionReader
from worker.processes import RunQueueMeter

SLOTS = 4

_LATENCIES = [20_000 + 5_000 * n for n in range(40)]  # ns, of the calls of a second


def measure(calls: int = 20_000, looks: int = 200) -> dict[str, Figure]:
    """By name. `calls`, `looks`: how often each thing is done, nine times over; some seconds."""
    return {
        "recorded_size": _recorded_size(calls),
        "collected_sizes": _collected_sizes(looks),
        "overshoot": _overshoot(calls),
        "slot_waits": _slot_waits(looks),
    }


def _live(buffer: memoryview) -> LiveRecorder:
    live = LiveRecorder(buffer)
    live.select(uuid.UUID(int=1), Phase.EXPAND)
    return live


def _recorded_size(calls: int) -> Figure:
    record = _live(memoryview(bytearray(REGION_BYTES))).record
    largest = MOST_BYTES[-1] + 1  # found last
    sized = microseconds_of(calls, lambda: record(Op.READ, 0, 50_000, largest, b"/f", 0))
    bare = microseconds_of(calls, lambda: record(Op.READ, 0, 50_000, 0, b"/f", 0))
    note = f"bytes and class of size of a call, {sized:.2f} with them, {bare:.2f} without"
    return Figure(value=sized - bare, unit="µs of CPU a call", target=0.5, at_most=True, note=note)


def _collected_sizes(looks: int) -> Figure:
    """A second of one slot whose reads and writes are of every size, and one whose are of one size."""

    def second(sizes: tuple[int, ...]) -> Callable[[], object]:
        buffer = memoryview(bytearray(REGION_BYTES))
        record, reader = _live(buffer).record, RegionReader(buffer)

        def collect() -> None:
            for number, ns in enumerate(_LATENCIES):
                for op in (Op.READ, Op.WRITE):
                    record(op, 0, ns, sizes[number % len(sizes)], b"/f", 0)
            reader.collect()

        return collect

    every = tuple(most + 1 for most in MOST_BYTES)
    many, one = microseconds_of(looks, second(every)), microseconds_of(looks, second(every[:1]))
    note = f"a slot's second of {2 * len(_LATENCIES)} calls, recorded and collected: {many:.0f} in four classes, {one:.0f} in one"
    return Figure(value=many - one, unit="µs of CPU a slot and second", note=note)


class _FreeStation:
    """In place of an arbiter and its pacer: books at once and never waits, so that the counting is what is left."""

    digest, waited_ns = "", 0

    def book(self, _op: Op, _nbytes: int, arrived_ns: int, *_call: object) -> int:
        return arrived_ns + 50_000

    def wait_until(self, booked_ns: int) -> int:
        return booked_ns + 200_000  # mostly overshoot


def _overshoot(calls: int) -> Figure:
    free = _FreeStation()
    filer = EmulatedFiler(cast(Arbiter, free), cast(Pacer, free))
    counted = microseconds_of(calls, lambda: filer.serve(Op.READ, 4096, 0))
    bare = microseconds_of(calls, lambda: free.wait_until(free.book(Op.READ, 4096, 0)))
    note = "queue, overshoot and whether it is most of an emulated call; on real storage nothing is done for a call"
    return Figure(value=counted - bare, unit="µs of CPU a call", target=2, at_most=True, note=note)


def _slot_waits(looks: int) -> Figure:
    with _idle(SLOTS) as pids:
        meter = RunQueueMeter()
        look = microseconds_of(looks, lambda: meter.look(pids))
    note = f"run-queue delay of {SLOTS} slots of one thread, {look:.0f} µs of CPU once a second"
    return Figure(value=look / 1e6 * 100, unit="% of one core", target=0.5, at_most=True, note=note)


@contextmanager
def _idle(number: int) -> Iterator[list[int]]:
    """Processes that do nothing while the block lasts."""
    context = multiprocessing.get_context("fork")
    over = context.Event()
    processes = [context.Process(target=over.wait) for _ in range(number)]
    for process in processes:
        process.start()
    try:
        yield [process.pid for process in processes if process.pid is not None]
    finally:
        over.set()
        for process in processes:
            process.join()


if __name__ == "__main__":
    print(json.dumps({name: asdict(figure) for name, figure in measure().items()}, ensure_ascii=False, indent=1))
