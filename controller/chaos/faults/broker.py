"""The broker killed, emptied, full, stalled: it only carries messages."""

from __future__ import annotations

import signal
from collections.abc import Callable

import redis

from controller.chaos.faults.base import Effect, Fault, Scene
from controller.chaos.faults.processes import signalled
from controller.chaos.plan import Reach
from core.services import broker_keeper_url

FAMILY = "broker"
_ASK_SECONDS = 2.0


def _client(scene: Scene) -> redis.Redis:
    return redis.Redis.from_url(broker_keeper_url(scene.site.settings.scratch), socket_timeout=_ASK_SECONDS)


def _killed(scene: Scene) -> Effect | None:
    scene.site.service_deaths += 1
    return signalled(scene.site.addresses.broker.pid, signal.SIGKILL)


def _stalled(scene: Scene) -> Effect | None:
    return signalled(scene.site.addresses.broker.pid, signal.SIGSTOP)


def _emptied(scene: Scene) -> Effect:
    with _client(scene) as client:
        client.flushall()
    return Effect(what="FLUSHALL")


def _full(scene: Scene) -> Effect:
    with _client(scene) as client:
        client.config_set("maxmemory", "1")

    def undo() -> None:
        with _client(scene) as client:
            client.config_set("maxmemory", "0")

    return Effect(what="maxmemory 1", undo=_quietly(undo))


def _paused(scene: Scene) -> Effect:
    with _client(scene) as client:
        client.execute_command("CLIENT", "PAUSE", "3000", "ALL")
    return Effect(what="CLIENT PAUSE 3000 ALL")


def _cut(scene: Scene) -> Effect:
    with _client(scene) as client:
        killed = client.execute_command("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes")
    return Effect(what=f"{killed} connections closed")


def _quietly(undo: Callable[[], None]) -> Callable[[], None]:
    """A broker that was killed meanwhile comes back as it was."""

    def run() -> None:
        try:
            undo()
        except redis.RedisError as error:
            raise OSError(f"the broker does not answer: {error}") from error

    return run


def _asked(strike: Callable[[Scene], Effect]) -> Callable[[Scene], Effect | None]:
    """A broker that is away already cannot be told anything."""

    def run(scene: Scene) -> Effect | None:
        try:
            return strike(scene)
        except (OSError, redis.RedisError):
            return None

    return run


FAULTS = (
    Fault(reach=Reach(name="broker-killed"), family=FAMILY, what="SIGKILL of the broker", strike=_killed),
    Fault(
        reach=Reach(name="broker-emptied"),
        family=FAMILY,
        what="FLUSHALL: all messages are gone",
        strike=_asked(_emptied),
    ),
    Fault(
        reach=Reach(name="broker-full"),
        family=FAMILY,
        what="the broker is out of memory (maxmemory 1) and takes nothing",
        strike=_asked(_full),
        seconds=(0.5, 4.0),
    ),
    Fault(
        reach=Reach(name="broker-stalled"),
        family=FAMILY,
        what="SIGSTOP of the broker, SIGCONT before or after its clients gave up",
        strike=_stalled,
        seconds=(0.5, 5.0),
    ),
    Fault(reach=Reach(name="broker-paused"), family=FAMILY, what="CLIENT PAUSE of 3 s", strike=_asked(_paused)),
    Fault(
        reach=Reach(name="broker-connections-cut"),
        family=FAMILY,
        what="the broker closes all its clients' connections",
        strike=_asked(_cut),
    ),
)
