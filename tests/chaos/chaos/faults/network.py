"""The network between workers and services cut, half open, slow; workers in a network namespace of their own cut off."""

from collections.abc import Callable, Sequence

from chaos.faults.base import Effect, Fault, Scene, Striking
from chaos.proxy import Line


def _databases(scene: Scene) -> Sequence[Line]:
    return scene.site.lines.databases


def _all(scene: Scene) -> Sequence[Line]:
    return scene.site.lines.all


def _one(scene: Scene) -> Sequence[Line]:
    lines = scene.site.lines.all
    return [lines[scene.choice % len(lines)]]


def _cut(which: Callable[[Scene], Sequence[Line]]) -> Striking:
    def strike(scene: Scene) -> Effect:
        lines = which(scene)
        for line in lines:
            line.cut()
        return Effect(f"{len(lines)} lines cut")

    return strike


def _half_open(scene: Scene) -> Effect:
    """Nothing comes through, nobody is told; in the end the connections are closed, as a router does that forgot them."""
    lines = _one(scene)
    for line in lines:
        line.frozen = True

    def undo() -> None:
        for line in lines:
            line.cut()
            line.frozen = False

    return Effect(f"{len(lines)} lines half open", undo)


def _slow(scene: Scene) -> Effect:
    lines = _all(scene)
    for line in lines:
        line.slow = True

    def undo() -> None:
        for line in lines:
            line.slow = False

    return Effect(f"{len(lines)} lines slow", undo)


def _partition(scene: Scene) -> Effect | None:
    namespace = scene.site.namespace
    if namespace is None:
        return None
    namespace.down()
    return Effect("the workers' network is down", namespace.up)


FAULTS = (
    Fault(
        "connections-cut", "all connections of workers and queue manager to databases and broker are closed", _cut(_all)
    ),
    Fault(
        "database-connections-cut",
        "all connections of workers and queue manager to the databases are closed",
        _cut(_databases),
    ),
    Fault(
        "half-open",
        "nothing comes through to one service any more, for up to two leases; then the connections are closed",
        _half_open,
        seconds=(0.5, 5.0),
    ),
    Fault("slow-lines", "each piece sent to or by databases and broker takes 20 ms more", _slow, seconds=(1.0, 4.0)),
    Fault(
        "partition",
        "workers in a network namespace of their own, whose only link goes down, also for longer than TCP waits",
        _partition,
        seconds=(1.0, 14.0),
        needs="network",
    ),
)
