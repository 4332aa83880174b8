"""Every kind of I/O of the busiest point's median run: recorded, unrecorded, and the counters next to them."""

from __future__ import annotations

from typing import Any

from experiments.report import words
from experiments.report.parts import Column, Section, missing, note, paragraph, tabled
from experiments.workloads.discovery.result import Result
from experiments.workloads.discovery.views import busiest, middle_run, which_run

ANCHOR, TITLE = "io", "Every kind of I/O"


def io_kinds(result: Result) -> Section:
    """A line for each kind, then those of the block devices and mounts."""
    point = busiest(result)
    io: dict[str, Any] | None = middle_run(point).result.get("io")
    if io is None:
        return missing(ANCHOR, TITLE, "the result was written by a version that did not record it.")
    rows = [
        (one["kind"], "yes" if one["recorded"] else "no", one, one["when"], one["counted_by"]) for one in io["kinds"]
    ]
    rows += [
        (f"{one['kind']} {one['source']}", "beside", one, "within elapsed", "the kernel") for one in io["counters"]
    ]
    columns: tuple[Column[tuple[str, str, dict[str, Any], str, str]], ...] = (
        Column("kind", "kind", lambda row: row[0], text=True),
        Column("recorded", "recorded", lambda row: row[1], text=True),
        Column("read_bytes", "read", lambda row: row[2]["read_bytes"], words.size, missing="not counted"),
        Column("written_bytes", "written", lambda row: row[2]["written_bytes"], words.size, missing="not counted"),
        Column("when", "when", lambda row: row[3], text=True),
        Column("counted_by", "counted by", lambda row: row[4], text=True),
    )
    share = io["unrecorded_share"]
    said = "nothing is known" if share is None else f"{words.percent(share)} is unrecorded"
    parts = (
        paragraph(f"With {which_run(point, result.points)}, of the bytes that are known {said}."),
        tabled("io-kinds", columns, rows),
        note(
            "The other lines are counted by the kernel for all programs on that host; reads from its caches are in none of them."
        ),
    )
    return Section(anchor=ANCHOR, title=TITLE, parts=parts)
