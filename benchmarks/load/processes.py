"""Which processes an `edbench discover` consists of, by what they are."""

from __future__ import annotations

from pathlib import Path

import psutil

from benchmarks.load.samples import Groups
from core.roles import CONTROLLER, QUEUE_MANAGER, WORKER, login_name
from core.services import running_services


def of_command(command: int) -> Groups:
    """The command itself and what it started; nothing when it is gone."""
    try:
        below = psutil.Process(command).children(recursive=True)
        workers = [p for p in below if "--name" in p.cmdline()]  # slots are forks of their supervisor: the same line
        pids = {p.pid for p in workers}
        slots = [p for p in workers if p.ppid() in pids]
        supervisors = [p for p in workers if p.ppid() not in pids]
        managers = [p for p in below if "queue_manager" in p.cmdline()]
        parsers = [p for p in below if "worker.box" in p.cmdline()]  # boxes are forks of their nursery, likewise
        pids = {p.pid for p in parsers}
        boxes = [p for p in parsers if p.ppid() in pids]
        nurseries = [p for p in parsers if p.ppid() not in pids]
    except psutil.Error:
        return {}
    return {
        "command": [psutil.Process(command)],
        "queue manager": managers,
        "supervisor": supervisors,
        "slot": slots,
        "nursery": nurseries,
        "box": boxes,
    }


def of_services(scratch: Path, at_most: int | None = None) -> Groups:
    """The broker, and of so many of each database server's processes the sessions and the others; nothing where none
    runs. Looking at a process costs a millisecond.
    """
    addresses = running_services(scratch)
    if addresses is None:
        return {}
    try:
        servers = [p for server in addresses.servers for p in psutil.Process(server.pid).children()[:at_most]]
        logins = [login_name(role) for role in (CONTROLLER, QUEUE_MANAGER, WORKER)]
        sessions = [p for p in servers if any(login in " ".join(p.cmdline()) for login in logins)]
        others = [p for p in servers if p not in sessions]
        broker = psutil.Process(addresses.broker.pid)
        return {"broker": [broker], "database session": sessions, "database server": others}
    except psutil.Error:
        return {}
