"""Metrics made of observations: the worker by itself, and what this host's kernel says of the filer.

Wire, block and space numbers are the host's. One of its workers shows them or, where they do not share scratch, each
does, with the same `host` (the beginning of the boot id) and `device`: take `max by (host, device, …)` of them, never a
sum over workers. A `device` is the kernel's number of a file system (`0:52`) or the name of a disk (`sda`), never a path.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from monitoring.metrics.catalogue import SPECS
from monitoring.metrics.collecting import Collector, Metric
from monitoring.observations import BLOCK, SPACE, WIRE, WORKER, Observation

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
        """What was seen now; replaces what was seen before."""
        self._seen = tuple(observations)

    def collect(self) -> Iterator[Metric]:
        """The families."""
        rows: dict[str, dict[tuple[str, ...], float]] = {}
        for seen in self._seen:
            for metric, labels, value in _readings(seen):
                rows.setdefault(metric, {}).setdefault(labels, value)  # the same labels twice would spoil the scrape
        for metric, values in rows.items():
            family = SPECS[metric].simple()
            for labels, value in values.items():
                family.add_metric(labels, value)
            yield family


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
    """Those of the metrics that the values have; a kernel may not tell all of them."""
    for metric, (key, unit) in metrics.items():
        value = values.get(key)
        if isinstance(value, int | float):
            yield metric, labels, value * unit


def _place(source: str) -> tuple[str, str]:
    """(host, device) of a source `HOST:WHAT:DEVICE` or `HOST:DEVICE`."""
    match = _DEVICE.search(source)
    return source.partition(":")[0], match.group() if match else "?"
