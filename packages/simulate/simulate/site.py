"""The site of a simulation: hosts, workers on them, database servers, network, filer. One TOML file; docs/simulate.md explains it."""

from __future__ import annotations

import dataclasses
import heapq
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib import resources
from pathlib import Path

from core.errors import UsageError, reading_errors
from core.filer.model import FilerModel, Protocol, load_protocol
from core.records import JobOptions, TaskOrder
from core.toml_table import TomlTable
from simulate.demands import PHASES

MOST_WORKERS = 100_000
_MOST_HOSTS = 100_000
MB = 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Host:
    """A machine that workers run on."""

    cores: float
    ghz: float
    memory_gb: float  # bounds the workers on it; 0: not known


@dataclass(frozen=True, slots=True, kw_only=True)
class DatabaseServer:
    """A database server."""

    cores: int
    ghz: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Unit:
    """One of the filer's two units: equal servers with one queue."""

    servers: int
    service_us: float  # of one filer op
    change_us: float  # of one that changes the name space: it is written to the journal too


@dataclass(frozen=True, slots=True, kw_only=True)
class Disks:
    """The filer's disks. Latencies, queues and utilisation are outputs."""

    count: int
    rpm: float
    seek_ms: float  # mean of the part of the disks that the data covers
    mb_per_s: float
    stripe_bytes: float
    writes_per_change: float  # disk commands of a small random write: 4 with RAID 5 (read and write data and parity)
    stripe_overhead: float  # disk writes for one of data in whole stripes: 1.25 with RAID 5 of 4 + 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Site:
    """All resources that serve demands. Speeds are in GHz of a core, as hosts are described."""

    name: str
    description: str
    profile: str
    report: str  # "r1": its rows are those of report R1, whose facts are evaluated; "": none
    workers: int
    slots: int  # of each worker
    worker_cores: int
    worker_memory_gb: float
    hosts: tuple[Host, ...]
    databases: tuple[DatabaseServer, ...]
    job_per_custodian: bool
    index_streams: int | None  # tasks of phase index that one job has at a time; None: no limit
    dispatched_per_s: float  # tasks that each database's dispatcher sends a second; 0: no limit
    commit_per_item: bool  # the product writes each item when it is found, and not at the end of a task
    ghz_seconds: Mapping[str, float]  # of a core, for each CPU second of the calibration, by phase
    database_ghz_seconds: Mapping[str, float]  # of a database server's core, likewise
    database_io_per_row: float
    database_on_filer: bool
    protocol: Protocol
    ops_per_call: Mapping[str, float]  # times the filer ops of the protocol, by phase
    fsa: Unit
    fsb: Unit
    bytes_per_s: float  # of the network between workers and filer; 0: no limit
    round_trip_us: float
    disks: Disks
    options: JobOptions = field(default_factory=JobOptions)  # how tasks are cut and distributed
    emulated: FilerModel | None = None  # its costs are those of this emulated filer, whose protocol counts
    crowding: float = 0.0  # CPU seconds grow by so much for each running slot of a core beyond the first


def emulated_site(model: FilerModel, *, cores: int, slots: int, others: tuple[float, float] = (0.0, 0.0), crowding: float = 0.0) -> Site:  # fmt: skip
    """The site of a job on this filer with its workers on one host, as edbench runs it with `--filer`: for comparison
    with real runs.

    `others`: CPU seconds of databases, queue manager, broker and command on the same cores, for each of the workers'
    and for each second."""
    at = load_site("cluster")
    units = {
        name: dataclasses.replace(getattr(at, name), servers=station.servers)
        for name, station in (("fsa", model.metadata), ("fsb", model.data))
    }
    share, rate = others
    host = Host(cores=max(cores - rate, 0.1 * cores) / (1.0 + share), ghz=1.0, memory_gb=0.0)
    return dataclasses.replace(
        at, name=model.name, description=model.description, emulated=model, hosts=(host,), worker_cores=cores, slots=slots,
        databases=(DatabaseServer(cores=cores, ghz=1.0),), job_per_custodian=False, dispatched_per_s=0.0, crowding=crowding,
        bytes_per_s=model.link_bytes_per_s / model.scale, round_trip_us=0.0, **units,
    )  # fmt: skip


def site_names() -> list[str]:
    """The shipped sites."""
    files = resources.files("simulate").joinpath("sites").iterdir()
    return sorted(file.name.removesuffix(".toml") for file in files if file.name.endswith(".toml"))


def load_site(name_or_path: str) -> Site:
    """Load a shipped site by name, or a file. Raises UsageError in one line."""
    names = site_names()
    if name_or_path in names:
        text = resources.files("simulate").joinpath("sites", f"{name_or_path}.toml").read_text(encoding="utf-8")
        return read_site(text, f"site {name_or_path}")
    path = Path(name_or_path)
    if not path.suffix and not path.exists():
        raise UsageError(f"there is no site {name_or_path!r}; use one of {', '.join(names)}, or a TOML file")
    with reading_errors(f"site {path}"):
        text = path.read_text(encoding="utf-8")
    return read_site(text, str(path))


def read_site(text: str, source: str) -> Site:
    """Parse the TOML of a site. Raises UsageError."""
    with reading_errors(source, "; it must be TOML"):
        top = TomlTable(source, "", tomllib.loads(text))
    worker, policy, cpu, database = (top.table(key) for key in ("worker", "policy", "cpu", "database_load"))
    network, filer, protocol = top.table("network"), top.table("filer"), top.table("protocol")
    ops, load = protocol.table("ops_per_call"), database.table("ghz_seconds")
    disks = filer.table("disks")
    site = Site(
        name=top.text("name"),
        description=top.text("description", ""),
        profile=top.text("profile", "reference"),
        report=top.text("report", "", among=("", "r1")),
        workers=top.whole("workers", 1, low=1, high=MOST_WORKERS),
        slots=worker.whole("slots", 4, low=1, high=64),
        worker_cores=worker.whole("cores", low=1, high=1024),
        worker_memory_gb=worker.number("memory_gb", 0.0),
        hosts=tuple(host for table in _some(top, "host", _MOST_HOSTS) for host in _hosts(table)),
        databases=tuple(server for table in _some(top, "database", 1024) for server in _databases(table)),
        job_per_custodian=policy.text("jobs", "whole", among=("whole", "custodian")) == "custodian",
        index_streams=policy.whole("index_streams", 0, high=10_000) or None,
        dispatched_per_s=policy.number("dispatched_per_s", 0.0),
        commit_per_item=policy.text("commit", "task", among=("task", "item")) == "item",
        ghz_seconds={phase: cpu.number(phase, low=0.0) for phase in PHASES},
        database_ghz_seconds={phase: load.number(phase, low=0.0) for phase in PHASES},
        database_io_per_row=database.number("io_per_row", 0.0),
        database_on_filer=database.text("files", "elsewhere", among=("filer", "elsewhere")) == "filer",
        protocol=load_protocol(protocol.text("name", "nfs-v3")),
        ops_per_call={phase: ops.number(phase, 1.0) for phase in PHASES},
        fsa=_unit(filer.table("fsa")),
        fsb=_unit(filer.table("fsb")),
        bytes_per_s=network.number("bytes_per_s", 0.0),
        round_trip_us=network.number("round_trip_us", 0.0),
        disks=Disks(
            count=disks.whole("count", 1, low=1),
            rpm=disks.number("rpm", 15_000.0, low=1.0),
            seek_ms=disks.number("seek_ms", 1.0),
            mb_per_s=disks.number("mb_per_s", 100.0, low=0.1),
            stripe_bytes=disks.number("stripe_bytes", 65_536.0, low=512.0),
            writes_per_change=disks.number("writes_per_change", 4.0),
            stripe_overhead=disks.number("stripe_overhead", 1.25),
        ),
        options=_distribution(policy),
    )
    for table in (worker, policy, cpu, load, database, network, ops, protocol, disks, filer, top):
        table.done()
    return site


def _distribution(policy: TomlTable) -> JobOptions:
    """The options of `discover` that distribute tasks."""
    usual = JobOptions()
    return JobOptions(
        batch_bytes=policy.whole("batch_mb", usual.batch_bytes // MB, low=1, high=100_000) * MB,
        batch_files=policy.whole("batch_files", usual.batch_files, low=1, high=1_000_000),
        split_bytes=policy.whole("split_mb", usual.split_bytes // MB, low=1, high=1_000_000) * MB,
        task_order=TaskOrder(policy.text("task_order", usual.task_order, among=tuple(TaskOrder))),
        window_factor=policy.whole("window_factor", 0, high=8) or None,
        most_tasks=policy.whole("most_tasks", 0, high=100_000) or None,
    )


def _some(top: TomlTable, key: str, most: int) -> Sequence[TomlTable]:
    tables = top.tables(key)
    if not 1 <= len(tables) <= most:
        raise top.refuse(key, f"must be 1 to {most} tables, [[{key}]]")
    return tables


def _hosts(table: TomlTable) -> list[Host]:
    host = Host(
        cores=table.whole("cores", low=1, high=4096),
        ghz=table.number("ghz", low=0.01, high=100.0),
        memory_gb=table.number("memory_gb", 0.0),
    )
    many = table.whole("count", 1, low=1, high=_MOST_HOSTS)
    table.done()
    return [host] * many


def _databases(table: TomlTable) -> list[DatabaseServer]:
    server = DatabaseServer(cores=table.whole("cores", low=1, high=4096), ghz=table.number("ghz", low=0.01, high=100.0))
    many = table.whole("count", 1, low=1, high=1024)
    table.done()
    return [server] * many


def _unit(table: TomlTable) -> Unit:
    service_us = table.number("service_us", low=0.0, high=1e9)
    unit = Unit(
        servers=table.whole("servers", 1, low=1, high=4096),
        service_us=service_us,
        change_us=service_us * table.number("change_times", 1.0, high=100.0),
    )
    table.done()
    return unit


def placed(site: Site, workers: int) -> list[int]:
    """The host of each worker: always the one with the least load, the faster one of equals.

    Raises UsageError if the hosts do not have enough memory."""
    room = [int(host.memory_gb // site.worker_memory_gb) if host.memory_gb and site.worker_memory_gb else workers for host in site.hosts]  # fmt: skip
    if sum(room) < workers:
        raise UsageError(
            f"site {site.name}: its hosts have memory for {sum(room)} workers of {site.worker_memory_gb:g} GB, but "
            f"{workers} are requested"
        )
    waiting = [(1 / host.cores, -host.ghz, n, 1) for n, host in enumerate(site.hosts) if room[n]]
    heapq.heapify(waiting)
    out: list[int] = []
    for _ in range(workers):
        _, slow, n, count = heapq.heappop(waiting)
        out.append(n)
        if count < room[n]:
            heapq.heappush(waiting, ((count + 1) / site.hosts[n].cores, slow, n, count + 1))
    return out
