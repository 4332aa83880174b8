"""Test insert-drift of report R3: small files or objects added in groups until there are many; does it become slower?"""

from __future__ import annotations

import itertools
import time
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

from pydantic import Field

from core.errors import RunFailed, UsageError
from core.histogram import bucket_bounds
from experiments.report import words
from experiments.report.parts import Cell, Column, Parts, Plot, Section, note, plotted, section, tabled
from experiments.report.plots import draw_line, figure_of, from_zero, legend_right
from experiments.report.views import middle, named, spread
from experiments.result.schema import At, PointOf, ResultOf, Steady
from experiments.result.steady import judged_whole
from experiments.workload import Figure, Turn, percentile
from storage_tests.about import Published, about_test
from storage_tests.client_tests import FSYNC, TROUBLES, ClientsWording, ClientTest, Policies, messages, own_place
from storage_tests.crowd import crowd
from storage_tests.devices import Usage, synced, usage
from storage_tests.drift import LEAST, RELEVANT, Drift, drift_of
from storage_tests.profile import RAW, Arena, ProfileRun, ProfileSettings, Room, figured, noted, varied
from storage_tests.tally import Counted, latencies, merged

_WHOLE = "whole write"


@dataclass(frozen=True, slots=True)
class InsertLoad(At):
    """The load of an insert-drift. `directories`: one shared by all clients, or each client's own. `fsync`: None if it
    is the same for all."""

    directories: str
    clients: int
    fsync: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class InsertGroup:
    """One group of a run."""

    seconds: float  # from its start to the last client's end
    done: int | None = field(default=None, metadata=RAW)
    bytes: int | None = field(default=None, metadata=RAW)
    late_s: float | None = field(default=None, metadata=RAW)  # from the start until the last client began
    counted: tuple[Counted, ...] = field(default=(), metadata=RAW)
    # After the group; None for an S3 endpoint, which does not report it.
    usage: Usage | None = field(default=None, metadata=RAW)
    refused: int
    failed: int
    files_per_s: float = 0.0
    p50_us: float = 0.0
    p99_us: float = 0.0
    used_bytes: int | None = None  # since the start of the run
    used_inodes: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class InsertRun(ProfileRun):
    """One run of insert-drift."""

    groups: tuple[InsertGroup, ...]
    before: Usage | None = field(default=None, metadata=RAW)
    after: Usage | None = field(default=None, metadata=RAW)  # when everything was synced
    said: tuple[str, ...]  # refusals and errors in words
    files: int = 0
    bytes: int = 0
    files_per_s: float = 0.0
    refused: int = 0
    failed: int = 0
    late_s: float = 0.0
    rate_drift: Drift | None = None  # None: too few groups
    latency_drift: Drift | None = None  # of the groups' medians
    bytes_a_file: float | None = None  # growth of the file system
    inodes_a_file: float | None = None


InsertPoint = PointOf[InsertLoad, InsertRun]
InsertResult = ResultOf[InsertPoint]


def run_of(seen: InsertRun) -> InsertRun:
    """Compute the figures of a run from its observations alone."""
    files, seconds = sum(group.done or 0 for group in seen.groups), sum(group.seconds for group in seen.groups)
    groups = tuple(_group(group, seen.before) for group in seen.groups)
    whole = [number for number, group in enumerate(groups) if not group.refused and not group.failed]
    return figured(
        seen,
        latency=latencies(merged(one for group in seen.groups for one in group.counted)),
        steady=_steady(seen),
        files=files,
        **{what: sum(getattr(group, what) for group in seen.groups) for what in ("bytes", "refused", "failed")},
        files_per_s=files / seconds if seconds else 0.0,
        late_s=max(group.late_s or 0.0 for group in seen.groups),
        groups=groups,
        rate_drift=drift_of([groups[number].files_per_s for number in whole]),
        latency_drift=drift_of([_median_ns(seen.groups[number]) for number in whole]),
        bytes_a_file=_a_file(seen, files, "used_bytes"),
        inodes_a_file=_a_file(seen, files, "used_inodes"),
    )


def _group(group: InsertGroup, before: Usage | None) -> InsertGroup:
    of = latencies(group.counted).get(_WHOLE)
    used = None if group.usage is None or before is None else (group.usage, before)
    return figured(
        group,
        files_per_s=(group.done or 0) / group.seconds if group.seconds else 0.0,
        p50_us=0.0 if of is None else of.p50_us,
        p99_us=0.0 if of is None else of.p99_us,
        used_bytes=used and used[0].used_bytes - used[1].used_bytes,
        used_inodes=used and used[0].used_inodes - used[1].used_inodes,
    )


def _median_ns(group: InsertGroup) -> float:
    """Return the median time of a whole file, interpolated within its bucket: buckets are 6 % wide, and a change of less
    than 1 % from one to the next would be called drift."""
    counts = next((one.histogram.counts for one in group.counted if one.label == _WHOLE), {})
    half, below = sum(counts.values()) / 2, 0
    for bucket in sorted(counts):
        if below + counts[bucket] >= half:
            low, high = bucket_bounds(bucket)
            return low + (high - low) * (half - below) / counts[bucket]
        below += counts[bucket]
    return 0.0


def _a_file(seen: InsertRun, files: int, what: str) -> float | None:
    """Return the growth a file; None if no value is reported: an S3 endpoint, a file system without a number of
    inodes."""
    if seen.before is None or seen.after is None or not files:
        return None
    grown = int(getattr(seen.after, what)) - int(getattr(seen.before, what))
    return grown / files if grown > 0 else None


def _steady(seen: InsertRun) -> tuple[Steady, ...]:
    """Judge the steadiness of the groups one after another, without the time between them."""
    at, seconds = 0.0, defaultdict[float, float](float)
    for group in (group for group in seen.groups if group.seconds > 0):
        end = at + group.seconds
        for second in range(int(at), int(end) + 1):  # its files evenly over its time
            seconds[second] += (group.done or 0) * max(0.0, min(second + 1, end) - max(second, at)) / group.seconds
        at = end
    return judged_whole("files", sorted(seconds.items()), at)


_BLOCK = 4096
_SLOW = 2_000.0  # assumed files a second of a storage, for the predicted time
_ON_NULL_FILES = 10_000  # files of the null baseline


class InsertSettings(ProfileSettings):
    """Settings of profile `insert-drift`."""

    files: int = Field(100_000, ge=1, description="files or objects per run; report R3 had 2,260,000")
    group: int = Field(5_000, ge=1, description="files per group; rates and latencies are shown by group")
    size: int = Field(1024, ge=0, le=1 << 30, description="size of each in bytes")
    clients: tuple[int, ...] = Field((1, 32), description="clients that insert at once, one point each")
    directories: tuple[Literal["shared", "own"], ...] = Field(
        ("shared", "own"), description="one directory for all clients, or one per client, one point each"
    )
    fsync: Policies = Field(("none",), min_length=1, description=FSYNC)
    seed: int = Field(1, description="seed of the content")


class InsertDrift(ClientTest[InsertSettings]):
    """The long insertion of report R3."""

    name: ClassVar[str] = "insert-drift"
    does: ClassVar[str] = (
        "Adds small files or objects in groups, in one directory or one per client; shows rate and latency by group, and whether"
        " they drift"
    )
    writes: ClassVar[str] = "files of `size` bytes, `files` of them, once for each point and repeat, removed after each"
    settings_type: ClassVar[type[ProfileSettings]] = InsertSettings
    small: ClassVar[Mapping[str, Any]] = {"files": 2_400, "group": 200, "clients": (1, 8)}

    def points(self) -> list[InsertLoad]:
        """Return every number of clients with every kind of directories."""
        s = self.settings
        if not s.clients or not s.directories or min(s.clients) < 1:
            raise UsageError("insert-drift needs clients from 1, and directories shared, own or both")
        return [InsertLoad(*load) for load in itertools.product(s.directories, s.clients, varied(s.fsync))]

    def room(self) -> Room:
        """Return the room of one run: each is removed before the next."""
        s, paths = self.settings, max(1, len(self.targets.paths))
        files = -(-s.files // paths) + s.group
        each = -(-max(1, s.size) // _BLOCK) * _BLOCK + 512  # an inode, and its name
        points = len(s.clients) * len(s.directories) * len(s.fsync)
        return Room(bytes=files * each, files=files + max(s.clients, default=1), seconds=points * s.files / _SLOW)

    def on_null(self) -> InsertDrift:
        """Return the test with fewer files, since memory does not drift."""
        files = min(self.settings.files, max(_ON_NULL_FILES, self.settings.group))
        return InsertDrift(self.settings.model_copy(update={"files": files}), self.targets)

    def touched(self) -> int:
        """Return the bytes of one run: nothing is read."""
        return self.settings.files * self.settings.size

    def observe(self, turn: Turn, arena: Arena) -> InsertRun:
        """Insert all groups. Raises RunFailed if nothing at all could be inserted."""
        load, s = turn.at, self.settings
        assert isinstance(load, InsertLoad)
        with own_place(
            arena, turn.name, seed=s.seed, fsync=load.fsync or s.fsync[0], io_bytes=min(max(s.size, _BLOCK), 1 << 20)
        ) as place:
            started, before = time.time(), usage(place.roots)
            with crowd(place, load.clients) as people:
                begun, inserted = time.monotonic(), []
                for first in range(0, s.files, s.group):
                    numbers, shared = range(first, min(first + s.group, s.files)), load.directories == "shared"
                    done = people.do("write", numbers, s.size, shared_directory=shared, together=True)
                    inserted.append((done, usage(place.roots)))
                    arena.show(f"{numbers.stop:,} of {s.files:,} files")
                elapsed = time.monotonic() - begun
            for root in place.roots:
                synced(root)
            after = usage(place.roots)
        seen = [
            InsertGroup(
                seconds=done.elapsed_s,
                done=sum(one.done for one in done.clients),
                bytes=sum(one.bytes for one in done.clients),
                refused=sum(one.refused for one in done.clients),
                failed=sum(one.failed for one in done.clients),
                late_s=max(one.began_s for one in done.clients),
                counted=done.counted,
                usage=used,
            )
            for done, used in inserted
        ]
        said = messages(done for done, _ in inserted)
        if not any(group.done for group in seen):
            raise RunFailed(f"no file could be inserted: {said[0] if said else 'no client gave a reason'}")
        cpu = sum(done.cpu_s for done, _ in inserted)
        return InsertRun(
            **noted(turn, started, elapsed, cpu, people.processors),
            groups=tuple(seen),
            before=before,
            after=after,
            said=said,
        )


_MOST_LINES = 6


def _size(result: InsertResult) -> int:
    return int(result.conditions["configuration"]["settings"]["group"])


def _groups(result: InsertResult) -> Section:
    rate = _plot(result, "insert-rate", "files a second", "files/s", lambda group: group.files_per_s)
    slow = _plot(result, "insert-latency", "p99 of a file, ms", "ms", lambda group: group.p99_us / 1000)
    return Section(anchor="groups", title=f"In groups of {words.count(_size(result))} files", parts=(rate, slow))


def _plot(result: InsertResult, name: str, label: str, unit: str, value: Callable[[InsertGroup], float]) -> Plot:
    shown = spread(result.points, _MOST_LINES)
    size = _size(result)
    rows: list[tuple[Cell, ...]] = []
    with figure_of(height=3.2) as (figure, (axes,)):
        for number, point in enumerate(shown):
            samples = [(float(n * size), value(one)) for n, one in enumerate(middle(point.repeats).groups, 1)]
            draw_line(axes, samples, number, named(point, result), 1.0)
            rows += [(named(point, result), int(files), of) for files, of in samples]
        axes.set_xlabel("files present")
        axes.set_ylabel(label)
        axes.set_xlim(left=0)
        from_zero(axes)
        legend_right(axes)
    rates = "; ".join(
        f"{named(point, result)}: {words.figure(value(groups[0]))} in the first group,"
        f" {words.figure(value(groups[-1]))} {unit} in the last"
        for point in shown
        if (groups := middle(point.repeats).groups)
    )
    sentence = f"{rates}. Of each point the run with the median elapsed time."
    return plotted(name, figure, sentence, ("point", "files", name.replace("-", "_")), rows)


@section("drift", "Drift")
def _drift(result: InsertResult) -> Parts:
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
        Column("trend", "trend over all", of(lambda drift: drift.trend), words.signed),
        Column("trend_p", "p", of(lambda drift: drift.trend_p), "{:.3f}".format),
        Column("change", "change", of(lambda drift: drift.change), words.signed),
        Column("change_after", "after files", of(lambda drift: drift.change_at * size), words.count),
        Column("change_p", "p", of(lambda drift: drift.change_p), "{:.3f}".format),
        Column("", "", of(lambda drift: "DRIFT" if drift.found else "none found"), text=True, missing="too few groups"),
    )
    shown = tabled("drift", columns, rows, mark=lambda row: row[3] is not None and row[3].found)
    remark = note(
        "Trend: Mann and Kendall's test with the line of Theil and Sen; change: Pettitt's test at the position "
        "that it finds; both corrected for the correlation of neighbouring groups (effective number of independent "
        f"ones) and judged together (Holm), at most 5 % false alarms; changes under {words.percent(RELEVANT)} are "
        f"not called drift. Groups that were not accepted completely are omitted; fewer than {LEAST} groups are "
        "not judged. Temporary changes (humps) are no drift."
    )
    return shown, remark


@section("usage", "Space and inodes")
def _usage(result: InsertResult) -> Parts:
    columns: tuple[Column[InsertPoint], ...] = (
        Column("point", "point", lambda point: named(point, result), text=True),
        Column("files", "files", lambda point: middle(point.repeats).files, words.count),
        Column("bytes", "bytes written", lambda point: middle(point.repeats).bytes, words.size),
        Column("bytes_a_file", "space a file", lambda point: middle(point.repeats).bytes_a_file, words.size, missing="not known"),
        Column("inodes_a_file", "inodes a file", lambda point: middle(point.repeats).inodes_a_file, words.figure,
               missing="not known"),
    )  # fmt: skip
    remark = note(
        "Space and inodes as the file system reports them (statvfs) before the run and after a sync, used by all "
        "programs; S3 endpoints and file systems without a number of inodes report none."
    )
    return tabled("usage", columns, result.points), remark


class _Wording(ClientsWording):
    def remarks(self, result: InsertResult) -> Sequence[str]:
        """Return drift, too."""
        drifting = sum(
            any(
                drift is not None and drift.found
                for run in point.repeats
                for drift in (run.rate_drift, run.latency_drift)
            )
            for point in result.points
        )
        found = [f"DRIFT at {drifting} of {len(result.points)} points"] if drifting else []
        return [*super().remarks(result), *found]


InsertDrift.ABOUT = about_test(
    InsertDrift,
    InsertLoad,
    InsertRun,
    run_of=run_of,
    figures=(
        Figure(name="files_per_s", title="files/s", of=lambda run: run.files_per_s, headline=True, write=words.figure),
        percentile("p50", _WHOLE),
        percentile("p99", _WHOLE, headline=True),
        Figure(name="rate_trend", title="rate trend", of=lambda run: run.rate_drift and run.rate_drift.trend,
               write=words.signed, missing="too few groups"),
        Figure(name="rate_change", title="rate change", of=lambda run: run.rate_drift and run.rate_drift.change,
               write=words.signed, missing="too few groups"),
        *TROUBLES,
        Figure(name="bytes_a_file", title="space a file", of=lambda run: run.bytes_a_file, write=words.size, unit="bytes",
               missing="not known"),
        Figure(name="inodes_a_file", title="inodes a file", of=lambda run: run.inodes_a_file, write=words.figure,
               missing="not known"),
    ),
    sections=lambda result: [_groups(result), _drift(result), _usage(result)],
    wording=_Wording,
    ceilings=("files_per_s",),
    published=(
        Published(what="2.26 million small files one after another, in groups of 5,000, through a small VM",
                  figure="files_per_s", value=5.0, at={"clients": 1}, settings={"group": 5_000},
                  remark="flat; sizes are not given"),
        Published(what="1 KB objects by more than 30 threads, native interface", figure="files_per_s", value=10.0,
                  at={"clients": 32}, settings={"size": 1024}),
    ),
    notes={"late_s": lambda run: run.late_s},
)  # fmt: skip
