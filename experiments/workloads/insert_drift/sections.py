"""The report's own sections of an insertion: rate and latency by group, drift, space and inodes."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from experiments.report import words
from experiments.report.markup import Html, table
from experiments.report.parts import Cell, Plot, Section, Series, Tabled, note
from experiments.report.plots import draw_line, drawing, from_zero, legend_beside, new_figure
from experiments.report.views import middle, named, spread
from experiments.result.drift import LEAST, RELEVANT, Drift
from experiments.workloads.insert_drift.result import InsertGroup, InsertPoint, InsertResult

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
    shown, numbers, marked = list[tuple[object, ...]](), list[tuple[Cell, ...]](), set[int]()
    for point in result.points:
        for run in point.repeats:
            for what, drift in (("rate", run.rate_drift), ("median latency", run.latency_drift)):
                if drift is not None and drift.found:
                    marked.add(len(shown))
                name = named(point, result)
                shown.append((name, run.repeat + 1, what, *_told(drift, _size(result))))
                numbers.append((name, run.repeat + 1, what, *_numbers(drift, _size(result))))
    header = ("point", "repeat", "of", "groups", "trend over all", "p", "change", "after files", "p", "")
    tabled = Tabled(
        table=table(header, shown, text_columns=frozenset({0, 2, 9}), marked=frozenset(marked)),
        series=Series(
            name="drift",
            header=("point", "repeat", "of", "groups", "trend", "trend_p", "change", "change_after", "change_p"),
            rows=tuple(numbers),
        ),
    )
    said = note(
        "Trend: Mann and Kendall's test with the line of Theil and Sen; change: Pettitt's test at the place that it finds; both"
        " widened by the correlation of neighbouring groups, as of so few as are independent, and judged together (Holm), at most"
        f" 5 % false alarms; under {words.percent(RELEVANT)} nothing is called drift. Groups that"
        f" were not accepted completely are omitted; fewer than {LEAST} groups are not judged. Temporary changes (humps) are no drift."
    )
    return Section(anchor="drift", title="Does it drift?", parts=(tabled, said))


def _told(drift: Drift | None, size: int) -> tuple[object, ...]:
    if drift is None:
        return ("–", "–", "–", "–", "–", "–", "too few groups")
    return (
        drift.values,
        _signed(drift.trend),
        f"{drift.trend_p:.3f}",
        _signed(drift.change),
        words.count(drift.change_at * size),
        f"{drift.change_p:.3f}",
        "DRIFT" if drift.found else "none found",
    )


def _numbers(drift: Drift | None, size: int) -> tuple[Cell, ...]:
    if drift is None:
        return (None,) * 6
    return (drift.values, drift.trend, drift.trend_p, drift.change, drift.change_at * size, drift.change_p)


def _signed(share: float) -> str:
    return f"{share * 100:+.1f} %".replace("-", "\u2212")


def _usage(result: InsertResult) -> Section:
    told = [_usage_of(point, result) for point in result.points]
    header = ("point", "files", "bytes written", "space a file", "inodes a file")
    rows = [row for row, _ in told]
    series = Series(
        name="usage",
        header=("point", "files", "bytes", "bytes_a_file", "inodes_a_file"),
        rows=tuple(numbers for _, numbers in told),
    )
    said = note(
        "Space and inodes as the file system reports them (statvfs) before the run and after a sync, used by any program;"
        " an S3 endpoint, and a file system without a number of inodes, reports none."
    )
    parts = (Tabled(table=table(header, rows), series=series), said)
    return Section(anchor="usage", title="Space and inodes", parts=parts)


def _usage_of(point: InsertPoint, result: InsertResult) -> tuple[tuple[object, ...], tuple[Cell, ...]]:
    run = middle(point.repeats)
    space = "not known" if run.bytes_a_file is None else words.size(run.bytes_a_file)
    inodes = "not known" if run.inodes_a_file is None else words.figure(run.inodes_a_file)
    name = named(point, result)
    shown = (name, words.count(run.files), words.size(run.bytes), space, inodes)
    return shown, (name, run.files, run.bytes, run.bytes_a_file, run.inodes_a_file)
