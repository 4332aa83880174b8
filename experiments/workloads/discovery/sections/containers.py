"""What each member of the crew used; of results of earlier versions, what each container did."""

from __future__ import annotations

from typing import NamedTuple

from experiments.report import words
from experiments.report.parts import Column, Section, Tabled, missing, note, series, tabled
from experiments.report.views import held
from experiments.workloads.discovery.result import ContainerUse, Point, Result, Run
from experiments.workloads.discovery.views import KEYS, middle_run, point_name

ANCHOR, TITLE = "containers", "What the members of the crew used"
_RUN = "run-"  # before the services of a run


class _Service(NamedTuple):
    """The containers of one service in the run that stands for a point."""

    point: Point
    run: Run
    name: str
    uses: list[ContainerUse]

    def added(self, field: str) -> int | float | None:
        """None where it is not known of all."""
        values = [getattr(use, field) for use in self.uses]
        return None if None in values else sum(values)


def _field(name: str) -> Column[tuple[Point, Run, ContainerUse]]:
    return Column(name, None, lambda row: getattr(row[2], name))


_CSV: tuple[Column[tuple[Point, Run, ContainerUse]], ...] = (
    *KEYS,
    Column("service", None, lambda row: _service(row[2])),
    Column("container", None, lambda row: row[2].name),
    *map(_field, ("cpu_s", "memory_peak_bytes", "block_read_bytes", "block_write_bytes", "block_source",
                  "network_received_bytes", "network_sent_bytes")),
)  # fmt: skip


def containers(result: Result) -> Section:
    """By point and service, of the run that stands for the point; every container of every run is in the CSV."""
    if not ran_in_containers(result):
        return missing(ANCHOR, TITLE, "the workers ran as processes of the command's own host.")
    every = [(point, run, use) for point in result.points for run in point.repeats for use in run.containers]
    services = [service for point in result.points for service in _services(point)]
    shown = Tabled(
        table=tabled("containers", _columns(result), services).table, series=series("containers", _CSV, every)
    )
    return Section(anchor=ANCHOR, title=TITLE, parts=(shown, note(_sentence(result)), note(_told(result))))


def ran_in_containers(result: Result) -> bool:
    """Whether any run has containers."""
    return any(run.containers for point in result.points for run in point.repeats)


def _service(use: ContainerUse) -> str:
    return use.service.removeprefix(_RUN)


def _services(point: Point) -> list[_Service]:
    run = middle_run(point)
    services: dict[str, list[ContainerUse]] = {}
    for use in run.containers:
        services.setdefault(_service(use), []).append(use)
    return [_Service(point, run, name, uses) for name, uses in sorted(services.items())]


def _columns(result: Result) -> tuple[Column[_Service], ...]:
    processors = _processors(result)

    def share(row: _Service) -> float | None:
        whole = row.run.elapsed_s * processors
        return sum(use.cpu_s for use in row.uses) / whole if whole else None

    return (
        Column("", "point", lambda row: held(point_name(row.point, result.points)), text=True),
        Column("", "service", lambda row: row.name, text=True),
        Column("", "containers", lambda row: len(row.uses)),
        Column("", "CPU", lambda row: row.added("cpu_s"), words.seconds),
        Column("", "CPU of the host", share, words.percent, missing="not known"),
        Column("", "peak memory", lambda row: max(use.memory_peak_bytes for use in row.uses), words.size),
        Column("", "block read", lambda row: row.added("block_read_bytes"), words.size, missing="not known"),
        Column("", "block written", lambda row: row.added("block_write_bytes"), words.size, missing="not known"),
        Column("", "network received", lambda row: row.added("network_received_bytes"), words.size),
        Column("", "network sent", lambda row: row.added("network_sent_bytes"), words.size),
    )


def _processors(result: Result) -> int:
    hosts = result.conditions.get("hosts") or [{}]
    return int(hosts[0].get("processors") or 0)


def _sentence(result: Result) -> str:
    said = []
    for point in result.points if len(result.points) <= 3 else [result.points[0], result.points[-1]]:
        run = middle_run(point)
        workers = sum(use.cpu_s for use in run.containers if _service(use) == "worker")
        servers = sum(use.cpu_s for use in run.containers if _service(use).startswith("db"))
        name = point_name(point, result.points)
        beside = f", database servers {words.seconds(servers)}" if servers else ""
        said.append(f"{name}: workers took {words.seconds(workers)} of CPU time{beside}")
    return "; ".join(said) + ". Peak memory is the largest member's, of samples, without page cache."


def _told(result: Result) -> str:
    sources = {use.block_source for point in result.points for run in point.repeats for use in run.containers}
    who = {
        "engine": "the engine's counters",
        "control group": "the containers' control groups",
        "processes": "what the kernel accounts to the containers' processes (/proc/PID/io)",
    }
    tellers = [who.get(source, source) for source in sorted(source for source in sources if source)]
    text = (
        f"Block I/O is from {words.listed(tellers)}." if tellers else "The containers' block I/O is not available here."
    )
    if tellers and None in sources:
        text += " For some containers it is not available."
    if "processes" in sources:
        return f"{text} That holds what they read from and wrote to any file system, a network filer's too."
    return f"{text} I/O on a network filer is network, not block I/O."
