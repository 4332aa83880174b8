"""Runs profile `self-check`."""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Iterator
from typing import Annotated, Any, ClassVar, cast

from pydantic import ByteSize, Field

from experiments.kinds.cases import Cases
from experiments.kinds.kind import Kind
from experiments.profiles.fio.jobs import Job
from experiments.profiles.fio.maker import observed, written
from experiments.profiles.fio.output import FioSeen
from experiments.profiles.fio.program import refuse_without_fio
from experiments.profiles.owner import place_of_own
from experiments.profiles.profile import Arena, Profile, ProfileSettings, Room
from experiments.profiles.study import MEMORY as PLACE
from experiments.workload import Turn
from experiments.workloads.self_check.result import MEMORY, NULL, CheckLoad
from monitoring.processes import processors

_SHAPES = {"8 KiB random, 60 % reads": (8192, "randrw", 60), "1 MiB read from end to end": (1 << 20, "read", None)}
_LONGEST = 1 << 20


class CheckSettings(ProfileSettings):
    """Of profile `self-check`."""

    seconds: Annotated[int, Field(ge=1, description="a run")] = 10
    threads: Annotated[
        tuple[Annotated[int, Field(ge=1, le=1024)], ...],
        Field(description="threads at once; empty: one, and as many as cores"),
    ] = ()
    file_size: Annotated[ByteSize, Field(ge=1 << 20, description="size of each thread's file in memory")] = ByteSize(
        64 << 20
    )


class SelfCheck(Profile[CheckSettings]):
    """No path: it is the harness that is tested."""

    name = "self-check"
    report = ""
    does = "Runs fio without storage (its null engine) and in memory, to find the most I/O that this host can generate, in two patterns."
    writes = "A file for each thread in /dev/shm."
    needs = "fio. No path."
    settings_type = CheckSettings
    small: ClassVar[dict[str, Any]] = {"seconds": 1, "threads": (1,), "file_size": "8MiB"}
    takes_paths = False
    no_pair = "this test measures the null storage itself"

    def check(self) -> None:
        """Raises UsageError without fio."""
        refuse_without_fio()

    @property
    def _threads(self) -> tuple[int, ...]:
        return tuple(sorted(set(self.settings.threads or (1, processors()))))

    def kind(self, repeats: int, seed: int) -> Kind:
        """Both storages in every shape."""
        points = [CheckLoad(storage, shape, threads) for storage in (NULL, MEMORY) for shape in _SHAPES
                  for threads in self._threads]  # fmt: skip
        return Cases("threads", points, repeats=repeats, seed=seed)

    def room(self) -> Room:
        """On no path."""
        runs = 2 * len(_SHAPES) * len(self._threads)
        return Room(bytes=0, files=0, seconds=float(runs * self.settings.seconds))

    def touched(self) -> int:
        """What lies in memory, for which there is no storage that a cache might hide."""
        return 0

    @contextlib.contextmanager
    def prepared(self, arena: Arena) -> Iterator[None]:
        """Files in memory."""
        with place_of_own(PLACE, "edbench-profile-null") as own:
            self._memory = dataclasses.replace(arena, paths=(own,))
            written(self._memory, [f"0/{number}" for number in range(max(self._threads))], self._size, _LONGEST)
            yield

    @property
    def _size(self) -> int:
        """Of a file: whole blocks of the longest shape."""
        return int(self.settings.file_size) // _LONGEST * _LONGEST

    def observe(self, turn: Turn, arena: Arena) -> FioSeen:
        """A job for each thread."""
        at = cast(CheckLoad, turn.at)
        block, does, read_percent = _SHAPES[at.shape]
        jobs = [
            Job(name=f"thread{number}", does=does, files=(f"0/{number}",), block=block, size=self._size,
                read_percent=read_percent, seconds=self.settings.seconds, drop=False,
                engine="null" if at.storage == NULL else "psync")
            for number in range(at.threads)
        ]  # fmt: skip
        return observed(turn, self._memory, jobs, expected_s=float(self.settings.seconds))
