"""Panels of the timeline: the jobs' work, their queue, workers, storage calls, mounts, disks and filers."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence

from controller.jobs.progress import NOW_SECONDS, gb_per_hour
from controller.timeline.model import Panel, Series, device_names, worker_names
from controller.timeline.readings import Axis, Counter, Readings, added, counter, gauge, number, ratio
from core.operations import Op
from sql.timeline import StepPercentiles, Tasks, Values


class Work:
    """The progress of one job, from zero at its first claim."""

    def __init__(self, axis: Axis, readings: Readings, start: float | None, *, over: bool) -> None:
        """Create the progress. `start`: the job's own first claim, None before it. `over`: it will not continue, and
        the observations after its end are its final values."""
        self._before = None if start is None else math.floor(start) - 1
        last_second = axis.end - 1 if over else max((second for second, _ in readings), default=0)
        began = {
            min(second, last_second): values
            for second, values in readings
            if start is not None and second >= int(start)
        }
        self._readings = list(began.items())

    def counter(self, *names: str) -> Counter:
        """Return the sum of some counters."""

        def total(values: Values) -> float | None:
            numbers = [values[name] for name in names if name in values]
            return float(sum(numbers)) if numbers else None

        known = counter(self._readings, total)
        return known if self._before is None or not self._readings else known.after_nothing(self._before)


def work_panels(axis: Axis, jobs: Sequence[Work], *, produced: bool = False) -> tuple[Panel, Panel, Panel]:
    """Return `gb_per_hour`, `items` and `exceptions`, all jobs together; `produced`: the jobs write files from others'
    items."""
    items = [Series("items", "items", _rates(axis, jobs, "items"))]
    if not produced:
        items.append(Series("items_indexed", "texts taken", _rates(axis, jobs, "items_indexed")))
    exceptions = [Series("exceptions", "exceptions", _rates(axis, jobs, "exceptions"))]
    return (
        Panel("gb_per_hour", "GB/hour", "GB/hour", "line", _written(axis, jobs) if produced else _volumes(axis, jobs)),
        Panel("items", "Items/second", "items/s", "line", items),
        Panel("exceptions", "Exceptions/second", "exceptions/s", "line", exceptions),
    )


def _rates(axis: Axis, jobs: Sequence[Work], name: str) -> list[float | None]:
    return added([job.counter(name).rates(axis.edges) for job in jobs])


def _volumes(axis: Axis, jobs: Sequence[Work]) -> list[Series]:
    """Return the series of a discovery. `now` is over the last ten seconds or the bucket, whichever is longer: tasks
    end in bursts. In the index phase it counts what is read again, like the progress of the command line."""
    return [
        Series("raw_now", "raw, now", _now(axis, jobs, "raw_bytes")),
        Series("discovered_now", "discovered, now", _now(axis, jobs, "discovered_bytes", "indexed_bytes")),
        Series("raw_since_start", "raw, since start", _since_start(axis, jobs, "raw_bytes")),
        Series("discovered_since_start", "discovered, since start", _since_start(axis, jobs, "discovered_bytes")),
    ]


def _written(axis: Axis, jobs: Sequence[Work]) -> list[Series]:
    """Return the series of jobs that discover nothing: raw would always be 0."""
    return [
        Series("discovered_now", "written, now", _now(axis, jobs, "discovered_bytes")),
        Series("discovered_since_start", "written, since start", _since_start(axis, jobs, "discovered_bytes")),
    ]


def _now(axis: Axis, jobs: Sequence[Work], *names: str) -> list[float | None]:
    def one(counted: Counter) -> list[float | None]:
        out: list[float | None] = []
        for low, high in itertools.pairwise(axis.edges):
            grown, seconds = counted.grown(min(low, high - NOW_SECONDS), high)
            out.append(gb_per_hour(int(grown), seconds) if seconds and counted.value(high) is not None else None)
        return out

    return added([one(job.counter(*names)) for job in jobs])


def _since_start(axis: Axis, jobs: Sequence[Work], name: str) -> list[float | None]:
    """Return bytes of all jobs over the longest job's time, less pauses. A job that is over keeps its final value."""
    pairs = [(job.counter(name), job.counter("elapsed_s")) for job in jobs]
    out: list[float | None] = []
    for high in axis.edges[1:]:
        reached = [(volume.until(high), elapsed.until(high)) for volume, elapsed in pairs]
        known = [(volume, elapsed) for volume, elapsed in reached if volume is not None and elapsed is not None]
        seconds = max((elapsed for _, elapsed in known), default=0.0)
        out.append(gb_per_hour(int(sum(volume for volume, _ in known)), seconds) if seconds else None)
    return out


_STATES = ("pending", "dispatched", "running")
QUEUE_HOLDS = 60  # seconds: a million tasks are counted less often than once a second


def database_panels(axis: Axis, databases: Mapping[str, Readings]) -> Iterator[Panel]:
    """Yield `database_rows` and `database_commits`, by database."""
    for key, title in (("rows", "Database rows written/second"), ("commits", "Database commits/second")):
        series = [
            Series(name, name, counter(readings, number(key)).rates(axis.edges)) for name, readings in databases.items()
        ]
        yield Panel(f"database_{key}", title, f"{key}/s", "line", series)


def queue_panel(axis: Axis, jobs: Sequence[Sequence[Tasks]], stops: Sequence[Sequence[tuple[float, float]]]) -> Panel:
    """Return `queue`: tasks that are not done, all jobs together; `stops`: when each job was stopped."""
    holds = QUEUE_HOLDS + axis.step
    series = []
    for state in _STATES:
        by_job = [
            gauge(axis, ((row.second, float(getattr(row, state))) for row in rows), holds=holds, stops=paused)
            for rows, paused in zip(jobs, stops, strict=True)
        ]
        series.append(Series(state, state, added(by_job)))
    return Panel("queue", "Tasks not done", "tasks", "line", series)


def worker_panels(axis: Axis, workers: Mapping[str, Readings]) -> Iterator[Panel]:
    """Yield `slots`, `worker_cpu` and `run_queue`, by worker."""

    def share(values: Values) -> float | None:
        return (
            values["cpu_s"] / max(1, values.get("machine_processors", values.get("processors", 1)))
            if "cpu_s" in values
            else None
        )

    yield _by_worker(axis, workers, "slots", "Busy slots", "slots", "stacked", number("busy_s"))
    yield _by_worker(axis, workers, "worker_cpu", "CPU used by workers, share of their host", "share", "stacked", share)
    title = "Workers waiting for a core"
    yield _by_worker(axis, workers, "run_queue", title, "s/s", "line", number("run_queue_s"))


def _by_worker(
    axis: Axis,
    workers: Mapping[str, Readings],
    id: str,
    title: str,
    unit: str,
    kind: str,
    value: Callable[[Values], float | None],
) -> Panel:
    names = worker_names(workers)
    series = [
        Series(name, names[name], counter(readings, value).rates(axis.edges)) for name, readings in workers.items()
    ]
    return Panel(id, title, unit, kind, series)


_MB = 1_000_000
_SPACE_HOLDS = 5.0  # seconds for which the last reading of free space is valid
_TIMES = (("queue_ms", "waiting for a slot"), ("rtt_ms", "round trip"), ("execute_ms", "whole"))


def wire_panels(axis: Axis, mounts: Mapping[str, Readings], hosts: Mapping[str, str]) -> Iterator[Panel]:
    """Yield for each mount `wire_<n>`, stacked by op, and `wire_<n>_ms`, the mean times of an op."""
    names = device_names(mounts, hosts)
    for place, (source, readings) in enumerate(mounts.items(), 1):
        latest = readings[-1][1]
        name = f"{names[source]} ({latest.get('type', '')} {latest.get('version', '')})".replace(" )", ")")
        ops = sorted({op for _, values in readings for op in values.get("ops", {})})
        rates = {op: counter(readings, _op_count(op)).rates(axis.edges) for op in ops}
        series = [Series(op, op, values) for op, values in rates.items() if any(values)]
        yield Panel(f"wire_{place}", f"Wire ops/second, {name}", "ops/s", "stacked", series)
        sent = counter(readings, _op_sum("ops")).rates(axis.edges)
        times = [
            Series(key, label, ratio(counter(readings, _op_sum(key)).rates(axis.edges), sent)) for key, label in _TIMES
        ]
        yield Panel(f"wire_{place}_ms", f"Mean time of a wire op, {name}", "ms", "line", times)


def _op_count(op: str) -> Callable[[Values], float]:
    return lambda values: float(values.get("ops", {}).get(op, {}).get("ops", 0))


def _op_sum(key: str) -> Callable[[Values], float]:
    return lambda values: float(sum(counts.get(key, 0) for counts in values.get("ops", {}).values()))


def read_share_panel(axis: Axis, mounts: Mapping[str, Readings], read: Sequence[float | None]) -> Panel | None:
    """Return `wire_read_share`: bytes read over the wire ÷ bytes that calls `read`; if it is far below one, a cache
    answered.

    Only of mounts that have the storage root; None without one."""
    ours = [readings for readings in mounts.values() if readings[-1][1].get("storage", True)]
    if not ours:
        return None
    wire = added([counter(readings, number("read_bytes"), by_second=True).rates(axis.edges) for readings in ours])
    series = Series("share", "wire-read ÷ call-read", ratio(wire, read))
    return Panel("wire_read_share", "Wire-read ÷ call-read", "", "line", [series])


def block_panels(axis: Axis, devices: Mapping[str, Readings], hosts: Mapping[str, str]) -> Iterator[Panel]:
    """Yield for each device `block_<n>`, MB/s, and `block_<n>_queue`, the mean number of requests in flight."""
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
    """Yield for each file system `space_<n>`, its bytes, and `space_<n>_inodes` if it has a table of them."""
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
    """Return a function that gives the space or inodes that ordinary users cannot get."""

    def value(values: Values) -> float | None:
        whole, free = values.get(key), values.get(f"{key}_free")
        return None if whole is None or free is None else float(whole - free)

    return value


def array_panels(axis: Axis, arrays: Mapping[str, Readings]) -> Iterator[Panel]:
    """Yield for each import `array_<n>`: its columns as they were imported, means over a bucket."""
    for place, (source, readings) in enumerate(arrays.items(), 1):
        columns = sorted({column for _, values in readings for column in values})
        series = [Series(column, column, gauge(axis, _known(readings, number(column)))) for column in columns]
        yield Panel(f"array_{place}", f"Array counters, {source}", "", "line", series)


def _known(readings: Readings, value: Callable[[Values], float | None]) -> Iterator[tuple[int, float]]:
    for second, values in readings:
        if (known := value(values)) is not None:
            yield second, known


def emulated_panels(axis: Axis, filers: Mapping[str, Readings]) -> Iterator[Panel]:
    """Yield for each emulated filer `emulated_<n>`, how busy its stations are, and `emulated_<n>_wait`, the mean wait
    for one.

    Service is booked when a call arrives, so a station may show more than 1 for a moment."""
    for place, (source, readings) in enumerate(filers.items(), 1):
        stations = sorted({name for _, values in readings for name in values.get("station", {})})
        busy, wait = [], []
        for name in stations:
            servers = _station(readings[-1][1], name, "servers") or 1
            calls = counter(readings, _station_sum(name, "calls", 1000)).rates(axis.edges)
            waited = counter(readings, _station_sum(name, "waited_s")).rates(axis.edges)
            busy.append(Series(name, name, counter(readings, _station_sum(name, "busy_s", servers)).rates(axis.edges)))
            wait.append(Series(name, name, ratio(waited, calls)))
        yield Panel(f"emulated_{place}", f"Stations of the emulated filer {source}", "share busy", "line", busy)
        yield Panel(f"emulated_{place}_wait", f"Mean wait in the queues of {source}", "ms", "line", wait)


def _station_sum(name: str, key: str, divided_by: float = 1) -> Callable[[Values], float]:
    return lambda values: _station(values, name, key) / divided_by


def _station(values: Values, name: str, key: str) -> float:
    return float(values.get("station", {}).get(name, {}).get(key, 0))


_PERCENTILES = (("p50", "p50_ns"), ("p95", "p95_ns"), ("p99", "p99_ns"))


def call_panels(axis: Axis, rows: Sequence[StepPercentiles], ops: Sequence[int]) -> Iterator[Panel]:
    """Yield `calls`, then `latency_<op>` for each of `ops`: those that the jobs have called so far."""
    size = len(axis.t)
    sums = {op: [0.0] * size for op in ops}
    latencies: dict[tuple[int, str], list[float | None]] = {
        (op, name): [None] * size for op in ops for name, _ in _PERCENTILES
    }
    for row in rows:
        bucket = axis.bucket(row.second)
        if not 0 <= bucket < size or row.op not in sums:
            continue
        sums[row.op][bucket] += row.calls
        if row.calls:
            for name, column in _PERCENTILES:
                latencies[row.op, name][bucket] = getattr(row, column) / 1000
    yield Panel(
        "calls",
        "Storage calls/second",
        "calls/s",
        "stacked",
        [Series(Op(op).label, Op(op).label, axis.rates(sums[op])) for op in ops],
    )
    for op in ops:
        label = Op(op).label
        series = [Series(name, name, latencies[op, name]) for name, _ in _PERCENTILES]
        yield Panel(f"latency_{label}", f"Latency of {label} (closed loop)", "µs", "line", series)


def read_bytes(axis: Axis, rows: Sequence[StepPercentiles]) -> list[float | None]:
    """Return bytes a second that calls read."""
    sums = [0.0] * len(axis.t)
    for row in rows:
        bucket = axis.bucket(row.second)
        if row.op == Op.READ and 0 <= bucket < len(sums):
            sums[bucket] += row.bytes
    return list(axis.rates(sums))
