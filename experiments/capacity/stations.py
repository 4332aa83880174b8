"""What stands in a simulated run: servers that are booked, and slots that are lent."""

from __future__ import annotations

import heapq
import random
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import replace

from experiments.capacity.network import Kind, Network, Station


class Server:
    """One station while a run lasts.

    A queue knows for each of its servers until when that is taken, and gives a unit the one that is free first: that is
    first come first served, and the end is known on arrival. So a visit costs the simulation one event.
    """

    def __init__(self, station: Station, source: random.Random) -> None:
        self._queues = station.kind is Kind.QUEUE
        self._speed = station.speed
        self._free = [0.0] * station.servers
        self._booked, self._stayed, self._visits = 0.0, 0.0, 0
        self._draw = _drawing(station.shape, source)

    def book(self, now: float, mean_s: float) -> float:
        """When a unit that comes now is done here."""
        return self.reserve(now, self.draw(mean_s))

    def draw(self, mean_s: float) -> float:
        """Seconds of a service."""
        return self._draw(mean_s / self._speed)

    def reserve(self, now: float, service: float) -> float:
        """When so many seconds of a server are over that are asked for now."""
        if self._queues:
            self._booked += service
            end = max(now, self._free[0]) + service
            heapq.heapreplace(self._free, end)
        else:
            end = now + service
        self._visits += 1
        self._stayed += end - now
        return end

    @property
    def stayed(self) -> tuple[int, float]:
        """Visits so far, and the seconds that they took, waiting included."""
        return self._visits, self._stayed

    def busy_until(self, now: float) -> float:
        """Server seconds worked so far; what is booked ahead lies without a gap before each server's end."""
        return self._booked - sum(end - now for end in self._free if end > now)


class Share:
    """A worker's share of a host's processors: the same service is asked of both, at once, and is over when both gave it."""

    def __init__(self, own: Server, host: Server) -> None:
        self._own, self._host = own, host

    def book(self, now: float, mean_s: float) -> float:
        """When a unit that comes now has had both."""
        service = self._own.draw(mean_s)
        return max(self._own.reserve(now, service), self._host.reserve(now, service))


def _drawing(shape: float, source: random.Random) -> Callable[[float], float]:
    if shape == 0:
        return lambda mean: mean
    if shape == 1:
        return lambda mean: source.expovariate(1.0) * mean
    return lambda mean: (
        source.gammavariate(shape, mean / shape) if mean else 0.0
    )  # a part of a course may ask for nothing


class SlotPool:
    """The slots of some workers. The one that has been idle longest is lent first; at the start, one of each worker."""

    def __init__(self, workers: Sequence[int], slots_each: int) -> None:
        self._idle = deque(worker for _ in range(slots_each) for worker in workers)

    def __bool__(self) -> bool:
        return bool(self._idle)

    def lend(self) -> int:
        """A slot's worker."""
        return self._idle.popleft()

    def give_back(self, worker: int) -> None:
        self._idle.append(worker)


class Places:
    """All stations of a network, by name, and for the worker processors by worker."""

    def __init__(self, network: Network, source: random.Random) -> None:
        shared = (*network.stations, *network.databases)
        self._shared = {station.name: Server(station, source) for station in shared}
        self._hosts = {station.name: Server(station, source) for station in network.hosts}
        self._own_name, self._own = "", list[Server]()
        self._at: Sequence[Server | Share] = self._own
        queues = (*shared, *network.hosts)
        self._capacity = {station.name: station.servers for station in queues if station.kind is Kind.QUEUE}
        if network.own_processors is not None:
            self._give_processors(network, network.own_processors, source)

    def _give_processors(self, network: Network, own: Station, source: random.Random) -> None:
        """Each worker's own, as a share of its host's where there are hosts."""
        self._own_name = own.name
        self._capacity[own.name] = own.servers * network.workers
        hosts = network.hosts
        speeds = [hosts[worker % len(hosts)].speed if hosts else own.speed for worker in range(network.workers)]
        self._own = [Server(replace(own, speed=speed), source) for speed in speeds]
        self._at = self._own
        if hosts:
            self._at = [
                Share(server, self._hosts[hosts[worker % len(hosts)].name]) for worker, server in enumerate(self._own)
            ]

    def at(self, name: str, worker: int) -> Server | Share:
        """Where a unit of that worker's goes."""
        return self._at[worker] if name == self._own_name else self._shared[name]

    def busy_until(self, now: float) -> dict[str, float]:
        """Server seconds worked so far at each queue station."""
        return {name: sum(s.busy_until(now) for s in self._all(name)) for name in self._capacity}

    def utilisation(self, busy: dict[str, float], seconds: float) -> dict[str, float]:
        """0 to 1, from server seconds worked in so many seconds."""
        return {name: busy[name] / (self._capacity[name] * seconds) if seconds else 0.0 for name in busy}

    def stay_s(self) -> dict[str, float]:
        """Mean seconds of a visit, by station."""
        means = {}
        for name in (*self._shared, *self._hosts, *([self._own_name] if self._own else [])):
            visits, seconds = zip(*(server.stayed for server in self._all(name)), strict=True)
            means[name] = sum(seconds) / sum(visits) if sum(visits) else 0.0
        return means

    def _all(self, name: str) -> Sequence[Server]:
        if name == self._own_name:
            return self._own
        return [self._hosts[name] if name in self._hosts else self._shared[name]]
