"""CPU time of the processes that serve the workers: database servers, broker, queue manager, this command itself."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence

from core.services.address import Addresses
from experiments.workloads.discovery.phase_use import SERVERS, WORKERS
from experiments.workloads.discovery.sampler import Samples
from monitoring.machine import below, command_line
from worker.processes import process_use

BROKER, QUEUE_MANAGER, COMMAND = "broker", "queue manager", "command"


class ServingMeter:
    """Reads what the kernel counts of these processes, in steps of 10 ms."""

    def __init__(self, parent: int, services: Addresses | None) -> None:
        """`parent`: whose children the queue manager is among; `services`: None counts neither databases nor broker."""
        self._parent = parent
        self._services = services
        self._last: dict[str, float] = {}

    def read(self) -> dict[str, float]:
        """Seconds by name since the processes began; of one that has ended, what it had used when last seen."""
        used = {COMMAND: _used(self._parent), QUEUE_MANAGER: sum(map(_used, self._managers()))}
        if self._services is not None:
            used[SERVERS] = sum(_of_all_below(server.pid) for server in self._services.servers)
            used[BROKER] = _used(self._services.broker.pid)
        for name, seconds in used.items():
            self._last[name] = max(seconds, self._last.get(name, 0.0))
        return dict(self._last)

    def _managers(self) -> list[int]:
        return [pid for pid in below(self._parent, direct=True) if "queue_manager" in command_line(pid)]


def _used(pid: int) -> float:
    return process_use(pid).cpu_s


def _of_all_below(pid: int) -> float:
    """A server with its living processes, and those that have ended: the kernel adds these to who waited for them."""
    return process_use(pid, with_children=True).cpu_s + sum(map(_used, below(pid)))


def processors_between(samples: Samples, offset: float) -> Callable[[float, float], dict[str, float]]:
    """CPU seconds by user between two moments of the database's clock, between samples by proportion.

    `offset`: the database's clock less this host's, seconds.
    """
    workers = [(at, {WORKERS: seconds}) for at, seconds, _ in samples.workers]

    def between(start: float, end: float) -> dict[str, float]:
        out: dict[str, float] = {}
        for readings in (workers, samples.serving):
            before, after = _at(readings, start - offset), _at(readings, end - offset)
            out |= {name: max(0.0, seconds - before.get(name, 0.0)) for name, seconds in after.items()}
        return out

    return between


def _at(readings: Sequence[tuple[float, Mapping[str, float]]], at: float) -> dict[str, float]:
    if not readings:
        return {}
    for (then, before), (now, after) in itertools.pairwise(readings):
        if then <= at <= now:
            share = (at - then) / (now - then) if now > then else 0.0
            return {name: before.get(name, 0.0) + share * (s - before.get(name, 0.0)) for name, s in after.items()}
    return dict(readings[0][1] if at < readings[0][0] else readings[-1][1])
