"""What the clients of one host share while a replay lasts: its program on scratch, and memory for their progress.

scratch/replay/<job>/program/  see replay.program; made once for each scratch
/dev/shm/edbench-replay-<job>/ how far the clients of a clone are; below scratch where there is no /dev/shm

Members of one host may have scratch of their own and share the memory. Either directory holds `lock`, which every process that
uses it holds shared (flock); the last one removes the directory.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from core.errors import StorageFault, UsageError
from core.records import ReplayChoice
from core.services.address import FileLock
from replay.plan import ReplayPlan, plan_replay
from replay.program import Program, compile_replay, open_program
from replay.tree import Target
from traces.file import open_trace
from traces.model import TraceHeader

MEMORY = Path("/dev/shm")
_POLL_SECONDS = 0.1
_PREFIX = "edbench-replay-"


class ReplayHost:
    """The directories of one replay on this host; use `replay_host`."""

    def __init__(self, scratch: Path, job: uuid.UUID) -> None:
        self.directory = scratch / "replay" / job.hex
        in_memory = MEMORY.is_dir() and os.access(MEMORY, os.W_OK)
        self.memory = (MEMORY if in_memory else self.directory.parent) / f"{_PREFIX}{job.hex}"

    def progress(self, clone: int) -> Path:
        """The directory in which the clients of this clone publish how far they are; it is made if missing. Raises
        StorageFault."""
        path = self.memory / str(clone)
        try:
            path.mkdir(parents=True, exist_ok=True, mode=0o700)
        except OSError as error:
            raise StorageFault(
                f"cannot create {path}: {error.strerror}; free memory", errno=error.errno or 0
            ) from error
        return path

    def program(self, trace: Path, choice: ReplayChoice, between: Callable[[], None]) -> Program:
        """What `choice` makes of a trace, compiled by the first process of this host that asks; the others wait,
        calling `between`.

        Raises UsageError when the trace is damaged, StorageFault when scratch is full, and what `between` raises.
        """
        making = FileLock(self.directory / "making")
        try:
            while not making.try_alone():
                between()
                time.sleep(_POLL_SECONDS)
            try:
                return open_program(self.directory / "program")
            except UsageError:  # no process has made it yet, or the one that began died
                shutil.rmtree(self.directory / "program", ignore_errors=True)
            with open_trace(trace) as opened:
                return compile_replay(opened, plan_of(opened.header, choice), self.directory / "program")
        finally:
            making.close()


def plan_of(header: TraceHeader, choice: ReplayChoice) -> ReplayPlan:
    """Who plays what; the same on every host. Raises UsageError."""
    return plan_replay(
        header,
        clients=choice.clients,
        paths=len(choice.paths),
        speed=choice.speed or None,
        closed=choice.closed,
        shared=choice.shared,
        seed=choice.seed,
    )


def target_of(job: uuid.UUID, choice: ReplayChoice) -> Target:
    """Locations of the replay's files."""
    return Target(paths=tuple(Path(path) for path in choice.paths), replay_id=job.hex)


@contextmanager
def replay_host(scratch: Path, job: uuid.UUID) -> Iterator[ReplayHost]:
    """The replay's directories for as long as the block lasts; they go with their last user, also one that is killed:
    then the next replay on this host removes them. Raises StorageFault."""
    host = ReplayHost(scratch, job)
    with _in_use(host.directory, host.directory.parent, ""), _in_use(host.memory, host.memory.parent, _PREFIX):
        yield host


@contextmanager
def _in_use(directory: Path, every: Path, prefix: str) -> Iterator[None]:
    """`every`: where replays have such directories, whose names begin with `prefix`."""
    try:
        _remove_stale(every, prefix)
        lock = _enter(directory)
    except OSError as error:
        raise StorageFault(
            f"cannot create {directory}: {error.strerror}; free memory, and set EDBENCH_SCRATCH to a local directory that this"
            " user may write",
            errno=error.errno or 0,
        ) from error
    try:
        yield
    finally:
        if _alone(lock):
            shutil.rmtree(directory, ignore_errors=True)
        os.close(lock)


def _enter(directory: Path) -> int:
    """The directory's lock, held shared. The directory is made again if another process is removing it just now."""
    while True:
        try:
            directory.mkdir(parents=True, exist_ok=True, mode=0o700)
            lock = os.open(directory / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except FileNotFoundError:
            continue
        except FileExistsError:  # it was there, and when mkdir looked whether it is a directory it was not
            if os.path.lexists(directory) and not directory.is_dir():
                raise
            continue
        fcntl.flock(lock, fcntl.LOCK_SH)
        try:
            if os.path.samestat(os.fstat(lock), os.stat(directory / "lock")):
                return lock
        except FileNotFoundError:
            pass
        os.close(lock)


def _alone(lock: int) -> bool:
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _remove_stale(every: Path, prefix: str) -> None:
    """Remove directories of replays that no process uses any more."""
    for directory in every.glob(f"{prefix}*"):
        try:
            lock = os.open(directory / "lock", os.O_RDWR | os.O_CLOEXEC)
        except (FileNotFoundError, PermissionError):
            continue  # being made or removed; another user's
        try:
            if _alone(lock):
                shutil.rmtree(directory, ignore_errors=True)
        finally:
            os.close(lock)
