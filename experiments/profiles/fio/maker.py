"""What every profile of fio does: writes its files beforehand, and has one run of it as an observation."""

from __future__ import annotations

import math
import os
from collections.abc import Sequence

from core.errors import RunFailed, StorageFault
from experiments.profiles.fio.jobs import Job
from experiments.profiles.fio.output import FioSeen, elapsed_s
from experiments.profiles.fio.program import fio
from experiments.profiles.profile import Arena
from experiments.workload import Turn
from monitoring.processes import processors

_BLOCK = 1 << 20  # of a write, at most
_AT_ONCE = 4


def written(arena: Arena, names: Sequence[str], size: int, block: int) -> None:
    """Files of so many bytes, whole blocks, that no compression makes less of, on storage. Raises RunFailed, StorageFault.

    To the last byte: fio writes a file that is too small for a job anew when that begins, and leaves a part of a block out.
    """
    each = block * math.gcd(size // block, max(1, _BLOCK // block))
    arena.tell(f"writes {len(names):,} files of {size:,} bytes")
    jobs = [
        Job(name=f"file{number}", does="write", files=(name,), block=each, size=size,
            after=number % _AT_ONCE == 0 and number > 0,
            options=(("end_fsync", "1"), ("refill_buffers", "1"), ("randseed", str(number + 1))))
        for number, name in enumerate(names)
    ]  # fmt: skip
    fio(jobs, arena.paths, arena.scratch, arena.tell)
    settled(arena)


def settled(arena: Arena) -> None:
    """What was written is on storage: no run pays for what came before it. Raises StorageFault."""
    for path in arena.paths:
        try:
            descriptor = os.open(path, os.O_RDONLY)
            try:
                os.fsync(descriptor)
            finally:
                os.close(descriptor)
        except OSError as error:
            raise StorageFault(f"{path}: {error.strerror}", errno=error.errno or 0) from error


def observed(turn: Turn, arena: Arena, jobs: Sequence[Job], *, expected_s: float | None = None) -> FioSeen:
    """One run of these jobs; raises RunFailed."""
    done = fio(jobs, arena.paths, arena.scratch, arena.tell, expected_s=expected_s)
    elapsed = elapsed_s(done.jobs)
    if not elapsed:
        raise RunFailed("fio did nothing: the number of files, or of seconds, is too small")
    cpu = sum(job.cpu for job in done.jobs)
    return FioSeen(
        repeat=turn.repeat,
        order=turn.order,
        started_at=done.began,
        elapsed_s=elapsed,
        worker_cpu=cpu / (elapsed * processors()),
        fio=done,
    )
