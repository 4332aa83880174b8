"""The sections of a day's report: the curve of response time against load, job types, clients."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from core.job_types import JobType
from experiments.report import words
from experiments.report.parts import Column, Parts, Plot, Section, Series, note, section, tabled
from experiments.report.plots import counts_on_x, drawing, from_zero, legend_beside, new_figure
from experiments.report.sections import disclosure, points, steadiness
from experiments.report.style import WARN, line_style, marker, series_colour
from experiments.report.views import middle
from experiments.workloads.day.result import P95, DayJob, DayResult, percentile


@dataclass(frozen=True, slots=True)
class Row:
    """Jobs of one kind, or of one client, at one load."""

    load: int
    what: str
    jobs: Sequence[DayJob]
    seconds: float  # of the day

    @property
    def responses(self) -> list[float]:
        """Seconds of each."""
        return [job.response_s for job in self.jobs]


def _rows(result: DayResult, of: Callable[[DayJob], str], kept: Callable[[DayJob], bool]) -> list[Row]:
    """By load and `of`, of each point's middle repeat."""
    out = []
    for point in result.points:
        run = middle(point.repeats)
        by: dict[str, list[DayJob]] = {}
        for job in filter(kept, run.jobs):
            by.setdefault(of(job), []).append(job)
        out += [Row(point.at.matters, what, jobs, run.elapsed_s) for what, jobs in by.items()]
    return out


def _gb_per_hour(row: Row) -> float:
    return sum(job.bytes for job in row.jobs) / 1e9 / row.seconds * 3600


_COMMON: tuple[Column[Row], ...] = (
    Column("matters", None, lambda row: row.load),
    Column("", "matters/day", lambda row: f"{row.load:,}" if row.load else "alone"),
    Column("what", "", lambda row: row.what, text=True),
    Column("jobs", "number", lambda row: len(row.jobs)),
    Column("mean_response_s", "mean s", lambda row: statistics.fmean(row.responses), words.figure),
    Column("p50_response_s", "p50 s", lambda row: percentile(row.responses, 0.5), words.figure),
    Column("p95_response_s", "p95 s", lambda row: percentile(row.responses), words.figure),
)
_TYPES: tuple[Column[Row], ...] = (
    *_COMMON,
    Column("gb_per_hour", "GB/hour", _gb_per_hour, words.figure),
    Column("calls_per_s", "calls/s", lambda row: sum(job.calls_made for job in row.jobs) / row.seconds, words.figure),
)
_CLIENTS: tuple[Column[Row], ...] = (
    *_COMMON,
    Column("s_per_gb", "mean s/GB", lambda row: statistics.fmean(job.s_per_gb for job in row.jobs), words.figure),
)


@section("curve", "Response time against load")
def curve(result: DayResult) -> Parts:
    """What 95 % of discoveries end within, for each GB, against matters a day; the bound; the prediction."""
    measured = [(point.at.matters, point.figures[P95].median) for point in result.points if point.at.matters]
    if not measured:
        return "every matter ran alone."
    predicted = () if result.predicted is None else result.predicted.curve
    bound, score = result.score.within_s_per_gb, result.score
    with drawing():
        figure, (axes,) = new_figure()
        for number, (label, line) in enumerate((("measured", sorted(measured)), ("predicted", sorted(predicted)))):
            if line:
                axes.plot([x for x, _ in line], [y for _, y in line], color=series_colour(number), label=label,
                          linestyle=line_style(number), marker=marker(number), markersize=5)  # fmt: skip
        axes.axhline(bound, color=WARN.light, linewidth=1, linestyle="--", label="bound")
        counts_on_x(axes, [load for load, _ in (*measured, *predicted)], "matters a day")
        axes.set_ylabel("s/GB, 95 % of discoveries")
        from_zero(axes)
        legend_beside(axes)
    series = Series(name="curve", header=("line", "matters", P95),
                    rows=(*(("measured", *one) for one in measured), *(("predicted", *one) for one in predicted)))  # fmt: skip
    said = f"{score.carried:,} matters a day keep the bound of {words.figure(bound)} s a GB"
    broken = "no load measured broke it" if score.broken is None else f"{score.broken:,} a day do not"
    return (Plot(name="curve", figure=figure, sentence=f"{said}; {broken}.", series=series),)


@section("job-types", "Jobs and review actions by type")
def types(result: DayResult) -> Parts:
    """Of each load: GB an hour, calls, response times."""
    rows = _rows(result, lambda job: job.type, lambda _: True)
    remark = "Of each load's middle repeat. GB are discovered, of later jobs written; response times begin when a job is due."
    return (tabled("job_types", _TYPES, rows), note(remark))


@section("clients", "Discoveries by client")
def clients(result: DayResult) -> Parts:
    """Of each load: whether clients wait alike."""
    rows = _rows(result, lambda job: job.client, lambda job: job.type == JobType.DISCOVERY)
    if len({row.what for row in rows}) < 2:
        return "there was one client."
    return (tabled("clients", _CLIENTS, rows),)


def sections(result: DayResult) -> list[Section]:
    """All of them, in reading order."""
    return [make(result) for make in (points, curve, types, clients, steadiness, disclosure)]


def printed(result: DayResult) -> Iterable[tuple[list[str], list[list[str]]]]:
    """The tables of job types and clients for the console: titles and lines."""
    for columns, rows in (
        (_TYPES, _rows(result, lambda job: job.type, lambda _: True)),
        (_CLIENTS, _rows(result, lambda job: job.client, lambda job: job.type == JobType.DISCOVERY)),
    ):
        yield [str(column.title) for column in columns], [[column.line(row) for column in columns] for row in rows]
