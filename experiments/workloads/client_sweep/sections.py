"""The report's own sections of a client sweep: a client's rate and the aggregate by clients, fall-off, who was refused."""

from __future__ import annotations

from experiments.report import words
from experiments.report.markup import Html, table
from experiments.report.palette import series_colour
from experiments.report.parts import Cell, Plot, Section, Series, Tabled, note
from experiments.report.plots import counts_on_x, drawing, from_zero, legend_beside, new_figure
from experiments.report.views import middle, named
from experiments.workloads.client_sweep.result import (
    DEEDS,
    READ,
    TOGETHER,
    WRITE,
    SweepPhase,
    SweepPoint,
    SweepResult,
    fall_off,
)

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


def _phase(point: SweepPoint, deed: str) -> SweepPhase:
    return middle(point.repeats).phase(deed)


def _rates(result: SweepResult) -> Section:
    parts = [_plot(start, points) for start, points in _of_start(result).items()]
    return Section(anchor="rates", title="What a client gets, and all together", parts=tuple(parts))


def _plot(start: str, points: list[SweepPoint]) -> Plot:
    rows: list[tuple[Cell, ...]] = []
    with drawing():
        figure, (one, every) = new_figure(columns=2, height=3.2)
        for number, deed in enumerate((WRITE, READ)):
            known = [
                (point.at.clients, phase) for point in points if (phase := _phase(point, deed)).aggregate is not None
            ]
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
    for deed in (WRITE, READ):
        rates = [(_phase(point, deed).aggregate or 0.0, point.at.clients) for point in points]
        (best, at), (last, most) = max(rates), rates[-1]
        if best:
            said.append(
                f"{deed}: the most, {words.figure(best / _MB)} MB/s, with {words.many(at, 'client')};"
                f" with {most} it is {words.percent(last / best)} of that"
            )
    return f"{begun}. {'; '.join(said)}."


def _falls(result: SweepResult) -> Section:
    shown, numbers = list[tuple[object, ...]](), list[tuple[Cell, ...]]()
    for start, points in _of_start(result).items():
        for deed in (WRITE, READ):
            known = [(point.at.clients, mean) for point in points if (mean := _phase(point, deed).mean) is not None]
            fall = fall_off([count for count, _ in known], [mean for _, mean in known])
            told = "one point" if fall is None else f"{words.figure(fall / 1000)} kB/s"
            published = f"{words.count(_PUBLISHED[deed])} kB/s" if start != TOGETHER else "not published"
            shown.append((deed, f"begun {start}", told, published))
            numbers.append((deed, start, None if fall is None else fall / 1000))
    header = ("", "", "fall-off per added client", "report R3")
    tabled = Tabled(
        table=table(header, shown, text_columns=frozenset({0, 1})),
        series=Series(name="fall-off", header=("deed", "start", "kb_s_per_client"), rows=tuple(numbers)),
    )
    said = note(
        "What each further client costs the mean client: a least-squares line through the points. The report's are of batch"
        " jobs over a 1 Gb/s link that did not necessarily overlap; once transfers were forced to overlap, connections ran out"
        " at 10 clients, and after a change of firmware the aggregate was almost constant."
    )
    return Section(anchor="fall-off", title="Fall-off per added client", parts=(tabled, said))


def _clients(result: SweepResult) -> Section:
    shown, numbers, marked = list[tuple[object, ...]](), list[tuple[Cell, ...]](), set[int]()
    for point in result.points:
        for run in point.repeats:
            for deed in DEEDS:
                phase = run.phase(deed)
                if phase.refused or phase.failed:
                    marked.add(len(shown))
                where = (named(point, result), run.repeat + 1, deed)
                shown.append((*where, phase.done, phase.refused, phase.failed, words.figure(phase.overlap),
                              words.seconds(phase.first_done_s), words.seconds(phase.last_done_s)))  # fmt: skip
                numbers.append((*where, phase.done, phase.refused, phase.failed, phase.overlap, phase.first_done_s,
                                phase.last_done_s))  # fmt: skip
    header = ("point", "repeat", "deed", "done", "refused", "failed", "clients at once", "first done", "last done")
    names = ("point", "repeat", "deed", "done", "refused", "failed", "overlap", "first_done_s", "last_done_s")
    tabled = Tabled(
        table=table(header, shown, text_columns=frozenset({0, 2}), marked=frozenset(marked)),
        series=Series(name="clients", header=names, rows=tuple(numbers)),
    )
    parts: tuple[Tabled | Html, ...] = (
        tabled,
        note(
            "Refused: connections that the storage did not take, reset before it answered, or answered with 503 or 429. Nothing is"
            " tried again; a client continues with its next object. Clients at once: the sum of the clients' own times ÷ the time"
            " from the first begin to the last end."
        ),
    )
    return Section(anchor="clients", title="First done, last done, refused", parts=parts)
