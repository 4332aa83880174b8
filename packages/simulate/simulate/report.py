"""Console output and report of a simulation: tables, report R1's tables and facts with ours, figures, limits of each
phase."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from experiments.report import plots, words
from experiments.report.page import section_html, write_page
from experiments.report.parts import Column, Part, Plot, Section, note, plotted, tabled, tag
from experiments.report.style import document
from experiments.result.statistics import estimate
from experiments.workloads.discovery.sections.r1 import (
    COLUMNS,
    SCALE_OUT,
    SCALE_UP,
    R1Row,
    ReferenceRun,
    reference_rows,
)
from simulate.documents import RowDocument
from simulate.facts import Fact, Row, reason

_MINUTE = 60.0
_STAGES = ((0.02, "start"), (0.5, "middle"), (0.9, "end"))  # shares of the run


def r1_tables(rows: Mapping[str, Row]) -> list[tuple[str, list[R1Row]]]:
    """Report R1's two tables: title and rows of each, R1's first and ours after them."""
    return [("Scale-up", _compared(SCALE_UP, rows, "AB")), ("Scale-out", _compared(SCALE_OUT, rows, "BC"))]


def _compared(reference: Sequence[ReferenceRun], rows: Mapping[str, Row], names: str) -> list[R1Row]:
    out = reference_rows(reference)
    first = rows[names[0]].gb_after / rows[names[0]].elapsed_s
    for name, run in zip(names, reference, strict=True):
        row = rows[name]
        rate = row.gb_after / row.elapsed_s
        sizes = round(row.gb_before), round(row.gb_after)
        elapsed = estimate([row.elapsed_s])
        out.append(
            R1Row("simulated", run.databases, run.workers, elapsed, *sizes, estimate([rate * 3600]), rate / first)
        )
    return out


POINTS: tuple[Column[RowDocument], ...] = (
    Column("databases", "databases", lambda row: row.databases),
    Column("workers", "workers", lambda row: row.workers),
    Column("elapsed_s", "elapsed", lambda row: row.elapsed_s, words.seconds),
    Column("discovery_end_s", "discovery ends", lambda row: row.discovery_end_s, words.seconds),
    Column("gb_after", "GB after", lambda row: row.gb_after, words.count),
    Column("gb_per_hour", "GB/hour", lambda row: row.gb_per_hour, words.figure),
    Column("filer_ops_peak", "filer op/s, peak", lambda row: max(row.series.filer_ops), words.count),
    Column("limited_by", "limited by",
           lambda row: "; ".join(f"{one.stage}: {one.busiest} {one.utilisation:.0%}" for one in row.limits), text=True),
)  # fmt: skip
FACTS: tuple[Column[Fact], ...] = (
    Column("fact", "fact", lambda fact: fact.id, text=True),
    Column("use", "use", lambda fact: fact.use, text=True),
    Column("r1", "R1", lambda fact: fact.stated, text=True),
    Column("simulated", "simulated", lambda fact: shown(fact), text=True),
    Column("held", "held", lambda fact: "yes" if fact.held else "NO", text=True),
)
_Stage = tuple[str, str, Mapping[str, float]]  # the row, the stage, and the values of its series there
_STAGE_COLUMNS: tuple[Column[_Stage], ...] = (
    Column("row", "row", lambda row: row[0], text=True),
    Column("stage", "stage", lambda row: row[1], text=True),
    Column("filer_ops", "filer op/s", lambda row: row[2]["filer_ops"], words.count),
    Column("fsa", "FSA", lambda row: row[2]["fsa"], words.percent),
    Column("fsb", "FSB", lambda row: row[2]["fsb"], words.percent),
    Column("disk_ms", "disk ms", lambda row: row[2]["read_ms"], words.figure),
    Column("queued", "queued a disk", lambda row: row[2]["queued"], words.figure),
)


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
    rows: Mapping[str, Row], points: Sequence[RowDocument], found: Sequence[Fact] | None, lines: Sequence[str]
) -> list[Section]:
    """The page: tables, facts, figures."""
    out = [_section("points", "Points", tabled("points", POINTS, points), *map(note, lines))]
    if found is not None:
        for title, table in r1_tables(rows):
            anchor = title.lower()
            out.append(_section(anchor, f"{title}, report R1 and simulated", tabled(anchor, COLUMNS, table)))
        out.append(_section("facts", "Facts of report R1", tabled("facts", FACTS, found)))
    figures = (
        ("figure-1-filer-ops", "Figure 1: filer operations a second", {"filer_ops": "filer op/s"}, _of(rows, "AB")),
        ("figure-2-database", "Figure 2: I/O operations of the database servers", {"database_io": "I/O op/s"}, _of(rows, "AB")),
        ("figure-3-databases", "Figure 3: one and two databases", {"filer_ops": "filer op/s"}, _of(rows, "BC")),
        ("figure-5-units", "Figure 5: utilisation of the filer's units", {"fsa": "FSA", "fsb": "FSB"}, _of(rows, "B")),
        ("disks", "Latency and queue of the disks", {"read_ms": "read, ms", "write_ms": "write, ms", "queued": "queued a disk"}, _of(rows, "B")),
    )  # fmt: skip
    out += [_section(name, title, _figure(name, title, series, some)) for name, title, series, some in figures]
    return [
        *out,
        _section("stages", "Figure 4: the filer at three stages", tabled("stages", _STAGE_COLUMNS, stage_rows(rows))),
    ]


def _section(anchor: str, title: str, *parts: Part) -> Section:
    return Section(anchor=anchor, title=title, parts=parts)


def _of(rows: Mapping[str, Row], names: str) -> Mapping[str, Row]:
    return {name: rows[name] for name in names if name in rows} or rows


def stage_rows(rows: Mapping[str, Row]) -> list[_Stage]:
    """Filer ops, units and disks of each row at three stages."""
    out: list[_Stage] = []
    for name, row in rows.items():
        for share, stage in _STAGES:
            at = min(len(row.series["fsa"]) - 1, int(share * row.elapsed_s / _MINUTE))
            out.append((name, stage, {key: series[at] for key, series in row.series.items()}))
    return out


def _figure(name: str, title: str, series: Mapping[str, str], rows: Mapping[str, Row]) -> Plot:
    length, unit = plots.time_unit(max(row.elapsed_s for row in rows.values()))
    columns: dict[str, Sequence[float]] = {}
    with plots.figure_of() as (figure, (axes,)):
        for label, row in rows.items():
            for key, what in series.items():
                line = [((n + 0.5) * _MINUTE, value) for n, value in enumerate(row.series[key])]
                plots.draw_line(axes, line, len(columns), f"{label}: {what}", length)
                columns[f"{label} {key}"] = row.series[key]
        plots.over_time(axes, unit, next(iter(series.values())) if len(series) == 1 else "")
        plots.legend_right(axes)
    most = max(map(len, columns.values()))
    table = tuple((n, *(values[n] if n < len(values) else None for values in columns.values())) for n in range(most))
    return plotted(name, figure, f"{title}, simulated, by minute.", ("minute", *columns), table)


def write(directory: Path, verdict: str, doubt: bool, page: Sequence[Section]) -> Path:
    """Write report, figures and series. Raises RunFailed."""
    text = document(
        f"edbench simulate: {verdict}",
        tag("p", verdict, class_="verdict doubt" if doubt else "verdict", role="note"),
        tag("h1", "edbench simulate"),
        *map(section_html, page),
    )
    return write_page(text, page, directory)
