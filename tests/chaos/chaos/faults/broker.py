"""The broker killed, emptied, full, stalled: it only carries messages."""

import contextlib
import signal
from collections.abc import Callable

import redis

from chaos.faults.base import Effect, Fault, Scene, Striking
from chaos.faults.signals import signals
from core.services import broker_keeper_url

_ASK_SECONDS = 2.0


def _client(scene: Scene) -> redis.Redis:
    return redis.Redis.from_url(broker_keeper_url(scene.site.settings.scratch), socket_timeout=_ASK_SECONDS)


def _broker(scene: Scene) -> int:
    return scene.site.addresses.broker.pid


def _emptied(scene: Scene) -> Effect:
    with _client(scene) as client:
        client.flushall()
    return Effect("FLUSHALL")


def _full(scene: Scene) -> Effect:
    with _client(scene) as client:
        client.config_set("maxmemory", "1")

    def undo() -> None:
        with _client(scene) as client:
            client.config_set("maxmemory", "0")

    return Effect("maxmemory 1", _quietly(undo))


def _paused(scene: Scene) -> Effect:
    with _client(scene) as client:
        client.execute_command("CLIENT", "PAUSE", "3000", "ALL")
    return Effect("CLIENT PAUSE 3000 ALL")


def _cut(scene: Scene) -> Effect:
    with _client(scene) as client:
        killed = client.execute_command("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes")
    return Effect(f"{killed} connections closed")


def _quietly(undo: Callable[[], None]) -> Callable[[], None]:
    """A broker that was killed meanwhile comes back as it was."""

    def run() -> None:
        with contextlib.suppress(OSError, redis.RedisError):
            undo()

    return run


def _asked(strike: Callable[[Scene], Effect]) -> Striking:
    """A broker that is away already cannot be told anything."""

    def run(scene: Scene) -> Effect | None:
        try:
            return strike(scene)
        except (OSError, redis.RedisError):
            return None

    return run


FAULTS = (
    Fault("broker-killed", "SIGKILL of the broker", signals(_broker, signal.SIGKILL)),
    Fault("broker-emptied", "FLUSHALL: all messages are gone", _asked(_emptied)),
    Fault(
        "broker-full", "the broker is out of memory (maxmemory 1) and takes nothing", _asked(_full), seconds=(0.5, 4.0)
    ),
    Fault(
        "broker-stalled",
        "SIGSTOP of the broker, SIGCONT before or after its clients gave up",
        signals(_broker, signal.SIGSTOP),
        seconds=(0.5, 5.0),
    ),
    Fault("broker-paused", "CLIENT PAUSE of 3 s", _asked(_paused)),
    Fault("broker-connections-cut", "the broker closes all its clients' connections", _asked(_cut)),
)
