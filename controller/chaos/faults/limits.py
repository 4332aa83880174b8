"""What the machine refuses a process: another one, another file, more memory."""

from __future__ import annotations

import contextlib
import errno
import resource
import signal
from collections.abc import Callable

from controller.chaos.faults.base import Effect, Fault, Scene
from controller.chaos.faults.processes import a_slot, signalled
from controller.chaos.plan import Reach

FAMILY = "limits"
_FILES = 12  # fewer than a slot has open
_DATA = 1 << 20  # bytes: less than it has


def _no_fork(scene: Scene) -> Effect | None:
    """A slot dies, and another cannot be started in its place for a while."""
    pid = a_slot(scene)
    done = signalled(pid, signal.SIGKILL) if pid else None
    if done is None:
        return None
    answer = f"errno {errno.EAGAIN}"
    end = scene.ear.stand(lambda moment, _detail, _pid: answer if moment == "fork" else "")
    return Effect(what=f"{done.what}, forks refused", undo=end)


def _limit(kind: int, value: int, name: str) -> Callable[[Scene], Effect | None]:
    def strike(scene: Scene) -> Effect | None:
        pid = a_slot(scene)
        if not pid:
            return None
        before = resource.prlimit(pid, kind)
        resource.prlimit(pid, kind, (value, before[1]))

        def undo() -> None:
            with contextlib.suppress(ProcessLookupError):
                resource.prlimit(pid, kind, before)

        return Effect(what=f"{name} of {pid} is {value}", undo=undo)

    return strike


FAULTS = (
    Fault(
        reach=Reach(name="fork-refused"),
        family=FAMILY,
        what="a slot is killed, and fork fails with EAGAIN for a while",
        strike=_no_fork,
        seconds=(0.5, 3.0),
    ),
    Fault(
        reach=Reach(name="no-more-files"),
        family=FAMILY,
        what="RLIMIT_NOFILE of a slot below what it has open: whatever it opens is EMFILE",
        strike=_limit(resource.RLIMIT_NOFILE, _FILES, "RLIMIT_NOFILE"),
        seconds=(0.5, 2.0),
    ),
    Fault(
        reach=Reach(name="no-more-memory"),
        family=FAMILY,
        what="RLIMIT_DATA of a slot below what it has: it gets no more memory",
        strike=_limit(resource.RLIMIT_DATA, _DATA, "RLIMIT_DATA"),
        seconds=(0.5, 2.0),
    ),
)
