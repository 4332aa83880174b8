"""Latency and utilisation at three stages of a run (R1's Figure 5)."""

from __future__ import annotations

from experiments.report import words
from experiments.report.parts import Column, Plot, Section, Tabled, missing, note, series, tabled
from experiments.report.plots import drawing, new_figure
from experiments.report.views import stage_means
from experiments.result.schema import Latency
from experiments.workloads.discovery.result import Result, Run
from experiments.workloads.discovery.sections.latency import draw_ranges, latency_columns
from experiments.workloads.discovery.views import busiest, middle_run, which_run

ANCHOR, TITLE = "stages", "Latency and utilisation at three stages"
STAGES = ("first third", "middle third", "last third")
_Line = tuple[str, list[float | None], str]  # what, its mean in each third, unit


def stages(result: Result) -> Section:
    """Three thirds of the elapsed time of the busiest point's median run."""
    point = busiest(result)
    run = middle_run(point)
    if not any(run.series.latency_stages):
        return missing(ANCHOR, TITLE, "the run has no call latencies by time.")
    where = which_run(point, result.points)
    remark = (
        "R1 gives its filer's two units as 99 % and 60 % busy at 39,000 filer ops a second and mid-50 % and mid-40 % at "
        "26,000; disk reads under 5 ms and writes at most 25 ms whatever the load. Those were measured inside the filer, "
        "ours by its client, closed-loop."
    )
    return Section(anchor=ANCHOR, title=TITLE, parts=(_plot(run, where), _utilisation(run), note(remark)))


def _plot(run: Run, where: str) -> Plot:
    thirds = run.series.latency_stages
    ops = [op for op in run.latency if any(op in third for third in thirds)]
    with drawing():
        figure, panels = new_figure(len(thirds), height=1.1 + 0.24 * len(ops), share_x=True, share_y=True)
        for axes, third, name in zip(panels, thirds, STAGES, strict=False):
            draw_ranges(axes, ops, third)
            axes.set_title(name)
    rows = [(name, op, one) for name, third in zip(STAGES, thirds, strict=False) for op, one in third.items()]
    columns: tuple[Column[tuple[str, str, Latency]], ...] = (
        Column("stage", "stage", lambda row: row[0]),
        *latency_columns(1),
    )
    return Plot(name="stages", figure=figure, sentence=_sentence(thirds, where), series=series("stages", columns, rows))


def _sentence(thirds: tuple[dict[str, Latency], ...], where: str) -> str:
    said = []
    for op in ("read", "write"):
        values = [third[op].p99_us if op in third else None for third in thirds]
        if any(value is not None for value in values):
            shown = (words.microseconds(value) if value is not None else "none" for value in values)
            said.append(f"the p99 of {op} is {', '.join(shown)} in the three thirds")
    what = words.listed(said) or "no read or write was made"
    return f"With {where}, {what}. Dot: p50; bar to p95; thin line to p99."


def _utilisation(run: Run) -> Tabled:
    """Worker CPU and, with an emulated filer, utilisation and wait of each of its stations."""
    lines: list[_Line] = [("worker CPU, share of the host", stage_means(run.series.worker_cpu, run.elapsed_s), "share")]
    for station in sorted({name for _, by_station in run.series.filer for name in by_station}):
        for figure, unit in (("utilisation", "share"), ("wait_us", "us")):
            samples = [(at, by_station[station][figure]) for at, by_station in run.series.filer
                       if figure in by_station.get(station, {})]  # fmt: skip
            name = f"emulated filer, {station}: {'utilisation' if unit == 'share' else 'mean wait'}"
            lines.append((name, stage_means(samples, run.elapsed_s), unit))

    def shown(line: _Line, third: int) -> str | None:
        found = line[1][third]
        if found is None:
            return None
        return words.percent(found) if line[2] == "share" else words.microseconds(found)

    def of(third: int) -> tuple[Column[_Line], ...]:
        name = STAGES[third]
        return (
            Column(name.replace(" ", "_"), None, lambda line: line[1][third]),
            Column("", name, lambda line: shown(line, third), missing="no sample"),
        )

    columns: tuple[Column[_Line], ...] = (
        Column("what", "utilisation", lambda line: line[0], text=True),
        Column("unit", None, lambda line: line[2]),
        *(column for third in range(len(STAGES)) for column in of(third)),
    )
    return tabled("utilisation", columns, lines)
