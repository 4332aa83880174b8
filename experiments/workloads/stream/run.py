"""Runs profile `stream`: files are written once, then read by fio."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated, Any, ClassVar, cast

from pydantic import ByteSize, Field

from core.errors import UsageError
from experiments.kinds.cases import Cases
from experiments.kinds.kind import Kind
from experiments.profiles.fio.jobs import Job
from experiments.profiles.fio.maker import observed, written
from experiments.profiles.fio.output import FioSeen
from experiments.profiles.fio.program import refuse_without_fio
from experiments.profiles.profile import Arena, Profile, ProfileSettings, Room
from experiments.workload import Turn
from experiments.workloads.stream.result import StreamLoad

_SLOW = 50e6  # bytes a second that a stream is reckoned to have, for how long it takes
_NULL_BYTES = 128 << 20  # of a stream's file in memory


class StreamSettings(ProfileSettings):
    """Of profile `stream`."""

    streams: Annotated[tuple[int, ...], Field(min_length=1, description="streams at once, one point each")] = (
        1,
        2,
        4,
        8,
    )
    file_size: Annotated[ByteSize, Field(ge=1 << 20, description="size of each stream's file")] = ByteSize(
        2_000_000_000
    )
    block: Annotated[ByteSize, Field(ge=512, description="size of each read")] = ByteSize(1 << 20)
    direct: Annotated[bool, Field(description="bypass the page cache (O_DIRECT)")] = False
    window_tb: Annotated[float, Field(gt=0, description="backup window: this many TB …")] = 30.0
    window_hours: Annotated[float, Field(gt=0, description="… in this many hours")] = 48.0


class Stream(Profile[StreamSettings]):
    """Each path is a tier."""

    name = "stream"
    report = "R4"
    does = (
        "Reads files from end to end, with one to many streams at once, each its own file, each path a tier; shows totals over"
        " time, and whether N TB fit into H hours."
    )
    writes = "As many files of `file_size` on each path as there are streams at most, once; removed at the end."
    needs = "fio. Empty directories; two paths for a fast and a slow tier."
    settings_type = StreamSettings
    small: ClassVar[dict[str, Any]] = {"streams": (1, 2), "file_size": "64MB"}

    @property
    def direct(self) -> bool:
        """As it was set."""
        return self.settings.direct

    def check(self) -> None:
        """Raises UsageError without fio."""
        refuse_without_fio()

    def kind(self, repeats: int, seed: int) -> Kind:
        """Every number of streams on every path; raises UsageError for files that are smaller than a block."""
        if self.settings.file_size < self.settings.block:
            raise UsageError("--set block: it is longer than a file")
        tiers = range(1, len(self.targets.paths) + 1)
        points = [StreamLoad(tier, streams) for tier in tiers for streams in sorted(set(self.settings.streams))]
        return Cases("streams", points, repeats=repeats, seed=seed)

    def room(self) -> Room:
        """The files of the most streams; each point reads its own."""
        most, size = max(self.settings.streams), int(self.settings.file_size)
        read = sum(set(self.settings.streams)) * size * len(self.targets.paths)
        return Room(bytes=most * size, files=most, seconds=read / _SLOW)

    def touched(self) -> int:
        """By the fewest streams, on one path."""
        return min(self.settings.streams) * int(self.settings.file_size)

    def on_null(self) -> Stream:
        """With files that memory holds; without O_DIRECT, which memory has no use for."""
        size = min(int(self.settings.file_size), _NULL_BYTES)
        return Stream(self.settings.model_copy(update={"file_size": size, "direct": False}), self.targets)

    @contextmanager
    def prepared(self, arena: Arena) -> Iterator[None]:
        """Every path has its files, on storage and no longer in the page cache."""
        names = [f"{path}/{number}" for path in range(len(arena.paths)) for number in range(max(self.settings.streams))]
        written(arena, names, self._size, int(self.settings.block))
        yield

    @property
    def _size(self) -> int:
        """Of a file: whole blocks."""
        return int(self.settings.file_size) // int(self.settings.block) * int(self.settings.block)

    def observe(self, turn: Turn, arena: Arena) -> FioSeen:
        """The first files of a path, each read to its end by a stream of its own."""
        at = cast(StreamLoad, turn.at)
        jobs = [
            Job(name=f"stream{number}", does="read", files=(f"{at.tier - 1}/{number}",), block=int(self.settings.block),
                size=self._size, direct=self.settings.direct)
            for number in range(at.streams)
        ]  # fmt: skip
        return observed(turn, arena, jobs)
