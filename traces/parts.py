"""The parts of a job's trace on their way: from each worker's scratch to the storage root (docs/dev/trace-format.md).

scratch/traces/<worker>/<job>/<part>.calls       while the worker lives; a part is what one slot's process wrote
<storage>/jobs/<job>/trace-parts/<part>.calls    once the job is over, or the worker leaves
<storage>/jobs/<job>/trace-parts/<worker>.done   all parts of this live worker up to a time are there
"""

from __future__ import annotations

import contextlib
import fcntl
import logging
import os
import re
import shutil
import uuid
from collections.abc import Iterator
from pathlib import Path

from core.places import trace_parts_location
from traces.spool import SUFFIX

log = logging.getLogger(__name__)

_JOB = re.compile(r"[0-9a-f]{32}")  # entries of other names are not ours


class WorkerParts:
    """The parts that one worker's slots write, or wrote before it ended."""

    def __init__(self, directory: Path, storage_root: Path) -> None:
        self.directory = directory
        self._root = storage_root

    def new(self, job: uuid.UUID) -> Path:
        """Where a slot may write its calls of this job."""
        return self.directory / job.hex / f"{uuid.uuid4().hex}{SUFFIX}"

    def jobs(self) -> list[uuid.UUID]:
        """Those that there are parts of; normally none."""
        return [uuid.UUID(hex=path.name) for path in _listed(self.directory) if _JOB.fullmatch(path.name)]

    def deliver_one(self, job: uuid.UUID) -> bool:
        """Take one part of a job to the storage root, if there is one; whether there may be more. Raises OSError."""
        for part in _listed(self.directory / job.hex):
            self._deliver(part, job)
            return True
        with contextlib.suppress(FileNotFoundError):
            (self.directory / job.hex).rmdir()
        return False

    def deliver_all(self) -> None:
        """Deliver everything, whatever its job's state, and remove the directory; what fails is logged and stays."""
        try:
            for job in self.jobs():
                while self.deliver_one(job):
                    pass
            with contextlib.suppress(FileNotFoundError):
                self.directory.rmdir()
        except OSError as error:
            log.warning("calls recorded for a trace stay in %s: %s", self.directory, error)

    def mark_done(self, job: uuid.UUID, worker: uuid.UUID, when: float) -> None:
        """Declare that nothing is missing of what this worker recorded up to a time. Raises OSError."""
        place = parts_directory(self._root, job)
        if place.parent.is_dir():
            place.mkdir(exist_ok=True)
            partial = place / f"{worker.hex}.{uuid.uuid4().hex}.tmp"
            partial.write_text(repr(when))
            os.replace(partial, _mark(self._root, job, worker))

    def _deliver(self, part: Path, job: uuid.UUID) -> None:
        place = parts_directory(self._root, job)
        if place.parent.is_dir():
            place.mkdir(exist_ok=True)
            partial = place / f"{part.name}.{uuid.uuid4().hex}.tmp"
            shutil.copyfile(part, partial)
            os.replace(partial, place / part.name)
        elif not self._root.is_dir():
            raise FileNotFoundError(2, "the storage root does not exist", str(self._root))
        part.unlink(missing_ok=True)  # delivered, or of a job that was deleted


def worker_parts(scratch: Path, worker: uuid.UUID, storage_root: Path) -> WorkerParts:
    """Of a worker by its scratch directory's id."""
    return WorkerParts(_all(scratch) / worker.hex, storage_root)


def deliver_left_behind(scratch: Path, storage_root: Path) -> None:
    """Deliver what workers that are dead by now left on this scratch; what fails is logged and stays."""
    for directory in _listed(_all(scratch)):
        with _of_the_dead(scratch / "workers" / directory.name) as dead:
            if dead:
                WorkerParts(directory, storage_root).deliver_all()


def parts_directory(storage_root: Path, job: uuid.UUID) -> Path:
    """Where the parts of a job are brought together."""
    return storage_root / os.fsdecode(trace_parts_location(job))


def done_until(storage_root: Path, job: uuid.UUID, worker: uuid.UUID) -> float:
    """The time up to which a worker has declared that nothing is missing; before all times if it has not."""
    try:
        return float(_mark(storage_root, job, worker).read_text())
    except (OSError, ValueError):
        return float("-inf")


def _mark(storage_root: Path, job: uuid.UUID, worker: uuid.UUID) -> Path:
    return parts_directory(storage_root, job) / f"{worker.hex}.done"


def _all(scratch: Path) -> Path:
    return scratch / "traces"


def _listed(directory: Path) -> list[Path]:
    try:
        return sorted(directory.iterdir())
    except FileNotFoundError:
        return []


@contextlib.contextmanager
def _of_the_dead(worker: Path) -> Iterator[bool]:
    """Whether no process uses this worker's scratch (worker.slots.watch: it and its slots hold a lock there). The block
    holds that lock, so that no other process finds the scratch unused meanwhile."""
    try:
        descriptor = os.open(worker, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except FileNotFoundError:
        yield True
        return
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        yield False
    else:
        yield True
    finally:
        os.close(descriptor)
