"""SIGKILL, and SIGSTOP with a late SIGCONT, of the processes that do the work."""

import contextlib
import signal

import psutil

from chaos.faults.base import FOREVER, Fault, Scene
from chaos.faults.signals import Victim, signals


def a_slot(scene: Scene) -> int:
    """The slot that came to the moment; where it was somebody else, any."""
    slots = scene.site.slots()
    if scene.peer in slots:
        return scene.peer
    return slots[scene.choice % len(slots)] if slots else 0


def a_worker(scene: Scene) -> int:
    """The worker whose slot came to the moment; else any."""
    workers = [pid for name, pid in sorted(scene.site.members().items()) if name != "queue-manager"]
    with contextlib.suppress(psutil.NoSuchProcess):
        above = psutil.Process(scene.peer).ppid()
        if above in workers:
            return above
    return workers[scene.choice % len(workers)] if workers else 0


def the_queue_manager(scene: Scene) -> int:
    """There is one."""
    return scene.site.members().get("queue-manager", 0)


def _faults(name: str, victim: Victim, what: str) -> tuple[Fault, ...]:
    stopped = signals(victim, signal.SIGSTOP)
    in_time = f"SIGSTOP of {what}, SIGCONT before or after its lease ran out"
    too_late = f"SIGSTOP of {what}, SIGCONT only when the job is over"
    return (
        Fault(f"{name}-killed", f"SIGKILL of {what}", signals(victim, signal.SIGKILL)),
        Fault(f"{name}-stopped", in_time, stopped, seconds=(0.3, 4.0)),
        Fault(f"{name}-stopped-past-the-end", too_late, stopped, seconds=(FOREVER, FOREVER)),
    )


FAULTS = (
    *_faults("slot", a_slot, "the slot at the moment (or any child of a worker)"),
    *_faults("worker", a_worker, "a worker's parent process"),
    *_faults("queue-manager", the_queue_manager, "the queue manager")[:2],
)
