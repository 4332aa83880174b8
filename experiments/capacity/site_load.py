"""What a job asks of an emulated site beside its filer: processor seconds of slots, transactions and rows.

All are the arbiter's own bookings (`core.filer.arbiter`), so a prediction for a site and a run on it ask for the same. Of a
result that was made on a site they are read out of the stations' counters; of any other, processor time is what the workers
used, times the speed of the processors there, and transactions and rows follow from tasks and items by what a run on a site was seen to have.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from core.filer import FilerModel
from core.filer.site import DatabaseServer, SiteModel
from core.records import Phase as PhaseName
from experiments.capacity.network import Station
from experiments.workloads.discovery.phase_use import PhaseUse
from experiments.workloads.discovery.result import Run

# As `edbench bench r1 --scale 1/2000` was seen to have: claim, what is to be done, what is known, finish, and portions.
TRANSACTIONS_A_TASK = 4.5
ROWS_AN_ITEM: Mapping[str, float] = {
    PhaseName.WALK.value: 0.1, PhaseName.EXPAND.value: 1.4, PhaseName.INDEX.value: 2.0, PhaseName.FINALISE.value: 0.2,
}  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class SiteUse:
    """Of one phase of one job."""

    slot_s: float  # seconds of a processor of speed 1 (core.filer.machine), of slots and their boxes
    transactions: float
    rows: float


def estimated(use: PhaseUse, worker_s: float, items: int) -> SiteUse:
    """Of a run that was on no site; `worker_s`: what its workers used in this phase, in seconds of a processor of speed 1. What
    its database counted goes before what is known of discoveries."""
    return SiteUse(
        slot_s=worker_s,
        transactions=TRANSACTIONS_A_TASK * use.tasks if use.transactions is None else use.transactions,
        rows=ROWS_AN_ITEM.get(use.phase, 0.0) * items if use.rows is None else use.rows,
    )


def booked(run: Run, site: SiteModel) -> list[SiteUse]:
    """By phase, of a run with one database on that site."""
    phases, server = run.phases, site.databases[0]
    processor = [0.0] * len(phases)
    for number, host in enumerate(site.hosts, 1):
        by_phase = _busy(run, f"host {number}", host.cores)
        processor = [sum(pair) for pair in zip(processor, (s * host.speed for s in by_phase), strict=True)]
    one_s = site.processor_factor * site.time_scale
    database = [s * server.speed / site.time_scale for s in _busy(run, "database 1", server.servers)]
    transactions = _calls(run, "database 1")
    tasks = sum(use.tasks for use in phases) or 1
    out = []
    for use, busy_s, database_s in zip(phases, processor, database, strict=True):
        own = transactions * use.tasks / tasks
        rows = (database_s * 1e6 - own * server.transaction_us) / server.row_us if server.row_us else 0.0
        out.append(SiteUse(slot_s=busy_s / one_s if one_s else 0.0, transactions=own, rows=max(0.0, rows)))
    return out


def _stations(run: Run) -> tuple[float, Mapping[str, Mapping[str, Any]]]:
    filer = run.result.get("filer") or {}
    return float(filer.get("seconds") or 0.0), filer.get("stations") or {}


def _calls(run: Run, name: str) -> float:
    return float(_stations(run)[1].get(name, {}).get("calls", 0))


def _busy(run: Run, name: str, servers: int) -> list[float]:
    """Server seconds that a station was booked for in each phase: all of the run, shared out as it was busy by the second."""
    seconds, stations = _stations(run)
    total = float(stations.get(name, {}).get("utilisation", 0.0)) * seconds * servers
    starts = [use.start_s for use in run.phases]
    shares = [within(run, name, a, b) for a, b in itertools.pairwise([*starts, float("inf")])]
    every = sum(shares)
    return [total * share / every if every else 0.0 for share in shares]


def within(run: Run, name: str, start: float, end: float) -> float:
    """Seconds times utilisation between two moments; a sample tells of the time since the one before."""
    found, before = 0.0, 0.0
    for at, stations in run.series.filer:
        inside = min(at, end) - max(before, start)
        if inside > 0 and name in stations:
            found += inside * stations[name]["utilisation"]
        before = at
    return found


def of_database(
    site: SiteModel, server: DatabaseServer, filer: FilerModel, transactions: float, rows: float
) -> tuple[float, float]:
    """Seconds of that server at speed 1, and of the filer's data unit."""
    work = (transactions * server.transaction_us + rows * server.row_us) * site.time_scale / 1e6
    ops = transactions * server.filer_ops + rows * server.filer_ops_a_row
    return work, ops * filer.data_op_ns / 1e9


def hosts(site: SiteModel) -> tuple[Station, ...]:
    """As the network has them."""
    return tuple(
        Station(name=f"host {n}", servers=host.cores, speed=host.speed) for n, host in enumerate(site.hosts, 1)
    )


def databases(site: SiteModel) -> tuple[Station, ...]:
    """The site's servers; of more databases than there are servers, they begin again."""
    return tuple(
        Station(name=f"database {n}", servers=one.servers, speed=one.speed) for n, one in enumerate(site.databases, 1)
    )
