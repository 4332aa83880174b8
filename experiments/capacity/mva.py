"""Throughput of a closed network, exactly: what the simulation is checked against, and where it is quick enough alone.

Buzen's convolution (Communications of the ACM 16:9, 1973) in logarithms. It gives the same values as the recursion of
mean-value analysis (Reiser and Lavenberg, 1980), and unlike that one stays exact for several servers at a station near
saturation, because it adds positive terms only.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from experiments.capacity.network import Job, Kind, Network, Phase, Station

_Logs = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Centre:
    """One station as a closed network sees it: mean seconds a unit; servers None: a delay."""

    name: str
    demand_s: float
    servers: int | None = 1


def throughputs(centres: Sequence[Centre], customers: int) -> npt.NDArray[np.float64]:
    """Units a second with 1, 2, … `customers` units going round."""
    total = _product([_factors(c, customers) for c in centres if c.demand_s > 0], customers)
    rates: npt.NDArray[np.float64] = np.exp(total[:-1] - total[1:])
    return rates


def _factors(centre: Centre, customers: int) -> _Logs:
    """Logarithms of demand^n over the product of the rates with 1 … n units there."""
    numbers = np.arange(1, customers + 1)
    rates = numbers if centre.servers is None else np.minimum(numbers, centre.servers)
    steps = math.log(centre.demand_s) - np.log(rates)
    return np.concatenate(([0.0], np.cumsum(steps)))


def _product(factors: Sequence[_Logs], customers: int) -> _Logs:
    """Logarithms of the normalising constants for 0 … `customers` units."""
    total = np.full(customers + 1, -np.inf)
    total[0] = 0.0
    for factor in factors:
        total = np.array([np.logaddexp.reduce(total[: n + 1] + factor[n::-1]) for n in range(customers + 1)])
    return total


def why_not(network: Network) -> str | None:
    """Why the analysis does not apply to a network; None where it does."""
    first = network.jobs[0]
    speeds = {(s.servers, s.speed) for s in (network.databases[job.database] for job in network.jobs)}
    own = network.own_processors
    stations = [*network.stations, *network.databases, *([own] if own else [])]
    reasons = {
        "the jobs differ": any(job.phases != first.phases for job in network.jobs),
        "the database servers differ": len(speeds) > 1,
        "jobs share a database server": len({job.database for job in network.jobs}) < len(network.jobs),
        "slots queue at the cores of their own worker": bool(own and own.servers < network.slots_each),
        "workers share the cores of hosts": bool(network.hosts),
        "workers are dealt out to jobs": not network.pooled and len(network.jobs) > 1,
        "service times are not exponential": any(s.shape != 1 and s.kind is Kind.QUEUE for s in stations),
        "units differ in size": any(phase.weights for phase in first.phases),
        "the demands of units change during a phase": any(phase.course for phase in first.phases),
        "there are demands besides the units": any(phase.beside for phase in first.phases),
        "the queue manager's time counts": network.dispatch_s > 0,
        "the window is smaller than the slots": network.window is not None and network.window < network.slots,
    }
    return next((reason for reason, holds in reasons.items() if holds), None)


def phase_centres(network: Network, job: Job, phase: Phase) -> list[Centre]:
    """A phase of `job` as a closed network; with several equal jobs a unit goes to each database equally often."""
    own = network.own_processors
    stations: dict[str, Station] = {s.name: s for s in (*network.stations, *network.databases)}
    database = network.databases[job.database].name
    centres = []
    for name, seconds in network.demands(job, phase).items():
        if own is not None and name == own.name:
            centres.append(Centre(name=name, demand_s=seconds / own.speed, servers=None))
            continue
        station = stations[name]
        servers = station.servers if station.kind is Kind.QUEUE else None
        names = [name]
        if name == database:
            names = [network.databases[other.database].name for other in network.jobs]
        each = seconds / station.speed / len(names)
        centres += [Centre(name=n, demand_s=each, servers=servers) for n in names]
    return centres


def elapsed_s(network: Network) -> float:
    """The longest job's time: each phase at its steady rate, then emptied slot by slot. Only where `why_not` is None."""
    total = 0.0
    jobs = len(network.jobs)
    for phase in network.jobs[0].phases:
        customers = min(network.slots, (phase.most_slots or network.slots) * jobs, phase.units * jobs)
        rates = throughputs(phase_centres(network, network.jobs[0], phase), customers)
        total += (phase.units * jobs - customers) / rates[-1] + float((1 / rates).sum()) + phase.barrier_s
    return total
