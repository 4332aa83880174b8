"""The command killed, stopped, interrupted, and the keeper of its services killed."""

from __future__ import annotations

import signal
from collections.abc import Callable
from pathlib import Path

import psutil

from controller.chaos.faults.base import Effect, Fault, Scene
from controller.chaos.faults.processes import signalled
from controller.chaos.plan import Reach
from core.services import running_services

FAMILY = "controller"
_KINDS = ("command",)


def _told(number: signal.Signals) -> Callable[[Scene], Effect | None]:
    def strike(scene: Scene) -> Effect | None:
        command = scene.site.command
        return None if command is None else signalled(command.pid, number)

    return strike


def _keeper(scene: Scene) -> Effect | None:
    """Its address is in the scratch directory that the command was given."""
    command = scene.site.command
    try:
        scratch = None if command is None else command.environ().get("EDBENCH_SCRATCH")
    except psutil.Error:
        return None
    services = running_services(Path(scratch)) if scratch else None
    return None if services is None else signalled(services.keeper, signal.SIGKILL)


def _fault(name: str, strike: Callable[[Scene], Effect | None], what: str, lasts: float = 0.0) -> Fault:
    return Fault(
        reach=Reach(name=name, kinds=_KINDS),
        family=FAMILY,
        what=what,
        strike=strike,
        seconds=(lasts / 4, lasts),
    )


FAULTS = (
    _fault(
        "command-killed",
        _told(signal.SIGKILL),
        "SIGKILL of `edbench discover`: services and workers end, `resume` goes on",
    ),
    _fault("command-interrupted", _told(signal.SIGINT), "Ctrl-C of `edbench discover`: it pauses, `resume` goes on"),
    _fault("command-stopped", _told(signal.SIGSTOP), "SIGSTOP of `edbench discover` for up to 4 s", lasts=4.0),
    _fault("keeper-killed", _keeper, "SIGKILL of the keeper of the command's services: they all go at once"),
)
