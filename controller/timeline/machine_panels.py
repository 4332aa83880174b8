"""Panels of databases, queue, slots and workers."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from controller.timeline.axis import Axis
from controller.timeline.counters import added
from controller.timeline.gauges import gauge
from controller.timeline.model import Panel, Series
from controller.timeline.names import worker_names
from controller.timeline.readings import Readings, counter, number
from sql.faces.timeline import Tasks, Values

_STATES = ("pending", "dispatched", "running")
QUEUE_HOLDS = 60  # seconds: with a million tasks to count they are counted less often than once a second


def database_panels(axis: Axis, databases: Mapping[str, Readings]) -> Iterator[Panel]:
    """`database_rows` and `database_commits`, by database."""
    for key, title in (("rows", "Database rows written/second"), ("commits", "Database commits/second")):
        series = [
            Series(name, name, counter(readings, number(key)).rates(axis.edges)) for name, readings in databases.items()
        ]
        yield Panel(f"database_{key}", title, f"{key}/s", "line", series)


def queue_panel(axis: Axis, jobs: Sequence[Sequence[Tasks]], stops: Sequence[Sequence[tuple[float, float]]]) -> Panel:
    """`queue`: tasks that are not done, all jobs together; `stops`: when each of them stood still."""
    holds = QUEUE_HOLDS + axis.step
    series = []
    for state in _STATES:
        by_job = [
            gauge(axis, ((row.second, float(getattr(row, state))) for row in rows), holds=holds, stops=stood)
            for rows, stood in zip(jobs, stops, strict=True)
        ]
        series.append(Series(state, state, added(by_job)))
    return Panel("queue", "Tasks not done", "tasks", "line", series)


def worker_panels(axis: Axis, workers: Mapping[str, Readings]) -> Iterator[Panel]:
    """`slots`, `worker_cpu` and `run_queue`, by worker."""

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
