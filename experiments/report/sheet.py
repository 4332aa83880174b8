"""The sheet on which an operator states what was measured and what it costs (`edbench result describe`).

It is not checked; the package's manifest proves only that it was stated. With a price, figures per price are shown.
"""

from __future__ import annotations

import statistics
import tomllib
from dataclasses import dataclass
from pathlib import Path

from core.errors import UsageError
from core.reading import read_problem
from experiments.report import words
from experiments.report.parts import Cell, Part, Section, Series, Tabled, note, table
from experiments.report.views import named
from experiments.result.codec import decode
from experiments.result.schema import Point, Result, Run

FILE = "sheet.toml"
ANCHOR, TITLE = "sheet", "The filer, as its operator describes it"
PER = 1_000  # units of the currency
_GB = "gb_per_hour_discovered"  # of results that have it

TEMPLATE = """\
# The measured system and its price. The report prints it; it is not checked.
name = ""           # vendor, model, number of nodes
software = ""       # version of the filer's software
controllers = ""    # CPUs, memory, caches
disks = ""          # number, kind, size, protection
network = ""        # links from clients to filer, switches, MTU
settings = ""       # what is not as delivered: tuning, compression, deduplication, snapshots
price = 0.0         # of all of it; 0: not stated
currency = ""       # such as EUR
price_of = ""       # what it holds: a purchase with three years of support, a month …
priced_on = ""      # the day, such as 2026-01-31
notes = ""
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sheet:
    """As it was filled in."""

    name: str
    software: str = ""
    controllers: str = ""
    disks: str = ""
    network: str = ""
    settings: str = ""
    price: float = 0.0
    currency: str = ""
    price_of: str = ""
    priced_on: str = ""
    notes: str = ""


def parse_sheet(text: str, what: str = FILE) -> Sheet:
    """Raises UsageError for an invalid sheet, one without a name, or a price without a currency."""
    try:
        sheet = decode(Sheet, tomllib.loads(text), "sheet")
    except (tomllib.TOMLDecodeError, UsageError) as error:
        raise UsageError(f"{what}: {error}") from error
    if not sheet.name.strip():
        raise UsageError(f"{what}: name is empty; enter the name of the measured system")
    if sheet.price < 0:
        raise UsageError(f"{what}: price {sheet.price} is negative")
    if sheet.price and not sheet.currency.strip():
        raise UsageError(f"{what}: the price has no currency; enter one, such as EUR")
    return sheet


def sheet_in(directory: Path) -> Sheet | None:
    """The sheet of a package, None without one. Raises UsageError."""
    try:
        return parse_sheet((directory / FILE).read_text(encoding="utf-8"))
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, ValueError) as error:
        raise UsageError(read_problem(directory / FILE, error)) from error


def sheet_section(result: Result, sheet: Sheet) -> Section:
    """The sheet, and the figures of each point per price."""
    stated = [(name, value) for name in Sheet.__slots__ if name != "price" and (value := getattr(sheet, name))]
    if sheet.price:
        stated.insert(1, ("price", f"{sheet.price:,.2f} {sheet.currency}"))
    tabled = Tabled(
        table=table(
            ("of the filer", "statement"), stated, text_columns=frozenset({0, 1}), caption="Configuration and price"
        ),
        series=Series(name="sheet", header=("of_the_filer", "statement"), rows=tuple(stated)),
    )
    parts: list[Part] = [tabled, note("As stated by the operator; not measured and not checked.")]
    return Section(anchor=ANCHOR, title=TITLE, parts=(*parts, *([_priced(result, sheet)] if sheet.price else [])))


def _priced(result: Result, sheet: Sheet) -> Tabled:
    """Medians of the repeats. Calls are those of the storage layer."""
    rows, numbers = [], []
    for point in result.points:
        calls = statistics.median(map(_calls_per_second, point.repeats))
        both = [calls, calls / sheet.price * PER, *_gb(point, sheet)]
        shown = ["–" if value is None else words.figure(value) for value in both]
        rows.append((named(point, result), *shown, ", ".join(point.marks)))
        cells: tuple[Cell, ...] = (*point.at.values().values(), *both, int(point.limited))
        numbers.append(cells)
    per = f"per {PER:,} {sheet.currency}"
    header = ("point", "calls/s", f"calls/s {per}", "GB/hour discovered", f"GB/hour {per}", "labels")
    columns = ("calls_per_s", "calls_per_s_for_1000", _GB, "gb_per_hour_for_1000", "limited")
    return Tabled(
        table=table(header, rows, text_columns=frozenset({0, 5}), caption=f"For the price, {per}"),
        series=Series(name="price", header=(*result.points[0].at.values(), *columns), rows=tuple(numbers)),
    )


def _gb(point: Point, sheet: Sheet) -> tuple[float | None, float | None]:
    estimate = point.figures.get(_GB)
    return (None, None) if estimate is None else (estimate.median, estimate.median / sheet.price * PER)


def _calls_per_second(run: Run) -> float:
    """All ops together, which some workloads have in addition to the single ones."""
    calls = sum(one.calls for op, one in run.latency.items() if op != "all")
    return calls / run.elapsed_s if run.elapsed_s else 0.0
