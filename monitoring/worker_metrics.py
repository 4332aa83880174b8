"""Metrics of one worker: its calls, and the counts of its slots' tallies at the moment of the scrape."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from core.operations import Op
from monitoring import tally
from monitoring.aggregate import CallSum
from monitoring.frames import CounterDelta
from monitoring.metrics import WORDS, Collector, Metric, coarsened, durations, family
from monitoring.observations import BLOCK, SPACE, WIRE, WORKER, Observation
from monitoring.tally import CallCounters, summed, transactions_at

# Metric → (key of the observation, unit: what one of it is in the metric's unit)
_WORKER: Mapping[str, tuple[str, float]] = {
    "edbench_worker_cpu_seconds_total": ("cpu_s", 1),
    "edbench_worker_run_queue_seconds_total": ("run_queue_s", 1),
    "edbench_worker_resident_bytes": ("rss_bytes", 1),
    "edbench_worker_cores": ("processors", 1),
}
_WIRE_OP: Mapping[str, tuple[str, float]] = {
    "edbench_wire_ops_total": ("ops", 1),
    "edbench_wire_transmissions_total": ("transmissions", 1),
    "edbench_wire_timeouts_total": ("timeouts", 1),
    "edbench_wire_errors_total": ("errors", 1),
    "edbench_wire_sent_bytes_total": ("bytes_sent", 1),
    "edbench_wire_received_bytes_total": ("bytes_received", 1),
    "edbench_wire_queue_seconds_total": ("queue_ms", 1e-3),
    "edbench_wire_rtt_seconds_total": ("rtt_ms", 1e-3),
    "edbench_wire_execute_seconds_total": ("execute_ms", 1e-3),
}
_OF_A_DEVICE: Mapping[str, Mapping[str, tuple[str, float]]] = {
    WIRE: {
        "edbench_wire_read_bytes_total": ("read_bytes", 1),
        "edbench_wire_written_bytes_total": ("write_bytes", 1),
    },
    BLOCK: {
        "edbench_block_reads_total": ("reads", 1),
        "edbench_block_writes_total": ("writes", 1),
        "edbench_block_read_bytes_total": ("read_bytes", 1),
        "edbench_block_written_bytes_total": ("write_bytes", 1),
        "edbench_block_read_seconds_total": ("read_ms", 1e-3),
        "edbench_block_write_seconds_total": ("write_ms", 1e-3),
        "edbench_block_busy_seconds_total": ("busy_ms", 1e-3),
        "edbench_block_queued_seconds_total": ("weighted_ms", 1e-3),
        "edbench_block_in_flight": ("in_flight", 1),
    },
    SPACE: {
        "edbench_space_bytes": ("bytes", 1),
        "edbench_space_free_bytes": ("bytes_free", 1),
        "edbench_space_inodes": ("inodes", 1),
        "edbench_space_free_inodes": ("inodes_free", 1),
    },
}
_DEVICE = re.compile(r"(?:[0-9]+:[0-9]+|\?|[^:/]+)$")


class ObservedMetrics(Collector):
    """The latest observations of a worker's reporter."""

    def __init__(self) -> None:
        self._seen: tuple[Observation, ...] = ()

    def take(self, observations: Iterable[Observation]) -> None:
        """Replace the observations by those of now."""
        self._seen = tuple(observations)

    def collect(self) -> Iterator[Metric]:
        """Yield the metric families."""
        rows: dict[str, dict[tuple[str, ...], float]] = {}
        for seen in self._seen:
            for metric, labels, value in _readings(seen):
                rows.setdefault(metric, {}).setdefault(labels, value)  # the same labels twice would spoil the scrape
        yield from (family(metric, values) for metric, values in rows.items())


def _readings(seen: Observation) -> Iterator[tuple[str, tuple[str, ...], float]]:
    if seen.kind == WORKER:
        yield from _values(_WORKER, (), seen.values)
    elif seen.kind in _OF_A_DEVICE:
        where = _place(seen.source)
        yield from _values(_OF_A_DEVICE[seen.kind], where, seen.values)
        if seen.kind == WIRE:
            for op, counts in seen.values.get("ops", {}).items():
                yield from _values(_WIRE_OP, (*where, op), counts)


def _values(
    metrics: Mapping[str, tuple[str, float]], labels: tuple[str, ...], values: Mapping[str, Any]
) -> Iterator[tuple[str, tuple[str, ...], float]]:
    """Yield those of the metrics that have a value; a kernel may not report all of them."""
    for metric, (key, unit) in metrics.items():
        value = values.get(key)
        if isinstance(value, int | float):
            yield metric, labels, value * unit


def _place(source: str) -> tuple[str, str]:
    """(host, device) of a source `HOST:WHAT:DEVICE` or `HOST:DEVICE`."""
    match = _DEVICE.search(source)
    return source.partition(":")[0], match.group() if match else "?"


class CallMetrics(Collector):
    """Calls of all slots of a worker. Every op is there from the start, so that the first call is seen as growth."""

    def __init__(self) -> None:
        self._lock = threading.Lock()  # scraped by the server's thread
        self._by_op = {op.label: CallSum() for op in Op}

    def add(self, deltas: Iterable[CounterDelta]) -> None:
        """Add the calls that the recorders have counted since the last time."""
        with self._lock:
            for delta in deltas:
                self._by_op[delta.op.label].merge(delta, delta.histogram)

    def collect(self) -> Iterator[Metric]:
        """Return the metric families."""
        with self._lock:
            sums = self._by_op.items()
            found = [
                family("edbench_calls_total", {(op,): each.histogram.total for op, each in sums}),
                family("edbench_call_bytes_total", {(op,): each.bytes for op, each in sums}),
                family("edbench_call_errors_total", {(op,): each.errors for op, each in sums}),
                durations("edbench_call_seconds", {op: coarsened(each.histogram, each.total_ns) for op, each in sums}),
            ]
        yield from found


# Metric → where its words are, by its labels
_COUNTED: Mapping[str, Mapping[tuple[str, ...], int]] = {
    "edbench_tasks_total": {(phase.value, outcome.value): at for (phase, outcome), at in tally.TASKS.items()},
    "edbench_items_total": {(key.value,): at for key, at in tally.KINDS.items()},
    "edbench_texts_total": {(key.value,): at for key, at in tally.TEXTS.items()},
    "edbench_produced_files_total": {(key.value,): at for key, at in tally.FILES.items()},
    "edbench_exceptions_total": {(key.value,): at for key, at in tally.CODES.items()},
    **{f"edbench_{volume}_bytes_total": {(): at} for volume, at in tally.VOLUMES.items()},
}


class TallyMetrics(Collector):
    """Tasks, items, exceptions, bytes, busy time and transactions of all slots of a worker."""

    def __init__(self, tallies: Sequence[CallCounters], databases: Sequence[str]) -> None:
        self._tallies = tallies
        self._databases = databases

    def collect(self) -> Iterator[Metric]:
        """Yield the metric families."""
        words = summed(self._tallies)
        for name, places in _COUNTED.items():
            yield family(name, {labels: words[at] for labels, at in places.items()})
        yield family(
            "edbench_slot_busy_seconds_total", {(phase.value,): words[at] / 1e9 for phase, at in tally.BUSY.items()}
        )
        yield family("edbench_slots", {(): len(self._tallies)})
        yield durations(
            "edbench_database_transaction_seconds",
            {name: words[transactions_at(n) : transactions_at(n) + WORDS] for n, name in enumerate(self._databases)},
        )
