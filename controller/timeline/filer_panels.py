"""Panels of what the filer and the hosts' kernels say: wire ops, block devices, space, array counters, emulated stations."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from controller.timeline.axis import Axis
from controller.timeline.counters import added, ratio
from controller.timeline.gauges import gauge
from controller.timeline.model import Panel, Series
from controller.timeline.names import device_names
from controller.timeline.readings import Readings, counter, number
from sql.faces.timeline import Values

_MB = 1_000_000
_SPACE_HOLDS = 5.0  # seconds that free space is taken to be what it was last
_TIMES = (("queue_ms", "waiting for a slot"), ("rtt_ms", "round trip"), ("execute_ms", "whole"))


def wire_panels(axis: Axis, mounts: Mapping[str, Readings], hosts: Mapping[str, str]) -> Iterator[Panel]:
    """For each mount `wire_<n>`, stacked by op, and `wire_<n>_ms`, the mean times of an op."""
    names = device_names(mounts, hosts)
    for place, (source, readings) in enumerate(mounts.items(), 1):
        latest = readings[-1][1]
        name = f"{names[source]} ({latest.get('type', '')} {latest.get('version', '')})".replace(" )", ")")
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
    wire = added([counter(readings, number("read_bytes"), by_second=True).rates(axis.edges) for readings in ours])
    series = Series("share", "wire-read ÷ call-read", ratio(wire, read))
    return Panel("wire_read_share", "Wire-read ÷ call-read", "", "line", [series])


def block_panels(axis: Axis, devices: Mapping[str, Readings], hosts: Mapping[str, str]) -> Iterator[Panel]:
    """For each device `block_<n>`, MB/s, and `block_<n>_queue`, the mean number of requests in flight."""
    names = device_names(devices, hosts)
    for place, (source, readings) in enumerate(devices.items(), 1):
        moved = [
            Series(key, label, counter(readings, number(key, _MB)).rates(axis.edges))
            for key, label in (("read_bytes", "read"), ("write_bytes", "written"))
        ]
        yield Panel(f"block_{place}", f"Disk {names[source]}", "MB/s", "line", moved)
        depth = counter(readings, number("weighted_ms", 1000))
        queue = Series("depth", "requests in flight", depth.rates(axis.edges))
        yield Panel(f"block_{place}_queue", f"Queue of disk {names[source]}", "requests", "line", [queue])


def space_panels(axis: Axis, filesystems: Mapping[str, Readings], hosts: Mapping[str, str]) -> Iterator[Panel]:
    """For each file system `space_<n>`, its bytes, and `space_<n>_inodes` where it has a table of them."""
    names = device_names(filesystems, hosts)
    for place, (source, readings) in enumerate(filesystems.items(), 1):
        for key, suffix, title, unit in (("bytes", "", "Space", "B"), ("inodes", "_inodes", "Inodes", "inodes")):
            if not any(values.get(key) for _, values in readings):
                continue
            series = [
                Series("used", "used or reserved", gauge(axis, _known(readings, _used(key)), holds=_SPACE_HOLDS)),
                Series("free", "free", gauge(axis, _known(readings, number(f"{key}_free")), holds=_SPACE_HOLDS)),
            ]
            yield Panel(f"space_{place}{suffix}", f"{title} of {names[source]}", unit, "stacked", series)


def _used(key: str) -> Callable[[Values], float | None]:
    """What ordinary users cannot have any more."""

    def value(values: Values) -> float | None:
        whole, free = values.get(key), values.get(f"{key}_free")
        return None if whole is None or free is None else float(whole - free)

    return value


def array_panels(axis: Axis, arrays: Mapping[str, Readings]) -> Iterator[Panel]:
    """For each import `array_<n>`: its columns as they were imported, means over a bucket."""
    for place, (source, readings) in enumerate(arrays.items(), 1):
        columns = sorted({column for _, values in readings for column in values})
        series = [Series(column, column, gauge(axis, _known(readings, number(column)))) for column in columns]
        yield Panel(f"array_{place}", f"Array counters, {source}", "", "line", series)


def _known(readings: Readings, value: Callable[[Values], float | None]) -> Iterator[tuple[int, float]]:
    for second, values in readings:
        if (known := value(values)) is not None:
            yield second, known


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
