"""Parts of a report: markup, sections, figures, and tables whose columns are described once for HTML, CSV and
console."""

from __future__ import annotations

import functools
import html
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from experiments.result.schema import Estimate
from experiments.result.statistics import interval_text

if TYPE_CHECKING:
    from matplotlib.figure import Figure


MANY_COLUMNS = 10  # a table with more is set closer, so that it fits the page


class Html(str):
    """Text that is markup already and may go into a page as it is."""

    __slots__ = ()


def escaped(value: object) -> Html:
    """Return markup unchanged, anything else as text, with characters that HTML and XML cannot hold replaced by
    U+FFFD."""
    if isinstance(value, Html):
        return value
    return Html(html.escape(clean(str(value))))


def clean(text: str) -> str:
    """Replace characters that HTML and XML cannot hold by U+FFFD; for labels inside figures too."""
    return "".join(c if _allowed(ord(c)) else "\ufffd" for c in text)


def _allowed(point: int) -> bool:
    """XML 1.0 §2.2, character range; C1 controls are left out as well, since browsers reinterpret them."""
    if point < 0x20:
        return point in (0x09, 0x0A, 0x0D)
    return not (0x7F <= point <= 0x9F or 0xD800 <= point <= 0xDFFF or point & 0xFFFE == 0xFFFE)


def tag(name: str, *content: object, **attributes: object) -> Html:
    """Return `<name …>content</name>`; attributes that are None are left out, `class_` and `aria_label` lose the
    underscore."""
    listed = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{escaped(str(value))}"'
        for key, value in attributes.items()
        if value is not None
    )
    return Html(f"<{name}{listed}>{join(content)}</{name}>")


def join(parts: Iterable[object]) -> Html:
    """Return the parts one after another, each escaped unless it is markup."""
    return Html("".join(escaped(part) for part in parts))


def table(
    header: Sequence[object],
    rows: Iterable[Sequence[object]],
    *,
    caption: str | None = None,
    text_columns: frozenset[int] = frozenset({0}),
    marked: frozenset[int] = frozenset(),
) -> Html:
    """Return a table; columns not in `text_columns` are right-aligned, rows in `marked` (by number) are highlighted."""

    def row(cells: Sequence[object], element: str, number: int | None = None) -> Html:
        kind = "marked" if number in marked else None
        filled = (
            tag(element, cell, class_=None if place in text_columns else "number") for place, cell in enumerate(cells)
        )
        return tag("tr", *filled, class_=kind)

    body = join(row(cells, "td", number) for number, cells in enumerate(rows))
    head = tag("thead", row(header, "th"))
    title = tag("caption", caption) if caption else ""
    width = "wide" if len(header) > MANY_COLUMNS else None
    return tag("div", tag("table", title, head, tag("tbody", body), class_=width), class_="table")


R = TypeVar("R")  # a row of a table, or a result
Cell = str | int | float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Series:
    """The numbers of a figure or table, written as `series/<name>.csv`; units are in the header."""

    name: str
    header: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]

    def __post_init__(self) -> None:
        if any(len(row) != len(self.header) for row in self.rows):
            raise ValueError(f"series {self.name}: a row and the header differ in length")


@dataclass(frozen=True, slots=True, kw_only=True)
class Plot:
    """A figure, the series it shows, and the sentence under it that describes it with its numbers."""

    name: str
    figure: Figure
    sentence: str
    series: Series


def plotted(name: str, figure: Figure, sentence: str, header: Iterable[str], rows: Iterable[tuple[Cell, ...]]) -> Plot:
    """Return a figure with a CSV of the same name."""
    return Plot(name=name, figure=figure, sentence=sentence,
                series=Series(name=name, header=tuple(header), rows=tuple(rows)))  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Tabled:
    """A table that has its own CSV, for reading rather than plotting."""

    table: Html
    series: Series


Part = Html | Plot | Tabled


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """One section: markup, figures and tables in reading order."""

    anchor: str
    title: str
    parts: tuple[Part, ...]


Parts = Sequence[Part] | str  # in reading order, or the reason why there is nothing to show


def section(anchor: str, title: str) -> Callable[[Callable[[R], Parts]], Callable[[R], Section]]:
    """Make a function that returns parts return a section."""

    def made(of: Callable[[R], Parts]) -> Callable[[R], Section]:
        @functools.wraps(of)
        def shown(result: R) -> Section:
            parts = of(result)
            return (
                missing(anchor, title, parts)
                if isinstance(parts, str)
                else Section(anchor=anchor, title=title, parts=tuple(parts))
            )

        return shown

    return made


def missing(anchor: str, title: str, reason: str) -> Section:
    """Return a section that gives the reason why it is empty."""
    return Section(anchor=anchor, title=title, parts=(tag("p", f"Not shown: {reason}", class_="missing"),))


def paragraph(*content: object) -> Html:
    """Return a paragraph of text."""
    return tag("p", *content)


def note(*content: object) -> Html:
    """Return a remark in smaller type."""
    return tag("p", *content, class_="note")


@dataclass(frozen=True, slots=True)
class Column(Generic[R]):
    """One column of a table whose rows are R."""

    name: str  # in the CSV, with the unit; empty: in the report only
    title: str | None  # in the report; None: in the CSV only
    of: Callable[[R], Cell | Estimate]  # the value; of an estimate the CSV has the median
    write: Callable[[Any], object] = str  # the value as it is shown
    text: bool = False  # set flush left
    missing: str = "–"  # in place of None
    show: Callable[[R], object] | None = None  # what the report shows of a row, where `write` needs more than the value

    def cell(self, row: R) -> Cell:
        """Return the value for the CSV."""
        value = self.of(row)
        return value.median if isinstance(value, Estimate) else value

    def html(self, row: R) -> object:
        """Return the value for the page: an estimate with its interval."""
        if self.show is not None:
            return self.show(row)
        value = self.of(row)
        if isinstance(value, Estimate):
            return interval(value, lambda one: str(self.write(one)))
        return self.missing if value is None else self.write(value)

    def line(self, row: R) -> str:
        """Return the value for the console."""
        value = self.of(row)
        if isinstance(value, Estimate):
            return interval_text(value, lambda one: str(self.write(one)))
        return str(self.html(row))


def interval(estimate: Estimate, write: Callable[[float], str]) -> Html:
    """Return a cell with the median, and under it the interval, if there is one."""
    if estimate.low is None or estimate.high is None:
        return escaped(write(estimate.median))
    return join(
        [write(estimate.median), tag("span", f"{write(estimate.low)} to {write(estimate.high)}", class_="interval")]
    )


def tabled(
    name: str,
    columns: Sequence[Column[R]],
    rows: Sequence[R],
    *,
    kept: Iterable[R] | None = None,
    caption: str | None = None,
    mark: Callable[[R], bool] = lambda _row: False,
) -> Tabled:
    """Return the table of these rows with its CSV, or the CSV of `kept`; rows for which `mark` is true are
    highlighted."""
    shown = [column for column in columns if column.title is not None]
    html = table(
        [column.title for column in shown],
        [[column.html(row) for column in shown] for row in rows],
        caption=caption,
        text_columns=frozenset(number for number, column in enumerate(shown) if column.text),
        marked=frozenset(number for number, row in enumerate(rows) if mark(row)),
    )
    return Tabled(table=html, series=series(name, columns, rows if kept is None else kept))


def series(name: str, columns: Sequence[Column[R]], rows: Iterable[R]) -> Series:
    """Return the CSV of these rows."""
    named = [column for column in columns if column.name]
    cells = tuple(tuple(column.cell(row) for column in named) for row in rows)
    return Series(name=name, header=tuple(column.name for column in named), rows=cells)
