"""Signals to whoever is the victim; a process that was stopped goes on later."""

import contextlib
import os
import signal
from collections.abc import Callable

from chaos.faults.base import Effect, Scene, Striking
from chaos.moments import is_alive

Victim = Callable[[Scene], int]  # its process id; 0: there is none


def signals(victim: Victim, number: signal.Signals) -> Striking:
    """The signal to it, where there is one."""

    def strike(scene: Scene) -> Effect | None:
        pid = victim(scene)
        if number is signal.SIGKILL:
            scene.site.count_death(pid)
        return signalled(pid, number)

    return strike


def signalled(pid: int, number: signal.Signals) -> Effect | None:
    """Send it; a stopped process is to be continued later."""
    if not pid or not is_alive(pid):
        return None
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        return None
    return Effect(f"{number.name} to {pid}", (lambda: _continue(pid)) if number is signal.SIGSTOP else None)


def _continue(pid: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGCONT)
