"""What each member of the crew used; of results of earlier versions, what each container did."""

from __future__ import annotations

from collections.abc import Iterable

from experiments.report import words
from experiments.report.markup import table
from experiments.report.parts import Cell, Section, Series, Tabled, missing, note
from experiments.report.views import held
from experiments.workloads.discovery.result import ContainerUse, Point, Result
from experiments.workloads.discovery.views import middle_run, point_name

ANCHOR, TITLE = "containers", "What the members of the crew used"
_RUN = "run-"  # before the services of a run
_SHOWN = ("point", "service", "containers", "CPU", "CPU of the host", "peak memory", "block read", "block written",
          "network received", "network sent")  # fmt: skip
_COLUMNS = ("workers", "slots", "databases", "repeat", "service", "container", "cpu_s", "memory_peak_bytes",
            "block_read_bytes", "block_write_bytes", "block_source", "network_received_bytes",
            "network_sent_bytes")  # fmt: skip


def containers(result: Result) -> Section:
    """By point and service, of the run that stands for the point; every container of every run is in the CSV."""
    if not ran_in_containers(result):
        return missing(ANCHOR, TITLE, "the workers ran as processes of the command's own host.")
    rows = [row for point in result.points for row in _rows(point, result)]
    numbers: list[tuple[Cell, ...]] = [
        (point.workers, point.slots, point.databases, run.repeat, _service(use), use.name, use.cpu_s,
         use.memory_peak_bytes, use.block_read_bytes, use.block_write_bytes, use.block_source,
         use.network_received_bytes, use.network_sent_bytes)
        for point in result.points for run in point.repeats for use in run.containers
    ]  # fmt: skip
    series = Series(name="containers", header=_COLUMNS, rows=tuple(numbers))
    shown = Tabled(table=table(_SHOWN, rows, text_columns=frozenset({0, 1})), series=series)
    return Section(anchor=ANCHOR, title=TITLE, parts=(shown, note(_sentence(result)), note(_told(result))))


def ran_in_containers(result: Result) -> bool:
    """Whether any run has containers."""
    return any(run.containers for point in result.points for run in point.repeats)


def _service(use: ContainerUse) -> str:
    return use.service.removeprefix(_RUN)


def _rows(point: Point, result: Result) -> Iterable[tuple[object, ...]]:
    run = middle_run(point)
    services: dict[str, list[ContainerUse]] = {}
    for use in run.containers:
        services.setdefault(_service(use), []).append(use)
    processors = _processors(result)
    for service, uses in sorted(services.items()):
        cpu = sum(use.cpu_s for use in uses)
        share = words.percent(cpu / (run.elapsed_s * processors)) if processors and run.elapsed_s else "not known"
        yield (
            held(point_name(point, result.points)),
            service,
            len(uses),
            words.seconds(cpu),
            share,
            words.size(max(use.memory_peak_bytes for use in uses)),
            _bytes([use.block_read_bytes for use in uses]),
            _bytes([use.block_write_bytes for use in uses]),
            words.size(sum(use.network_received_bytes for use in uses)),
            words.size(sum(use.network_sent_bytes for use in uses)),
        )


def _processors(result: Result) -> int:
    hosts = result.conditions.get("hosts") or [{}]
    return int(hosts[0].get("processors") or 0)


def _bytes(values: list[int | None]) -> str:
    known = [value for value in values if value is not None]
    return words.size(sum(known)) if len(known) == len(values) else "not known"


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
