"""Stream: files read from end to end by so many streams at once, as totals over time (report R4)."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal, cast

from pydantic import ByteSize, Field

from core.errors import UsageError
from experiments.kinds.cases import Cases
from experiments.kinds.kind import Kind
from experiments.report import words
from experiments.report.parts import Section, note, paragraph
from experiments.result import schema
from experiments.result.steady import judged
from experiments.workload import Figure, Turn
from storage_tests import fio
from storage_tests.about import ProfileTelling, Published, profile_about
from storage_tests.devices import Tuned, tuned
from storage_tests.fio import FioSeen, Job, observed, rate_by, refuse_without_fio, settled, written
from storage_tests.profile import Arena, Profile, ProfileRun, ProfileSettings, Room, common

NAME = "stream"


@dataclass(frozen=True, slots=True, order=True)
class StreamLoad(schema.At):
    """So many streams on one path, or on each of several disks, each stream with a file of its own."""

    tier: int  # number of the path, 1 …; 0: several of them
    streams: int
    disks: int | None = None  # the first so many paths at the same time
    does: str | None = None  # "read" or "write"; None: read, as all of the experiment
    scheduler: str | None = None  # of the devices; None: unchanged
    read_ahead: str | None = None  # "128 KiB", likewise

    @property
    def where(self) -> str:
        """Everything but the numbers of streams and disks."""
        set_here = (("scheduler", self.scheduler), ("read-ahead", self.read_ahead))
        said = [self.does or "", *(f"{name} {value}" for name, value in set_here if value)]
        return ", ".join(filter(None, [f"tier {self.tier}" if self.tier else "", *said])) or "read"

    def __str__(self) -> str:
        disks = f", {self.on('disks')}" if self.disks else ""
        return f"{self.where}{disks}, {self.on('streams')}"


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamRun(ProfileRun):
    """One reading of all files to their ends."""

    bytes: int
    highest_second: float  # bytes that were read in the second with the most: what a meter shows at its best
    tuned: tuple[Tuned, ...] = ()  # scheduler and read-ahead of each path's device meanwhile


class StreamPoint(schema.PointOf[StreamLoad, StreamRun]):
    """All repeats under one load."""


class StreamResult(schema.ResultOf[StreamPoint]):
    """A whole experiment."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamSeen(FioSeen):
    """One run of fio."""

    tuned: tuple[Tuned, ...] = ()


def run_of(seen: StreamSeen) -> StreamRun:
    """Every figure of it."""
    per_second = fio.by_second(seen.fio.jobs, of_bytes=True)
    one = judged("bytes", per_second, 0.0, seen.elapsed_s)
    return StreamRun(
        **common(seen),
        latency=fio.latencies(seen.fio.jobs),
        steady=() if one is None else (one,),
        bytes=fio.transferred(seen.fio.jobs),
        highest_second=max((value for _, value in per_second), default=0.0),
        tuned=seen.tuned,
    )


class StreamTelling(ProfileTelling):
    """`surroundings` as those of every profile."""

    def sentence(self, points: Sequence[StreamPoint]) -> str:
        """Of each tier."""
        settings = self.surroundings["configuration"]["settings"]
        said = {
            name: window_answer(group, settings["window_tb"], settings["window_hours"])
            for name, group in grouped(points).items()
        }
        if len(said) == 1:
            return next(iter(said.values()))
        return "; ".join(f"{name}: {clause}" for name, clause in said.items())


def grouped(points: Sequence[StreamPoint]) -> dict[str, list[StreamPoint]]:
    """By tier, or by disks, and whatever is set there; only streams differ in a group."""
    out: dict[str, list[StreamPoint]] = {}
    for point in points:
        disks = f", {point.at.on('disks')}" if point.at.disks else ""
        out.setdefault(f"{point.at.where}{disks}", []).append(point)
    return out


def rate_needed(terabytes: float, hours: float) -> float:
    """MB/s, sustained; 1 TB is 10¹² bytes."""
    return terabytes * 1e6 / (hours * 3600)


def window_answer(points: Sequence[StreamPoint], terabytes: float, hours: float) -> str:
    """Whether so much fits into the window: at the fewest streams that are fast enough by their median, or why not."""
    needed, by_streams = rate_needed(terabytes, hours), sorted(points, key=lambda point: point.at.streams)
    rates = {point.at.streams: point.figures["mb_per_s"].median for point in by_streams}
    what = f"{terabytes:g} TB in {hours:g} h need {words.figure(needed)} MB/s"
    enough = [streams for streams, rate in rates.items() if rate >= needed]
    if enough:
        fewest = enough[0]
        return f"{what}: they fit with {words.many(fewest, 'stream')} ({words.figure(rates[fewest])} MB/s)"
    best = max(rates, key=lambda streams: rates[streams])
    takes = terabytes * 1e6 / rates[best] / 3600
    more = _why(list(rates.items()))
    return (
        f"{what}: they do not fit; the most is {words.figure(rates[best])} MB/s with {words.many(best, 'stream')}, which takes"
        f" {words.figure(takes)} h; {more}"
    )


def _why(rates: Sequence[tuple[int, float]]) -> str:
    """Whether more streams would help, from the last step that was measured."""
    if len(rates) < 2:
        return "more streams were not tried"
    (fewer, before), (most, last) = rates[-2:]
    gain = last / before - 1 if before else 0.0
    if gain < 0.05:
        return f"more streams do not help ({most} instead of {fewer} gave {gain * 100:+.0f} %)"
    return f"more streams may help ({most} instead of {fewer} gave {gain * 100:+.0f} %)"


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
    does: Annotated[
        tuple[Literal["read", "write"], ...], Field(min_length=1, description="read files, write new ones, or both")
    ] = ("read",)
    disks: Annotated[
        tuple[Annotated[int, Field(ge=1)], ...],
        Field(description="use the first so many paths at once, one point each, such as 1,2,4; empty: each path alone"),
    ] = ()
    schedulers: Annotated[
        tuple[str, ...], Field(description="schedulers of the paths' devices, one point each; empty: unchanged")
    ] = ()
    read_ahead_kb: Annotated[
        tuple[Annotated[int, Field(ge=0)], ...],
        Field(description="read-ahead of the paths' devices in KiB, one point each; empty: unchanged"),
    ] = ()
    window_tb: Annotated[float, Field(gt=0, description="backup window: this many TB …")] = 30.0
    window_hours: Annotated[float, Field(gt=0, description="… in this many hours")] = 48.0


class Stream(Profile[StreamSettings]):
    """Each path is a tier."""

    name = "stream"
    report = "R4"
    does = (
        "Reads or writes files from end to end, with one to many streams at once, each path a tier, or over one to all disks with"
        " each scheduler and read-ahead; shows totals over time, and whether N TB fit into H hours."
    )
    writes = "As many files of `file_size` on each path as there are streams at most, once; removed at the end."
    needs = "fio. Empty directories; two paths for a fast and a slow tier."
    settings_type = StreamSettings
    small: ClassVar[dict[str, Any]] = {"streams": (1, 2), "file_size": "64MB"}

    def check(self) -> None:
        """Raises UsageError without fio."""
        refuse_without_fio()

    def kind(self, repeats: int, seed: int) -> Kind:
        """Every number of streams on every path; raises UsageError for files that are smaller than a block."""
        if self.settings.file_size < self.settings.block:
            raise UsageError("--set block: it is longer than a file")
        s, there = self.settings, len(self.targets.paths)
        if max(s.disks, default=0) > there:
            raise UsageError(f"--set disks={max(s.disks)}: there are {there} paths; name more with --path")
        places: list[tuple[int, int | None]] = [(0, disks) for disks in sorted(set(s.disks))]
        places = places or [(tier, None) for tier in range(1, there + 1)]
        ahead = [f"{one} KiB" for one in dict.fromkeys(s.read_ahead_kb)]
        points = [
            StreamLoad(tier, streams, disks, None if s.does == ("read",) else does, scheduler, one)
            for (tier, disks), does, scheduler, one, streams in itertools.product(
                places, dict.fromkeys(s.does), s.schedulers or (None,), ahead or (None,), sorted(set(s.streams))
            )
        ]
        return Cases("disks" if s.disks else "streams", points, repeats=repeats, seed=seed)

    def room(self) -> Room:
        """The files of the most streams; each point reads its own."""
        most, size = max(self.settings.streams), int(self.settings.file_size)
        settings = len(self.settings.schedulers or (0,)) * len(self.settings.read_ahead_kb or (0,))
        paths = sum(set(self.settings.disks)) or len(self.targets.paths)
        moved = sum(set(self.settings.streams)) * size * paths * settings * len(self.settings.does)
        many = most * (1 + ("write" in self.settings.does))
        return Room(bytes=many * size, files=many, seconds=moved / _SLOW)

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
        """The first files of a path, or of each disk, each read or written to its end by a stream of its own."""
        at = cast(StreamLoad, turn.at)
        paths, writes = [at.tier - 1] if at.disks is None else range(at.disks), at.does == "write"
        streams = [(path, f"new{number}" if writes else str(number)) for path in paths for number in range(at.streams)]
        more = (("end_fsync", "1"), ("refill_buffers", "1")) if writes else ()
        jobs = [
            Job(name=f"stream{number}", does=at.does or "read", files=(f"{path}/{name}",), block=int(self.settings.block),
                size=self._size, direct=self.settings.direct, options=more)
            for number, (path, name) in enumerate(streams)
        ]  # fmt: skip
        scheduler = "" if at.scheduler is None or arena.null else at.scheduler
        ahead = None if at.read_ahead is None or arena.null else int(at.read_ahead.split()[0])
        with tuned([arena.paths[path] for path in paths], scheduler, ahead) as queues:
            seen = observed(turn, arena, jobs)
        if writes:
            for path, name in streams:
                (arena.paths[path] / name).unlink()
            settled(arena)
        fields = {field.name: getattr(seen, field.name) for field in dataclasses.fields(seen)}
        return StreamSeen(**fields, tuned=queues)


def sections(result: StreamResult) -> list[Section]:
    """In reading order."""
    group = "tier" if result.axis == "streams" else "disks"
    return [_window(result), rate_by(result, result.axis, group, "mb_per_s", "MB/s", _line)]


def _line(at: StreamLoad) -> object:
    """What a line of the figure is called, after `tier`; of disks with the number of streams of each."""
    if at.disks is not None:
        return f"{at.where}, {at.on('streams')} each"
    return at.tier if at == StreamLoad(at.tier, at.streams) else at.where.removeprefix("tier ")


def _window(result: StreamResult) -> Section:
    settings = result.conditions["configuration"]["settings"]
    terabytes, hours = settings["window_tb"], settings["window_hours"]
    parts = []
    for name, points in grouped(result.points).items():
        at, targets = points[0].at, result.conditions["targets"]
        used = [targets[at.tier - 1]] if at.disks is None else targets[: at.disks]
        where = ", ".join(dict.fromkeys(str(one["label"]) for one in used))
        parts.append(paragraph(f"{name[0].upper()}{name[1:]}, {where}: {window_answer(points, terabytes, hours)}."))
    untuned = dict.fromkeys(
        word for point in result.points for run in point.repeats for one in run.tuned for word in one.refused
    )
    parts += [note(f"Not set: {word}") for word in untuned]
    said = note(
        f"Needed: {words.figure(rate_needed(terabytes, hours))} MB/s over the whole window. Rates are totals: bytes read by all"
        " streams over the time from the start of the first to the end of the last, so the highest second, which a meter"
        " in a pipe shows, is given for comparison only. What a backup does besides reading (its target, its index, small"
        " files) is not in it."
    )
    return Section(anchor="window", title="Does the backup fit its window?", parts=(*parts, said))


PROFILE = Stream


def _published(tier: str, seconds: float, nbytes: float, shown: float) -> Published:
    return Published(
        what=f"{tier} tier, {words.size(nbytes)} in {seconds:.0f} s",
        figure="mb_per_s",
        value=nbytes / seconds / 1e6,
        at={"tier": 1 if tier == "fast" else 2, "streams": 1},
        settings={"file_size": 2_000_000_000},  # the default: a smaller file is read out of caches
        remark=f"the meter showed {shown:.0f} MB/s",
    )


def _highest(run: Any) -> float | None:
    return run.highest_second / 1e6 if run.highest_second else None


ABOUT = profile_about(
    name=NAME,
    report="R4",
    result=StreamResult,
    point=StreamPoint,
    figures=(
        Figure(name="mb_per_s", title="MB/s", of=lambda run: run.bytes / run.elapsed_s / 1e6, headline=True),
        Figure(name="gb_per_hour", title="GB/hour", of=lambda run: run.bytes / run.elapsed_s * 3.6e-6),
        Figure(name="elapsed_s", title="elapsed", of=lambda run: run.elapsed_s, write=words.seconds, unit="s"),
        Figure(name="highest_mb_per_s", title="highest second, MB/s", of=_highest),
    ),
    seen=StreamSeen,
    run_of=run_of,
    sections=sections,
    ceilings=("mb_per_s",),
    published=(_published("fast", 44, 2e9, 253), _published("slow", 70, 2.43e9, 116)),
    notes={"bytes": lambda run: run.bytes},
    telling=StreamTelling,
    makers="streams",
)
