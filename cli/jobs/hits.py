"""What `edbench terms` prints; imported while the services start."""

from __future__ import annotations

import csv
import sys
from collections.abc import Iterator, Sequence
from functools import partial

from cli.context import CommandContext
from cli.installation import Installation
from cli.output import print_json
from cli.show.table import table
from controller.search.opened import opened_index
from controller.search.report import CSV_FIELDS, CustodianHits, HitReport, Hits, csv_rows, hit_report
from controller.search.term_lists import Term
from core.csv_cells import defused

_NUMBERS = ("items", "with family", "families", "only this: items", "families")


def report_on(installed: Installation, job: str, terms: Sequence[Term], custodian: str | None) -> HitReport:
    """The report of a job, or of a group's jobs together."""
    opened = partial(opened_index, settings=installed.settings)
    return hit_report(installed.find_discovered(job).each, opened, terms, custodian=custodian)


def print_report(
    context: CommandContext, report: HitReport, *, as_csv: bool, raw: bool, as_json: bool, custodians: bool
) -> None:
    """As JSON, CSV (`raw`: formulas and all) or a table."""
    if as_json:
        print_json(report.to_json())
    elif as_csv:
        writer = csv.writer(sys.stdout, lineterminator="\n")
        writer.writerow(CSV_FIELDS)
        writer.writerows(row if raw else list(map(defused, row)) for row in csv_rows(report))
    else:
        rows = list(_rows(report, custodians))
        columns = ("line", "term", *(("custodian",) if custodians else ()), *_NUMBERS)
        context.out.print(table(columns, rows, right=(0, *range(len(columns) - len(_NUMBERS), len(columns)))))
        context.say(f"{report.total.items:,} of {report.searched_items:,} items")


def _rows(report: HitReport, custodians: bool) -> Iterator[tuple[object, ...]]:
    for term in report.terms:
        again = "" if term.same_as_line is None else f"  (as line {term.same_as_line})"
        yield from _with_custodians((term.line, term.term + again), term, term.custodians if custodians else None)
    yield from _with_custodians(("", "any term"), report.total, report.custodians if custodians else None)


def _with_custodians(
    begin: tuple[object, ...], hits: Hits, each: list[CustodianHits] | None
) -> Iterator[tuple[object, ...]]:
    yield (*begin, *(() if each is None else ("",)), *_numbers(hits))
    yield from (("", "", one.custodian, *_numbers(one)) for one in each or ())


def _numbers(hits: Hits) -> tuple[int, ...]:
    return tuple(getattr(hits, name) for name in Hits.model_fields)
