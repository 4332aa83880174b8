"""Runs profile `block-8k`: what each case of report R2 is in volumes, members and outstanding I/O, and as jobs of fio."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated, Any, ClassVar, cast

from pydantic import ByteSize, Field

from core.errors import UsageError
from experiments.kinds.cases import Cases
from experiments.kinds.kind import Kind, Search
from experiments.profiles.fio.jobs import Job
from experiments.profiles.fio.maker import observed, written
from experiments.profiles.fio.output import FioSeen
from experiments.profiles.fio.program import refuse_without_fio
from experiments.profiles.profile import Arena, Profile, ProfileSettings, Room
from experiments.workload import Turn
from experiments.workloads.block_8k.result import BlockLoad

_FILES = 32  # on each path: what 32 volumes are made of, or 4, or one
_NULL_BYTES = 64 << 20  # on each path in memory
_NULL_SECONDS = 3
_TRIES = 12  # of the search, about
ALL_MEMBERS = (3, 4, 5)  # cases over one member to all of them


class BlockSettings(ProfileSettings):
    """Of profile `block-8k`."""

    cases: Annotated[tuple[Annotated[int, Field(ge=1, le=6)], ...], Field(min_length=1, description="cases of report R2, 1 to 6")] = (
        1, 2, 3, 4, 5, 6,
    )  # fmt: skip
    path_size: Annotated[ByteSize, Field(ge=_FILES << 16, description="size of all volumes of a path together")] = (
        ByteSize(16 << 30)
    )
    block: Annotated[ByteSize, Field(ge=512, description="size and alignment of each I/O")] = ByteSize(8192)
    read_percent: Annotated[int, Field(ge=0, le=100, description="share of reads among all I/Os")] = 60
    seconds: Annotated[int, Field(ge=1, description="a run")] = 120
    long_seconds: Annotated[int, Field(ge=1, description="length of the run of case 2")] = 3600
    ramp_seconds: Annotated[int, Field(ge=0, description="ramp-up before the measurement")] = 60
    outstanding: Annotated[int, Field(ge=0, description="outstanding I/Os on each volume; 0: those of the report")] = 0
    most_ms: Annotated[float, Field(gt=0, description="case 6: bound on the mean response time of all I/Os")] = 10.0
    most_outstanding: Annotated[
        int, Field(ge=1, description="case 6: most outstanding I/Os on each volume that are tried")
    ] = 512
    direct: Annotated[bool, Field(description="bypass the page cache (O_DIRECT)")] = True
    engine: Annotated[
        str, Field(pattern="^(libaio|io_uring|posixaio)$", description="fio engine that keeps I/Os outstanding")
    ] = "libaio"


class Block(Profile[BlockSettings]):
    """A path is a member; volumes are spread over all members of a case."""

    name = "block-8k"
    report = "R2"
    does = (
        "Runs six cases of random I/O, 60 % reads, 8 KB, with many outstanding: one volume, the same for an hour, four volumes"
        " over one path to all of them (twice), 32 volumes, and the most with a mean response time of 10 ms."
    )
    writes = "32 files on each path, `path_size` together, once, and over again at random; removed at the end."
    needs = (
        "fio. Empty directories on the volumes or array members; storage that takes O_DIRECT, or --set direct=false"
        " --set engine=io_uring."
    )
    settings_type = BlockSettings
    indirect = "--set direct=false --set engine=io_uring goes through the page cache with as many outstanding"
    small: ClassVar[dict[str, Any]] = {
        "path_size": "64MiB", "seconds": 2, "long_seconds": 4, "ramp_seconds": 0, "most_outstanding": 8,
    }  # fmt: skip

    @property
    def direct(self) -> bool:
        """As it was set."""
        return self.settings.direct

    @property
    def least_seconds(self) -> float:
        """The report's runs are of 2 minutes."""
        return 0.95 * min(self.settings.seconds, self.settings.long_seconds)

    def check(self) -> None:
        """Raises UsageError without fio."""
        refuse_without_fio()

    def kind(self, repeats: int, seed: int) -> Kind:
        """The cases in random order; then the search of case 6."""
        points = [load for case in sorted(set(self.settings.cases)) for load in self._loads(case)]
        if 6 not in self.settings.cases:
            return Cases("members", points, repeats=repeats, seed=seed)
        base = BlockLoad(6, len(self.targets.paths), 4, 1)
        search = Search(base=base.values(), axis="outstanding", figure="mean_us", bound=self.settings.most_ms * 1000,
                        most=self.settings.most_outstanding)  # fmt: skip
        figure = next(one for one in self.about.figures if one.name == search.figure)
        return Cases("members", points, repeats=repeats, seed=seed, search=search, base=base, figure=figure)

    def _loads(self, case: int) -> list[BlockLoad]:
        every = len(self.targets.paths)
        volumes, outstanding = {1: (1, 256), 2: (1, 256), 3: (4, 128), 4: (4, 128), 5: (32, 32), 6: (4, 0)}[case]
        if not outstanding:
            return []  # searched for
        members = range(1, every + 1) if case in ALL_MEMBERS else (every,)
        return [BlockLoad(case, number, volumes, self.settings.outstanding or outstanding) for number in members]

    def room(self) -> Room:
        """Every path has the same."""
        loads = [load for case in set(self.settings.cases) for load in self._loads(case)]
        each, ramp = self.settings.seconds, self.settings.ramp_seconds
        seconds = sum((self.settings.long_seconds if load.case == 2 else each) + ramp for load in loads)
        tries = _TRIES if 6 in self.settings.cases else 0
        return Room(bytes=int(self.settings.path_size), files=_FILES, seconds=seconds + tries * (each + ramp))

    def touched(self) -> int:
        """On the members of the case that has the fewest."""
        loads = [load for case in set(self.settings.cases) for load in self._loads(case)]
        members = min((load.members for load in loads), default=max(1, len(self.targets.paths)))
        return members * int(self.settings.path_size)

    def on_null(self) -> Block:
        """For seconds, in memory: I/O that passes the page cache by has no meaning there."""
        size = min(int(self.settings.path_size), _NULL_BYTES)
        short = min(self.settings.seconds, _NULL_SECONDS)
        less = {"path_size": size, "seconds": short, "long_seconds": short, "ramp_seconds": 0, "direct": False}
        return Block(self.settings.model_copy(update=less), self.targets)

    @contextmanager
    def prepared(self, arena: Arena) -> Iterator[None]:
        """All files written, on storage."""
        if self.settings.path_size // _FILES < self.settings.block:
            raise UsageError("path_size is too small for 32 files of a block each")
        written(
            arena,
            [f"{path}/{number}" for path in range(len(arena.paths)) for number in range(_FILES)],
            self._size,
            int(self.settings.block),
        )
        yield

    @property
    def _size(self) -> int:
        """Of a file: whole blocks."""
        block = int(self.settings.block)
        return int(self.settings.path_size) // _FILES // block * block

    def observe(self, turn: Turn, arena: Arena) -> FioSeen:
        """A job of fio for each volume."""
        at = cast(BlockLoad, turn.at)
        seconds = self.settings.long_seconds if at.case == 2 else self.settings.seconds
        jobs = [self._volume(at, number, seconds) for number in range(at.volumes)]
        return observed(turn, arena, jobs, expected_s=float(seconds + self.settings.ramp_seconds))

    def _volume(self, at: BlockLoad, number: int, seconds: int) -> Job:
        """Its files lie on all members of the case alike."""
        each = _FILES // at.volumes
        names = tuple(
            f"{path}/{file}" for path in range(at.members) for file in range(number * each, (number + 1) * each)
        )
        block = int(self.settings.block)
        return Job(name=f"volume{number}", does="randrw", files=names, block=block, size=self._size * len(names),
                   outstanding=at.outstanding, read_percent=self.settings.read_percent, seconds=seconds,
                   ramp_seconds=self.settings.ramp_seconds, direct=self.settings.direct, engine=self.settings.engine,
                   options=(("blockalign", str(block)), ("randseed", str(number + 1))))  # fmt: skip
