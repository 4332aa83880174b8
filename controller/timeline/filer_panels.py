"""Panels of what the filer and the hosts' kernels say: wire ops, block devices, array counters, emulated stations."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from controller.timeline.axis import Axis
from controller.timeline.counters import added, ratio
from controller.timeline.model import Panel, Series
from controller.timeline.readings import Readings, Values, counter, number

_MB = 1_000_000
_TIMES = (("queue_ms", "waiting for a slot"), ("rtt_ms", "round trip"), ("execute_ms", "whole"))


def wire_panels(axis: Axis, mounts: Mapping[str, Readings]) -> Iterator[Panel]:
    """For each mount `wire_<n>`, stacked by op, and `wire_<n>_ms`, the mean times of an op."""
    for place, (source, readings) in enumerate(mounts.items(), 1):
        last = readings[-1][1]
        name = f"{source} ({last.get('type', '')} {last.get('version', '')})".replace(" )", ")")
        ops = sorted({op for _, values in readings for op in values.get("ops", {})})
        rates = {op: counter(readings, _of_op(op)).rates(axis.edges) for op in ops}
        series = [Series(op, op, values) for op, values in rates.items() if any(values)]
        yield Panel(f"wire_{place}", f"Wire ops/second, {name}", "ops/s", "stacked", series)
        sent = counter(readings, _of_all("ops")).rates(axis.edges)
        times = [
            Series(key, label, ratio(counter(readings, _of_all(key)).rates(axis.edges), sent)) for key, label in _TIMES
        ]
        yield Panel(f"wire_{place}_ms", f"Mean time of a wire op, {name}", "ms", "line", times)


def _of_op(op: str) -> Callable[[Values], float]:
    return lambda values: float(values.get("ops", {}).get(op, {}).get("ops", 0))


def _of_all(key: str) -> Callable[[Values], float]:
    return lambda values: float(sum(counts.get(key, 0) for counts in values.get("ops", {}).values()))


def read_share_panel(axis: Axis, mounts: Mapping[str, Readings], read: Sequence[float | None]) -> Panel | None:
    """`wire_read_share`: bytes read over the wire ÷ bytes that calls `read`; far below one, a cache answered.

    Only of mounts that hold the storage root; None without one.
    """
    ours = [readings for readings in mounts.values() if readings[-1][1].get("storage", True)]
    if not ours:
        return None
    wire = added([counter(readings, number("read_bytes")).rates(axis.edges) for readings in ours])
    series = Series("share", "wire-read ÷ call-read", ratio(wire, read))
    return Panel("wire_read_share", "Wire-read ÷ call-read", "", "line", [series])


def block_panels(axis: Axis, devices: Mapping[str, Readings]) -> Iterator[Panel]:
    """For each device `block_<n>`, MB/s, and `block_<n>_queue`, the mean number of requests under way."""
    for place, (source, readings) in enumerate(devices.items(), 1):
        moved = [
            Series(key, label, counter(readings, number(key, _MB)).rates(axis.edges))
            for key, label in (("read_bytes", "read"), ("write_bytes", "written"))
        ]
        yield Panel(f"block_{place}", f"Block device {source}", "MB/s", "line", moved)
        depth = counter(readings, number("weighted_ms", 1000))
        queue = Series("depth", "requests under way", depth.rates(axis.edges))
        yield Panel(f"block_{place}_queue", f"Queue of block device {source}", "requests", "line", [queue])


def array_panels(axis: Axis, arrays: Mapping[str, Readings]) -> Iterator[Panel]:
    """For each import `array_<n>`: its columns as they were imported, means over a bucket."""
    for place, (source, readings) in enumerate(arrays.items(), 1):
        columns = sorted({column for _, values in readings for column in values})
        series = [Series(column, column, _means(axis, readings, column)) for column in columns]
        yield Panel(f"array_{place}", f"Array counters, {source}", "", "line", series)


def _means(axis: Axis, readings: Readings, column: str) -> list[float | None]:
    found: list[list[float]] = [[] for _ in axis.t]
    for second, values in readings:
        value = values.get(column)
        if not isinstance(value, int | float) or not axis.edges[0] <= second < axis.end:
            continue
        if (bucket := axis.bucket(second)) >= 0:
            found[bucket].append(float(value))
    return [sum(values) / len(values) if values else None for values in found]


def emulated_panels(axis: Axis, filers: Mapping[str, Readings]) -> Iterator[Panel]:
    """For each emulated filer `emulated_<n>`, how busy its stations are, and `emulated_<n>_wait`, the mean wait for one.

    Service is booked when a call arrives, so a station may show more than 1 for a moment.
    """
    for place, (source, readings) in enumerate(filers.items(), 1):
        stations = sorted({name for _, values in readings for name in values.get("station", {})})
        busy, wait = [], []
        for name in stations:
            servers = _station(readings[-1][1], name, "servers") or 1
            calls = counter(readings, _of_station(name, "calls", 1000)).rates(axis.edges)
            waited = counter(readings, _of_station(name, "waited_s")).rates(axis.edges)
            busy.append(Series(name, name, counter(readings, _of_station(name, "busy_s", servers)).rates(axis.edges)))
            wait.append(Series(name, name, ratio(waited, calls)))
        yield Panel(f"emulated_{place}", f"Stations of the emulated filer {source}", "share busy", "line", busy)
        yield Panel(f"emulated_{place}_wait", f"Mean wait in the queues of {source}", "ms", "line", wait)


def _of_station(name: str, key: str, divided_by: float = 1) -> Callable[[Values], float]:
    return lambda values: _station(values, name, key) / divided_by


def _station(values: Values, name: str, key: str) -> float:
    return float(values.get("station", {}).get(name, {}).get(key, 0))
