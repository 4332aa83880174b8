"""The command killed, stopped, interrupted, and the keeper of its services killed."""

import signal
from pathlib import Path

import psutil

from chaos.faults.base import Fault, Scene
from chaos.faults.signals import signals
from core.services import running_services

_KINDS = ("command",)


def _command(scene: Scene) -> int:
    command = scene.site.command
    return 0 if command is None else command.pid


def _keeper(scene: Scene) -> int:
    """Its address is in the scratch directory that the command was given."""
    command = scene.site.command
    try:
        scratch = None if command is None else command.environ().get("EDBENCH_SCRATCH")
    except psutil.Error:
        return 0
    services = running_services(Path(scratch)) if scratch else None
    return 0 if services is None else services.keeper


FAULTS = (
    Fault(
        "command-killed",
        "SIGKILL of `edbench discover`: services and workers end, `resume` continues",
        signals(_command, signal.SIGKILL),
        kinds=_KINDS,
    ),
    Fault(
        "command-interrupted",
        "Ctrl-C of `edbench discover`: it pauses, `resume` continues",
        signals(_command, signal.SIGINT),
        kinds=_KINDS,
    ),
    Fault(
        "command-stopped",
        "SIGSTOP of `edbench discover` for up to 4 s",
        signals(_command, signal.SIGSTOP),
        seconds=(1.0, 4.0),
        kinds=_KINDS,
    ),
    Fault(
        "keeper-killed",
        "SIGKILL of the keeper of the command's services: they all go at once",
        signals(_keeper, signal.SIGKILL),
        kinds=_KINDS,
    ),
)
