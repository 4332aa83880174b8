"""Storage calls for each item, beside R1's filer operations for each item."""

from __future__ import annotations

from experiments.report import words
from experiments.report.markup import table
from experiments.report.parts import Cell, Section, Series, Tabled, missing, paragraph
from experiments.report.views import held
from experiments.workloads.discovery.result import Result
from experiments.workloads.discovery.sections.reference import LEAST_FILER_OPS_AN_ITEM
from experiments.workloads.discovery.views import calls_by_op, middle_run, point_name, total

ANCHOR, TITLE = "calls-an-item", "Calls an item"


def calls_an_item(result: Result) -> Section:
    """Calls by op over items, for each point."""
    counted = [(point, middle_run(point)) for point in result.points]
    counted = [(point, run) for point, run in counted if total(run, "items") and calls_by_op(run)]
    if not counted:
        return missing(ANCHOR, TITLE, "no run has both items and call records.")
    ops = list(dict.fromkeys(op for _, run in counted for op in calls_by_op(run)))
    rows: list[tuple[object, ...]] = []
    numbers: list[tuple[Cell, ...]] = []
    for point, run in counted:
        items, calls = total(run, "items"), calls_by_op(run)
        every = sum(calls.values()) / items
        rows.append((held(point_name(point, result.points)), words.count(items), f"{words.figure(every)} calls",
                     *(words.figure(calls.get(op, 0) / items, 2) for op in ops)))  # fmt: skip
        numbers.append((point.workers, point.slots, point.databases, items, every,
                        *(calls.get(op, 0) / items for op in ops)))  # fmt: skip
    rows.append(("R1", "about 1 million", f"≥ {LEAST_FILER_OPS_AN_ITEM} filer ops", *("–" for _ in ops)))
    header = ("run", "items", "an item", *ops)
    shown = table(header, rows, marked=frozenset({len(rows) - 1}))
    columns = ("workers", "slots", "databases", "items", "calls_an_item", *(f"{op}_an_item" for op in ops))
    series = Series(name="calls-an-item", header=columns, rows=tuple(numbers))
    first = float(numbers[0][4] or 0.0)
    sentence = (
        f"An item costs {words.figure(first)} calls on average with {point_name(counted[0][0], result.points)}. R1's at least "
        f"{LEAST_FILER_OPS_AN_ITEM} are filer operations, counted by the array: a different quantity, shown for the "
        "order of magnitude only. Only the array's own counters would make the two comparable."
    )
    return Section(anchor=ANCHOR, title=TITLE, parts=(Tabled(table=shown, series=series), paragraph(sentence)))
