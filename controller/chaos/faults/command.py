"""The command killed, stopped, interrupted, and the keeper of its services killed."""

from __future__ import annotations

import signal
from pathlib import Path

import psutil

from controller.chaos.faults.base import Effect, Fault, Scene, Striking
from controller.chaos.faults.processes import signalled
from core.services import running_services

_KINDS = ("command",)


def _told(number: signal.Signals) -> Striking:
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


FAULTS = (
    Fault(
        "command-killed",
        "SIGKILL of `edbench discover`: services and workers end, `resume` goes on",
        _told(signal.SIGKILL),
        kinds=_KINDS,
    ),
    Fault(
        "command-interrupted",
        "Ctrl-C of `edbench discover`: it pauses, `resume` goes on",
        _told(signal.SIGINT),
        kinds=_KINDS,
    ),
    Fault(
        "command-stopped",
        "SIGSTOP of `edbench discover` for up to 4 s",
        _told(signal.SIGSTOP),
        seconds=(1.0, 4.0),
        kinds=_KINDS,
    ),
    Fault(
        "keeper-killed", "SIGKILL of the keeper of the command's services: they all go at once", _keeper, kinds=_KINDS
    ),
)
