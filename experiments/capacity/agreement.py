"""The simulation held against the exact mean-value analysis, on a network that both can do."""

from __future__ import annotations

from dataclasses import dataclass, replace

from experiments.capacity import mva
from experiments.capacity.network import Job, Kind, Network, Station
from experiments.capacity.simulation import batched, simulate

_UNITS = 20_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Agreement:
    """Elapsed seconds by both."""

    simulated_s: float
    analysed_s: float

    @property
    def apart(self) -> float:
        """Relative."""
        return self.simulated_s / self.analysed_s - 1.0


def common(network: Network) -> Network:
    """The network with what the analysis cannot have taken out: every service exponential, tasks equal and many, no work
    beside the path, all workers' processors one station."""
    own = network.own_processors
    stations = [_random(station) for station in network.stations]
    if own is not None:
        stations.append(_random(_together(own, network)))
    jobs = tuple(_plain(job, network.slots) for job in network.jobs)
    return replace(
        network,
        stations=tuple(stations),
        databases=tuple(_random(station) for station in network.databases),
        jobs=jobs,
        own_processors=None,
        hosts=(),
        dispatch_s=0.0,
        window=None,
    )


def _together(own: Station, network: Network) -> Station:
    """All workers' processors as one station; where hosts have fewer, these, at their mean speed."""
    servers, hosts = own.servers * network.workers, network.hosts
    if not hosts:
        return replace(own, servers=servers)
    cores = sum(host.servers for host in hosts)
    speed = sum(host.servers * host.speed for host in hosts) / cores
    return replace(own, servers=min(servers, cores), speed=speed)


def _random(station: Station) -> Station:
    return station if station.kind is Kind.DELAY else replace(station, shape=1.0)


def _plain(job: Job, slots: int) -> Job:
    phases = []
    for phase in job.phases:
        units = max(phase.units, 30 * slots)
        by = phase.units / units
        phases.append(
            replace(
                phase,
                units=units,
                demands={name: seconds * by for name, seconds in phase.demands.items()},
                beside={},
                weights=(),
                course={},
                rounds=1,
            )
        )
    return replace(job, phases=tuple(phases))


def agreement(network: Network, seed: int = 0) -> Agreement | None:
    """None where the analysis does not apply even so (unequal jobs, say)."""
    plain = batched(common(network), _UNITS)
    if mva.why_not(plain) is not None:
        return None
    return Agreement(simulated_s=simulate(plain, seed).elapsed_s, analysed_s=mva.elapsed_s(plain))
