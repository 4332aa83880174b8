"""The sections of a day's report: the curve of response time against load, job types, clients."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from core.job_types import JobType
from core.operations import Op
from experiments.report import words
from experiments.report.parts import Column, Parts, Section, note, plotted, section, tabled
from experiments.report.plots import counts_on_x, figure_of, from_zero, legend_right
from experiments.report.sections import disclosure, points, steadiness
from experiments.report.style import WARN, line_style, marker, series_colour
from experiments.report.views import middle, named
from experiments.result.schema import Latency
from experiments.workloads.day.result import P95, DayJob, DayResult, Score, percentile, storage_share
from experiments.workloads.discovery.sections.latency import latency_columns


@dataclass(frozen=True, slots=True)
class Row:
    """Jobs of one kind, or of one client, at one point."""

    point: str
    what: str
    jobs: Sequence[DayJob]
    null: Sequence[DayJob]  # the same on null storage
    seconds: float  # of the day; of matters that were alone, of these jobs

    @property
    def responses(self) -> list[float]:
        """Response times in seconds."""
        return [job.response_s for job in self.jobs]

    def moved(self, op: Op) -> float:
        """Return the MB/s that calls of the op moved."""
        by_op = (ops for job in self.jobs for ops in job.calls.values())
        return sum(ops[op.label][1] for ops in by_op if op.label in ops) / 1e6 / self.seconds


def _rows(result: DayResult, of: Callable[[DayJob], str], kept: Callable[[DayJob], bool]) -> list[Row]:
    """Return a row for each point and value of `of`, from each point's middle repeat."""
    out = []
    for point in result.points:
        run = middle(point.repeats)
        for what in dict.fromkeys(of(job) for job in run.jobs if kept(job)):
            jobs, null = ([one for one in jobs if kept(one) and of(one) == what] for jobs in (run.jobs, run.null))
            seconds = run.elapsed_s if point.at.matters else max(sum(job.response_s for job in jobs), 1e-3)
            out.append(Row(named(point, result), what, jobs, null, seconds))
    return out


def _cpu_ms(row: Row) -> float | None:
    """Return the CPU time an item; None without items or if other jobs ran at the same time."""
    items, known = sum(job.items for job in row.jobs), [job.cpu_s for job in row.jobs if job.cpu_s is not None]
    return sum(known) / items * 1e3 if items and len(known) == len(row.jobs) else None


_COMMON: tuple[Column[Row], ...] = (
    Column("point", "point", lambda row: row.point, text=True),
    Column("what", "", lambda row: row.what, text=True),
    Column("jobs", "number", lambda row: len(row.jobs)),
    Column("mean_response_s", "mean s", lambda row: statistics.fmean(row.responses), words.figure),
    Column("p50_response_s", "p50 s", lambda row: percentile(row.responses, 0.5), words.figure),
    Column("p95_response_s", "p95 s", lambda row: percentile(row.responses), words.figure),
)
_TYPES: tuple[Column[Row], ...] = (
    *_COMMON,
    Column(
        "gb_per_hour",
        "GB/hour",
        lambda row: sum(job.bytes for job in row.jobs) / 1e9 / row.seconds * 3600,
        words.figure,
    ),
    Column("calls_per_s", "calls/s", lambda row: sum(job.calls_made for job in row.jobs) / row.seconds, words.figure),
    Column("read_mb_per_s", "MB/s read", lambda row: row.moved(Op.READ), words.figure),
    Column("written_mb_per_s", "MB/s written", lambda row: row.moved(Op.WRITE), words.figure),
    Column("cpu_ms_per_item", "CPU ms/item", _cpu_ms, words.figure),
    Column("storage_share", "storage share", lambda row: storage_share(row.jobs, row.null), words.percent),
)
_CLIENTS: tuple[Column[Row], ...] = (
    *_COMMON,
    Column("s_per_gb", "mean s/GB", lambda row: statistics.fmean(job.s_per_gb for job in row.jobs), words.figure),
)


@section("curve", "Response time against load")
def curve(result: DayResult) -> Parts:
    """Plot the seconds a GB within which 95 % of discoveries end against matters a day, with the bound and the
    prediction."""
    lines: dict[str, list[tuple[int, float]]] = {}
    for point in result.points:
        if point.at.matters:
            line = lines.setdefault(_line("measured", point.at.setting), [])
            line.append((point.at.matters, point.figures[P95].median))
    if not lines:
        return "every matter ran alone."
    lines |= {_line("predicted", one.setting): list(one.curve) for one in result.predicted}
    rows = [(label, *one) for label, line in lines.items() for one in sorted(line)]
    bound = result.scores[0].within_s_per_gb
    with figure_of() as (figure, (axes,)):
        for number, (label, line) in enumerate(lines.items()):
            if line:
                line.sort()
                axes.plot([x for x, _ in line], [y for _, y in line], color=series_colour(number), label=label,
                          linestyle=line_style(number), marker=marker(number), markersize=5)  # fmt: skip
        axes.axhline(bound, color=WARN.light, linewidth=1, linestyle="--", label="bound")
        counts_on_x(axes, [load for _, load, _ in rows], "matters a day")
        axes.set_ylabel("s/GB, 95 % of discoveries")
        from_zero(axes)
        legend_right(axes)
    sentences = " ".join(f"{_kept(score)}." for score in result.scores)
    return (plotted("curve", figure, sentences, ("line", "matters", P95), rows),)


def _line(what: str, setting: str | None) -> str:
    return what if setting is None else f"{what}, {setting}"


def _kept(score: Score) -> str:
    setting = "" if score.setting is None else f"{score.setting}: "
    kept = f"{score.carried:,} matters a day keep the bound of {words.figure(score.within_s_per_gb)} s a GB"
    broken = "no measured load exceeded it" if score.broken is None else f"{score.broken:,} a day do not"
    return f"{setting}{kept}; {broken}"


@section("job-types", "Jobs and review actions by type")
def types(result: DayResult) -> Parts:
    """Show for each point what a type costs in time, calls, bytes and CPU."""
    rows = _rows(result, lambda job: job.type, lambda _: True)
    remark = (
        "Figures are of each point's middle repeat. GB are discovered, or written for later jobs; response times "
        "begin when a job is due. Rates are over the day, or over the matter's own time if it ran alone. Storage "
        "share: 1 − response times on null storage ÷ response times. CPU of all workers meanwhile, if one job ran "
        "at a time."
    )
    return (tabled("job_types", _TYPES, rows), note(remark))


@section("clients", "Discoveries by client")
def clients(result: DayResult) -> Parts:
    """Show for each load whether clients wait alike."""
    rows = _rows(result, lambda job: job.client, lambda job: job.type == JobType.DISCOVERY)
    if len({row.what for row in rows}) < 2:
        return "there was one client."
    return (tabled("clients", _CLIENTS, rows),)


_LATENCIES: tuple[Column[tuple[str, str, Latency]], ...] = (
    Column("point", "point", lambda row: row[0], text=True),
    *latency_columns(1),
)


@section("latency", "Latency of storage calls by op")
def latencies(result: DayResult) -> Parts:
    """Show the latencies of each point's middle repeat, all job types together."""
    runs = ((named(point, result), middle(point.repeats)) for point in result.points)
    rows = [(name, op, one) for name, run in runs for op, one in run.latency.items()]
    return (tabled("latency", _LATENCIES, rows),)


def sections(result: DayResult) -> list[Section]:
    """Return all sections in reading order."""
    return [make(result) for make in (points, curve, types, clients, latencies, steadiness, disclosure)]


def printed(result: DayResult) -> Iterable[tuple[list[str], list[list[str]]]]:
    """Yield the tables of job types and clients for the console: titles and lines."""
    for columns, rows in (
        (_TYPES, _rows(result, lambda job: job.type, lambda _: True)),
        (_CLIENTS, _rows(result, lambda job: job.client, lambda job: job.type == JobType.DISCOVERY)),
    ):
        yield [str(column.title) for column in columns], [[column.line(row) for column in columns] for row in rows]
