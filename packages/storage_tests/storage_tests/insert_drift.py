"""Insertion: small files or objects added in groups until there are many; does it become slower? (report R3)"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from pydantic import Field

from core.errors import RunFailed, UsageError
from experiments.kinds import Cases, Kind
from experiments.report import words
from experiments.report.parts import Cell, Column, Html, Plot, Section, Series, Tabled, note, tabled
from experiments.report.plots import draw_line, drawing, from_zero, legend_beside, new_figure
from experiments.report.views import middle, named, spread
from experiments.result.drift import LEAST, RELEVANT, Drift, drift_of
from experiments.result.latency import latency
from experiments.result.schema import At, PointOf, ResultOf, Steady
from experiments.result.steady import judged
from experiments.workload import Figure, Turn
from storage_tests.about import Published, profile_about
from storage_tests.crowd import ClientsTelling, Crowd, Done, check_s3, crowd, own_place
from storage_tests.devices import Usage, synced, usage
from storage_tests.profile import Arena, Observed, Profile, ProfileRun, ProfileSettings, Room, common
from storage_tests.tally import Counted, latencies, merged

WHOLE = "whole write"


@dataclass(frozen=True, slots=True)
class InsertLoad(At):
    """`directories`: one shared by all clients, or each client's own."""

    directories: str
    clients: int


@dataclass(frozen=True, slots=True, kw_only=True)
class SeenGroup:
    """One group."""

    seconds: float  # from its start to the last client's end
    first_done_s: float
    done: int
    bytes: int
    refused: int
    failed: int
    late_s: float  # that the last client began after the start
    counted: tuple[Counted, ...]
    usage: Usage | None  # after it; None of an S3 endpoint, which does not report it


@dataclass(frozen=True, slots=True, kw_only=True)
class InsertSeen(Observed):
    """One run."""

    groups: tuple[SeenGroup, ...]
    before: Usage | None
    after: Usage | None  # when everything was synced
    said: tuple[str, ...]  # refusals and errors in words


@dataclass(frozen=True, slots=True, kw_only=True)
class InsertGroup:
    """One group of a run."""

    seconds: float
    files_per_s: float
    p50_us: float
    p99_us: float
    refused: int
    failed: int
    used_bytes: int | None  # since the start of the run
    used_inodes: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class InsertRun(ProfileRun):
    """One run."""

    files: int
    bytes: int
    files_per_s: float
    refused: int
    failed: int
    said: tuple[str, ...]
    late_s: float
    groups: tuple[InsertGroup, ...]
    rate_drift: Drift | None  # None: too few groups
    latency_drift: Drift | None  # of the groups' medians
    bytes_a_file: float | None  # that the file system took
    inodes_a_file: float | None


class InsertPoint(PointOf[InsertLoad, InsertRun]):
    """All repeats under one load."""


class InsertResult(ResultOf[InsertPoint]):
    """A whole experiment."""


def run_of(seen: InsertSeen) -> InsertRun:
    """Every figure of it; nothing else is asked."""
    counted = merged(one for group in seen.groups for one in group.counted)
    files = sum(group.done for group in seen.groups)
    seconds = sum(group.seconds for group in seen.groups)
    groups = tuple(_group(group, seen.before) for group in seen.groups)
    whole = [group for group in groups if not group.refused and not group.failed]
    return InsertRun(
        **common(seen),
        latency=latencies(counted),
        steady=_steady(seen),
        files=files,
        bytes=sum(group.bytes for group in seen.groups),
        files_per_s=files / seconds if seconds else 0.0,
        refused=sum(group.refused for group in seen.groups),
        failed=sum(group.failed for group in seen.groups),
        said=seen.said,
        late_s=max(group.late_s for group in seen.groups),
        groups=groups,
        rate_drift=drift_of([group.files_per_s for group in whole]),
        latency_drift=drift_of([group.p50_us for group in whole]),
        bytes_a_file=_a_file(seen, files, "used_bytes"),
        inodes_a_file=_a_file(seen, files, "used_inodes"),
    )


def _group(group: SeenGroup, before: Usage | None) -> InsertGroup:
    whole = next((one for one in group.counted if one.label == WHOLE), None)
    of = None if whole is None else latency(whole.calls, whole.bytes, whole.errors, whole.histogram, whole.max_ns)
    known = group.usage is not None and before is not None
    return InsertGroup(
        seconds=group.seconds,
        files_per_s=group.done / group.seconds if group.seconds else 0.0,
        p50_us=0.0 if of is None else of.p50_us,
        p99_us=0.0 if of is None else of.p99_us,
        refused=group.refused,
        failed=group.failed,
        used_bytes=group.usage.used_bytes - before.used_bytes if known and group.usage and before else None,
        used_inodes=group.usage.used_inodes - before.used_inodes if known and group.usage and before else None,
    )


def _a_file(seen: InsertSeen, files: int, what: str) -> float | None:
    """Growth a file; None where no value is reported: an S3 endpoint, a file system without a number of inodes."""
    if seen.before is None or seen.after is None or not files:
        return None
    grown = int(getattr(seen.after, what)) - int(getattr(seen.before, what))
    return grown / files if grown > 0 else None


def _steady(seen: InsertSeen) -> tuple[Steady, ...]:
    """Of the groups one after another, without what lay between them."""
    by_second: dict[int, float] = {}
    at = 0.0
    for group in seen.groups:
        _spread(by_second, at, group.seconds, group.done)
        at += group.seconds
    one = judged("files", [(float(second), files) for second, files in sorted(by_second.items())], 0.0, at)
    return () if one is None else (one,)


def _spread(by_second: dict[int, float], at: float, seconds: float, files: int) -> None:
    """A group's files evenly over its time."""
    if seconds <= 0:
        return
    for second in range(int(at), int(at + seconds) + 1):
        inside = min(second + 1, at + seconds) - max(second, at)
        if inside > 0:
            by_second[second] = by_second.get(second, 0.0) + files * inside / seconds


_BLOCK = 4096
_SLOW = 2_000.0  # files a second that a storage makes, for the time that is predicted
_ON_NULL = 10_000  # files of the pair


class InsertSettings(ProfileSettings):
    """What is inserted, and how."""

    files: int = Field(100_000, ge=1, description="files or objects per run; report R3 had 2,260,000")
    group: int = Field(5_000, ge=1, description="files per group; rates and latencies are shown by group")
    size: int = Field(1024, ge=0, le=1 << 30, description="size of each in bytes")
    clients: tuple[int, ...] = Field((1, 32), description="clients that insert at once, one point each")
    directories: tuple[Literal["shared", "own"], ...] = Field(
        ("shared", "own"), description="one directory for all clients, or one per client, one point each"
    )
    fsync: Literal["none", "file"] = Field("none", description="sync each file to stable storage")
    seed: int = Field(1, description="seed of the content")


class InsertDrift(Profile[InsertSettings]):
    """Report R3's long insertion."""

    name: ClassVar[str] = "insert-drift"
    report: ClassVar[str] = "R3"
    does: ClassVar[str] = (
        "Adds small files or objects in groups, in one directory or one per client; shows rate and latency by group, and whether"
        " they drift"
    )
    writes: ClassVar[str] = "files of `size` bytes, `files` of them, once for each point and repeat, removed after each"
    needs: ClassVar[str] = "nothing; with --s3 a bucket and the usual AWS_* variables"
    settings_type: ClassVar[type[ProfileSettings]] = InsertSettings
    small: ClassVar[Mapping[str, Any]] = {"files": 2_400, "group": 200, "clients": (1, 8)}
    takes_s3: ClassVar[bool] = True
    emulates: ClassVar[bool] = True

    def check(self) -> None:
        """Raises UsageError."""
        check_s3(self.targets.s3)

    def kind(self, repeats: int, seed: int) -> Kind:
        """Every number of clients with every kind of directories."""
        s = self.settings
        if not s.clients or not s.directories or min(s.clients) < 1:
            raise UsageError(
                "insert-drift requires numbers of clients of at least 1, and directories shared, own or both"
            )
        points = [InsertLoad(directories, clients) for directories in s.directories for clients in s.clients]
        return Cases("clients", points, repeats=repeats, seed=seed)

    def room(self) -> Room:
        """One run's: each is removed before the next."""
        s, paths = self.settings, max(1, len(self.targets.paths))
        files = -(-s.files // paths) + s.group
        each = -(-max(1, s.size) // _BLOCK) * _BLOCK + 512  # an inode, and its name
        points = len(s.clients) * len(s.directories)
        return Room(bytes=files * each, files=files + max(s.clients, default=1), seconds=points * s.files / _SLOW)

    def on_null(self) -> InsertDrift:
        """Fewer files, since memory does not drift."""
        files = min(self.settings.files, max(_ON_NULL, self.settings.group))
        return InsertDrift(self.settings.model_copy(update={"files": files}), self.targets)

    def touched(self) -> int:
        """Of one run: nothing is read."""
        return self.settings.files * self.settings.size

    def observe(self, turn: Turn, arena: Arena) -> InsertSeen:
        """All groups. Raises RunFailed when nothing at all could be inserted."""
        load, s = turn.at, self.settings
        assert isinstance(load, InsertLoad)
        with own_place(
            arena, turn.name, seed=s.seed, fsync=s.fsync, io_bytes=min(max(s.size, _BLOCK), 1 << 20)
        ) as place:
            started, before = time.time(), usage(place.roots)
            with crowd(place, load.clients, arena.look) as people:
                begun = time.monotonic()
                told = [
                    (done, usage(place.roots)) for done in self._inserted(people, load.directories == "shared", arena)
                ]
                elapsed = time.monotonic() - begun
            for root in place.roots:
                synced(root)
            after = usage(place.roots)
        seen = [_seen(done, used) for done, used in told]
        said = tuple(dict.fromkeys(words for done, _ in told for one in done.clients for words in one.said))[:5]
        if not any(group.done for group in seen):
            raise RunFailed(f"not one file could be inserted: {said[0] if said else 'no client gave a reason'}")
        cpu = sum(done.cpu_s for done, _ in told)
        return InsertSeen(
            repeat=turn.repeat, order=turn.order, started_at=started, elapsed_s=elapsed,
            worker_cpu=cpu / (elapsed * people.processors), groups=tuple(seen), before=before, after=after, said=said,
        )  # fmt: skip

    def _inserted(self, people: Crowd, shared: bool, arena: Arena) -> Any:
        s = self.settings
        for first in range(0, s.files, s.group):
            numbers = range(first, min(first + s.group, s.files))
            yield people.do("write", numbers, s.size, shared_directory=shared, together=True)
            arena.tell(f"{numbers.stop:,} of {s.files:,} files")


def _seen(done: Done, used: Usage | None) -> SeenGroup:
    return SeenGroup(
        seconds=done.elapsed_s,
        first_done_s=(min(one.ended_ns for one in done.clients) - done.start_ns) / 1e9,
        done=done.files,
        bytes=sum(one.bytes for one in done.clients),
        refused=sum(one.refused for one in done.clients),
        failed=sum(one.failed for one in done.clients),
        late_s=(max(one.began_ns for one in done.clients) - done.start_ns) / 1e9,
        counted=done.counted,
        usage=used,
    )


_MOST_LINES = 6


def sections(result: InsertResult) -> list[Section]:
    """In reading order."""
    return [_groups(result), _drift(result), _usage(result)]


def _size(result: InsertResult) -> int:
    return int(result.conditions["configuration"]["settings"]["group"])


def _groups(result: InsertResult) -> Section:
    rate = _plot(result, "insert-rate", "files a second", "files/s", lambda group: group.files_per_s)
    slow = _plot(result, "insert-latency", "p99 of a file, ms", "ms", lambda group: group.p99_us / 1000)
    refused = [point for point in result.points if any(run.refused or run.failed for run in point.repeats)]
    said = [word for point in refused for run in point.repeats for word in run.said]
    parts: list[Plot | Tabled | Html] = [rate, slow]
    if refused:
        parts.append(note(f"Not everything was accepted: {'; '.join(dict.fromkeys(said))}"))
    return Section(anchor="groups", title=f"By groups of {words.count(_size(result))} files", parts=tuple(parts))


def _plot(result: InsertResult, name: str, label: str, unit: str, value: Callable[[InsertGroup], float]) -> Plot:
    shown = spread(result.points, _MOST_LINES)
    size = _size(result)
    rows: list[tuple[Cell, ...]] = []
    with drawing():
        figure, (axes,) = new_figure(height=3.2)
        for number, point in enumerate(shown):
            samples = _samples(middle(point.repeats).groups, size, value)
            draw_line(axes, samples, number, named(point, result), 1.0)
            rows += [(named(point, result), int(files), of) for files, of in samples]
        axes.set_xlabel("files there are")
        axes.set_ylabel(label)
        axes.set_xlim(left=0)
        from_zero(axes)
        legend_beside(axes)
    told = "; ".join(
        f"{named(point, result)}: {words.figure(value(groups[0]))} in the first group,"
        f" {words.figure(value(groups[-1]))} {unit} in the last"
        for point in shown
        if (groups := middle(point.repeats).groups)
    )
    series = Series(name=name, header=("point", "files", name.replace("-", "_")), rows=tuple(rows))
    sentence = f"{told}. Of each point the run with the median elapsed time."
    return Plot(name=name, figure=figure, sentence=sentence, series=series)


def _samples(
    groups: Sequence[InsertGroup], size: int, value: Callable[[InsertGroup], float]
) -> list[tuple[float, float]]:
    return [(float((number + 1) * size), value(group)) for number, group in enumerate(groups)]


def _drift(result: InsertResult) -> Section:
    rows = [
        (named(point, result), run.repeat + 1, what, drift)
        for point in result.points
        for run in point.repeats
        for what, drift in (("rate", run.rate_drift), ("median latency", run.latency_drift))
    ]
    size = _size(result)

    def of(value: Callable[[Drift], Cell]) -> Callable[[tuple[str, int, str, Drift | None]], Cell]:
        return lambda row: None if row[3] is None else value(row[3])

    columns: tuple[Column[tuple[str, int, str, Drift | None]], ...] = (
        Column("point", "point", lambda row: row[0], text=True),
        Column("repeat", "repeat", lambda row: row[1]),
        Column("of", "of", lambda row: row[2], text=True),
        Column("groups", "groups", of(lambda drift: drift.values)),
        Column("trend", "trend over all", of(lambda drift: drift.trend), _signed),
        Column("trend_p", "p", of(lambda drift: drift.trend_p), "{:.3f}".format),
        Column("change", "change", of(lambda drift: drift.change), _signed),
        Column("change_after", "after files", of(lambda drift: drift.change_at * size), words.count),
        Column("change_p", "p", of(lambda drift: drift.change_p), "{:.3f}".format),
        Column(
            "",
            "",
            of(lambda drift: "DRIFT" if drift.found else "none found"),
            text=True,
            missing="too few groups",
        ),
    )
    shown = tabled("drift", columns, rows, mark=lambda row: row[3] is not None and row[3].found)
    said = note(
        "Trend: Mann and Kendall's test with the line of Theil and Sen; change: Pettitt's test at the place that it finds; both"
        " widened by the correlation of neighbouring groups, as of so few as are independent, and judged together (Holm), at most"
        f" 5 % false alarms; under {words.percent(RELEVANT)} nothing is called drift. Groups that"
        f" were not accepted completely are omitted; fewer than {LEAST} groups are not judged. Temporary changes (humps) are no drift."
    )
    return Section(anchor="drift", title="Does it drift?", parts=(shown, said))


def _usage(result: InsertResult) -> Section:
    columns: tuple[Column[InsertPoint], ...] = (
        Column("point", "point", lambda point: named(point, result), text=True),
        Column("files", "files", lambda point: middle(point.repeats).files, words.count),
        Column("bytes", "bytes written", lambda point: middle(point.repeats).bytes, words.size),
        Column("bytes_a_file", "space a file", lambda point: middle(point.repeats).bytes_a_file, words.size, missing="not known"),
        Column("inodes_a_file", "inodes a file", lambda point: middle(point.repeats).inodes_a_file, words.figure,
               missing="not known"),
    )  # fmt: skip
    said = note(
        "Space and inodes as the file system reports them (statvfs) before the run and after a sync, used by any program;"
        " an S3 endpoint, and a file system without a number of inodes, reports none."
    )
    return Section(anchor="usage", title="Space and inodes", parts=(tabled("usage", columns, result.points), said))


def _signed(value: float) -> str:
    return f"{value:+.1%}".replace("%", " %").replace("-", "\u2212")


def _whole_us(run: InsertRun, percent: int) -> float | None:
    whole = run.latency.get("whole write")
    return None if whole is None else (whole.p50_us if percent == 50 else whole.p99_us)


ABOUT = profile_about(
    name="insert-drift",
    report="R3",
    result=InsertResult,
    point=InsertPoint,
    seen=InsertSeen,
    run_of=run_of,
    figures=(
        Figure(name="files_per_s", title="files/s", of=lambda run: run.files_per_s, headline=True, write=words.figure),
        Figure(name="p50_us", title="p50", of=lambda run: _whole_us(run, 50), write=words.microseconds, unit="µs"),
        Figure(name="p99_us", title="p99", of=lambda run: _whole_us(run, 99), headline=True, write=words.microseconds,
               unit="µs"),
        Figure(name="rate_trend", title="rate trend", of=lambda run: run.rate_drift and run.rate_drift.trend,
               write=_signed, missing="too few groups"),
        Figure(name="rate_change", title="rate change", of=lambda run: run.rate_drift and run.rate_drift.change,
               write=_signed, missing="too few groups"),
        Figure(name="refused", title="refused", of=lambda run: float(run.refused), write=words.count),
        Figure(name="failed", title="failed", of=lambda run: float(run.failed), write=words.count),
        Figure(name="bytes_a_file", title="space a file", of=lambda run: run.bytes_a_file, write=words.size, unit="bytes",
               missing="not known"),
        Figure(name="inodes_a_file", title="inodes a file", of=lambda run: run.inodes_a_file, write=words.figure,
               missing="not known"),
    ),
    sections=sections,
    telling=ClientsTelling,
    ceilings=("files_per_s",),
    published=(
        Published(what="small files one after another, 2.26 million in groups of 5,000, through a small VM",
                  figure="files_per_s", value=5.0, at={"clients": 1}, settings={"group": 5_000},
                  remark="flat; sizes are not given"),
        Published(what="1 KB objects by more than 30 threads, native interface", figure="files_per_s", value=10.0,
                  at={"clients": 32}, settings={"size": 1024}),
    ),
    notes={"late_s": lambda run: run.late_s},
)  # fmt: skip

PROFILE = InsertDrift
