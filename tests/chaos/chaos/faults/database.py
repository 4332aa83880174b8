"""The database killed, in ways that a kernel or a person kills it."""

import contextlib
import os
import signal

from chaos.faults.base import Effect, Fault, Scene
from chaos.faults.signals import signalled, signals


def _server(scene: Scene) -> Effect | None:
    """The postmaster first, then whatever it started: nobody flushes what is still in the log's buffers."""
    server = scene.site.server(0)
    scene.site.count_death(server)
    children = scene.site.children_of(server)
    done = signalled(server, signal.SIGKILL)
    for pid in children:
        signalled(pid, signal.SIGKILL)
    return done


def _backend(scene: Scene) -> int:
    """As when the kernel is out of memory: the server ends all its others and recovers."""
    backends = scene.site.backends(scene.site.server(0))
    return backends[scene.choice % len(backends)] if backends else 0


def _held_back(scene: Scene) -> Effect | None:
    """Its keeper is stopped meanwhile, so nobody starts it again before a lease has run out."""
    keeper = scene.site.addresses.keeper
    os.kill(keeper, signal.SIGSTOP)
    done = _server(scene)

    def go_on() -> None:
        with contextlib.suppress(ProcessLookupError):
            os.kill(keeper, signal.SIGCONT)

    return Effect(f"{done.what if done else 'nothing'}, its keeper {keeper} stopped", go_on)


FAULTS = (
    Fault("database-killed", "SIGKILL of the database server: commits that were not flushed are lost", _server),
    Fault(
        "backend-killed",
        "SIGKILL of one backend, as by the kernel's OOM killer: the server restarts",
        signals(_backend, signal.SIGKILL),
    ),
    Fault(
        "database-killed-in-each-phase",
        "SIGKILL of the database server in every phase, at a claim or finish or 50 ms after it",
        _server,
        times=4,
    ),
    Fault(
        "database-killed-after-claims",
        "SIGKILL of the database server four times in one phase, within 50 ms of a claim",
        _server,
        times=4,
        one_phase=True,
    ),
    Fault(
        "database-away-past-a-lease",
        "SIGKILL of the database server, which comes back only when leases have run out",
        _held_back,
        seconds=(2.5, 5.0),
    ),
)
