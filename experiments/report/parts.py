"""What a section of the report is made of."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from experiments.report.markup import Html, tag

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Cell = str | int | float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Series:
    """The numbers of a figure or table, written as `series/<name>.csv`; units are in the header."""

    name: str
    header: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]

    def __post_init__(self) -> None:
        if any(len(row) != len(self.header) for row in self.rows):
            raise ValueError(f"series {self.name}: a row is not as long as the header")


@dataclass(frozen=True, slots=True, kw_only=True)
class Plot:
    """A figure, the series it shows, and the sentence under it that describes it with its numbers."""

    name: str
    figure: Figure
    sentence: str
    series: Series


@dataclass(frozen=True, slots=True, kw_only=True)
class Tabled:
    """A table that has its own CSV, for what is read rather than looked at."""

    table: Html
    series: Series


Part = Html | Plot | Tabled


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """One section: markup, figures and tables in reading order."""

    anchor: str
    title: str
    parts: tuple[Part, ...]


def missing(anchor: str, title: str, reason: str) -> Section:
    """A section that gives the reason why it has nothing to show."""
    return Section(anchor=anchor, title=title, parts=(tag("p", f"Not shown: {reason}", class_="missing"),))


def paragraph(*content: object) -> Html:
    """A paragraph of text."""
    return tag("p", *content)


def note(*content: object) -> Html:
    """A remark in smaller type."""
    return tag("p", *content, class_="note")
