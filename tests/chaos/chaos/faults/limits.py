"""What the machine refuses a process: another one, another file, more memory."""

import contextlib
import errno
import resource
import signal

from chaos.faults.base import Effect, Fault, Scene, Striking
from chaos.faults.processes import a_slot
from chaos.faults.signals import signalled

_FILES = 12  # fewer than a slot has open
_DATA = 1 << 20  # bytes: less than it has


def _no_fork(scene: Scene) -> Effect | None:
    """A slot dies, and another cannot be started in its place for a while."""
    done = signalled(a_slot(scene), signal.SIGKILL)
    if done is None:
        return None
    answer = f"errno {errno.EAGAIN}"
    end = scene.ear.answering(lambda moment, _detail, _pid: answer if moment == "fork" else "")
    return Effect(f"{done.what}, forks refused", end)


def _limit(kind: int, value: int, name: str) -> Striking:
    def strike(scene: Scene) -> Effect | None:
        pid = a_slot(scene)
        if not pid:
            return None
        before = resource.prlimit(pid, kind)
        resource.prlimit(pid, kind, (value, before[1]))

        def undo() -> None:
            with contextlib.suppress(ProcessLookupError):
                resource.prlimit(pid, kind, before)

        return Effect(f"{name} of {pid} is {value}", undo)

    return strike


FAULTS = (
    Fault("fork-refused", "a slot is killed, and fork fails with EAGAIN for a while", _no_fork, seconds=(0.5, 3.0)),
    Fault(
        "no-more-files",
        "RLIMIT_NOFILE of a slot below what it has open: whatever it opens is EMFILE",
        _limit(resource.RLIMIT_NOFILE, _FILES, "RLIMIT_NOFILE"),
        seconds=(0.5, 2.0),
    ),
    Fault(
        "no-more-memory",
        "RLIMIT_DATA of a slot below what it has: it gets no more memory",
        _limit(resource.RLIMIT_DATA, _DATA, "RLIMIT_DATA"),
        seconds=(0.5, 2.0),
    ),
)
