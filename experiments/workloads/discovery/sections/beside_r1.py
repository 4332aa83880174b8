"""Report R1's two tables with our points in them, where both are the same quantity."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from experiments.report import words
from experiments.report.parts import Column, Part, Section, note, paragraph, tabled
from experiments.report.views import shouted
from experiments.result.schema import Estimate
from experiments.result.statistics import LEAST_REPEATS, LEVEL, estimate, ratio_of
from experiments.workloads.discovery.result import Point, Result
from experiments.workloads.discovery.sections.reference import SCALE_OUT, SCALE_UP, ReferenceRun
from experiments.workloads.discovery.views import (
    middle_run,
    over_longest_job,
    rate_over_longest_job,
    total,
)

ANCHOR, TITLE = "r1", "Report R1's tables compared with ours"


class _Row(NamedTuple):
    whose: str
    databases: int
    workers: int
    elapsed: Estimate
    before: float
    after: float
    rate: Estimate
    gain: float


class R1Table(NamedTuple):
    """One of R1's tables with our points below its rows."""

    title: str
    name: str
    reference: Sequence[ReferenceRun]
    points: Sequence[Point]
    rows: list[_Row]


def _gb(value: float) -> str:
    return str(value) if isinstance(value, int) else words.figure(value)


COLUMNS: tuple[Column[_Row], ...] = (
    Column("whose", "whose", lambda row: row.whose, text=True),
    Column("databases", "databases", lambda row: row.databases),
    Column("workers", "workers", lambda row: row.workers),
    Column("elapsed_s", "elapsed", lambda row: row.elapsed, words.seconds),
    Column("gb_before", "GB before", lambda row: row.before, _gb),
    Column("gb_after", "GB after", lambda row: row.after, _gb),
    Column("gb_per_hour_discovered", "discovered GB/hour", lambda row: row.rate, words.figure),
    Column("gain", "over the first row", lambda row: row.gain, lambda gain: f"{words.figure(gain)}×"),
)


def beside_r1(result: Result) -> Section:
    """Show R1's tables with the points of a result below the rows of each."""
    parts: list[Part] = [paragraph(_quantity(result))]
    tables = r1_tables(result)
    for one in tables:
        parts.append(tabled(one.name, COLUMNS, one.rows, caption=one.title, mark=lambda row: row.whose == "R1"))
        parts.append(paragraph(_sentence(one.reference, one.points)))
    if len(tables) > 1:
        parts += _copies(result)
    else:
        parts.append(
            note("Scale-out is not shown: this result has one number of databases only for each worker count.")
        )
    parts.append(
        note(
            "R1's rates are as printed; its first row would be 11.69 from its own sizes and time. "
            "Gains are computed from elapsed times. R1 does not say whether its sizes include index bytes, or whether "
            "GB or GiB is meant; ours leave index bytes out, and 1 GB is 10⁹ bytes."
        )
    )
    return Section(anchor=ANCHOR, title=TITLE, parts=tuple(parts))


def same_workers(points: Sequence[Point]) -> list[Point]:
    """The points of that (workers, slots) which was run with the most different numbers of databases; else none."""
    groups: dict[tuple[int, int], list[Point]] = {}
    for point in points:
        groups.setdefault((point.workers, point.slots), []).append(point)
    best = max(groups.values(), key=lambda group: (len(group), group[0].workers))
    return sorted(best, key=lambda point: point.databases) if len(best) > 1 else []


def _copies(result: Result) -> list[Part]:
    """How several databases shared the work; nothing where the conditions do not contain it."""
    configuration = result.conditions.get("configuration")
    how = configuration.get("several_databases") if isinstance(configuration, dict) else None
    if not how:
        return []
    return [note(f"R1 does not say whether its two jobs read one copy of the source or two. Ours: {how}.")]


def _quantity(result: Result) -> str:
    sizes = [total(middle_run(point), "raw_bytes") for point in result.points]
    smallest, largest = min(sizes), max(sizes)
    said = words.size(smallest) if smallest == largest else f"{words.size(smallest)} to {words.size(largest)}"
    scale = 45e9 / smallest if smallest else 0.0
    labels = shouted(result)
    return (
        "The same quantity in both: GB after discovery over the elapsed time of the longest job. "
        f"Not the same scale: ours is {said} before discovery, R1's smallest is 45 GB"
        + (f" ({words.figure(scale, 2)} times as much)" if scale >= 1.5 else "")
        + ", on other hardware with other data. Compare gains, not rates."
        + (f" Ours is labelled: {words.listed(labels)}." if labels else "")
    )


def r1_tables(result: Result) -> list[R1Table]:
    """Scale-up: points with the fewest databases. Scale-out: points with the worker count that has most databases, if any."""
    least = min(point.databases for point in result.points)
    up = [point for point in result.points if point.databases == least]
    found = [R1Table("Scale-up", "r1-scale-up", SCALE_UP, up, _rows(SCALE_UP, up, result))]
    if out := same_workers(result.points):
        found.append(R1Table("Scale-out", "r1-scale-out", SCALE_OUT, out, _rows(SCALE_OUT, out, result)))
    return found


def _rows(reference: Sequence[ReferenceRun], ours: Sequence[Point], result: Result) -> list[_Row]:
    base = reference[0].after_gb / reference[0].elapsed_s
    rows = [
        _Row("R1", run.databases, run.workers, estimate([run.elapsed_s]), run.before_gb, run.after_gb,
             estimate([run.gb_per_hour]), run.after_gb / run.elapsed_s / base)
        for run in reference
    ]  # fmt: skip
    first = over_longest_job(ours[0])[1].median
    for point in ours:
        elapsed, rate = over_longest_job(point)
        before, after = (total(middle_run(point), field) / words.GB for field in ("raw_bytes", "discovered_bytes"))
        whose = "; ".join(["ours", *dict.fromkeys([*shouted(result), *point.marks])])
        gain = rate.median / first if first else 0.0
        rows.append(_Row(whose, point.databases, point.workers, elapsed, before, after, rate, gain))
    return rows


def _gain(gain: float) -> str:
    return f"{words.figure(gain)}×"


def _sentence(reference: Sequence[ReferenceRun], ours: Sequence[Point]) -> str:
    first, last = reference[0], reference[-1]
    gain = (last.after_gb / last.elapsed_s) / (first.after_gb / first.elapsed_s)
    r1 = f"R1 gains {_gain(gain)} from {_step(first, last)}"
    a, b = ours[0], ours[-1]
    low, high = (over_longest_job(point)[1].median for point in (a, b))
    if a is b or not low:
        return f"{r1}; ours has one point only, so no gain."
    clause = f"{r1}; ours gains {_gain(high / low)} from {_step(a, b)}"
    return f"{clause}{caveat(a, b)}."


def caveat(a: Point, b: Point) -> str:
    """What the repeats of two points' discovered GB/hour say against a difference between them; nothing where they are
    enough and show it."""
    ratio = ratio_of(*([rate_over_longest_job(run) for run in point.repeats] for point in (b, a)))
    if ratio is None:
        return f"; fewer than {LEAST_REPEATS} repeats, which prove no difference"
    return "" if ratio.p <= 1 - LEVEL else "; the repeats show no difference"


def _step(first: ReferenceRun | Point, last: ReferenceRun | Point) -> str:
    if first.databases != last.databases:
        return f"{first.databases} to {words.many(last.databases, 'database')} at {words.many(last.workers, 'worker')}"
    return f"{first.workers} to {words.many(last.workers, 'worker')}"
