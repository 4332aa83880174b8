"""Storage calls for each item, next to R1's filer operations for each item."""

from __future__ import annotations

from experiments.report import words
from experiments.report.parts import Column, Section, missing, paragraph, tabled
from experiments.report.views import held
from experiments.workloads.discovery.result import Point, Result, Run
from experiments.workloads.discovery.sections.reference import LEAST_FILER_OPS_AN_ITEM
from experiments.workloads.discovery.views import KEYS, calls_by_op, middle_run, point_name, total

ANCHOR, TITLE = "calls-an-item", "Calls an item"


def calls_an_item(result: Result) -> Section:
    """Calls by op over items, for each point."""
    counted = [(point, middle_run(point)) for point in result.points]
    counted = [(point, run) for point, run in counted if total(run, "items") and calls_by_op(run)]
    if not counted:
        return missing(ANCHOR, TITLE, "no run has both items and call records.")
    ops = dict.fromkeys(op for _, run in counted for op in calls_by_op(run))
    columns: tuple[Column[tuple[Point, Run] | None], ...] = (  # None: the row of report R1
        *KEYS[:-1],
        Column("", "run", lambda row: row and held(point_name(row[0], result.points)), text=True, missing="R1"),
        Column("items", "items", lambda row: row and total(row[1], "items"), words.count, missing="about 1 million"),
        Column("calls_an_item", "an item", lambda row: row and _an_item(row[1]), lambda calls: f"{words.figure(calls)} calls",
               missing=f"≥ {LEAST_FILER_OPS_AN_ITEM} filer ops"),
        *map(_of_op, ops),
    )  # fmt: skip
    shown = tabled("calls-an-item", columns, [*counted, None], kept=counted, mark=lambda row: row is None)
    first = _an_item(counted[0][1])
    sentence = (
        f"An item costs {words.figure(first)} calls on average with {point_name(counted[0][0], result.points)}. R1's at least "
        f"{LEAST_FILER_OPS_AN_ITEM} are filer operations, counted by the array: a different quantity, shown for the "
        "order of magnitude only. Only the array's own counters would make the two comparable."
    )
    return Section(anchor=ANCHOR, title=TITLE, parts=(shown, paragraph(sentence)))


def _an_item(run: Run) -> float:
    return sum(calls_by_op(run).values()) / total(run, "items")


def _of_op(op: str) -> Column[tuple[Point, Run] | None]:
    def of(row: tuple[Point, Run] | None) -> float | None:
        return row and calls_by_op(row[1]).get(op, 0) / total(row[1], "items")

    return Column(f"{op}_an_item", op, of, lambda calls: words.figure(calls, 2))
