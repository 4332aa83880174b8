"""Tests by edbench's own clients: client-sweep (how many clients write, read and remove whole large objects, and the
rate of each) and insert-drift (small files or objects added in groups until there are many; does it become slower?),
both of report R3."""

from __future__ import annotations

import itertools
import random
import statistics
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Final, Literal, TypeVar

from pydantic import Field

from core.errors import RunFailed, UsageError
from experiments.report import words
from experiments.report.parts import Cell, Column, Html, Plot, Section, Series, Tabled, note, tabled
from experiments.report.plots import counts_on_x, draw_line, drawing, from_zero, legend_right, new_figure
from experiments.report.style import series_colour
from experiments.report.views import middle, named, spread
from experiments.result.drift import LEAST, RELEVANT, Drift, drift_of
from experiments.result.schema import At, PointOf, ResultOf, Steady
from experiments.result.steady import by_second, judged_whole
from experiments.workload import Figure, Turn, percentile
from storage_tests.about import ClientsWording, Published, about_test
from storage_tests.clients import ClientDone, Deed, ProcessDone
from storage_tests.crowd import MOST, Crowd, Place, crowd
from storage_tests.devices import Usage, synced, usage
from storage_tests.owner import own_directories
from storage_tests.profile import RAW, Arena, Profile, ProfileRun, ProfileSettings, Room, figured, noted, varied
from storage_tests.stores import Failed, Refused, connect, place_of, remove_below
from storage_tests.tally import Counted, latencies, merged

TOGETHER, SPREAD = "together", "spread"
WRITE: Final = "write"
READ: Final = "read"
REMOVE: Final = "remove"
MIXED: Final = "mixed"
MIXED_WRITE, MIXED_READ = "mixed write", "mixed read"  # parts of the mixed phase: writing and reading clients
MOVING = (WRITE, READ, MIXED_WRITE, MIXED_READ)
S = TypeVar("S", bound=ProfileSettings)
Policies = tuple[Literal["none", "file"], ...]
_FSYNC = "sync each file to stable storage (file), or no file, one point each"
_MESSAGES = 5  # refusals and errors in words
TROUBLES = (
    Figure(name="refused", title="refused", of=lambda run: float(run.refused), write=words.count),
    Figure(name="failed", title="failed", of=lambda run: float(run.failed), write=words.count),
)


@contextmanager
def own_place(arena: Arena, name: str, *, seed: int, fsync: str, io_bytes: int) -> Iterator[Place]:
    """Yield directories or a prefix of the run's own; remove them at the end, so that the next run finds the storage as
    this one did.

    Raises StorageFault, RunFailed."""
    if arena.s3 is not None:
        url = str(place_of(arena.s3).below(name.replace("/", "-")))
        try:
            yield Place(s3=url, seed=seed, io_bytes=io_bytes, counters=arena.counters)
        finally:
            try:
                remove_below(place_of(url))
            except (Refused, Failed) as error:
                raise RunFailed(f"the data written below {url} cannot be removed: {error}") from error
        return
    with own_directories(arena.paths, name) as roots:
        yield Place(roots=roots, seed=seed, fsync=fsync, io_bytes=io_bytes, filer=arena.filer,
                    counters=arena.counters, elsewhere=arena.elsewhere)  # fmt: skip


class ClientTest(Profile[S]):
    """A test whose load is made by edbench's own clients, on this host or at members of the crew, against directories
    or an S3 endpoint."""

    report: ClassVar[str] = "R3"
    needs: ClassVar[str] = "nothing; with --s3 a bucket and the usual AWS_* variables"
    takes_s3: ClassVar[bool] = True
    emulates: ClassVar[bool] = True
    axis: ClassVar[str] = "clients"

    def check(self) -> None:
        """Raise UsageError if the S3 endpoint cannot be used."""
        if self.targets.s3 is not None:
            connect(place_of(self.targets.s3))


def _messages(orders: Iterable[ProcessDone]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(word for done in orders for one in done.clients for word in one.said))[:_MESSAGES]


@dataclass(frozen=True, slots=True)
class SweepLoad(At):
    """The load of a client-sweep. `start`: all clients start at once, or each at a moment of its own. `fsync`: None if
    it is the same for all."""

    start: str
    clients: int
    fsync: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SweepPhase:
    """One phase, in which every client writes, reads or removes its objects; rates are bytes a second, for removals
    objects a second."""

    deed: str
    clients: tuple[ClientDone, ...] = field(default=(), metadata=RAW)
    counted: tuple[Counted, ...] = field(default=(), metadata=RAW)
    bytes_by_second: tuple[int, ...] = field(default=(), metadata=RAW)
    said: tuple[str, ...] = field(default=(), metadata=RAW)  # refusals and errors in words
    done: int = 0
    bytes: int = 0
    refused: int = 0  # connections that the storage did not take; none was tried again
    failed: int = 0
    mean: float | None = None  # mean of the rates of the clients that did anything
    least: float | None = None
    most: float | None = None
    aggregate: float | None = None  # from the first begin to the last end
    first_done_s: float = 0.0  # since the start
    last_done_s: float = 0.0
    overlap: float = 0.0  # active clients, in the mean
    late_s: float = 0.0  # largest delay of a client after the start; of clients that start together


@dataclass(frozen=True, slots=True, kw_only=True)
class SweepRun(ProfileRun):
    """One run of client-sweep."""

    phases: tuple[SweepPhase, ...]
    refused: int = 0
    failed: int = 0
    said: tuple[str, ...] = ()

    def phase(self, deed: str) -> SweepPhase | None:
        """Return a phase of the run; None for a mixed phase that it does not have. Raises LookupError for another
        missing phase."""
        if (found := next((p for p in self.phases if p.deed == deed), None)) is None and deed not in MOVING[2:]:
            raise LookupError(f"a run without {deed}")
        return found


SweepPoint = PointOf[SweepLoad, SweepRun]
SweepResult = ResultOf[SweepPoint]


def sweep_run_of(seen: SweepRun) -> SweepRun:
    """Compute the figures of a run from its observations alone."""
    phases = tuple(_phase_of(part) for phase in seen.phases for part in _parts(phase))
    return figured(
        seen,
        latency=latencies(merged(one for phase in seen.phases for one in phase.counted)),
        steady=tuple(
            one
            for phase in seen.phases
            if phase.deed != REMOVE
            for one in judged_whole(
                f"bytes of {phase.deed}", by_second(phase.bytes_by_second), max(one.ended_s for one in phase.clients)
            )
        ),
        phases=phases,
        refused=sum(phase.refused for phase in phases),
        failed=sum(phase.failed for phase in phases),
        said=tuple(dict.fromkeys(word for phase in seen.phases for word in phase.said)),
    )


def _parts(seen: SweepPhase) -> list[SweepPhase]:
    """Return a mixed phase as two: even clients write, odd ones read."""
    if seen.deed != MIXED:
        return [seen]
    halves = zip(MOVING[2:], (seen.clients[::2], seen.clients[1::2]), strict=True)
    return [replace(seen, deed=deed, clients=half) for deed, half in halves if half]


def _phase_of(seen: SweepPhase) -> SweepPhase:
    amounts = [one.done if seen.deed == REMOVE else one.bytes for one in seen.clients]
    rates = [
        amount / (one.ended_s - one.began_s)
        for amount, one in zip(amounts, seen.clients, strict=True)
        if one.done and one.ended_s > one.began_s
    ]
    begin, end = min(one.began_s for one in seen.clients), max(one.ended_s for one in seen.clients)
    busy = sum(one.ended_s - one.began_s for one in seen.clients)
    return figured(
        seen,
        **{what: sum(getattr(one, what) for one in seen.clients) for what in ("done", "bytes", "refused", "failed")},
        mean=statistics.fmean(rates) if rates else None,
        least=min(rates, default=None),
        most=max(rates, default=None),
        aggregate=sum(amounts) / (end - begin) if end > begin and rates else None,
        first_done_s=min(one.ended_s for one in seen.clients),
        last_done_s=end,
        overlap=busy / (end - begin) if end > begin else 0.0,
        late_s=max(one.began_s for one in seen.clients),
    )


def fall_off(clients: Sequence[int], means: Sequence[float]) -> float | None:
    """Return by how much each added client lowers the mean client's rate: the line of least squares through the points;
    None for one point."""
    if len(set(clients)) < 2:
        return None
    return -statistics.linear_regression(clients, means).slope


_IO_BYTES = 1 << 20
_SWEEP_SLOW = 100e6  # assumed bytes a second of a storage, for the predicted time
_SWEEP_ON_NULL = 16_000_000  # most bytes of an object in the null baseline
_ON_NULL_S = 5.0  # seconds in which its clients begin at most


class SweepSettings(ProfileSettings):
    """Settings of profile `client-sweep`."""

    clients: tuple[int, ...] = Field((1, 2, 5, 10, 20, 50, 100), description="clients at once, one point each")
    start: tuple[Literal["together", "spread"], ...] = Field(
        ("together", "spread"), description="start all clients at once, or each at a different time, one point each"
    )
    size: int = Field(1_000_000_000, ge=1, description="size of an object in bytes; 1 GB as in report R3")
    objects: int = Field(1, ge=1, description="objects that each client writes, reads and removes")
    mixed: bool = Field(False, description="afterwards, half of the clients write as much again while the others read")
    window: float = Field(30.0, gt=0, description="seconds over which the starts of clients are spread")
    fsync: Policies = Field(("file",), min_length=1, description=_FSYNC)
    forget: bool = Field(True, description="drop the files from this host's cache before they are read")
    seed: int = Field(1, description="seed of the content and of the start times")


class ClientSweep(ClientTest[SweepSettings]):
    """The client test of report R3."""

    name: ClassVar[str] = "client-sweep"
    does: ClassVar[str] = (
        "Lets 1 to 100 clients write, read and remove whole large objects, started together or not; mean, least and most per client,"
        " aggregate, fall-off, refused connections"
    )
    writes: ClassVar[str] = "`objects` of `size` bytes a client, once for each point and repeat, removed after each"
    settings_type: ClassVar[type[ProfileSettings]] = SweepSettings
    small: ClassVar[Mapping[str, Any]] = {"clients": (1, 2, 4, 8), "size": 8_000_000, "window": 1.0}

    def points(self) -> list[SweepLoad]:
        """Return every number of clients with every kind of start."""
        s = self.settings
        if not s.clients or not s.start or not 1 <= min(s.clients) <= max(s.clients) <= MOST:
            raise UsageError(f"client-sweep needs clients from 1 to {MOST:,}, and start together, spread or both")
        return [SweepLoad(*load) for load in itertools.product(s.start, s.clients, varied(s.fsync))]

    def room(self) -> Room:
        """Return the room of one run: each is removed before the next."""
        s, paths = self.settings, max(1, len(self.targets.paths))
        files = -(-max(s.clients, default=1) // paths) * s.objects * (1 + s.mixed)
        moved = (2 + s.mixed) * sum(s.clients) * s.objects * s.size * len(s.start) * len(s.fsync)
        return Room(bytes=files * s.size, files=2 * files + 1, seconds=moved / _SWEEP_SLOW)

    def on_null(self) -> ClientSweep:
        """Return the test with smaller objects in a window that is shorter in proportion, so that as many bytes a
        second are started."""
        s = self.settings
        share = min(1.0, _SWEEP_ON_NULL / s.size, _ON_NULL_S / s.window)
        size = max(1, round(s.size * share))
        less = {"size": size, "window": s.window * size / s.size}
        return ClientSweep(s.model_copy(update=less), self.targets)

    def touched(self) -> int:
        """Return the bytes of the smallest run."""
        return min(self.settings.clients, default=0) * self.settings.objects * self.settings.size

    def observe(self, turn: Turn, arena: Arena) -> SweepRun:
        """Run the phases. Raises RunFailed if nothing at all could be written."""
        load, s = turn.at, self.settings
        deeds: tuple[Deed, ...] = (WRITE, READ, MIXED, REMOVE) if s.mixed else (WRITE, READ, REMOVE)
        assert isinstance(load, SweepLoad)
        with own_place(arena, turn.name, seed=s.seed, fsync=load.fsync or s.fsync[0], io_bytes=_IO_BYTES) as place:
            started = time.time()
            with crowd(place, load.clients) as people:
                runs = {deed: self._phase(people, deed, load, turn, arena) for deed in deeds}
        phases = tuple(
            SweepPhase(deed=deed, clients=done.clients, counted=done.counted, bytes_by_second=done.bytes_by_second, said=_messages([done]))
            for deed, done in runs.items()
        )  # fmt: skip
        if not any(one.done for one in phases[0].clients):
            raise RunFailed(f"no object could be written: {'; '.join(phases[0].said) or 'no client gave a reason'}")
        elapsed = sum(done.elapsed_s for done in runs.values())
        cpu = sum(done.cpu_s for done in runs.values())
        return SweepRun(**noted(turn, started, elapsed, cpu, people.processors), phases=phases)

    def _phase(self, people: Crowd, deed: Deed, load: SweepLoad, turn: Turn, arena: Arena) -> ProcessDone:
        s = self.settings
        numbers = range(s.objects)
        if deed in (READ, MIXED) and s.forget and not arena.null:
            people.do("forget", numbers, s.size)
        if deed == MIXED:
            numbers = range(s.objects, 2 * s.objects)
        arena.show(f"{load}: {deed}")
        delays: list[float] = []
        if load.start == SPREAD:
            dice = random.Random(f"{s.seed}-{turn.repeat}-{load.clients}-{deed}")
            delays = [dice.uniform(0, s.window) for _ in range(load.clients)]
        return people.do(deed, numbers, s.size, delays_s=delays)


_MB = 1e6
_PUBLISHED = {WRITE: 300.0, READ: 146.0}  # kB/s that each added client cost the mean client in report R3, over 1 Gb/s


def _of_start(result: SweepResult) -> dict[str, list[SweepPoint]]:
    """Return the points by how clients started and what they synced, fewest clients first."""
    out: dict[str, list[SweepPoint]] = {}
    for point in sorted(result.points, key=lambda point: point.at.clients):
        out.setdefault("-fsync-".join(filter(None, (point.at.start, point.at.fsync))), []).append(point)
    return out


def _phases(points: Sequence[SweepPoint], deed: str) -> list[tuple[int, SweepPhase]]:
    """Return the phases by number of clients, for the points that have the phase."""
    middles = ((point.at.clients, middle(point.repeats).phase(deed)) for point in points)
    return [(clients, phase) for clients, phase in middles if phase is not None]


def _rates(result: SweepResult) -> Section:
    parts = [_sweep_plot(start, points) for start, points in _of_start(result).items()]
    return Section(anchor="rates", title="Bandwidth per client and in total", parts=tuple(parts))


def _sweep_plot(start: str, points: list[SweepPoint]) -> Plot:
    rows: list[tuple[Cell, ...]] = []
    with drawing():
        figure, (one, every) = new_figure(columns=2, height=3.2)
        for number, deed in enumerate(MOVING):
            known = [(clients, phase) for clients, phase in _phases(points, deed) if phase.aggregate is not None]
            if not known:
                continue
            clients = [count for count, _ in known]
            low, mean, high, total = (
                [(getattr(phase, what) or 0.0) / _MB for _, phase in known]
                for what in ("least", "mean", "most", "aggregate")
            )
            one.plot(clients, mean, marker="o", markersize=4, color=series_colour(number), label=deed)
            one.fill_between(clients, low, high, color=series_colour(number), alpha=0.2, linewidth=0)
            every.plot(clients, total, marker="o", markersize=4, color=series_colour(number), label=deed)
            rows += [(deed, *row) for row in zip(clients, mean, low, high, total, strict=True)]
        for axes, title in ((one, "a client: mean, least to most"), (every, "all clients together")):
            counts_on_x(axes, [point.at.clients for point in points], "clients")
            axes.set_ylabel("MB/s")
            axes.set_title(title)
            from_zero(axes)
        legend_right(every)
    header = ("deed", "clients", "mean_mb_s", "least_mb_s", "most_mb_s", "aggregate_mb_s")
    return Plot(
        name=f"sweep-{start}", figure=figure, sentence=_sentence(start, points),
        series=Series(name=f"sweep-{start}", header=header, rows=tuple(rows)),
    )  # fmt: skip


def _sentence(start: str, points: list[SweepPoint]) -> str:
    begun = "All clients start at once" if start.startswith(TOGETHER) else "Each client starts at a different time"
    clauses = []
    for deed in MOVING:
        rates = [(phase.aggregate or 0.0, clients) for clients, phase in _phases(points, deed)] or [(0.0, 0)]
        (best, at), (last, most) = max(rates), rates[-1]
        if best:
            clauses.append(
                f"{deed}: the most, {words.figure(best / _MB)} MB/s, with {words.many(at, 'client')};"
                f" with {most} it is {words.percent(last / best)} of that"
            )
    return f"{begun}. {'; '.join(clauses)}."


def _falls(result: SweepResult) -> Section:
    rows: list[tuple[str, str, float | None]] = []  # deed, start, kB/s
    for start, points in _of_start(result).items():
        for deed in (WRITE, READ):
            known = [(clients, phase.mean) for clients, phase in _phases(points, deed) if phase.mean is not None]
            fall = fall_off([count for count, _ in known], [mean for _, mean in known])
            rows.append((deed, start, None if fall is None else fall / 1000))

    def published(row: tuple[str, str, float | None]) -> str:
        return f"{words.count(_PUBLISHED[row[0]])} kB/s" if not row[1].startswith(TOGETHER) else "not published"

    shown = tabled(
        "fall-off",
        (
            Column("deed", "", lambda row: row[0], text=True),
            Column("start", "", lambda row: row[1], lambda start: f"begun {start}", text=True),
            Column("kb_s_per_client", "fall-off per added client", lambda row: row[2],
                   lambda fall: f"{words.figure(fall)} kB/s", missing="one point"),
            Column("", "report R3", published),
        ),
        rows,
    )  # fmt: skip
    remark = note(
        "Loss of the mean client for each added client: a least-squares line through the points. The report's are "
        "of batch jobs over a 1 Gb/s link that did not necessarily overlap; once transfers were forced to overlap, "
        "connections ran out at 10 clients, and after a change of firmware the aggregate was almost constant."
    )
    return Section(anchor="fall-off", title="Fall-off per added client", parts=(shown, remark))


def _clients(result: SweepResult) -> Section:
    runs = [(named(point, result), run) for point in result.points for run in point.repeats]
    rows = [(name, run.repeat + 1, phase) for name, run in runs for phase in run.phases]
    columns: tuple[Column[tuple[str, int, SweepPhase]], ...] = (
        Column("point", "point", lambda row: row[0], text=True),
        Column("repeat", "repeat", lambda row: row[1]),
        Column("deed", "deed", lambda row: row[2].deed, text=True),
        Column("done", "done", lambda row: row[2].done),
        Column("refused", "refused", lambda row: row[2].refused),
        Column("failed", "failed", lambda row: row[2].failed),
        Column("overlap", "clients at once", lambda row: row[2].overlap, words.figure),
        Column("first_done_s", "first done", lambda row: row[2].first_done_s, words.seconds),
        Column("last_done_s", "last done", lambda row: row[2].last_done_s, words.seconds),
    )
    parts = (
        tabled("clients", columns, rows, mark=lambda row: bool(row[2].refused or row[2].failed)),
        note(
            "Refused: connections that the storage did not accept, reset before it answered, or answered with 503 "
            "or 429. There are no retries; a client continues with its next object. Clients at once: the sum of "
            "the clients' times ÷ the time from the first start to the last end."
        ),
    )
    return Section(anchor="clients", title="First done, last done, refused", parts=parts)


def _rate(deed: str, what: str, title: str, *, headline: bool = False, aside: bool = False) -> Figure:
    def value(run: object) -> float | None:
        found: float | None = getattr(run.phase(deed), what, None)  # type: ignore[attr-defined]
        return None if found is None else found / 1e6

    return Figure(
        name=f"{deed.replace(' ', '_')}_{what}_mb_s", title=f"{deed} {title}", of=value, headline=headline, write=words.figure, unit="MB/s",
        missing="none", aside=aside,
    )  # fmt: skip


ClientSweep.ABOUT = about_test(
    ClientSweep,
    SweepLoad,
    SweepRun,
    run_of=sweep_run_of,
    figures=(
        _rate(WRITE, "aggregate", "MB/s, all clients", headline=True),
        _rate(READ, "aggregate", "MB/s, all clients", headline=True),
        _rate(WRITE, "mean", "MB/s, mean client"),
        _rate(READ, "mean", "MB/s, mean client"),
        *(_rate(deed, "aggregate", "MB/s, its clients", aside=True) for deed in (MIXED_WRITE, MIXED_READ)),
        Figure(name="removes_per_s", title="removed/s", of=lambda run: getattr(run.phase(REMOVE), "aggregate", None), write=words.figure,
               missing="none"),
        *TROUBLES,
        Figure(name="overlap", title="clients at once", of=lambda run: getattr(run.phase(WRITE), "overlap", None), write=words.figure),
    ),
    sections=lambda result: [_rates(result), _falls(result), _clients(result)],
    wording=ClientsWording,
    ceilings=("write_mean_mb_s", "read_mean_mb_s"),
)  # fmt: skip


WHOLE = "whole write"


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


def insert_run_of(seen: InsertRun) -> InsertRun:
    """Compute the figures of a run from its observations alone."""
    files, seconds = sum(group.done or 0 for group in seen.groups), sum(group.seconds for group in seen.groups)
    groups = tuple(_group(group, seen.before) for group in seen.groups)
    whole = [group for group in groups if not group.refused and not group.failed]
    return figured(
        seen,
        latency=latencies(merged(one for group in seen.groups for one in group.counted)),
        steady=_steady(seen),
        files=files,
        **{what: sum(getattr(group, what) for group in seen.groups) for what in ("bytes", "refused", "failed")},
        files_per_s=files / seconds if seconds else 0.0,
        late_s=max(group.late_s or 0.0 for group in seen.groups),
        groups=groups,
        rate_drift=drift_of([group.files_per_s for group in whole]),
        latency_drift=drift_of([group.p50_us for group in whole]),
        bytes_a_file=_a_file(seen, files, "used_bytes"),
        inodes_a_file=_a_file(seen, files, "used_inodes"),
    )


def _group(group: InsertGroup, before: Usage | None) -> InsertGroup:
    of = latencies(group.counted).get(WHOLE)
    used = None if group.usage is None or before is None else (group.usage, before)
    return figured(
        group,
        files_per_s=(group.done or 0) / group.seconds if group.seconds else 0.0,
        p50_us=0.0 if of is None else of.p50_us,
        p99_us=0.0 if of is None else of.p99_us,
        used_bytes=used and used[0].used_bytes - used[1].used_bytes,
        used_inodes=used and used[0].used_inodes - used[1].used_inodes,
    )


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
_INSERT_SLOW = 2_000.0  # assumed files a second of a storage, for the predicted time
_INSERT_ON_NULL = 10_000  # files of the null baseline


class InsertSettings(ProfileSettings):
    """Settings of profile `insert-drift`."""

    files: int = Field(100_000, ge=1, description="files or objects per run; report R3 had 2,260,000")
    group: int = Field(5_000, ge=1, description="files per group; rates and latencies are shown by group")
    size: int = Field(1024, ge=0, le=1 << 30, description="size of each in bytes")
    clients: tuple[int, ...] = Field((1, 32), description="clients that insert at once, one point each")
    directories: tuple[Literal["shared", "own"], ...] = Field(
        ("shared", "own"), description="one directory for all clients, or one per client, one point each"
    )
    fsync: Policies = Field(("none",), min_length=1, description=_FSYNC)
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
        return Room(
            bytes=files * each, files=files + max(s.clients, default=1), seconds=points * s.files / _INSERT_SLOW
        )

    def on_null(self) -> InsertDrift:
        """Return the test with fewer files, since memory does not drift."""
        files = min(self.settings.files, max(_INSERT_ON_NULL, self.settings.group))
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
                begun = time.monotonic()
                inserted = [
                    (done, usage(place.roots)) for done in self._inserted(people, load.directories == "shared", arena)
                ]
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
        messages = _messages(done for done, _ in inserted)
        if not any(group.done for group in seen):
            raise RunFailed(f"no file could be inserted: {messages[0] if messages else 'no client gave a reason'}")
        cpu = sum(done.cpu_s for done, _ in inserted)
        return InsertRun(
            **noted(turn, started, elapsed, cpu, people.processors),
            groups=tuple(seen),
            before=before,
            after=after,
            said=messages,
        )

    def _inserted(self, people: Crowd, shared: bool, arena: Arena) -> Any:
        s = self.settings
        for first in range(0, s.files, s.group):
            numbers = range(first, min(first + s.group, s.files))
            yield people.do("write", numbers, s.size, shared_directory=shared, together=True)
            arena.show(f"{numbers.stop:,} of {s.files:,} files")


_MOST_LINES = 6


def _size(result: InsertResult) -> int:
    return int(result.conditions["configuration"]["settings"]["group"])


def _groups(result: InsertResult) -> Section:
    rate = _insert_plot(result, "insert-rate", "files a second", "files/s", lambda group: group.files_per_s)
    slow = _insert_plot(result, "insert-latency", "p99 of a file, ms", "ms", lambda group: group.p99_us / 1000)
    refused = [point for point in result.points if any(run.refused or run.failed for run in point.repeats)]
    messages = [word for point in refused for run in point.repeats for word in run.said]
    parts: list[Plot | Tabled | Html] = [rate, slow]
    if refused:
        parts.append(note(f"Some files were not accepted: {'; '.join(dict.fromkeys(messages))}"))
    return Section(anchor="groups", title=f"In groups of {words.count(_size(result))} files", parts=tuple(parts))


def _insert_plot(result: InsertResult, name: str, label: str, unit: str, value: Callable[[InsertGroup], float]) -> Plot:
    shown = spread(result.points, _MOST_LINES)
    size = _size(result)
    rows: list[tuple[Cell, ...]] = []
    with drawing():
        figure, (axes,) = new_figure(height=3.2)
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
    series = Series(name=name, header=("point", "files", name.replace("-", "_")), rows=tuple(rows))
    sentence = f"{rates}. Of each point the run with the median elapsed time."
    return Plot(name=name, figure=figure, sentence=sentence, series=series)


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
        Column("trend", "trend over all", of(lambda drift: drift.trend), words.signed),
        Column("trend_p", "p", of(lambda drift: drift.trend_p), "{:.3f}".format),
        Column("change", "change", of(lambda drift: drift.change), words.signed),
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
    remark = note(
        "Trend: Mann and Kendall's test with the line of Theil and Sen; change: Pettitt's test at the position "
        "that it finds; both corrected for the correlation of neighbouring groups (effective number of independent "
        f"ones) and judged together (Holm), at most 5 % false alarms; changes under {words.percent(RELEVANT)} are "
        f"not called drift. Groups that were not accepted completely are omitted; fewer than {LEAST} groups are "
        "not judged. Temporary changes (humps) are no drift."
    )
    return Section(anchor="drift", title="Drift", parts=(shown, remark))


def _usage(result: InsertResult) -> Section:
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
    return Section(anchor="usage", title="Space and inodes", parts=(tabled("usage", columns, result.points), remark))


InsertDrift.ABOUT = about_test(
    InsertDrift,
    InsertLoad,
    InsertRun,
    run_of=insert_run_of,
    figures=(
        Figure(name="files_per_s", title="files/s", of=lambda run: run.files_per_s, headline=True, write=words.figure),
        percentile("p50", WHOLE),
        percentile("p99", WHOLE, headline=True),
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
    wording=ClientsWording,
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
