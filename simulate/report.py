"""Console output and report of a simulation: tables, report R1's tables and facts with ours, figures, limits of each
phase."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from pathlib import Path

from core.errors import RunFailed
from experiments.report import FIGURES, FILE, plots
from experiments.report.page import SERIES
from experiments.report.parts import Html, Plot, Section, Series, Tabled, join, note, paragraph, tag
from experiments.report.style import document
from experiments.workloads.discovery.sections.r1 import SCALE_OUT, SCALE_UP, ReferenceRun
from simulate.facts import Fact, Row, reason

_MINUTE = 60.0
_STAGES = ((0.02, "start"), (0.5, "middle"), (0.9, "end"))  # shares of the run
TABLE = ("from", "databases", "workers", "elapsed", "GB before", "GB after", "discovered GB/hour", "over the first row")
FACTS = ("fact", "use", "R1", "simulated", "held")
POINTS = ("databases", "workers", "elapsed", "discovery ends", "GB after", "GB/hour", "filer op/s, peak", "limited by")
STAGES = ("row", "stage", "filer op/s", "FSA", "FSB", "disk ms", "queued a disk")


def r1_tables(rows: Mapping[str, Row]) -> list[tuple[str, list[tuple[str, ...]]]]:
    """Report R1's two tables: title and rows of each, R1's first and ours after them."""
    return [("Scale-up", _compared(SCALE_UP, rows, "AB")), ("Scale-out", _compared(SCALE_OUT, rows, "BC"))]


def _compared(reference: Sequence[ReferenceRun], rows: Mapping[str, Row], names: str) -> list[tuple[str, ...]]:
    out: list[tuple[str, ...]] = []
    base = reference[0].after_gb / reference[0].elapsed_s
    for run in reference:
        gain = run.after_gb / run.elapsed_s / base
        out.append(("R1", f"{run.databases}", f"{run.workers}", clock(run.elapsed_s), f"{run.before_gb}", f"{run.after_gb}", f"{run.gb_per_hour}", f"{gain:.2f} x"))  # fmt: skip
    first = rows[names[0]]
    for name, run in zip(names, reference, strict=True):
        row = rows[name]
        rate = row.gb_after / row.elapsed_s * 3600
        gain = rate / (first.gb_after / first.elapsed_s * 3600)
        out.append(("simulated", f"{run.databases}", f"{run.workers}", clock(row.elapsed_s), f"{row.gb_before:.0f}", f"{row.gb_after:.0f}", f"{rate:.1f}", f"{gain:.2f} x"))  # fmt: skip
    return out


def clock(seconds: float) -> str:
    """A duration such as `4:45:36`."""
    whole = round(seconds)
    return f"{whole // 3600}:{whole // 60 % 60:02d}:{whole % 60:02d}"


def fact_rows(found: Sequence[Fact]) -> list[tuple[str, ...]]:
    """Each fact, held or not."""
    return [(fact.id, fact.use, fact.stated, shown(fact), "yes" if fact.held else "NO") for fact in found]


def shown(fact: Fact) -> str:
    """The simulated value of a fact."""
    value = fact.value
    if value is None:
        return "never there"
    if isinstance(value, list):
        return ", ".join(f"{one:.2f}" for one in value)
    if isinstance(value, str):
        return value
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


def missed(found: Sequence[Fact], rows: Mapping[str, Row]) -> list[str]:
    """The facts that are not held, each with its reason."""
    return [f"{fact.id}: {shown(fact)}, stated {fact.stated}; {reason(fact, rows)}" for fact in found if not fact.held]


def first_line(name: str, found: Sequence[Fact] | None) -> str:
    """The line `SIMULATED …`; for R1 it states whether the report is reproduced."""
    if found is None:
        return f"SIMULATED site {name}: virtual time, no job ran"
    broken = [fact for fact in found if fact.required and not fact.held]
    held = {use: [fact for fact in found if fact.use == use] for use in ("fit", "predict")}
    score = "; ".join(f"{sum(f.held for f in of)} of {len(of)} facts held ({use})" for use, of in held.items())
    if broken:
        why = "; ".join(f"{fact.id} is {shown(fact)}, not {fact.stated}" for fact in broken)
        return f"SIMULATED, R1 NOT REPRODUCED: {why}; {score}"
    return f"SIMULATED report R1: {score}"


def sections(
    rows: Mapping[str, Row], points: Sequence[tuple[str, ...]], found: Sequence[Fact] | None, lines: Sequence[str]
) -> list[Section]:
    """The page: tables, facts, figures."""
    out = [
        Section(
            anchor="points", title="Points", parts=(_tabled("points", POINTS, points), *(note(line) for line in lines))
        )
    ]
    if found is not None:
        for title, table in r1_tables(rows):
            anchor = title.lower()
            out.append(
                Section(
                    anchor=anchor, title=f"{title}, report R1 and simulated", parts=(_tabled(anchor, TABLE, table),)
                )
            )
        out.append(
            Section(anchor="facts", title="Facts of report R1", parts=(_tabled("facts", FACTS, fact_rows(found)),))
        )
    figures = (
        ("figure-1-filer-ops", "Figure 1: filer operations a second", {"filer_ops": "filer op/s"}, _of(rows, "AB")),
        ("figure-2-database", "Figure 2: I/O operations of the database servers", {"database_io": "I/O op/s"}, _of(rows, "AB")),
        ("figure-3-databases", "Figure 3: one and two databases", {"filer_ops": "filer op/s"}, _of(rows, "BC")),
        ("figure-5-units", "Figure 5: utilisation of the filer's units", {"fsa": "FSA", "fsb": "FSB"}, _of(rows, "B")),
        ("disks", "Latency and queue of the disks", {"read_ms": "read, ms", "write_ms": "write, ms", "queued": "queued a disk"}, _of(rows, "B")),
    )  # fmt: skip
    with plots.drawing():
        for name, title, series, some in figures:
            out.append(Section(anchor=name, title=title, parts=(_figure(name, title, series, some),)))
    out.append(
        Section(
            anchor="stages",
            title="Figure 4: the filer at three stages",
            parts=(_tabled("stages", STAGES, stage_rows(rows)),),
        )
    )
    return out


def _of(rows: Mapping[str, Row], names: str) -> Mapping[str, Row]:
    return {name: rows[name] for name in names if name in rows} or rows


def stage_rows(rows: Mapping[str, Row]) -> list[tuple[str, ...]]:
    """Filer ops, units and disks of each row at three stages."""
    out: list[tuple[str, ...]] = []
    for name, row in rows.items():
        for share, stage in _STAGES:
            at = min(len(row.series["fsa"]) - 1, int(share * row.elapsed_s / _MINUTE))
            value = {key: series[at] for key, series in row.series.items()}
            out.append((name, stage, f"{value['filer_ops']:,.0f}", f"{value['fsa']:.0%}", f"{value['fsb']:.0%}", f"{value['read_ms']:.1f}", f"{value['queued']:.2f}"))  # fmt: skip
    return out


def _tabled(name: str, header: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> Tabled:
    body = (tag("tr", *(tag("td", cell) for cell in row)) for row in rows)
    table = tag("table", tag("thead", tag("tr", *(tag("th", cell) for cell in header))), tag("tbody", *body))
    return Tabled(table=table, series=Series(name=name, header=header, rows=tuple(rows)))


def _figure(name: str, title: str, series: Mapping[str, str], rows: Mapping[str, Row]) -> Plot:
    figure, (axes,) = plots.new_figure()
    length, unit = plots.time_unit(max(row.elapsed_s for row in rows.values()))
    number = 0
    columns: dict[str, Sequence[float]] = {}
    for label, row in rows.items():
        for key, what in series.items():
            values = row.series[key]
            plots.draw_line(
                axes,
                [((n + 0.5) * _MINUTE, value) for n, value in enumerate(values)],
                number,
                f"{label}: {what}",
                length,
            )
            columns[f"{label} {key}"] = values
            number += 1
    plots.over_time(axes, unit, next(iter(series.values())) if len(series) == 1 else "")
    plots.legend_right(axes)
    most = max(map(len, columns.values()))
    table = tuple((n, *(values[n] if n < len(values) else None for values in columns.values())) for n in range(most))
    return Plot(name=name, figure=figure, sentence=f"{title}, simulated, by minute.", series=Series(name=name, header=("minute", *columns), rows=table))  # fmt: skip


def write(directory: Path, verdict: str, doubt: bool, page: Sequence[Section]) -> Path:
    """Write report, figures and series. Raises RunFailed."""
    parts = [part for section in page for part in section.parts]
    try:
        for folder in (FIGURES, SERIES):
            (directory / folder).mkdir(parents=True, exist_ok=True)
        for part in parts:
            if isinstance(part, Plot | Tabled):
                (directory / SERIES / f"{part.series.name}.csv").write_text(
                    _csv(part.series), encoding="utf-8", newline=""
                )
            if isinstance(part, Plot):
                plots.write_png(part.figure, directory / FIGURES / f"{part.name}.png")
        (directory / FILE).write_text(_html(verdict, doubt, page), encoding="utf-8")
    except OSError as error:
        raise RunFailed(f"cannot write the report to {directory}: {error.strerror}") from error
    return directory / FILE


def _csv(series: Series) -> str:
    out = io.StringIO()
    csv.writer(out).writerows([series.header, *series.rows])
    return out.getvalue()


def _html(verdict: str, doubt: bool, page: Sequence[Section]) -> str:
    return document(
        f"edbench simulate: {verdict}",
        tag("p", verdict, class_="verdict doubt" if doubt else "verdict", role="note"),
        tag("h1", "edbench simulate"),
        *(tag("section", tag("h2", one.title), *map(_part, one.parts), id=one.anchor) for one in page),
    )


def _part(part: object) -> Html:
    if isinstance(part, Plot):
        return tag("figure", plots.figure_svg(part.figure, part.name, part.sentence), tag("figcaption", part.sentence))
    if isinstance(part, Tabled):
        return join([part.table])
    return part if isinstance(part, Html) else paragraph(part)
