"""A client sweep: how many clients write, read and remove whole large objects, and what each of them gets (report R3)."""

from __future__ import annotations

import random
import statistics
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Final, Literal

from pydantic import Field

from core.errors import RunFailed, UsageError
from experiments.kinds.cases import Cases
from experiments.kinds.kind import Kind
from experiments.report import words
from experiments.report.columns import Column, tabled
from experiments.report.palette import series_colour
from experiments.report.parts import Cell, Plot, Section, Series, note
from experiments.report.plots import counts_on_x, drawing, from_zero, legend_beside, new_figure
from experiments.report.views import middle, named
from experiments.result.schema import At, PointOf, ResultOf
from experiments.result.steady import judged
from experiments.workload import Figure, Turn
from storage_tests.about import profile_about
from storage_tests.clients import Deed
from storage_tests.crowd import MOST, ClientsTelling, Crowd, Done, check_s3, crowd, own_place
from storage_tests.profile import Arena, Observed, Profile, ProfileRun, ProfileSettings, Room, common
from storage_tests.tally import Counted, latencies, merged

TOGETHER, SPREAD = "together", "spread"
WRITE: Final = "write"
READ: Final = "read"
REMOVE: Final = "remove"
MIXED: Final = "mixed"
MIXED_WRITE, MIXED_READ = "mixed write", "mixed read"  # its clients that write, and those that read
MOVING = (WRITE, READ, MIXED_WRITE, MIXED_READ)


@dataclass(frozen=True, slots=True)
class SweepLoad(At):
    """`start`: all clients begin at once, or each at a moment of its own."""

    start: str
    clients: int


@dataclass(frozen=True, slots=True, kw_only=True)
class SeenClient:
    """One client's part of a phase; seconds since the phase's start."""

    began_s: float
    ended_s: float
    done: int  # objects
    bytes: int
    refused: int
    failed: int


@dataclass(frozen=True, slots=True, kw_only=True)
class SeenPhase:
    """One phase: every client writes, reads or removes its objects."""

    deed: str
    clients: tuple[SeenClient, ...]
    counted: tuple[Counted, ...]
    bytes_by_second: tuple[int, ...]
    said: tuple[str, ...]  # refusals and errors in words


@dataclass(frozen=True, slots=True, kw_only=True)
class SweepSeen(Observed):
    """One run."""

    phases: tuple[SeenPhase, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class SweepPhase:
    """What a phase was; rates are bytes a second, of removals objects a second."""

    deed: str
    done: int
    bytes: int
    refused: int  # connections that the storage did not take; none was tried again
    failed: int
    mean: float | None  # of the clients' own rates, of those that did anything
    least: float | None
    most: float | None
    aggregate: float | None  # from the first begin to the last end
    first_done_s: float  # since the start
    last_done_s: float
    overlap: float  # active clients, in the mean
    late_s: float  # the most that a client began after the start, of all that began together


@dataclass(frozen=True, slots=True, kw_only=True)
class SweepRun(ProfileRun):
    """One run."""

    phases: tuple[SweepPhase, ...]
    refused: int
    failed: int
    said: tuple[str, ...]

    def phase(self, deed: str) -> SweepPhase | None:
        """None: a run without it."""
        return next((phase for phase in self.phases if phase.deed == deed), None)


class SweepPoint(PointOf[SweepLoad, SweepRun]):
    """All repeats under one load."""


class SweepResult(ResultOf[SweepPoint]):
    """A whole experiment."""


def run_of(seen: SweepSeen) -> SweepRun:
    """Every figure of it; nothing else is asked. Raises LookupError for a run without writing, reading or removing."""
    if missing := {WRITE, READ, REMOVE} - {phase.deed for phase in seen.phases}:
        raise LookupError(f"a run without {', '.join(sorted(missing))}")
    phases = tuple(_phase_of(part) for phase in seen.phases for part in _parts(phase))
    counted = merged(one for phase in seen.phases for one in phase.counted)
    steady = (
        judged(f"bytes of {phase.deed}", [(float(at), float(n)) for at, n in enumerate(phase.bytes_by_second)], 0.0,
               max(one.ended_s for one in phase.clients))
        for phase in seen.phases
        if phase.deed != REMOVE
    )  # fmt: skip
    return SweepRun(
        **common(seen),
        latency=latencies(counted),
        steady=tuple(one for one in steady if one is not None),
        phases=phases,
        refused=sum(phase.refused for phase in phases),
        failed=sum(phase.failed for phase in phases),
        said=tuple(dict.fromkeys(word for phase in seen.phases for word in phase.said)),
    )


def _parts(seen: SeenPhase) -> list[SeenPhase]:
    """A mixed phase as two: even clients write, odd ones read."""
    if seen.deed != MIXED:
        return [seen]
    halves = (replace(seen, deed=deed, clients=seen.clients[half::2]) for half, deed in enumerate(MOVING[2:]))
    return [half for half in halves if half.clients]


def _phase_of(seen: SeenPhase) -> SweepPhase:
    amounts = [one.done if seen.deed == REMOVE else one.bytes for one in seen.clients]
    rates = [
        amount / (one.ended_s - one.began_s)
        for amount, one in zip(amounts, seen.clients, strict=True)
        if one.done and one.ended_s > one.began_s
    ]
    begin, end = min(one.began_s for one in seen.clients), max(one.ended_s for one in seen.clients)
    busy = sum(one.ended_s - one.began_s for one in seen.clients)
    return SweepPhase(
        deed=seen.deed,
        done=sum(one.done for one in seen.clients),
        bytes=sum(one.bytes for one in seen.clients),
        refused=sum(one.refused for one in seen.clients),
        failed=sum(one.failed for one in seen.clients),
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
    """What each added client costs the mean client: the line of least squares through the points; None of one point."""
    if len(set(clients)) < 2:
        return None
    return -statistics.linear_regression(clients, means).slope


_IO_BYTES = 1 << 20
_SLOW = 100e6  # bytes a second that a storage makes, for the time that is predicted
_ON_NULL = 16_000_000  # bytes of an object of the pair at most
_ON_NULL_S = 5.0  # seconds in which its clients begin at most
_SAID = 5  # of each phase, refusals and errors in words


class SweepSettings(ProfileSettings):
    """How many clients, and what each does."""

    clients: tuple[int, ...] = Field((1, 2, 5, 10, 20, 50, 100), description="clients at once, one point each")
    start: tuple[Literal["together", "spread"], ...] = Field(
        ("together", "spread"), description="start all at once, or each at its own moment, one point each"
    )
    size: int = Field(1_000_000_000, ge=1, description="size of an object in bytes; 1 GB as in report R3")
    objects: int = Field(1, ge=1, description="objects that each client writes, then reads, then removes")
    mixed: bool = Field(False, description="then half of the clients write as much again while the others read")
    window: float = Field(30.0, gt=0, description="seconds over which clients start that do not start together")
    fsync: Literal["none", "file"] = Field("file", description="sync each file to stable storage")
    forget: bool = Field(True, description="drop the files from this host's cache before they are read")
    seed: int = Field(1, description="seed of the content and of the start times")


class ClientSweep(Profile[SweepSettings]):
    """Report R3's clients."""

    name: ClassVar[str] = "client-sweep"
    report: ClassVar[str] = "R3"
    does: ClassVar[str] = (
        "Lets 1 to 100 clients write, read and remove whole large objects, started together or not; mean, least and most per client,"
        " aggregate, fall-off, refused connections"
    )
    writes: ClassVar[str] = "`objects` of `size` bytes a client, once for each point and repeat, removed after each"
    needs: ClassVar[str] = "nothing; with --s3 a bucket and the usual AWS_* variables"
    settings_type: ClassVar[type[ProfileSettings]] = SweepSettings
    small: ClassVar[Mapping[str, Any]] = {"clients": (1, 2, 4, 8), "size": 8_000_000, "window": 1.0}
    takes_s3: ClassVar[bool] = True
    emulates: ClassVar[bool] = True

    def check(self) -> None:
        """Raises UsageError."""
        check_s3(self.targets.s3)

    def kind(self, repeats: int, seed: int) -> Kind:
        """Every number of clients with every kind of start."""
        s = self.settings
        if not s.clients or not s.start or not 1 <= min(s.clients) <= max(s.clients) <= MOST:
            raise UsageError(
                f"client-sweep requires numbers of clients from 1 to {MOST:,}, and start together, spread or both"
            )
        points = [SweepLoad(start, clients) for start in s.start for clients in s.clients]
        return Cases("clients", points, repeats=repeats, seed=seed)

    def room(self) -> Room:
        """One run's: each is removed before the next."""
        s, paths = self.settings, max(1, len(self.targets.paths))
        files = -(-max(s.clients, default=1) // paths) * s.objects * (1 + s.mixed)
        moved = (2 + s.mixed) * sum(s.clients) * s.objects * s.size * len(s.start)
        return Room(bytes=files * s.size, files=2 * files + 1, seconds=moved / _SLOW)

    def on_null(self) -> ClientSweep:
        """Smaller objects within a window that is as much shorter: as many bytes a second are begun."""
        s = self.settings
        share = min(1.0, _ON_NULL / s.size, _ON_NULL_S / s.window)
        size = max(1, round(s.size * share))
        less = {"size": size, "window": s.window * size / s.size}
        return ClientSweep(s.model_copy(update=less), self.targets)

    def touched(self) -> int:
        """Of the smallest run."""
        return min(self.settings.clients, default=0) * self.settings.objects * self.settings.size

    def observe(self, turn: Turn, arena: Arena) -> SweepSeen:
        """Three phases. Raises RunFailed when nothing at all could be written."""
        load, s = turn.at, self.settings
        assert isinstance(load, SweepLoad)
        with own_place(arena, turn.name, seed=s.seed, fsync=s.fsync, io_bytes=_IO_BYTES) as place:
            started = time.time()
            with crowd(place, load.clients, arena.look) as people:
                told = {deed: self._phase(people, deed, load, turn, arena) for deed in self._deeds}
        phases = tuple(_seen(deed, done) for deed, done in told.items())
        if not any(one.done for one in phases[0].clients):
            raise RunFailed(
                f"not one object could be written: {'; '.join(phases[0].said) or 'no client gave a reason'}"
            )
        elapsed = sum(done.elapsed_s for done in told.values())
        return SweepSeen(
            repeat=turn.repeat, order=turn.order, started_at=started, elapsed_s=elapsed,
            worker_cpu=sum(done.cpu_s for done in told.values()) / (elapsed * people.processors), phases=phases,
        )  # fmt: skip

    @property
    def _deeds(self) -> tuple[Deed, ...]:
        """In their order."""
        return (WRITE, READ, MIXED, REMOVE) if self.settings.mixed else (WRITE, READ, REMOVE)

    def _phase(self, people: Crowd, deed: Deed, load: SweepLoad, turn: Turn, arena: Arena) -> Done:
        s = self.settings
        numbers = range(s.objects)
        if deed in (READ, MIXED) and s.forget and not arena.null:
            people.do("forget", numbers, s.size)
        if deed == MIXED:
            numbers = range(s.objects, 2 * s.objects)
        arena.tell(f"{load}: {deed}")
        delays: list[float] = []
        if load.start == SPREAD:
            dice = random.Random(f"{s.seed}-{turn.repeat}-{load.clients}-{deed}")
            delays = [dice.uniform(0, s.window) for _ in range(load.clients)]
        return people.do(deed, numbers, s.size, delays_s=delays)


def _seen(deed: str, done: Done) -> SeenPhase:
    clients = tuple(
        SeenClient(
            began_s=(one.began_ns - done.start_ns) / 1e9,
            ended_s=(one.ended_ns - done.start_ns) / 1e9,
            done=one.done,
            bytes=one.bytes,
            refused=one.refused,
            failed=one.failed,
        )
        for one in done.clients
    )
    said = tuple(dict.fromkeys(word for one in done.clients for word in one.said))[:_SAID]
    return SeenPhase(deed=deed, clients=clients, counted=done.counted, bytes_by_second=done.bytes_by_second, said=said)


_MB = 1e6
_PUBLISHED = {WRITE: 300.0, READ: 146.0}  # kB/s that each added client cost the mean client in report R3, over 1 Gb/s


def sections(result: SweepResult) -> list[Section]:
    """In reading order."""
    return [_rates(result), _falls(result), _clients(result)]


def _of_start(result: SweepResult) -> dict[str, list[SweepPoint]]:
    """The points by how clients began, fewest clients first."""
    out: dict[str, list[SweepPoint]] = {}
    for point in sorted(result.points, key=lambda point: point.at.clients):
        out.setdefault(point.at.start, []).append(point)
    return out


def _phases(points: Sequence[SweepPoint], deed: str) -> list[tuple[int, SweepPhase]]:
    """By clients, of the points that have it."""
    middles = ((point.at.clients, middle(point.repeats).phase(deed)) for point in points)
    return [(clients, phase) for clients, phase in middles if phase is not None]


def _rates(result: SweepResult) -> Section:
    parts = [_plot(start, points) for start, points in _of_start(result).items()]
    return Section(anchor="rates", title="What a client gets, and all together", parts=tuple(parts))


def _plot(start: str, points: list[SweepPoint]) -> Plot:
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
        legend_beside(every)
    header = ("deed", "clients", "mean_mb_s", "least_mb_s", "most_mb_s", "aggregate_mb_s")
    return Plot(
        name=f"sweep-{start}", figure=figure, sentence=_sentence(start, points),
        series=Series(name=f"sweep-{start}", header=header, rows=tuple(rows)),
    )  # fmt: skip


def _sentence(start: str, points: list[SweepPoint]) -> str:
    begun = "All clients start at once" if start == TOGETHER else "Each client starts at its own moment"
    said = []
    for deed in MOVING:
        rates = [(phase.aggregate or 0.0, clients) for clients, phase in _phases(points, deed)] or [(0.0, 0)]
        (best, at), (last, most) = max(rates), rates[-1]
        if best:
            said.append(
                f"{deed}: the most, {words.figure(best / _MB)} MB/s, with {words.many(at, 'client')};"
                f" with {most} it is {words.percent(last / best)} of that"
            )
    return f"{begun}. {'; '.join(said)}."


def _falls(result: SweepResult) -> Section:
    rows: list[tuple[str, str, float | None]] = []  # deed, start, kB/s
    for start, points in _of_start(result).items():
        for deed in (WRITE, READ):
            known = [(clients, phase.mean) for clients, phase in _phases(points, deed) if phase.mean is not None]
            fall = fall_off([count for count, _ in known], [mean for _, mean in known])
            rows.append((deed, start, None if fall is None else fall / 1000))

    def published(row: tuple[str, str, float | None]) -> str:
        return f"{words.count(_PUBLISHED[row[0]])} kB/s" if row[1] != TOGETHER else "not published"

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
    said = note(
        "What each further client costs the mean client: a least-squares line through the points. The report's are of batch"
        " jobs over a 1 Gb/s link that did not necessarily overlap; once transfers were forced to overlap, connections ran out"
        " at 10 clients, and after a change of firmware the aggregate was almost constant."
    )
    return Section(anchor="fall-off", title="Fall-off per added client", parts=(shown, said))


def _clients(result: SweepResult) -> Section:
    rows = [
        (named(point, result), run.repeat + 1, phase)
        for point in result.points
        for run in point.repeats
        for phase in run.phases
    ]
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
            "Refused: connections that the storage did not take, reset before it answered, or answered with 503 or 429. Nothing is"
            " tried again; a client continues with its next object. Clients at once: the sum of the clients' own times ÷ the time"
            " from the first begin to the last end."
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


ABOUT = profile_about(
    name="client-sweep",
    report="R3",
    result=SweepResult,
    point=SweepPoint,
    seen=SweepSeen,
    run_of=run_of,
    figures=(
        _rate(WRITE, "aggregate", "MB/s, all clients", headline=True),
        _rate(READ, "aggregate", "MB/s, all clients", headline=True),
        _rate(WRITE, "mean", "MB/s, mean client"),
        _rate(READ, "mean", "MB/s, mean client"),
        *(_rate(deed, "aggregate", "MB/s, its clients", aside=True) for deed in (MIXED_WRITE, MIXED_READ)),
        Figure(name="removes_per_s", title="removed/s", of=lambda run: getattr(run.phase(REMOVE), "aggregate", None), write=words.figure,
               missing="none"),
        Figure(name="refused", title="refused", of=lambda run: float(run.refused), write=words.count),
        Figure(name="failed", title="failed", of=lambda run: float(run.failed), write=words.count),
        Figure(name="overlap", title="clients at once", of=lambda run: getattr(run.phase(WRITE), "overlap", None), write=words.figure),
    ),
    sections=sections,
    telling=ClientsTelling,
    ceilings=("write_mean_mb_s", "read_mean_mb_s"),
)  # fmt: skip

PROFILE = ClientSweep
