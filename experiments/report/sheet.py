"""The sheet on which an operator states what was measured and what it costs (`edbench result describe`).

It is not checked; the package's manifest proves only that it was stated. With a price, figures per price are shown."""

from __future__ import annotations

import statistics
import tomllib
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from core.errors import UsageError, reading_errors
from experiments.report import words
from experiments.report.parts import Column, Part, Section, Tabled, note, tabled
from experiments.report.views import load_columns, named
from experiments.result.codec import decode
from experiments.result.schema import Point, Result

FILE = "sheet.toml"
ANCHOR, TITLE = "sheet", "The filer, as described by its operator"
PER = 1_000  # units of the currency
_GB = "gb_per_hour_discovered"  # only some results have it

TEMPLATE = """\
# The measured system and its price. The report prints it; it is not checked.
name = ""           # vendor, model, number of nodes
software = ""       # version of the filer's software
controllers = ""    # CPUs, memory, caches
disks = ""          # number, kind, size, protection
network = ""        # links from clients to filer, switches, MTU
settings = ""       # changes from the delivered state: tuning, compression, deduplication, snapshots
price = 0.0         # of the whole system; 0: not stated
currency = ""       # such as EUR
price_of = ""       # what it covers: a purchase with three years of support, a month …
priced_on = ""      # the day, such as 2026-01-31
notes = ""
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sheet:
    """A completed sheet."""

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
    """Parse a sheet. Raises UsageError if it is invalid, has no name, or has a price without a currency."""
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
    """Return the sheet of a package, None without one. Raises UsageError."""
    with reading_errors(directory / FILE), suppress(FileNotFoundError, NotADirectoryError):
        return parse_sheet((directory / FILE).read_text(encoding="utf-8"))
    return None


def sheet_section(result: Result, sheet: Sheet) -> Section:
    """Show the sheet, and the figures of each point per price."""
    stated = [(name, value) for name in Sheet.__slots__ if name != "price" and (value := getattr(sheet, name))]
    if sheet.price:
        stated.insert(1, ("price", f"{sheet.price:,.2f} {sheet.currency}"))
    columns: tuple[Column[tuple[str, str]], ...] = (
        Column("of_the_filer", "of the filer", lambda row: row[0], text=True),
        Column("statement", "statement", lambda row: row[1], text=True),
    )
    parts: list[Part] = [
        tabled("sheet", columns, stated, caption="Configuration and price"),
        note("As stated by the operator; not measured and not checked."),
    ]
    return Section(anchor=ANCHOR, title=TITLE, parts=(*parts, *([_priced(result, sheet)] if sheet.price else [])))


def _priced(result: Result, sheet: Sheet) -> Tabled:
    """Show medians of the repeats per price. Calls are those of the storage layer."""
    per = f"per {PER:,} {sheet.currency}"

    def calls(point: Point) -> float:
        """Return all ops together; some workloads also report that sum as an op of its own."""
        made = [sum(one.calls for op, one in run.latency.items() if op != "all") for run in point.repeats]
        return statistics.median(
            n / run.elapsed_s if run.elapsed_s else 0.0 for n, run in zip(made, point.repeats, strict=True)
        )

    def gb(point: Point, times: float = 1.0) -> float | None:
        return None if (estimate := point.figures.get(_GB)) is None else estimate.median * times

    columns: list[Column[Point]] = [
        *load_columns(result),
        Column("", "point", lambda point: named(point, result), text=True),
        Column("calls_per_s", "calls/s", calls, words.figure),
        Column("calls_per_s_for_1000", f"calls/s {per}", lambda point: calls(point) / sheet.price * PER, words.figure),
        Column(_GB, "GB/hour discovered", gb, words.figure),
        Column("gb_per_hour_for_1000", f"GB/hour {per}", lambda point: gb(point, PER / sheet.price), words.figure),
        Column("", "labels", lambda point: ", ".join(point.marks), text=True),
        Column("limited", None, lambda point: int(point.limited)),
    ]
    return tabled("price", columns, result.points, caption=f"For the price, {per}")
