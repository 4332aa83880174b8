"""Test client-sweep of report R3: how many clients write, read and remove whole large objects, and the rate of each."""

from __future__ import annotations

import itertools
import random
import statistics
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Literal

from pydantic import Field

from core.errors import RunFailed, UsageError
from core.plain import grouped
from experiments.report import words
from experiments.report.parts import Cell, Column, Parts, Plot, note, plotted, section, tabled
from experiments.report.plots import counts_on_x, figure_of, from_zero, legend_right
from experiments.report.style import series_colour
from experiments.report.views import middle, named
from experiments.result.schema import At, PointOf, ResultOf
from experiments.result.steady import by_second, judged_whole
from experiments.workload import Figure, Turn
from storage_tests.about import about_test
from storage_tests.client_tests import FSYNC, TROUBLES, ClientsWording, ClientTest, Policies, messages, own_place
from storage_tests.clients import ClientDone, Deed, ProcessDone
from storage_tests.crowd import MOST, Crowd, crowd
from storage_tests.profile import RAW, Arena, ProfileRun, ProfileSettings, Room, figured, noted, varied
from storage_tests.tally import Counted, latencies, merged

# Deeds that move bytes; the mixed phase has clients that write and clients that read.
MOVING = ("write", "read", "mixed write", "mixed read")


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
        """Return a phase of the run; None if it does not have it."""
        return next((phase for phase in self.phases if phase.deed == deed), None)


SweepPoint = PointOf[SweepLoad, SweepRun]
SweepResult = ResultOf[SweepPoint]


def run_of(seen: SweepRun) -> SweepRun:
    """Compute the figures of a run from its observations alone."""
    phases = tuple(_phase_of(part) for phase in seen.phases for part in _parts(phase))
    return figured(
        seen,
        latency=latencies(merged(one for phase in seen.phases for one in phase.counted)),
        steady=tuple(
            one
            for phase in seen.phases
            if phase.deed != "remove"
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
    if seen.deed != "mixed":
        return [seen]
    halves = zip(MOVING[2:], (seen.clients[::2], seen.clients[1::2]), strict=True)
    return [replace(seen, deed=deed, clients=half) for deed, half in halves if half]


def _phase_of(seen: SweepPhase) -> SweepPhase:
    amounts = [one.done if seen.deed == "remove" else one.bytes for one in seen.clients]
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
_SLOW = 100e6  # assumed bytes a second of a storage, for the predicted time
_ON_NULL_BYTES = 16_000_000  # most bytes of an object in the null baseline
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
    fsync: Policies = Field(("file",), min_length=1, description=FSYNC)
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
        return Room(bytes=files * s.size, files=2 * files + 1, seconds=moved / _SLOW)

    def on_null(self) -> ClientSweep:
        """Return the test with smaller objects in a window that is shorter in proportion, so that as many bytes a
        second are started."""
        s = self.settings
        share = min(1.0, _ON_NULL_BYTES / s.size, _ON_NULL_S / s.window)
        size = max(1, round(s.size * share))
        less = {"size": size, "window": s.window * size / s.size}
        return ClientSweep(s.model_copy(update=less), self.targets)

    def touched(self) -> int:
        """Return the bytes of the smallest run."""
        return min(self.settings.clients, default=0) * self.settings.objects * self.settings.size

    def observe(self, turn: Turn, arena: Arena) -> SweepRun:
        """Run the phases. Raises RunFailed if nothing at all could be written."""
        load, s = turn.at, self.settings
        deeds: tuple[Deed, ...] = ("write", "read", "mixed", "remove") if s.mixed else ("write", "read", "remove")
        assert isinstance(load, SweepLoad)
        with own_place(arena, turn.name, seed=s.seed, fsync=load.fsync or s.fsync[0], io_bytes=_IO_BYTES) as place:
            started = time.time()
            with crowd(place, load.clients) as people:
                runs = {deed: self._phase(people, deed, load, turn, arena) for deed in deeds}
        phases = tuple(
            SweepPhase(deed=deed, clients=done.clients, counted=done.counted, bytes_by_second=done.bytes_by_second, said=messages([done]))
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
        if deed in ("read", "mixed") and s.forget and not arena.null:
            people.do("forget", numbers, s.size)
        if deed == "mixed":
            numbers = range(s.objects, 2 * s.objects)
        arena.show(f"{load}: {deed}")
        delays: list[float] = []
        if load.start == "spread":
            dice = random.Random(f"{s.seed}-{turn.repeat}-{load.clients}-{deed}")
            delays = [dice.uniform(0, s.window) for _ in range(load.clients)]
        return people.do(deed, numbers, s.size, delays_s=delays)


_MB = 1e6
_PUBLISHED = {"write": 300.0, "read": 146.0}  # kB/s, the mean client's loss for each added one in R3, over 1 Gb/s


def _of_start(result: SweepResult) -> dict[str, list[SweepPoint]]:
    """Return the points by how clients started and what they synced, fewest clients first."""
    points = sorted(result.points, key=lambda point: point.at.clients)
    return grouped(points, lambda point: "-fsync-".join(filter(None, (point.at.start, point.at.fsync))))


def _phases(points: Sequence[SweepPoint], deed: str) -> list[tuple[int, SweepPhase]]:
    """Return the phases by number of clients, for the points that have the phase."""
    middles = ((point.at.clients, middle(point.repeats).phase(deed)) for point in points)
    return [(clients, phase) for clients, phase in middles if phase is not None]


@section("rates", "Bandwidth per client and in total")
def _rates(result: SweepResult) -> Parts:
    return [_plot(start, points) for start, points in _of_start(result).items()]


def _plot(start: str, points: list[SweepPoint]) -> Plot:
    rows: list[tuple[Cell, ...]] = []
    with figure_of(columns=2, height=3.2) as (figure, (one, every)):
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
    return plotted(f"sweep-{start}", figure, _sentence(start, points), header, rows)


def _sentence(start: str, points: list[SweepPoint]) -> str:
    begun = "All clients start at once" if start.startswith("together") else "Each client starts at a different time"
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


@section("fall-off", "Fall-off per added client")
def _falls(result: SweepResult) -> Parts:
    rows: list[tuple[str, str, float | None]] = []  # deed, start, kB/s
    for start, points in _of_start(result).items():
        for deed in ("write", "read"):
            known = [(clients, phase.mean) for clients, phase in _phases(points, deed) if phase.mean is not None]
            fall = fall_off([count for count, _ in known], [mean for _, mean in known])
            rows.append((deed, start, None if fall is None else fall / 1000))

    def published(row: tuple[str, str, float | None]) -> str:
        return f"{words.count(_PUBLISHED[row[0]])} kB/s" if not row[1].startswith("together") else "not published"

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
    return shown, remark


@section("clients", "First done, last done, refused")
def _clients(result: SweepResult) -> Parts:
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
    return (
        tabled("clients", columns, rows, mark=lambda row: bool(row[2].refused or row[2].failed)),
        note(
            "Refused: connections that the storage did not accept, reset before it answered, or answered with 503 "
            "or 429. There are no retries; a client continues with its next object. Clients at once: the sum of "
            "the clients' times ÷ the time from the first start to the last end."
        ),
    )


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
    run_of=run_of,
    figures=(
        _rate("write", "aggregate", "MB/s, all clients", headline=True),
        _rate("read", "aggregate", "MB/s, all clients", headline=True),
        _rate("write", "mean", "MB/s, mean client"),
        _rate("read", "mean", "MB/s, mean client"),
        *(_rate(deed, "aggregate", "MB/s, its clients", aside=True) for deed in MOVING[2:]),
        Figure(name="removes_per_s", title="removed/s", of=lambda run: getattr(run.phase("remove"), "aggregate", None), write=words.figure,
               missing="none"),
        *TROUBLES,
        Figure(name="overlap", title="clients at once", of=lambda run: getattr(run.phase("write"), "overlap", None), write=words.figure),
    ),
    sections=lambda result: [_rates(result), _falls(result), _clients(result)],
    wording=ClientsWording,
    ceilings=("write_mean_mb_s", "read_mean_mb_s"),
)  # fmt: skip
