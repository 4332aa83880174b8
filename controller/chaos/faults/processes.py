"""SIGKILL, and SIGSTOP with a late SIGCONT, of the processes that do the work."""

from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import Callable

from controller.chaos.faults.base import FOREVER, Effect, Fault, Scene, Striking
from controller.chaos.moments import is_alive, parent_of

Victim = Callable[[Scene], int]  # its process id; 0: there is none


def a_slot(scene: Scene) -> int:
    """The slot that came to the moment; where it was somebody else, any."""
    slots = scene.site.slots()
    if scene.peer in slots:
        return scene.peer
    return slots[scene.choice % len(slots)] if slots else 0


def a_worker(scene: Scene) -> int:
    """The worker whose slot came to the moment; else any."""
    workers = [pid for name, pid in sorted(scene.site.members().items()) if name != "queue-manager"]
    above = parent_of(scene.peer)
    if above in workers:
        return above
    return workers[scene.choice % len(workers)] if workers else 0


def the_queue_manager(scene: Scene) -> int:
    """There is one."""
    return scene.site.members().get("queue-manager", 0)


def kill(victim: Victim, *, member: bool) -> Striking:
    """SIGKILL. `member`: it is one that the cluster starts again."""

    def strike(scene: Scene) -> Effect | None:
        pid = victim(scene)
        if not pid:
            return None
        scene.site.crew_deaths += int(member)
        return signalled(pid, signal.SIGKILL)

    return strike


def stop(victim: Victim) -> Striking:
    """SIGSTOP, and SIGCONT when its time is over."""

    def strike(scene: Scene) -> Effect | None:
        pid = victim(scene)
        return signalled(pid, signal.SIGSTOP) if pid else None

    return strike


def signalled(pid: int, number: signal.Signals) -> Effect | None:
    """Send it; a stopped process is to be continued later."""
    if not is_alive(pid):
        return None
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        return None
    undo = (lambda: _continue(pid)) if number is signal.SIGSTOP else None
    return Effect(f"{number.name} to {pid}", undo)


def _continue(pid: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGCONT)


def _faults(name: str, victim: Victim, *, member: bool, what: str) -> tuple[Fault, ...]:
    stopped = stop(victim)
    return (
        Fault(f"{name}-killed", f"SIGKILL of {what}", kill(victim, member=member)),
        Fault(
            f"{name}-stopped",
            f"SIGSTOP of {what}, SIGCONT before or after its lease ran out",
            stopped,
            seconds=(0.3, 4.0),
        ),
        Fault(
            f"{name}-stopped-past-the-end",
            f"SIGSTOP of {what}, SIGCONT only when the job is over",
            stopped,
            seconds=(FOREVER, FOREVER),
        ),
    )


FAULTS = (
    *_faults("slot", a_slot, member=False, what="the slot at the moment (or any child of a worker)"),
    *_faults("worker", a_worker, member=True, what="a worker's parent process"),
    *_faults("queue-manager", the_queue_manager, member=True, what="the queue manager")[:2],
)
