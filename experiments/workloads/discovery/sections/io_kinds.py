"""Every kind of I/O of the busiest point's median run: recorded, unrecorded, and the counters beside."""

from __future__ import annotations

from typing import Any

from experiments.report import words
from experiments.report.markup import table
from experiments.report.parts import Cell, Section, Series, Tabled, missing, note, paragraph
from experiments.workloads.discovery.result import Result
from experiments.workloads.discovery.views import busiest, middle_run, which_run

ANCHOR, TITLE = "io", "Every kind of I/O"
_HEADER = ("kind", "recorded", "read", "written", "when", "counted by")


def io_kinds(result: Result) -> Section:
    """A line for each kind, then those of the block devices and mounts."""
    point = busiest(result)
    io: dict[str, Any] | None = middle_run(point).result.get("io")
    if io is None:
        return missing(ANCHOR, TITLE, "the result was written by a version that did not record it.")
    numbers: list[tuple[Cell, ...]] = [
        (
            one["kind"],
            "yes" if one["recorded"] else "no",
            one["read_bytes"],
            one["written_bytes"],
            one["when"],
            one["counted_by"],
        )
        for one in io["kinds"]
    ]
    numbers += [
        (
            f"{one['kind']} {one['source']}",
            "beside",
            one["read_bytes"],
            one["written_bytes"],
            "within elapsed",
            "the kernel",
        )
        for one in io["counters"]
    ]
    rows = [(kind, recorded, _size(read), _size(written), *rest) for kind, recorded, read, written, *rest in numbers]
    shown = table(_HEADER, rows, text_columns=frozenset({0, 1, 4, 5}))
    header = ("kind", "recorded", "read_bytes", "written_bytes", "when", "counted_by")
    share = io["unrecorded_share"]
    said = "nothing is known" if share is None else f"{words.percent(share)} is unrecorded"
    parts = (
        paragraph(f"With {which_run(point, result.points)}, of the bytes that are known {said}."),
        Tabled(table=shown, series=Series(name="io-kinds", header=header, rows=tuple(numbers))),
        note(
            "The other lines are counted by the kernel for all programs on that host; reads from its caches are in none of them."
        ),
    )
    return Section(anchor=ANCHOR, title=TITLE, parts=parts)


def _size(value: Any) -> str:
    return "not counted" if value is None else words.size(value)
