"""Block, 8 KB: the six IOMeter cases of report R2 through fio.

Drift: whether a rate changes over a long run, by the line of least squares through samples of 10 s. Neighbouring samples are alike on
storage with caches, so a plain interval would be too narrow: the number of samples is taken down by their lag-1 autocorrelation
(n (1 − r) ÷ (1 + r); G. Box, G. Jenkins, Time Series Analysis, §2). Drift is a change of over 5 % of the mean from end to end whose 95 %
interval does not hold zero.
"""

from __future__ import annotations

import dataclasses
import itertools
import math
import statistics
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, cast

from pydantic import ByteSize, Field

from core.errors import UsageError
from experiments.kinds import Cases, Kind, Search
from experiments.report import words
from experiments.report.parts import Cell, Plot, Section, Series, note, paragraph
from experiments.report.plots import draw_line, drawing, from_zero, new_figure, over_time, time_unit
from experiments.report.style import FAINT, marker, series_colour
from experiments.report.views import middle
from experiments.result import schema
from experiments.result.steady import judged
from experiments.workload import Figure, Turn
from storage_tests import fio
from storage_tests.about import ProfileTelling, Published, profile_about
from storage_tests.devices import Direct
from storage_tests.fio import FioSeen, Job, observed, rate_by, refuse_without_fio, written
from storage_tests.profile import Arena, Profile, ProfileRun, ProfileSettings, Room, common

LEAST = 6  # samples: with fewer nothing is reported
BOUND = 0.05  # of the mean


@dataclass(frozen=True, slots=True, kw_only=True)
class Drift:
    """Shares of the mean, from the first sample to the last."""

    change: float
    low: float  # its 95 % interval
    high: float
    spread: float  # standard deviation of the samples
    drifts: bool


def drift_of(samples: Sequence[float]) -> Drift | None:
    """None where there are too few, or nothing was done."""
    n = len(samples)
    mean = statistics.fmean(samples) if samples else 0.0
    if n < LEAST or mean <= 0:
        return None
    places = range(n)
    slope, base = statistics.linear_regression(places, samples)
    rest = [value - base - slope * place for place, value in zip(places, samples, strict=True)]
    variance = sum(value * value for value in rest)
    alike = _autocorrelation(rest, variance)
    free = max(2.0, n * (1 - alike) / (1 + alike)) - 2
    around = sum((place - statistics.fmean(places)) ** 2 for place in places)
    error = math.inf if free <= 0.5 else _t(free) * math.sqrt(variance / free / around)
    change, half = slope * (n - 1) / mean, min(error * (n - 1) / mean, 1e6)
    return Drift(
        change=change,
        low=change - half,
        high=change + half,
        spread=statistics.pstdev(samples) / mean,
        drifts=abs(change) > BOUND and abs(change) > half,
    )


def _autocorrelation(rest: Sequence[float], variance: float) -> float:
    if variance <= 0:
        return 0.0
    return max(0.0, min(0.95, sum(a * b for a, b in itertools.pairwise(rest)) / variance))


def _t(free: float) -> float:
    """Student's t for 95 %, by the expansion around the normal (Abramowitz and Stegun 26.7.5); 1 % off from 3 on, more below."""
    z = 1.959964
    first, second = (z**3 + z) / 4, (5 * z**5 + 16 * z**3 + 3 * z) / 96
    third = (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384
    return z + first / free + second / free**2 + third / free**3


def drift_said(drift: Drift) -> str:
    """`flat: −1.2 % [−3.0 – +0.6] from end to end`."""
    span = f"{drift.change * 100:+.1f} % [{drift.low * 100:+.1f} – {drift.high * 100:+.1f}] from end to end".replace(
        "-", "\u2212"
    )
    return f"{'DRIFTS' if drift.drifts else 'no drift'}: {span}"


NAME = "block-8k"


@dataclass(frozen=True, slots=True, order=True)
class BlockLoad(schema.At):
    """A case of report R2: so many volumes, spread over so many members (paths), with so much outstanding on each."""

    case: int
    members: int
    volumes: int
    outstanding: int

    def on(self, axis: str) -> str:
        """Outstanding has no plural, and a case is none of several."""
        if axis == "outstanding":
            return f"{self.outstanding:,} outstanding on each of {self.volumes}"
        return f"case {self.case}" if axis == "case" else schema.At.on(self, axis)

    def __str__(self) -> str:
        return f"case {self.case}, {self.on('members')}, {self.on('volumes')}, {self.outstanding:,} outstanding on each"


@dataclass(frozen=True, slots=True, kw_only=True)
class BlockRun(ProfileRun):
    """One run."""

    ios: int
    bytes: int
    mean_us: float | None  # of all I/Os of all volumes, from the moment each was asked for
    samples: tuple[float, ...]  # I/Os a second, over 10 s each
    drift: Drift | None  # over those samples; None: too few


class BlockPoint(schema.PointOf[BlockLoad, BlockRun]):
    """All repeats under one load."""


class BlockResult(schema.ResultOf[BlockPoint]):
    """A whole experiment."""


def run_of(seen: FioSeen) -> BlockRun:
    """Every figure of it."""
    jobs, per_second = seen.fio.jobs, fio.by_second(seen.fio.jobs)
    one = judged("I/Os", per_second, 0.0, seen.elapsed_s)
    samples = sampled(per_second, seen.elapsed_s)
    return BlockRun(
        **common(seen),
        latency=fio.latencies(jobs),
        steady=() if one is None else (one,),
        ios=fio.ios(jobs),
        bytes=fio.transferred(jobs),
        mean_us=fio.mean_us(jobs),
        samples=samples,
        drift=drift_of(samples),
    )


SAMPLE_S = 10


def sampled(per_second: list[tuple[float, float]], elapsed_s: float) -> tuple[float, ...]:
    """The mean of each whole 10 s; of the last one without its last second, of which fio may have no sample."""
    whole = int(elapsed_s // SAMPLE_S)
    sums = [0.0] * whole
    for second, amount in per_second:
        if (place := int(second // SAMPLE_S)) < whole:
            sums[place] += amount
    seconds = [min(SAMPLE_S, round(elapsed_s) - 1 - SAMPLE_S * place) for place in range(whole)]
    return tuple(total / length for total, length in zip(sums, seconds, strict=True))


class BlockTelling(ProfileTelling):
    """`surroundings` as those of every profile."""

    def sentence(self, points: Sequence[BlockPoint]) -> str:
        """The most of all cases, the search's answer, the drift of the long case."""
        most = max(points, key=lambda point: point.figures["iops"].median)
        said = [f"{_rate(most)} at {most.at}"]
        if long := [point for point in points if point.at.case == 2]:
            drift = middle(long[0].repeats).drift
            said.append(f"case 2 {drift_said(drift) if drift else 'is too short to judge drift'}")
        if any(point.at.case == 6 for point in points):
            said.append(bounded_said(points, self.surroundings["configuration"]["settings"]["most_ms"]))
        return "; ".join(said)

    def warnings(self, points: Sequence[BlockPoint]) -> Sequence[str]:
        """Add to the warnings of every profile that fewer I/Os were outstanding than the points demand."""
        return (*super().warnings(points), *self._fewer_outstanding())

    def _fewer_outstanding(self) -> Iterator[str]:
        settings = self.surroundings["configuration"]["settings"]
        through = not settings["direct"] or any(
            place.get("direct") == Direct.CACHED for place in self.surroundings["targets"]
        )
        if settings["engine"] == "libaio" and through:
            yield (
                "this host's cache takes one I/O at a time of engine libaio: fewer I/Os are outstanding than requested;"
                " --set engine=io_uring"
            )
        elif settings["engine"] == "posixaio":
            yield (
                "the C library does I/Os of engine posixaio in a few threads, one at a time for each file: fewer I/Os may be"
                " outstanding than requested"
            )


def _rate(point: BlockPoint) -> str:
    """`12,035 IOPS, mean 21.3 ms`."""
    mean = point.figures.get("mean_us")
    return f"{words.count(point.figures['iops'].median)} IOPS" + (
        f", mean {words.microseconds(mean.median)}" if mean else ""
    )


def bounded(points: Sequence[BlockPoint], most_ms: float) -> BlockPoint | None:
    """Of case 6 the highest load below which every load that was tried keeps the bound; None: not even the lowest."""
    best = None
    for point in sorted((one for one in points if one.at.case == 6), key=lambda one: one.at.outstanding):
        if "mean_us" not in point.figures or point.figures["mean_us"].median > most_ms * 1000:
            break
        best = point
    return best


def bounded_said(points: Sequence[BlockPoint], most_ms: float) -> str:
    """The search's answer."""
    tried = [point.at.outstanding for point in points if point.at.case == 6]
    best = bounded(points, most_ms)
    if best is None:
        return f"no load stays within a mean of {most_ms:g} ms"
    end = "" if max(tried) > best.at.outstanding else " (the most that was tried)"
    return f"within a mean of {most_ms:g} ms {_rate(best)} with {best.at.on('outstanding')}{end}"


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
        at = cast("BlockLoad", turn.at)
        seconds = self.settings.long_seconds if at.case == 2 else self.settings.seconds
        jobs = [self._volume(at, number, seconds) for number in range(at.volumes)]
        return observed(turn, arena, jobs, expected_s=float(seconds + self.settings.ramp_seconds))

    def _volume(self, at: BlockLoad, number: int, seconds: int) -> Job:
        """The job of one volume; its files are spread evenly over all members of the case."""
        each = _FILES // at.volumes
        names = tuple(
            f"{path}/{file}" for path in range(at.members) for file in range(number * each, (number + 1) * each)
        )
        block = int(self.settings.block)
        return Job(name=f"volume{number}", does="randrw", files=names, block=block, size=self._size * len(names),
                   outstanding=at.outstanding, read_percent=self.settings.read_percent, seconds=seconds,
                   ramp_seconds=self.settings.ramp_seconds, direct=self.settings.direct, engine=self.settings.engine,
                   options=(("blockalign", str(block)), ("randseed", str(number + 1))))  # fmt: skip


def sections(result: BlockResult) -> list[Section]:
    """Of the cases that were run."""
    by_case = {case: [point for point in result.points if point.at.case == case] for case in range(1, 7)}
    parts = []
    if by_case[2]:
        parts.append(_long(by_case[2][0]))
    scaled = tuple(point for case in ALL_MEMBERS for point in by_case[case])
    if scaled:
        of_these = dataclasses.replace(result, points=scaled)  # type: ignore[arg-type]  # mypy leaves the variable unbound
        parts.append(rate_by(of_these, "members", "case", "iops", "IOPS"))
    if by_case[6]:
        parts.append(_search(result, by_case[6]))
    return parts


def _long(point: BlockPoint) -> Section:
    """The repeat that stands for the others."""
    run = middle(point.repeats)
    title = f"Case 2: {words.seconds(run.elapsed_s)} in samples of {SAMPLE_S} s"
    if not run.samples:
        return Section(anchor="long", title=title, parts=(paragraph("The run is shorter than a sample."),))
    samples = [(SAMPLE_S * (number + 0.5), value) for number, value in enumerate(run.samples)]
    length, unit = time_unit(run.elapsed_s)
    with drawing():
        figure, (axes,) = new_figure(height=3.0)
        draw_line(axes, samples, 0, "IOPS", length)
        over_time(axes, unit, "IOPS", start="the ramp-up's end")
    verdict = drift_said(run.drift) if run.drift else "too few samples to judge drift"
    rows = tuple((at, value) for at, value in samples)
    plot = Plot(name="long", figure=figure, sentence=f"{verdict[0].upper()}{verdict[1:]}.",
                series=Series(name="long", header=("second", "iops"), rows=rows))  # fmt: skip
    said = note(
        f"Drift: the line of least squares changes by over {words.percent(BOUND)} of the mean from end to end, and its 95 %"
        " interval, widened by how alike neighbouring samples are, does not hold zero. Report R2's curve is flat."
    )
    return Section(anchor="long", title=title, parts=(plot, said))


def _search(result: BlockResult, points: list[BlockPoint]) -> Section:
    """Load against rate, and against the mean response time with its bound."""
    most_ms = result.conditions["configuration"]["settings"]["most_ms"]
    points = sorted((point for point in points if "mean_us" in point.figures), key=lambda point: point.at.outstanding)
    loads = [point.at.outstanding for point in points]
    rates = [point.figures["iops"].median for point in points]
    means = [point.figures["mean_us"].median / 1000 for point in points]
    with drawing():
        figure, panels = new_figure(2, height=3.1)
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
    rows = tuple[tuple[Cell, ...], ...](zip(loads, rates, means, strict=True))
    series = Series(name="search", header=("outstanding", "iops", "mean_ms"), rows=rows)
    sentence = bounded_said(points, most_ms)
    plot = Plot(name="search", figure=figure, sentence=f"{sentence[0].upper()}{sentence[1:]}. Dotted: bound and answer.",
                series=series)  # fmt: skip
    said = note(
        "The mean is that of all I/Os of all volumes together; fio's own latency_target bounds a share of the I/Os of each"
        " thread by itself, which is another thing."
    )
    return Section(anchor="search", title=f"Case 6: the most within a mean of {most_ms:g} ms", parts=(plot, said))


PROFILE = Block
_SETTINGS = {"block": 8192, "read_percent": 60, "direct": True}
_RUN, _LONG = _SETTINGS | {"seconds": 120}, _SETTINGS | {"long_seconds": 3600}


def _published(
    case: int, value: float, what: str, remark: str, load: Mapping[str, int], figure: str = "iops"
) -> Published:
    said = f"case {case}: {what}"
    return Published(
        what=said,
        figure=figure,
        value=value,
        at={"case": case, **load},
        settings=_LONG if case == 2 else _RUN,
        remark=remark,
    )


def _within(result: BlockResult) -> float | None:
    best = bounded(result.points, result.conditions["configuration"]["settings"]["most_ms"])
    return None if best is None else best.figures["iops"].median


def _p99(way: str) -> Figure:
    def of(run: BlockRun) -> float | None:
        return run.latency[way].p99_us if way in run.latency else None

    return Figure(name=f"{way}_p99_us", title=f"{way} p99", write=words.microseconds, unit="µs", of=of)


_MEMBERS = "5 members of 16 disks; 2 hosts"
_ONE = {"volumes": 1, "outstanding": 256}
_FOUR = {"volumes": 4, "outstanding": 128, "members": 5}
PUBLISHED = (
    _published(1, 12_035, "1 volume, 256 outstanding", "3 members of 16 disks, one host, 1 GbE", _ONE),
    _published(1, 21_270, "its mean response time", "", _ONE, "mean_us"),
    _published(2, 12_043, "the same for 60 minutes", "flat in samples of 10 s", _ONE),
    _published(3, 22_683, "4 volumes x 128, RAID-10", _MEMBERS, _FOUR),
    _published(4, 18_559, "4 volumes x 128, RAID-50", f"{_MEMBERS}; here the storage's own layout", _FOUR),
    _published(5, 23_053, "32 volumes x 32, RAID-10", _MEMBERS, {"volumes": 32, "outstanding": 32, "members": 5}),
    Published(what="case 6: 4 volumes, mean response at most 10 ms", figure="iops", value=20_342, ours=_within,
              settings=_RUN | {"most_ms": 10.0}, remark="51 outstanding on each, at 10.02 ms; 20,354 in its summary"),
)  # fmt: skip

ABOUT = profile_about(
    name=NAME,
    report="R2",
    result=BlockResult,
    point=BlockPoint,
    figures=(
        Figure(name="iops", title="IOPS", of=lambda run: run.ios / run.elapsed_s, headline=True, write=words.count),
        Figure(name="mean_us", title="mean", of=lambda run: run.mean_us, headline=True, write=words.microseconds, unit="µs"),
        Figure(name="mb_per_s", title="MB/s", of=lambda run: run.bytes / run.elapsed_s / 1e6),
        _p99("read"),
        _p99("write"),
    ),
    seen=FioSeen,
    run_of=run_of,
    sections=sections,
    ceilings=("iops",),
    published=PUBLISHED,
    notes={"ios": lambda run: run.ios},
    telling=BlockTelling,
    makers="generators",
)  # fmt: skip
