"""Simulates a site: plan, tasks, engine, and the series by minute for report and facts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from core.document import Document
from core.records import Phase
from simulate.demands import Demands
from simulate.engine import Engine, Trace
from simulate.facts import Row
from simulate.plan import Plan
from simulate.site import Disks, Site
from simulate.tasks import MOST_TASKS, JobLoad, jobs_of

MINUTE = 60.0
_FULL = 0.85  # utilisation from which a resource is a limit
MOST_CHUNKS = 60_000  # of a job over the data set: seconds on one core
_GB = 1e9


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A point of a simulation. With several databases each has a job over the whole data set, as in report R1."""

    workers: int
    databases: int
    shard: bool = False  # one data set over all databases


def chunk_for(items: int, most: int = MOST_CHUNKS) -> float:
    """Number of items that are served together, so that a data set has at most `most` chunks in its two long phases."""
    return max(1.0, 2.0 * items / most)


def run_case(
    site: Site, case: Case, plan: Plan, demands: Demands, *, chunk: float | None = None, most_tasks: int = MOST_TASKS
) -> tuple[Row, Trace]:  # fmt: skip
    """One run in virtual time. `most_tasks`: of a phase; with more, several are simulated as one."""
    jobs = _jobs(plan, demands, site, case, most_tasks)
    chunk = chunk or chunk_for(plan.items)
    engine = Engine(site, jobs, workers=case.workers, databases=case.databases, chunk=chunk, most_tasks=most_tasks)
    trace = engine.run()
    raw = plan.raw_bytes * (1 if case.shard else case.databases)
    return row_of(site, trace, raw / _GB, sum(job.discovered_bytes for job in jobs) / _GB), trace


def _jobs(plan: Plan, demands: Demands, site: Site, case: Case, most_tasks: int) -> list[JobLoad]:
    """The jobs of all databases: one or one for each custodian. A single data set is distributed over them by
    custodians, or by copies if it has several."""
    if not case.shard:
        first = jobs_of(plan, demands, site)
        return [replace(job, database=n) for n in range(case.databases) for job in first]
    if plan.copies < case.databases:
        return [replace(job, database=n % case.databases) for n, job in enumerate(jobs_of(plan, demands, site))]
    parts = [plan.copies * (n + 1) // case.databases - plan.copies * n // case.databases for n in range(case.databases)]
    made = {
        part: jobs_of(replace(plan, copies=part), demands, site, most_tasks=most_tasks // case.databases)
        for part in set(parts)
    }
    return [replace(job, database=n) for n, part in enumerate(parts) for job in made[part]]


class Limit(Document):
    """The busiest resource in a stage of a run."""

    stage: str
    begin_s: float
    end_s: float
    busiest: str
    utilisation: float


def limits(site: Site, trace: Trace) -> list[Limit]:
    """The limits of discovery and of the stage after it; if no resource is busy, the slots or the index streams are too
    few."""
    ends = [end for spans in trace.jobs for phase, _, end in spans if phase is Phase.EXPAND]
    stages = (("discovery", 0.0, max(ends)), ("indexing", max(ends), trace.elapsed_s))
    return [_limit(site, trace, *stage) for stage in stages]


def _limit(site: Site, trace: Trace, stage: str, begin: float, end: float) -> Limit:
    busy = {
        "FSA": _used(trace.fsa_busy, begin, end) / site.fsa.servers,
        "FSB": _used(trace.fsb_busy, begin, end) / site.fsb.servers,
        "network": _used(trace.network_busy, begin, end),
        "cores of the hosts": sum(_used(one, begin, end) for one in trace.host_busy) / sum(h.cores for h in site.hosts),
    }
    for n, one in enumerate(trace.database_busy):
        server = site.databases[n % len(site.databases)]
        busy[f"database server {n + 1}"] = _used(one, begin, end) / server.cores
    if site.dispatched_per_s:
        busy |= {f"dispatcher {n + 1}": _used(one, begin, end) for n, one in enumerate(trace.dispatcher_busy)}
    name = max(busy, key=lambda key: busy[key])
    least = "index streams" if stage == "indexing" and site.index_streams else "slots"
    found = name if busy[name] >= _FULL else f"{least} (then {name})"
    return Limit(
        stage=stage, begin_s=round(begin, 1), end_s=round(end, 1), busiest=found, utilisation=round(busy[name], 3)
    )


def _used(bins: Sequence[float], begin: float, end: float) -> float:
    """Mean number of busy servers between two moments, by whole minutes."""
    low, high = int(begin / MINUTE), max(int(begin / MINUTE) + 1, int(end / MINUTE))
    return sum(bins[low:high]) / ((high - low) * MINUTE)


def doubled(site: Site) -> dict[str, Site]:
    """Variants of the site with one resource doubled, by the name of the resource."""
    return {
        "cores of the hosts": replace(site, hosts=tuple(replace(h, cores=2 * h.cores) for h in site.hosts)),
        "cores of a worker": replace(site, worker_cores=2 * site.worker_cores),
        "slots of a worker": replace(site, slots=2 * site.slots),
        "cores of the database servers": replace(site, databases=tuple(replace(d, cores=2 * d.cores) for d in site.databases)),
        "speed of FSA": replace(site, fsa=replace(site.fsa, servers=2 * site.fsa.servers)),
        "speed of FSB": replace(site, fsb=replace(site.fsb, servers=2 * site.fsb.servers)),
        "network": replace(site, bytes_per_s=2 * site.bytes_per_s),
        **({"index streams": replace(site, index_streams=2 * site.index_streams)} if site.index_streams else {}),
    }  # fmt: skip


def row_of(site: Site, trace: Trace, gb_before: float, gb_after: float) -> Row:
    """The series of a run."""
    minutes = int(trace.elapsed_s / MINUTE) + 1

    def padded(values: Sequence[float]) -> list[float]:
        return [*values[:minutes], *([0.0] * (minutes - len(values)))]

    ops = [a + b for a, b in zip(padded(trace.fsa_ops), padded(trace.fsb_ops), strict=True)]
    reads, writes = padded(trace.disk_reads), padded(trace.disk_writes)
    disks = [disk_state(site.disks, (r + w) / MINUTE) for r, w in zip(reads, writes, strict=True)]
    series = {
        "filer_ops": [value / MINUTE for value in ops],
        "fsa": [value / MINUTE / site.fsa.servers for value in padded(trace.fsa_busy)],
        "fsb": [value / MINUTE / site.fsb.servers for value in padded(trace.fsb_busy)],
        "database_io": [value / MINUTE for value in padded(trace.database_io)],
        "read_ms": [latency for latency, _ in disks],
        "write_ms": [latency for latency, _ in disks],
        "queued": [queued for _, queued in disks],
    }
    ends = [end for spans in trace.jobs for phase, _, end in spans if phase is Phase.EXPAND]
    return Row(
        elapsed_s=round(trace.elapsed_s, 1),
        discovery_end_s=round(max(ends), 1),
        gb_before=round(gb_before, 2),
        gb_after=round(gb_after, 2),
        series={name: [round(value, 4) for value in values] for name, values in series.items()},
    )


def disk_state(disks: Disks, commands_per_s: float) -> tuple[float, float]:
    """Mean milliseconds of a command and commands queued at each disk: an M/M/1 queue a disk, commands spread evenly."""
    service_ms = disks.seek_ms + 30_000.0 / disks.rpm + disks.stripe_bytes / disks.mb_per_s / 1e3
    used = min(0.999, commands_per_s / disks.count * service_ms / 1e3)
    return service_ms / (1.0 - used), used * used / (1.0 - used)
