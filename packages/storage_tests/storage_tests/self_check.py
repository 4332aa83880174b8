"""Self-check: what the makers of load reach on this host where no storage is: fio on null storage and in memory."""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, cast

from pydantic import ByteSize, Field

from experiments.kinds import Cases, Kind
from experiments.report import words
from experiments.result import schema
from experiments.workload import Figure, Turn
from monitoring.machine import processors
from storage_tests import fio
from storage_tests.about import MARK, ProfileTelling, profile_about
from storage_tests.fio import FioSeen, Job, observed, refuse_without_fio, written
from storage_tests.owner import place_of_own
from storage_tests.profile import Arena, Profile, ProfileRun, ProfileSettings, Room, common
from storage_tests.study import MEMORY as PLACE

NAME = "self-check"
NULL, MEMORY = "null", "memory"


@dataclass(frozen=True, slots=True, order=True)
class CheckLoad(schema.At):
    """So many threads, without storage (fio's null engine) or in memory (tmpfs), in I/Os of one shape."""

    storage: str
    shape: str
    threads: int


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckRun(ProfileRun):
    """One run."""

    ios: int
    bytes: int


class CheckPoint(schema.PointOf[CheckLoad, CheckRun]):
    """All repeats under one load."""


class CheckResult(schema.ResultOf[CheckPoint]):
    """A whole experiment."""


def run_of(seen: FioSeen) -> CheckRun:
    """Every figure of it."""
    jobs = seen.fio.jobs
    return CheckRun(**common(seen), latency=fio.latencies(jobs), ios=fio.ios(jobs), bytes=fio.transferred(jobs))


class CheckTelling(ProfileTelling):
    """No storage is under test: no label of one."""

    def where(self) -> str:
        """This host."""
        return "this host without storage"

    def cached(self, points: Sequence[CheckPoint]) -> bool:
        """It is memory that is measured."""
        return False

    def sentence(self, points: Sequence[CheckPoint]) -> str:
        """The most of each storage and shape."""
        said = []
        for key in dict.fromkeys((point.at.storage, point.at.shape) for point in points):
            best = max((p for p in points if (p.at.storage, p.at.shape) == key), key=lambda p: p.figures["iops"].median)
            figures = best.figures
            said.append(
                f"{key[0]}, {key[1]}: {words.count(figures['iops'].median)} IOPS, {words.count(figures['mb_per_s'].median)} MB/s"
            )
        return "; ".join([*said, f"figures of storage over {words.percent(MARK)} of these are this host's"])


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
        """No bytes on storage: the files are in memory, so that there is no storage that a cache might hide."""
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
        at = cast("CheckLoad", turn.at)
        block, does, read_percent = _SHAPES[at.shape]
        jobs = [
            Job(name=f"thread{number}", does=does, files=(f"0/{number}",), block=block, size=self._size,
                read_percent=read_percent, seconds=self.settings.seconds, drop=False,
                engine="null" if at.storage == NULL else "psync")
            for number in range(at.threads)
        ]  # fmt: skip
        return observed(turn, self._memory, jobs, expected_s=float(self.settings.seconds))


PROFILE = SelfCheck

ABOUT = profile_about(
    name=NAME,
    report="",
    result=CheckResult,
    point=CheckPoint,
    figures=(
        Figure(name="iops", title="IOPS", of=lambda run: run.ios / run.elapsed_s, headline=True, write=words.count),
        Figure(name="mb_per_s", title="MB/s", of=lambda run: run.bytes / run.elapsed_s / 1e6, headline=True),
    ),
    seen=FioSeen,
    run_of=run_of,
    telling=CheckTelling,
    makers="threads",
)
