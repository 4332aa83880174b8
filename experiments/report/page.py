"""Puts the sections together: `report.html`, the figures as PNG, the series as CSV."""

from __future__ import annotations

import csv
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from core.errors import RunFailed
from experiments.report import words
from experiments.report.markup import Html, join, tag
from experiments.report.parts import Part, Plot, Section, Series, Tabled
from experiments.report.sections.beside_r1 import beside_r1
from experiments.report.sections.calls_an_item import calls_an_item
from experiments.report.sections.calls_over_time import calls_over_time
from experiments.report.sections.capacity import capacity
from experiments.report.sections.containers import containers, ran_in_containers
from experiments.report.sections.database_activity import database_activity
from experiments.report.sections.disclosure import disclosure
from experiments.report.sections.exceptions import exceptions
from experiments.report.sections.generator import generator
from experiments.report.sections.knee import knee
from experiments.report.sections.latency import latency
from experiments.report.sections.occupancy import occupancy
from experiments.report.sections.one_or_two import one_or_two
from experiments.report.sections.phases import phases
from experiments.report.sections.points import points
from experiments.report.sections.queue_depth import queue_depth
from experiments.report.sections.scaling import scaling
from experiments.report.sections.sizes import sizes
from experiments.report.sections.stages import stages
from experiments.report.style import style_sheet
from experiments.report.svg import figure_svg, write_png
from experiments.report.views import shouted
from experiments.result import Result

FILE = "report.html"
FIGURES, SERIES = "figures", "series"
ALWAYS: tuple[Callable[[Result], Section], ...] = (
    points, beside_r1, scaling, capacity, calls_over_time, database_activity, one_or_two, sizes, stages, queue_depth, latency,
    calls_an_item, phases, occupancy, generator, exceptions, disclosure,
)  # fmt: skip


def write_report(result: Result, directory: Path) -> Path:
    """Write `report.html`, `figures/*.png` and `series/*.csv` into the directory; returns the page's path.

    The page needs nothing but itself. What is there under the same names is replaced. Raises RunFailed when a file
    cannot be written.
    """
    sections = build_sections(result)
    return write_page(page_html(result, sections), sections, directory)


def write_page(html: str, sections: Sequence[Section], directory: Path) -> Path:
    """A page made of these sections, with its figures and series beside it; as `write_report`."""
    page = directory / FILE
    try:
        for folder in (FIGURES, SERIES):
            (directory / folder).mkdir(parents=True, exist_ok=True)
        for part in (part for section in sections for part in section.parts):
            if isinstance(part, Plot):
                write_png(part.figure, directory / FIGURES / f"{part.name}.png")
            if isinstance(part, Plot | Tabled):
                write_csv(part.series, directory / SERIES / f"{part.series.name}.csv")
        page.write_text(html, encoding="utf-8")
    except OSError as error:
        raise RunFailed(f"the report cannot be written to {directory}: {error.strerror}") from error
    return page


def build_sections(result: Result) -> list[Section]:
    """Every section in order; the knee's only for that experiment, right after the points, and the containers' only
    where there were any, after the generator's."""
    order = list(ALWAYS)
    if ran_in_containers(result):
        order.insert(order.index(generator) + 1, containers)
    if result.kind == "knee":
        order.insert(1, knee)
    return [section(result) for section in order]


def write_csv(series: Series, path: Path) -> None:
    """Header and rows; numbers in full precision, what is not known as nothing. Raises OSError."""
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(series.header)
        writer.writerows(series.rows)


def page_html(result: Result, sections: Sequence[Section]) -> str:
    """The whole page; well-formed as XML as well as HTML."""
    return document(
        Head(
            title=f"edbench {result.kind}: {result.verdict}",
            heading=f"edbench experiment {result.kind}",
            verdict=result.verdict,
            doubt=bool(shouted(result)) or any(point.limited for point in result.points),
            facts=_facts(result),
            warnings=result.warnings,
        ),
        sections,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Head:
    """What stands above the sections."""

    title: str
    heading: str
    verdict: str
    doubt: bool  # the verdict is marked: something keeps the figures from being taken at their word
    facts: str
    warnings: Sequence[str]


def document(above: Head, sections: Sequence[Section]) -> str:
    """A page of sections; well-formed as XML as well as HTML."""
    head = tag(
        "head",
        Html('<meta charset="utf-8"/>'),
        Html('<meta name="viewport" content="width=device-width, initial-scale=1"/>'),
        tag("title", above.title),
        tag("style", Html(style_sheet())),
    )
    links = (tag("a", section.title, href=f"#{section.anchor}") for section in sections)
    body = tag(
        "body",
        tag("p", above.verdict, class_="verdict doubt" if above.doubt else "verdict", role="note"),
        tag("h1", above.heading),
        tag("p", above.facts, class_="facts"),
        _warnings(above.warnings),
        tag("nav", join(Html(f"{link} ") for link in links), aria_label="sections"),
        *(_section(section) for section in sections),
    )
    return f"<!DOCTYPE html>\n{tag('html', head, body, lang='en')}\n"


def _facts(result: Result) -> str:
    runs = sum(len(point.repeats) for point in result.points)
    made = f"{datetime.fromtimestamp(result.created, UTC):%Y-%m-%d %H:%M} UTC"
    facts = f"Run {result.run_id}, {made}, {words.many(len(result.points), 'point')}, {words.many(runs, 'run')}."
    return facts + (f" Labels: {'; '.join(result.labels)}." if result.labels else "")


def _warnings(warnings: Sequence[str]) -> Html:
    if not warnings:
        return Html("")
    lines = (tag("li", warning) for warning in warnings)
    return tag("div", tag("h2", "Warnings"), tag("ul", *lines), class_="warnings")


def _section(section: Section) -> Html:
    return tag("section", tag("h2", section.title), *(_part(part) for part in section.parts), id=section.anchor)


def _part(part: Part) -> Html:
    if isinstance(part, Plot):
        file = tag("span", f" {SERIES}/{part.series.name}.csv, {FIGURES}/{part.name}.png", class_="file")
        return tag("figure", figure_svg(part.figure, part.name, part.sentence), tag("figcaption", part.sentence, file))
    if isinstance(part, Tabled):
        return join([part.table, tag("p", f"{SERIES}/{part.series.name}.csv", class_="note")])
    return part
