"""What stands around an emulated filer: hosts with processors, workers with a share of them, database servers.

Time dilation: the real pipeline does the work, and whatever it asks for is served as slowly as the emulated machine would
serve it, at its own speed or stretched by `time_scale`, so that two processors can stand for many (Gupta et al., "To Infinity and
Beyond: Time-Warped Network Emulation", NSDI 2006; Gupta et al., "DieCast: Testing Distributed Systems with an
Accurate Scale Model", NSDI 2008). Unlike there no kernel is slowed down: a slot waits at each of its storage calls and
transactions for what emulated processors, database and filer would have taken until then.
"""

from __future__ import annotations

import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from core.filer.tables import Tables

MOST_WORKERS = 256
MAX_CORES = 64
_MAX_HOSTS = 64
_MAX_DATABASES = 64
MOST_TIMES = 1e6
LEAST_TIME = 0.1  # ten times as fast: what this machine then cannot keep up with it says itself
_MAX_US = 60e6


@dataclass(frozen=True, slots=True, kw_only=True)
class Host:
    """Processors that the workers on it share."""

    cores: int
    speed: float = 1.0  # of a core, against those that `SiteModel.processor_factor` is stated for


@dataclass(frozen=True, slots=True, kw_only=True)
class DatabaseServer:
    """One database server; times are of a server of speed 1, in microseconds."""

    servers: int  # transactions at once
    speed: float
    transaction_us: float
    row_us: float  # and for each row written
    filer_ops: float  # of the filer's data unit, for a transaction; 0: its files lie elsewhere
    filer_ops_a_row: float

    def service_us(self, rows: int) -> float:
        """Of one transaction."""
        return (self.transaction_us + rows * self.row_us) / self.speed


@dataclass(frozen=True, slots=True, kw_only=True)
class SiteModel:
    """One emulated site, without its filer."""

    data_scale: float  # the site that is stood for has so many times the data
    time_scale: float  # everything takes so many times as long as there
    # Seconds of an emulated core of speed 1 for one of a processor of speed 1 (core.filer.machine).
    processor_factor: float
    worker_cores: int  # of each worker, as a virtual machine has them
    hosts: tuple[Host, ...]
    databases: tuple[DatabaseServer, ...]

    def core_seconds(self, speed: float) -> float:
        """Of its fastest core, here and now, for a processor second of a machine of that speed; under 1 that machine is slower
        than what it stands for, and no waiting mends it."""
        return self.processor_factor * speed * self.time_scale / max(host.speed for host in self.hosts)

    def worker(self, name: str) -> int:
        """The number of a worker: w7 is 6; another name has some number."""
        digits = name[1:]
        if name[:1] == "w" and digits.isdecimal() and 0 < int(digits) <= MOST_WORKERS:
            return int(digits) - 1
        return zlib.crc32(name.encode()) % MOST_WORKERS

    def host(self, worker: int) -> int:
        """Workers are dealt out to hosts in turn."""
        return worker % len(self.hosts)

    def database(self, number: int) -> DatabaseServer:
        """Of the run's n-th database; where the site has fewer, they begin again."""
        return self.databases[number % len(self.databases)]


SITE_KEYS = ("filer", "data_scale", "time_scale", "processor", "worker", "host", "database")


def read_site(tables: Tables, table: Mapping[str, Any]) -> SiteModel:
    """Out of a site's file; raises UsageError."""
    processor, worker = tables.table(table, "processor"), tables.table(table, "worker")
    tables.known(processor, ("factor",), "processor.")
    tables.known(worker, ("cores",), "worker.")
    return SiteModel(
        data_scale=tables.number(table, "data_scale", "", 1.0, MOST_TIMES, low=1.0),
        time_scale=tables.number(table, "time_scale", "", 1.0, MOST_TIMES, low=LEAST_TIME),
        processor_factor=tables.number(processor, "factor", "processor.", 1.0, MOST_TIMES),
        worker_cores=tables.whole(worker, "cores", "worker.", 2, MAX_CORES),
        hosts=tuple(_host(tables, one, at) for one, at in _each(tables, table, "host", _MAX_HOSTS)),
        databases=tuple(_database(tables, one, at) for one, at in _each(tables, table, "database", _MAX_DATABASES)),
    )


def _each(tables: Tables, table: Mapping[str, Any], key: str, most: int) -> Sequence[tuple[Mapping[str, Any], str]]:
    found = table.get(key)
    if not isinstance(found, list) or not 1 <= len(found) <= most or not all(isinstance(one, dict) for one in found):
        raise tables.wrong(f"{key} must be tables, [[{key}]], from 1 to {most} of them")
    return [(one, f"{key}[{n}].") for n, one in enumerate(found, 1)]


def _host(tables: Tables, table: Mapping[str, Any], at: str) -> Host:
    tables.known(table, ("cores", "speed"), at)
    return Host(
        cores=tables.whole(table, "cores", at, 1, MAX_CORES),
        speed=tables.number(table, "speed", at, 1.0, 1e3, low=1e-3),
    )


def _database(tables: Tables, table: Mapping[str, Any], at: str) -> DatabaseServer:
    tables.known(table, ("servers", "speed", "transaction_us", "row_us", "filer_ops", "filer_ops_a_row"), at)
    return DatabaseServer(
        servers=tables.whole(table, "servers", at, 1, MAX_CORES),
        speed=tables.number(table, "speed", at, 1.0, 1e3, low=1e-3),
        transaction_us=tables.number(table, "transaction_us", at, 0.0, _MAX_US),
        row_us=tables.number(table, "row_us", at, 0.0, _MAX_US),
        filer_ops=tables.number(table, "filer_ops", at, 0.0, 1e4),
        filer_ops_a_row=tables.number(table, "filer_ops_a_row", at, 0.0, 1e4),
    )
