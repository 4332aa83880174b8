"""Tests whose load fio makes: block-8k (report R2), stream (R4), and self-check of the generator without storage;
`matrix` is in its own module."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, cast

from pydantic import ByteSize, Field

from core.errors import UsageError
from core.plain import grouped
from experiments.kinds import Plan, Search, planned
from experiments.report import words
from experiments.report.parts import Part, Parts, Section, note, paragraph, plotted, section
from experiments.report.plots import (
    draw_line,
    figure_of,
    from_zero,
    over_time,
    time_unit,
)
from experiments.report.style import FAINT, marker, series_colour
from experiments.report.views import middle
from experiments.result import schema
from experiments.result.schema import Point
from experiments.workload import ELAPSED, Figure, Turn, percentile
from monitoring.machine import processors
from storage_tests.about import MARK, ProfileWording, Published, about_test
from storage_tests.devices import Direct, tuned
from storage_tests.drift import LEAST
from storage_tests.fio import (
    IOPS,
    MB_PER_S,
    SAMPLE_S,
    FioRun,
    FioTest,
    Job,
    as_sentence,
    elapsed_s,
    rate_by,
    run_of,
    settings_in,
    settled,
)
from storage_tests.owner import place_of_own
from storage_tests.profile import COMMAND_ONLY, MEMORY, Arena, ProfileSettings, Room, noted
from storage_tests.tar import contents, planted, refuse_without_tar, tarred

# block-8k


@dataclass(frozen=True, slots=True, order=True)
class BlockLoad(schema.At):
    """A case of report R2: a number of volumes, spread over a number of members (paths), with a number of outstanding
    I/Os on each volume."""

    case: int
    members: int
    volumes: int
    outstanding: int

    def on(self, axis: str) -> str:
        """Return the value of one field in words: outstanding has no plural, and a case is a name."""
        if axis == "outstanding":
            return f"{self.outstanding:,} outstanding on each of {self.volumes}"
        return f"case {self.case}" if axis == "case" else schema.At.on(self, axis)

    def __str__(self) -> str:
        return f"case {self.case}, {self.on('members')}, {self.on('volumes')}, {self.outstanding:,} outstanding on each"


BlockPoint = schema.PointOf[BlockLoad, FioRun]
BlockResult = schema.ResultOf[BlockPoint]
_FILES = 32  # on each path: they form 32 volumes, or 4, or one
_TRIES = 12  # approximate number of loads in a search
_CASES = {
    1: (1, 256),
    2: (1, 256),
    3: (4, 128),
    4: (4, 128),
    5: (32, 32),
}  # volumes, outstanding; case 6 is searched for
ALL_MEMBERS = (3, 4, 5)  # cases over one member to all of them
_LONG, _SEARCHED = 2, 6
_CORPUS_FILE = 100_000  # bytes of a loose file of the reference corpus, about


class BlockWording(ProfileWording):
    """Reports on a block-8k, from `surroundings` as of every profile."""

    def sentence(self, points: Sequence[BlockPoint]) -> str:
        """Report the highest rate of all cases, the search's result and the drift of the long case."""
        most = max(points, key=lambda point: point.figures["iops"].median)
        clauses = [f"{_rate(most)} at {most.at}"]
        if long := [point for point in points if point.at.case == _LONG]:
            drift = middle(long[0].repeats).drift
            clauses.append(f"case {_LONG} {drift.text if drift else 'is too short to judge drift'}")
        if any(point.at.case == _SEARCHED for point in points):
            clauses.append(bounded_text(points, settings_in(self)["most_ms"]))
        return "; ".join(clauses)

    def warnings(self, points: Sequence[BlockPoint]) -> Sequence[str]:
        """Return the warnings of every profile, and one if fewer I/Os were outstanding than the points demand."""
        engine = settings_in(self)["engine"]
        through = any(place.get("direct") == Direct.CACHED for place in self.surroundings["targets"])
        own = []
        if engine == "libaio" and (through or not settings_in(self)["direct"]):
            own.append(
                "this host's cache takes one I/O at a time of engine libaio: fewer I/Os are outstanding than requested;"
                " --set engine=io_uring"
            )
        elif engine == "posixaio":
            own.append(
                "the C library does I/Os of engine posixaio in a few threads, one at a time for each file: fewer I/Os may be"
                " outstanding than requested"
            )
        return (*super().warnings(points), *own)


def _rate(point: Point) -> str:
    """Return the rate as `12,035 IOPS, mean 21.3 ms`."""
    mean = point.figures.get("mean_us")
    return f"{words.count(point.figures['iops'].median)} IOPS" + (
        f", mean {words.microseconds(mean.median)}" if mean else ""
    )


def bounded(points: Sequence[BlockPoint], most_ms: float) -> BlockPoint | None:
    """Return case 6's highest load below which every tried load keeps the bound; None if not even the lowest does."""
    best = None
    for point in sorted((one for one in points if one.at.case == _SEARCHED), key=lambda one: one.at.outstanding):
        if "mean_us" not in point.figures or point.figures["mean_us"].median > most_ms * 1000:
            break
        best = point
    return best


def bounded_text(points: Sequence[BlockPoint], most_ms: float) -> str:
    """Report the result of the search."""
    tried = [point.at.outstanding for point in points if point.at.case == _SEARCHED]
    best = bounded(points, most_ms)
    if best is None:
        return f"no load stays within a mean of {most_ms:g} ms"
    end = "" if max(tried) > best.at.outstanding else " (the highest that was tried)"
    return f"within a mean of {most_ms:g} ms {_rate(best)} with {best.at.on('outstanding')}{end}"


class BlockSettings(ProfileSettings):
    """Settings of profile `block-8k`."""

    cases: tuple[Annotated[int, Field(ge=1, le=6)], ...] = Field(
        (1, 2, 3, 4, 5, 6), min_length=1, description="cases of report R2, 1 to 6"
    )
    path_size: ByteSize = Field(
        ByteSize(16 << 30), ge=_FILES << 16, description="size of all volumes of a path together"
    )
    block: ByteSize = Field(ByteSize(8192), ge=512, description="size and alignment of each I/O")
    read_percent: int = Field(60, ge=0, le=100, description="share of reads among all I/Os")
    seconds: int = Field(120, ge=1, description="a run")
    long_seconds: int = Field(3600, ge=1, description="length of case 2's run")
    ramp_seconds: int = Field(60, ge=0, description="ramp-up before the measurement")
    outstanding: int = Field(0, ge=0, description="outstanding I/Os on each volume; 0: those of the report")
    most_ms: float = Field(10.0, gt=0, description="case 6: bound on the mean response time of all I/Os")
    most_outstanding: int = Field(
        512, ge=1, description="case 6: highest number of outstanding I/Os tried on each volume"
    )
    direct: bool = Field(True, description="bypass the page cache (O_DIRECT)")
    engine: str = Field(
        "libaio", pattern="^(libaio|io_uring|posixaio)$", description="fio engine that keeps I/Os outstanding"
    )


class Block(FioTest[BlockSettings]):
    """The test of report R2; a path is a member, and volumes are spread over all members of a case."""

    name = "block-8k"
    report = "R2"
    does = (
        "Runs six cases of random I/O, 60 % reads, 8 KB, with many outstanding: one volume, the same for an hour, "
        "four volumes over one path to all of them (twice), 32 volumes, and the highest load with a mean response "
        "time of 10 ms."
    )
    writes = (
        "32 files on each path, `path_size` in total, written once and then overwritten at random; removed at the end."
    )
    needs = (
        "fio. Empty directories on the volumes or array members; storage that supports O_DIRECT, or --set "
        "direct=false --set engine=io_uring."
    )
    settings_type = BlockSettings
    indirect = "--set direct=false --set engine=io_uring uses the page cache with the same number outstanding"
    small: ClassVar[dict[str, Any]] = {
        "path_size": "64MiB", "seconds": 2, "long_seconds": 4, "ramp_seconds": 0, "most_outstanding": 8,
    }  # fmt: skip
    axis = "members"
    less: ClassVar[Mapping[str, int]] = {"path_size": 64 << 20, "seconds": 3, "long_seconds": 3, "ramp_seconds": 0}

    @property
    def least_seconds(self) -> float:
        """The least length: the report's runs are of 2 minutes."""
        return 0.95 * min(self.settings.seconds, self.settings.long_seconds)

    def points(self) -> list[BlockLoad]:
        """Return the points of the cases without a search."""
        every = max(1, len(self.targets.paths))
        return [
            BlockLoad(case, members, volumes, self.settings.outstanding or outstanding)
            for case, (volumes, outstanding) in _CASES.items()
            if case in self.settings.cases
            for members in (range(1, every + 1) if case in ALL_MEMBERS else (every,))
        ]

    def plan(self, repeats: int, seed: int) -> Plan:
        """Return the plan: the cases in random order, then the search of case 6."""
        if _SEARCHED not in self.settings.cases:
            return super().plan(repeats, seed)
        base = BlockLoad(_SEARCHED, len(self.targets.paths), 4, 1)
        search = Search(base=base.values(), axis="outstanding", figure="mean_us", bound=self.settings.most_ms * 1000,
                        most=self.settings.most_outstanding)  # fmt: skip
        return planned("profile", self.axis, self.points(), repeats=repeats, seed=seed, search=search)

    def room(self) -> Room:
        """Return the room, the same for every path."""
        each = self.settings.seconds + self.settings.ramp_seconds
        seconds = sum(self.expected_s(load) for load in self.points())
        tries = _TRIES * each if _SEARCHED in self.settings.cases else 0
        return Room(bytes=int(self.settings.path_size), files=_FILES, seconds=seconds + tries)

    def touched(self) -> int:
        """Return the bytes on the members of the case that has the fewest."""
        members = min((load.members for load in self.points()), default=max(1, len(self.targets.paths)))
        return members * int(self.settings.path_size)

    def files(self) -> tuple[int, int, int]:
        """Return the files, in whole blocks."""
        block = int(self.settings.block)
        if not (size := int(self.settings.path_size) // _FILES // block * block):
            raise UsageError("path_size is too small for 32 files of one block each")
        return _FILES, size, block

    def expected_s(self, at: BlockLoad) -> float:
        """Return the seconds of the jobs, ramp-up included."""
        seconds = self.settings.long_seconds if at.case == _LONG else self.settings.seconds
        return float(seconds + self.settings.ramp_seconds)

    def jobs(self, at: BlockLoad, paths: int) -> list[Job]:
        """Return one job for each volume, whose files are spread evenly over all members of the case."""
        wish, (_, size, block), each = self.settings, self.files(), _FILES // at.volumes
        seconds = wish.long_seconds if at.case == _LONG else wish.seconds
        return [
            Job(name=f"volume{number}", does="randrw", block=block, size=size * each * at.members, seconds=seconds,
                files=tuple(f"{path}/{file}" for path in range(at.members) for file in range(number * each, (number + 1) * each)),
                outstanding=at.outstanding, read_percent=wish.read_percent, ramp_seconds=wish.ramp_seconds,
                direct=wish.direct, engine=wish.engine,
                options=(("blockalign", str(block)), ("randseed", str(number + 1))))
            for number in range(at.volumes)
        ]  # fmt: skip


def _block_sections(result: BlockResult) -> list[Section]:
    """Return the sections of the cases that were run."""
    long = [point for point in result.points if point.at.case == _LONG]
    scaled = tuple(point for case in ALL_MEMBERS for point in result.points if point.at.case == case)
    searched = [point for point in result.points if point.at.case == _SEARCHED]
    parts = [_long(long[0])] if long else []
    if scaled:
        parts.append(rate_by(dataclasses.replace(cast("Any", result), points=scaled), "members", "case", IOPS))
    return [*parts, *([_search(result, searched)] if searched else [])]


def _long(point: BlockPoint) -> Section:
    """Show the representative repeat of the long case."""
    run = middle(point.repeats)
    title = f"Case {_LONG}: {words.seconds(run.elapsed_s)} in samples of {SAMPLE_S} s"
    if not run.samples:
        return Section(anchor="long", title=title, parts=(paragraph("The run is shorter than a sample."),))
    samples = [(SAMPLE_S * (number + 0.5), value) for number, value in enumerate(run.samples)]
    length, unit = time_unit(run.elapsed_s)
    with figure_of(height=3.0) as (figure, (axes,)):
        draw_line(axes, samples, 0, "IOPS", length)
        over_time(axes, unit, "IOPS", start="the ramp-up's end")
    judgement = run.drift.text if run.drift else f"fewer than {LEAST} samples: drift is not judged"
    plot = plotted("long", figure, as_sentence(judgement), ("second", "iops"), samples)
    return Section(anchor="long", title=title, parts=(plot, note("Report R2's curve is flat.")))


def _search(result: BlockResult, points: list[BlockPoint]) -> Section:
    """Plot load against rate, and against the mean response time with its bound."""
    most_ms = settings_in(result)["most_ms"]
    points = sorted((point for point in points if "mean_us" in point.figures), key=lambda point: point.at.outstanding)
    loads = [point.at.outstanding for point in points]
    rates = [point.figures["iops"].median for point in points]
    means = [point.figures["mean_us"].median / 1000 for point in points]
    with figure_of(2, height=3.1) as (figure, panels):
        for number, (axes, values, label) in enumerate(
            zip(panels, (rates, means), ("IOPS", "mean response, ms"), strict=True)
        ):
            axes.plot(loads, values, color=series_colour(number), marker=marker(number), markersize=5)
            axes.set_title(label)
            axes.set_xlabel("outstanding on each of 4 volumes")
            axes.set_xlim(left=0)
            from_zero(axes)
        panels[1].axhline(most_ms, color=FAINT.light, linestyle=":", linewidth=1)
        if (best := bounded(points, most_ms)) is not None:
            panels[0].axvline(best.at.outstanding, color=FAINT.light, linestyle=":", linewidth=1)
    rows = zip(loads, rates, means, strict=True)
    sentence = f"{as_sentence(bounded_text(points, most_ms))} Dotted: bound and answer."
    remark = note(
        "The mean is that of all I/Os of all volumes together; fio's latency_target, in contrast, bounds a share "
        "of the I/Os of each thread."
    )
    parts = (plotted("search", figure, sentence, ("outstanding", "iops", "mean_ms"), rows), remark)
    return Section(
        anchor="search", title=f"Case {_SEARCHED}: the highest load within a mean of {most_ms:g} ms", parts=parts
    )


_DISKS = "5 members of 16 disks; 2 hosts"
_IOMETER = {"block": 8192, "read_percent": 60, "direct": True}
_ONE, _FOUR = {"volumes": 1, "outstanding": 256}, {"volumes": 4, "outstanding": 128, "members": 5}


def _of_case(
    case: int, value: float, what: str, load: Mapping[str, int], remark: str = "", figure: str = "iops"
) -> Published:
    length = {"long_seconds": 3600} if case == _LONG else {"seconds": 120}
    return Published(what=f"case {case}: {what}", figure=figure, value=value, at={"case": case, **load},
                     settings=_IOMETER | length, remark=remark)  # fmt: skip


def _within(result: BlockResult) -> float | None:
    best = bounded(result.points, settings_in(result)["most_ms"])
    return None if best is None else best.figures["iops"].median


PUBLISHED = (
    _of_case(1, 12_035, "1 volume, 256 outstanding", _ONE, "3 members of 16 disks, one host, 1 GbE"),
    _of_case(1, 21_270, "its mean response time", _ONE, figure="mean_us"),
    _of_case(2, 12_043, "the same for 60 minutes", _ONE, "flat in samples of 10 s"),
    _of_case(3, 22_683, "4 volumes x 128, RAID-10", _FOUR, _DISKS),
    _of_case(4, 18_559, "4 volumes x 128, RAID-50", _FOUR, f"{_DISKS}; here the storage's own layout"),
    _of_case(5, 23_053, "32 volumes x 32, RAID-10", {"volumes": 32, "outstanding": 32, "members": 5}, _DISKS),
    Published(what="case 6: 4 volumes, mean response at most 10 ms", figure="iops", value=20_342, ours=_within,
              settings=_IOMETER | {"seconds": 120, "most_ms": 10.0},
              remark="51 outstanding on each, at 10.02 ms; 20,354 in its summary"),
)  # fmt: skip

Block.ABOUT = about_test(
    Block,
    BlockLoad,
    FioRun,
    figures=(
        IOPS,
        Figure(name="mean_us", title="mean", of=lambda run: run.mean_us, headline=True, write=words.microseconds, unit="µs"),
        MB_PER_S,
        percentile("read p99", "read"),
        percentile("write p99", "write"),
    ),
    run_of=run_of,
    sections=_block_sections,
    ceilings=("iops",),
    published=PUBLISHED,
    notes={"ios": lambda run: run.ios},
    wording=BlockWording,
    makers="generators",
)  # fmt: skip


# stream


@dataclass(frozen=True, slots=True, order=True)
class StreamLoad(schema.At):
    """A number of streams on one path, or on each of several disks, each stream with a file of its own."""

    tier: int  # number of the path, 1 …; 0: several of them
    streams: int
    disks: int | None = None  # the first so many paths at the same time
    does: str | None = None  # "read", "write" or "tar"; None: read, as all of the experiment
    scheduler: str | None = None  # of the devices; None: unchanged
    read_ahead: str | None = None  # "128 KiB", likewise

    @property
    def where(self) -> str:
        """The load without the number of streams: `tier 1`, `write, 2 disks, scheduler none`."""
        place = f"tier {self.tier}" if self.disks is None else self.on("disks")
        set_here = (("scheduler", self.scheduler), ("read-ahead", self.read_ahead))
        return ", ".join(filter(None, [self.does, place, *(f"{name} {value}" for name, value in set_here if value)]))

    def __str__(self) -> str:
        return f"{self.where}, {self.on('streams')}"


StreamPoint = schema.PointOf[StreamLoad, FioRun]
StreamResult = schema.ResultOf[StreamPoint]


class StreamWording(ProfileWording):
    """Reports on a stream, from `surroundings` as of every profile."""

    def sentence(self, points: Sequence[StreamPoint]) -> str:
        """Report for each tier whether the backup fits its window."""
        clauses = windows(points, settings_in(self))
        if len(clauses) == 1:
            return next(iter(clauses.values()))
        return "; ".join(f"{where}: {clause}" for where, clause in clauses.items())


def rate_needed(terabytes: float, hours: float) -> float:
    """Return the sustained rate in MB/s; 1 TB is 10¹² bytes."""
    return terabytes * 1e6 / (hours * 3600)


def windows(points: Sequence[StreamPoint], settings: Mapping[str, Any]) -> dict[str, str]:
    """Return by tier or disks and their settings whether the backup fits its window."""
    tb, hours = settings["window_tb"], settings["window_hours"]
    places = grouped(points, lambda point: point.at.where)
    return {where: window_answer(group, tb, hours) for where, group in places.items()}


def window_answer(points: Sequence[StreamPoint], terabytes: float, hours: float) -> str:
    """Report whether so much fits into the window: the fewest streams that are fast enough by their median, or why it
    does not fit."""
    needed, by_streams = rate_needed(terabytes, hours), sorted(points, key=lambda point: point.at.streams)
    rates = {point.at.streams: point.figures["mb_per_s"].median for point in by_streams}
    what = f"{terabytes:g} TB in {hours:g} h need {words.figure(needed)} MB/s"
    enough = [streams for streams, rate in rates.items() if rate >= needed]
    if enough:
        fewest = enough[0]
        return f"{what}: they fit with {words.many(fewest, 'stream')} ({words.figure(rates[fewest])} MB/s)"
    best = max(rates, key=lambda streams: rates[streams])
    takes = terabytes * 1e6 / rates[best] / 3600
    return (
        f"{what}: they do not fit; the maximum is {words.figure(rates[best])} MB/s with "
        f"{words.many(best, 'stream')}, which takes {words.figure(takes)} h; {_more_streams(list(rates.items()))}"
    )


def _more_streams(rates: Sequence[tuple[int, float]]) -> str:
    """Report whether more streams would help, from the last step that was measured."""
    if len(rates) < 2:
        return "more streams were not tried"
    (fewer, before), (most, last) = rates[-2:]
    gain = last / before - 1 if before else 0.0
    effect = "do not help" if gain < 0.05 else "may help"
    return f"more streams {effect} ({most} instead of {fewer} gave {gain * 100:+.0f} %)"


class StreamSettings(ProfileSettings):
    """Settings of profile `stream`."""

    streams: tuple[int, ...] = Field((1, 2, 4, 8), min_length=1, description="streams at once, one point each")
    file_size: ByteSize = Field(ByteSize(2_000_000_000), ge=1 << 20, description="size of each stream's file")
    block: ByteSize = Field(ByteSize(1 << 20), ge=512, description="size of each read")
    direct: bool = Field(False, description="bypass the page cache (O_DIRECT)")
    does: tuple[Literal["read", "write", "tar"], ...] = Field(
        ("read",),
        min_length=1,
        description="read files, write new ones, or read a tree of files with tar; one point each",
    )
    tree: Path | None = Field(
        None,
        description="the tree that tar reads, copied for each stream; empty: a corpus of about `file_size`",
        json_schema_extra=COMMAND_ONLY,
    )
    disks: tuple[Annotated[int, Field(ge=1)], ...] = Field(
        (), description="use the first N paths at once, one point each, such as 1,2,4; empty: each path alone"
    )
    schedulers: tuple[str, ...] = Field(
        (), description="schedulers of the paths' devices, one point each; empty: unchanged"
    )
    read_ahead_kb: tuple[Annotated[int, Field(ge=0)], ...] = Field(
        (), description="read-ahead of the paths' devices in KiB, one point each; empty: unchanged"
    )
    window_tb: float = Field(30.0, gt=0, description="backup window: this many TB …")
    window_hours: float = Field(48.0, gt=0, description="… in this many hours")


class Stream(FioTest[StreamSettings]):
    """The test of report R4; each path is a tier."""

    name = "stream"
    report = "R4"
    does = (
        "Reads or writes whole files, or reads a real tree with tar, with one to many streams at once; each path "
        "is a tier, or one to all disks are used with each scheduler and read-ahead (R5). Shows totals over time, "
        "and whether N TB fit into H hours."
    )
    writes = "A file of `file_size`, or a copy of `tree`, for each stream on each path, once; removed at the end."
    needs = "fio; for does=tar also tar. Empty directories; two paths for a fast and a slow tier."
    settings_type = StreamSettings
    small: ClassVar[dict[str, Any]] = {"streams": (1, 2), "file_size": "64MB"}
    axis = "streams"
    less: ClassVar[Mapping[str, int]] = {"file_size": 128 << 20}

    def points(self) -> list[StreamLoad]:
        """Return every number of streams on every path. Raises UsageError for files that are smaller than a block."""
        if self.settings.file_size < self.settings.block:
            raise UsageError("--set block: it is longer than a file")
        s, there = self.settings, len(self.targets.paths)
        if max(s.disks, default=0) > there:
            raise UsageError(f"--set disks={max(s.disks)}: there are {there} paths; name more with --path")
        places: list[tuple[int, int | None]] = [(0, disks) for disks in sorted(set(s.disks))]
        places = places or [(tier, None) for tier in range(1, there + 1)]
        ahead = [f"{one} KiB" for one in dict.fromkeys(s.read_ahead_kb)]
        return [
            StreamLoad(tier, streams, disks, None if s.does == ("read",) else does, scheduler, one)
            for (tier, disks), does, scheduler, one, streams in itertools.product(
                places, dict.fromkeys(s.does), s.schedulers or (None,), ahead or (None,), sorted(set(s.streams))
            )
        ]

    def room(self) -> Room:
        """Return the room of the files of the most streams; each point reads its own, at an assumed 50 MB/s."""
        most, size = max(self.settings.streams), int(self.settings.file_size)
        s, held = self.settings, {"read": (size, 1), "write": (size, 1), "tar": self._tree}
        kept = [held[does] for does in {"read", *s.does}] if self._fio else [self._tree]
        points = len(s.schedulers or (0,)) * len(s.read_ahead_kb or (0,))
        moved = sum(held[does][0] for does in s.does) * sum(set(s.streams)) * points
        disks = sum(set(s.disks)) or len(self.targets.paths)
        return Room(bytes=most * sum(one for one, _ in kept), files=most * sum(files for _, files in kept),
                    seconds=moved * disks / 50e6)  # fmt: skip

    @property
    def _fio(self) -> bool:
        """Whether fio reads or writes any files."""
        return set(self.settings.does) != {"tar"}

    @functools.cached_property
    def _tree(self) -> tuple[int, int]:
        """Bytes and files of the tree that tar reads; for a corpus, an estimate."""
        size, tree = int(self.settings.file_size), self.settings.tree
        return (size, size // _CORPUS_FILE) if tree is None else contents(tree)

    def check(self) -> None:
        """Raise UsageError if a program is missing."""
        if self._fio:
            super().check()
        if "tar" in self.settings.does:
            refuse_without_tar()

    def touched(self) -> int:
        """Return the bytes of the fewest streams, on one path."""
        sizes = [self._tree[0]] * ("tar" in self.settings.does) + [int(self.settings.file_size)] * self._fio
        return min(self.settings.streams) * min(sizes)

    @contextlib.contextmanager
    def prepared(self, arena: Arena) -> Iterator[None]:
        """Write the files of every path, and a tree for each stream."""
        s, streams = self.settings, range(max(self.settings.streams))
        if "tar" in s.does:
            trees = [path / f"tree{number}" for path in arena.paths for number in streams]
            planted(s.tree, int(s.file_size), trees, arena)
        with super().prepared(arena) if self._fio else contextlib.nullcontext():
            yield

    def files(self) -> tuple[int, int, int]:
        """Return the files, in whole blocks."""
        block = int(self.settings.block)
        return max(self.settings.streams), int(self.settings.file_size) // block * block, block

    def jobs(self, at: StreamLoad, paths: int) -> list[Job]:
        """Return the jobs: the first files of a path, or of each disk, each read or written to its end by a stream of
        its own."""
        _, size, block = self.files()
        more = (("end_fsync", "1"), ("refill_buffers", "1")) if at.does == "write" else ()
        return [
            Job(name=f"stream{number}", does=at.does or "read", files=(file,), block=block, size=size,
                direct=self.settings.direct, options=more)
            for number, file in enumerate(self._files_of(at))
        ]  # fmt: skip

    def _files_of(self, at: StreamLoad) -> list[str]:
        new = "new" if at.does == "write" else ""
        return [f"{path}/{new}{number}" for path in _paths_of(at) for number in range(at.streams)]

    def observe(self, turn: Turn, arena: Arena) -> FioRun:
        """Run a load with scheduler and read-ahead set meanwhile; remove files that were written."""
        at = cast(StreamLoad, turn.at)
        scheduler = "" if at.scheduler is None or arena.null else at.scheduler
        ahead = None if at.read_ahead is None or arena.null else int(at.read_ahead.split()[0])
        with tuned([arena.paths[path] for path in _paths_of(at)], scheduler, ahead) as queues:
            seen = self._tarred(turn, arena, at) if at.does == "tar" else super().observe(turn, arena)
        if at.does == "write":
            for path, _, name in (file.partition("/") for file in self._files_of(at)):
                (arena.paths[int(path)] / name).unlink()
            settled(arena)
        return dataclasses.replace(seen, tuned=queues)

    def _tarred(self, turn: Turn, arena: Arena, at: StreamLoad) -> FioRun:
        ran = tarred(
            [arena.paths[p] / f"tree{number}" for p in _paths_of(at) for number in range(at.streams)], arena.show
        )
        cpu = sum(job.cpu for job in ran.jobs)
        return FioRun(**noted(turn, ran.began, elapsed_s(ran.jobs), cpu, processors()), fio=ran)


def _paths_of(at: StreamLoad) -> Sequence[int]:
    return [at.tier - 1] if at.disks is None else range(at.disks)


@section("window", "Backup window")
def _window(result: StreamResult) -> Parts:
    settings, targets = settings_in(result), result.conditions["targets"]
    at = {point.at.where: point.at for point in result.points}
    labels = {where: dict.fromkeys(targets[path]["label"] for path in _paths_of(one)) for where, one in at.items()}
    parts: list[Part] = [
        paragraph(f"{where[0].upper()}{where[1:]}, {', '.join(labels[where])}: {answer}.")
        for where, answer in windows(result.points, settings).items()
    ]
    runs = (run for point in result.points for run in point.repeats)
    parts += [
        note(f"Not set: {word}") for word in dict.fromkeys(w for run in runs for one in run.tuned for w in one.refused)
    ]
    needed = rate_needed(settings["window_tb"], settings["window_hours"])
    remark = note(
        f"Needed: {words.figure(needed)} MB/s over the whole window. Rates are totals: bytes read by all streams "
        "over the time from the first start to the last end; the highest second, as a meter in a pipe shows it, is "
        "given for comparison only. Other work of a backup (its target, its index, small files) is not included."
    )
    return [*parts, remark]


def _of_tier(tier: str, seconds: float, nbytes: float, shown: float) -> Published:
    return Published(
        what=f"{tier} tier, {words.size(nbytes)} in {seconds:.0f} s",
        figure="mb_per_s",
        value=nbytes / seconds / 1e6,
        at={"tier": 1 if tier == "fast" else 2, "streams": 1},
        settings={"file_size": 2_000_000_000},  # the default: a smaller file is read out of caches
        remark=f"the meter showed {shown:.0f} MB/s",
    )


Stream.ABOUT = about_test(
    Stream,
    StreamLoad,
    FioRun,
    figures=(
        dataclasses.replace(MB_PER_S, headline=True),
        Figure(name="gb_per_hour", title="GB/hour", of=lambda run: run.bytes / run.elapsed_s * 3.6e-6),
        ELAPSED,
        Figure("highest_mb_per_s", "highest second, MB/s", lambda run: run.highest_second / 1e6 or None),
    ),
    run_of=run_of,
    sections=lambda result: [_window(result), rate_by(result, "streams", "tier", MB_PER_S, lambda at: at.where)],
    ceilings=("mb_per_s",),
    published=(_of_tier("fast", 44, 2e9, 253), _of_tier("slow", 70, 2.43e9, 116)),
    notes={"bytes": lambda run: run.bytes},
    wording=StreamWording,
    makers="streams",
)


# self-check

_SHAPES = {"8 KiB random, 60 % reads": (8192, "randrw", 60), "1 MiB sequential reads": (1 << 20, "read", None)}
_LONGEST = 1 << 20


@dataclass(frozen=True, slots=True, order=True)
class CheckLoad(schema.At):
    """A number of threads, without storage (fio's null engine) or in memory (tmpfs), with I/Os of one shape."""

    storage: str
    shape: str
    threads: int


CheckPoint = schema.PointOf[CheckLoad, FioRun]


class CheckWording(ProfileWording):
    """Reports on a self-check: no storage is under test, so it has no label of one."""

    def where(self) -> str:
        """Return that it ran on this host."""
        return "this host without storage"

    def cached(self, points: Sequence[CheckPoint]) -> bool:
        """Return False: memory is what is measured."""
        return False

    def sentence(self, points: Sequence[CheckPoint]) -> str:
        """Report the highest rates of each storage and shape."""
        clauses = []
        for key in dict.fromkeys((point.at.storage, point.at.shape) for point in points):
            best = max((p for p in points if (p.at.storage, p.at.shape) == key), key=lambda p: p.figures["iops"].median)
            iops, mb = (words.count(best.figures[name].median) for name in ("iops", "mb_per_s"))
            clauses.append(f"{key[0]}, {key[1]}: {iops} IOPS, {mb} MB/s")
        return "; ".join([*clauses, f"storage figures over {words.percent(MARK)} of these are limited by this host"])


class CheckSettings(ProfileSettings):
    """Settings of profile `self-check`."""

    seconds: int = Field(10, ge=1, description="a run")
    threads: tuple[Annotated[int, Field(ge=1, le=1024)], ...] = Field(
        (), description="threads at once; empty: one, and the number of cores"
    )
    file_size: ByteSize = Field(ByteSize(64 << 20), ge=1 << 20, description="size of each thread's file in memory")


class SelfCheck(FioTest[CheckSettings]):
    """A test without paths: it tests the harness."""

    name = "self-check"
    report = ""
    does = (
        "Runs fio without storage (its null engine) and in memory, to find the maximum I/O that this host can "
        "generate, in two patterns."
    )
    writes = "A file for each thread in /dev/shm."
    needs = "fio. No path."
    settings_type = CheckSettings
    small: ClassVar[dict[str, Any]] = {"seconds": 1, "threads": (1,), "file_size": "8MiB"}
    takes_paths = False
    no_baseline = "this test measures null storage itself"
    axis = "threads"

    @property
    def _threads(self) -> tuple[int, ...]:
        return tuple(sorted(set(self.settings.threads or (1, processors()))))

    def points(self) -> list[CheckLoad]:
        """Return both storages in every shape."""
        return [CheckLoad(storage, shape, threads) for storage in ("null", "memory") for shape in _SHAPES
                for threads in self._threads]  # fmt: skip

    def room(self) -> Room:
        """Return the room: none on any path."""
        return Room(bytes=0, files=0, seconds=float(len(self.points()) * self.settings.seconds))

    def touched(self) -> int:
        """Return 0: the files are in memory, so there is no storage that a cache might hide."""
        return 0

    def on_null(self) -> None:
        """Return None: it has no null baseline."""

    def files(self) -> tuple[int, int, int]:
        """Return the files, in whole blocks of the longest shape."""
        return max(self._threads), int(self.settings.file_size) // _LONGEST * _LONGEST, _LONGEST

    @contextlib.contextmanager
    def prepared(self, arena: Arena) -> Iterator[None]:
        """Write the files in memory."""
        with place_of_own(MEMORY, "edbench-profile-null") as own:
            self._memory = dataclasses.replace(arena, paths=(own,))
            with super().prepared(self._memory):
                yield

    def observe(self, turn: Turn, arena: Arena) -> FioRun:
        """Run a load in memory."""
        return super().observe(turn, self._memory)

    def expected_s(self, at: CheckLoad) -> float:
        """Return the requested seconds."""
        return float(self.settings.seconds)

    def jobs(self, at: CheckLoad, paths: int) -> list[Job]:
        """Return a job for each thread."""
        block, does, read_percent = _SHAPES[at.shape]
        _, size, _ = self.files()
        return [
            Job(name=f"thread{number}", does=does, files=(f"0/{number}",), block=block, size=size,
                read_percent=read_percent, seconds=self.settings.seconds, drop=False,
                engine="null" if at.storage == "null" else "psync")
            for number in range(at.threads)
        ]  # fmt: skip


SelfCheck.ABOUT = about_test(
    SelfCheck,
    CheckLoad,
    FioRun,
    figures=(IOPS, dataclasses.replace(MB_PER_S, headline=True)),
    run_of=run_of,
    wording=CheckWording,
    makers="threads",
)
