"""Counts of a run other than its calls: exceptions, and resources used by members of the crew."""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

from core.plain import grouped
from experiments.report import words
from experiments.report.parts import (
    Column,
    Html,
    Parts,
    Tabled,
    note,
    paragraph,
    section,
    series,
    table,
    tabled,
)
from experiments.report.views import held
from experiments.workloads.discovery.result import ContainerUse, Point, Result, Run
from experiments.workloads.discovery.views import KEYS, middle_run, point_name, reported, totals_by_key


@section("exceptions", "Exceptions")
def exceptions(result: Result) -> Parts:
    """Show exceptions by code for each run; the same corpus must give the same ones to each job."""
    runs = [(point, run, totals_by_key(run, "exceptions")) for point in result.points for run in point.repeats]
    codes = sorted({code for _, _, totals in runs for code in totals})
    if not codes:
        sentence = f"No exception was recorded in {words.many(len(runs), 'run')}."
        return (paragraph(sentence),)
    columns = (*KEYS, *(Column(code, None, partial(lambda code, row: row[2].get(code, 0), code)) for code in codes))
    shown = Tabled(table=_table(codes, _alike(result)), series=series("exceptions", columns, runs))
    return (shown, paragraph(_exceptions_sentence(result)))


def _table(codes: list[str], columns: list[tuple[str, dict[str, int]]]) -> Html:
    """Return a table with codes down and runs across, or the other way if there are more runs than codes."""
    if len(columns) > len(codes):
        rows = [(name, *(words.count(totals.get(code, 0)) for code in codes)) for name, totals in columns]
        return table(("runs", *codes), rows)
    across = [(code, *(words.count(totals.get(code, 0)) for _, totals in columns)) for code in codes]
    return table(("exception", *(name for name, _ in columns)), across)


def _alike(result: Result) -> list[tuple[str, dict[str, int]]]:
    """Return a row for the runs of a point; one for all points with the same databases if every run found the same."""
    rows: list[tuple[str, dict[str, int]]] = []
    for databases in sorted({point.at.databases for point in result.points}):
        points = [point for point in result.points if point.at.databases == databases]
        runs = [(point, run, totals_by_key(run, "exceptions")) for point in points for run in point.repeats]
        totals = runs[0][2]
        if all(other == totals for _, _, other in runs):
            which = "the run" if len(runs) == 1 else f"each of {len(runs)} runs"
            rows.append((held(f"{which} with {words.many(databases, 'database')}"), totals))
        else:
            rows += [(f"{point_name(p, result.points)}, repeat {r.repeat + 1}", other) for p, r, other in runs]
    return rows


def _exceptions_sentence(result: Result) -> str:
    by_databases: dict[int, list[dict[str, int]]] = {}
    for point in result.points:
        by_databases.setdefault(point.at.databases, []).extend(
            totals_by_key(run, "exceptions") for run in point.repeats
        )
    clauses = []
    for databases, totals in sorted(by_databases.items()):
        where = f" with {words.many(databases, 'database')}" if len(by_databases) > 1 else ""
        number = sum(totals[0].values())
        if len(totals) == 1:
            clauses.append(f"the run{where} recorded {words.many(number, 'exception')}")
        elif all(one == totals[0] for one in totals):
            clauses.append(
                f"each of {words.many(len(totals), 'run')}{where} recorded the same {words.many(number, 'exception')}"
            )
        else:
            least, most = (pick(sum(one.values()) for one in totals) for pick in (min, max))
            clauses.append(f"the {len(totals)} runs{where} differ: {least:,} to {words.many(most, 'exception')}")
    text = words.listed(clauses)
    return text[0].upper() + text[1:] + "."


_RUN = "run-"  # prefix of the services of a run


class _Service(NamedTuple):
    """The containers of one service in the run that represents a point."""

    point: Point
    run: Run
    name: str
    uses: list[ContainerUse]

    def added(self, field: str) -> int | float | None:
        """Return the sum of a field; None if it is not known for all."""
        values = [getattr(use, field) for use in self.uses]
        return None if None in values else sum(values)


_CSV: tuple[Column[tuple[Point, Run, ContainerUse]], ...] = (
    *KEYS,
    Column("service", None, lambda row: _service(row[2])),
    Column("container", None, lambda row: row[2].name),
    *(Column(name, None, partial(lambda name, row: getattr(row[2], name), name))
      for name in ("cpu_s", "memory_peak_bytes", "block_read_bytes", "block_write_bytes", "block_source",
                   "network_received_bytes", "network_sent_bytes")),
)  # fmt: skip


@section("containers", "Resources used by the members of the crew")
def containers(result: Result) -> Parts:
    """Show by point and service the run that represents the point; every container of every run is in the CSV."""
    if not ran_in_containers(result):
        return "the workers ran as processes of the command's own host."
    every = [(point, run, use) for point in result.points for run in point.repeats for use in run.containers]
    services = [service for point in result.points for service in _services(point)]
    shown = Tabled(
        table=tabled("containers", _columns(result), services).table, series=series("containers", _CSV, every)
    )
    return (
        shown,
        note(
            f"{reported(result.points, result, _crew_text)}. Peak memory is the largest sample of a member, "
            "without page cache."
        ),
        note(_block_sources(result)),
    )


def ran_in_containers(result: Result) -> bool:
    """Return whether any run has containers."""
    return any(run.containers for point in result.points for run in point.repeats)


def _service(use: ContainerUse) -> str:
    return use.service.removeprefix(_RUN)


def _services(point: Point) -> list[_Service]:
    run = middle_run(point)
    return [_Service(point, run, name, uses) for name, uses in sorted(grouped(run.containers, _service).items())]


def _columns(result: Result) -> tuple[Column[_Service], ...]:
    hosts = result.conditions.get("hosts") or [{}]
    processors = int(hosts[0].get("processors") or 0)

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


def _crew_text(run: Run) -> str:
    workers = sum(use.cpu_s for use in run.containers if _service(use) == "worker")
    servers = sum(use.cpu_s for use in run.containers if _service(use).startswith("db"))
    of_servers = f", database servers {words.seconds(servers)}" if servers else ""
    return f"workers took {words.seconds(workers)} of CPU time{of_servers}"


def _block_sources(result: Result) -> str:
    sources = {use.block_source for point in result.points for run in point.repeats for use in run.containers}
    who = {
        "engine": "the engine's counters",
        "control group": "the containers' control groups",
        "processes": "the kernel's accounting of the containers' processes (/proc/PID/io)",
    }
    tellers = [who.get(source, source) for source in sorted(source for source in sources if source)]
    text = (
        f"Block I/O is from {words.listed(tellers)}." if tellers else "The containers' block I/O is not available here."
    )
    if tellers and None in sources:
        text += " For some containers it is not available."
    if "processes" in sources:
        return f"{text} It includes reads and writes on all file systems, including network filers."
    return f"{text} I/O on a network filer is network, not block I/O."
