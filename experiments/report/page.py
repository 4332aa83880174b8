"""Combines the sections: `report.html`, the figures as PNG, the series as CSV."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from controller.labels.rules import advice_on
from core.errors import RunFailed, system_errors
from experiments.report import FIGURES, FILE, words
from experiments.report.parts import Html, Part, Plot, Section, Series, Tabled, join, tag
from experiments.report.plots import figure_svg, write_png
from experiments.report.sections import array
from experiments.report.sheet import Sheet, sheet_in, sheet_section
from experiments.report.style import document
from experiments.report.views import shouted
from experiments.result.schema import Result
from experiments.workloads import about

SERIES = "series"


def write_report(result: Result, directory: Path) -> Path:
    """Write `report.html`, `figures/*.png` and `series/*.csv` into the directory; return the path of `report.html`.

    The page is self-contained. Existing files are replaced, and an existing disclosure sheet is included. Raises
    RunFailed when a file cannot be written, UsageError for an invalid sheet."""
    sections = build_sections(result, sheet_in(directory))
    return write_page(page_html(result, sections), sections, directory)


def write_page(page: str, sections: Sequence[Section], directory: Path) -> Path:
    """Write the page of these sections as `report.html`, with their figures and series. Raises RunFailed."""
    with system_errors(RunFailed, f"cannot write the report to {directory}"):
        for folder in (FIGURES, SERIES):
            (directory / folder).mkdir(parents=True, exist_ok=True)
        for name, text in texts(page, sections).items():
            (directory / name).write_text(text, encoding="utf-8", newline="")
        for plot in plots(sections):
            write_png(plot.figure, directory / figure_name(plot))
    return directory / FILE


def build_sections(result: Result, sheet: Sheet | None = None) -> list[Section]:
    """Return the workload's sections in order, the array's counters if there are any, and the operator's disclosure
    sheet of the filer."""
    sections = about(result.workload).sections(result)
    if any(run.array for point in result.points for run in point.repeats):
        sections = [*sections[:-1], array(result), sections[-1]]  # the last one is the disclosure
    return sections if sheet is None else [*sections, sheet_section(result, sheet)]


def texts(page: str, sections: Sequence[Section]) -> dict[str, str]:
    """Return the page and every series by file name; equal results give equal texts."""
    series = [part.series for section in sections for part in section.parts if isinstance(part, Plot | Tabled)]
    return {FILE: page} | {f"{SERIES}/{one.name}.csv": _csv(one) for one in series}


def plots(sections: Sequence[Section]) -> list[Plot]:
    """Return every figure of the sections."""
    return [part for section in sections for part in section.parts if isinstance(part, Plot)]


def figure_name(plot: Plot) -> str:
    """Return the path of a figure's file."""
    return f"{FIGURES}/{plot.name}.png"


def _csv(series: Series) -> str:
    """Return header and rows as CSV: numbers in full precision, unknown values empty."""
    out = io.StringIO()
    writer = csv.writer(out)
    writer.writerow(series.header)
    writer.writerows(series.rows)
    return out.getvalue()


def page_html(result: Result, sections: Sequence[Section]) -> str:
    """Return the whole page, well-formed as XML and as HTML."""
    workload = about(result.workload)
    title = workload.titled(result.kind)
    doubt = bool(shouted(result)) or any(point.limited for point in result.points) or workload.doubt(result)
    runs = sum(len(point.repeats) for point in result.points)
    made = f"{datetime.fromtimestamp(result.created, UTC):%Y-%m-%d %H:%M} UTC"
    facts = f"Run {result.run_id}, {made}, {words.many(len(result.points), 'point')}, {words.many(runs, 'run')}."
    links = (tag("a", section.title, href=f"#{section.anchor}") for section in sections)
    return document(
        f"edbench {title}: {result.verdict}",
        tag("p", result.verdict, class_="verdict doubt" if doubt else "verdict", role="note"),
        tag("h1", f"edbench {title}" if title.startswith(workload.name) else f"edbench bench {title}"),
        tag("p", facts, class_="facts"),
        _noted("What to do about the labels", advice_on(result.labels)),
        _noted("Warnings", words.gathered(result.warnings)),
        _noted("Bounds (--fail-if)", [outcome.line for outcome in result.bounds]),
        tag("nav", join(Html(f"{link} ") for link in links), aria_label="sections"),
        *map(section_html, sections),
    )


def section_html(section: Section) -> Html:
    """Return the markup of a section."""
    return tag("section", tag("h2", section.title), *map(_part, section.parts), id=section.anchor)


def _noted(title: str, lines: Sequence[str]) -> Html:
    if not lines:
        return Html("")
    return tag("div", tag("h2", title), tag("ul", *(tag("li", line) for line in lines)), class_="warnings")


def _part(part: Part) -> Html:
    if isinstance(part, Plot):
        file = tag("span", f" {SERIES}/{part.series.name}.csv, {FIGURES}/{part.name}.png", class_="file")
        return tag("figure", figure_svg(part.figure, part.name, part.sentence), tag("figcaption", part.sentence, file))
    if isinstance(part, Tabled):
        return join([part.table, tag("p", f"{SERIES}/{part.series.name}.csv", class_="note")])
    return part
