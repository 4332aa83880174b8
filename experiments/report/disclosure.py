"""Full disclosure: every condition of the result, and every run in the order in which it was made."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime

from experiments.report import words
from experiments.report.markup import Html, tag
from experiments.report.markup import table as html_table
from experiments.report.parts import Cell, Section, Series, Tabled
from experiments.report.views import held, named
from experiments.result.schema import Result
from experiments.workloads import about

ANCHOR, TITLE = "disclosure", "Full disclosure"


def disclosure(result: Result) -> Section:
    """The conditions of the result, then all runs."""
    return Section(anchor=ANCHOR, title=TITLE, parts=(conditions_table(result.conditions), _runs(result)))


def conditions_table(conditions: Mapping[str, object]) -> Tabled:
    """Conditions, however nested, one a line."""
    flat = list(flattened(conditions))
    rows = [(tag("code", key), _shown(value)) for key, value in flat]
    shown = html_table(("condition", "value"), rows, text_columns=frozenset({0, 1}), caption="Conditions")
    series = Series(
        name="conditions", header=("condition", "value"), rows=tuple((key, str(value)) for key, value in flat)
    )
    return Tabled(table=shown, series=series)


def flattened(data: object, prefix: str = "") -> Iterator[tuple[str, object]]:
    """Nested mappings and lists as (dotted key, plain value), in the order they have; empty ones keep a row."""
    if isinstance(data, Mapping) and data:
        for key, value in data.items():
            yield from flattened(value, f"{prefix}.{key}" if prefix else str(key))
    elif isinstance(data, list | tuple) and any(isinstance(one, Mapping | list | tuple) for one in data):
        for number, value in enumerate(data, 1):
            yield from flattened(value, f"{prefix}.{number}" if prefix else str(number))
    else:
        yield prefix, data


def _shown(value: object) -> Html | str:
    if value is None:
        return "not known"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list | tuple):
        return ", ".join(str(one) for one in value) or "none"
    if isinstance(value, Mapping) or value == "":
        return "none"
    if isinstance(value, int) and value >= 10_000:
        return f"{value:,}"
    return str(value)


def _runs(result: Result) -> Tabled:
    workload = about(result.workload)
    runs = sorted(((run, point) for point in result.points for run in point.repeats), key=lambda pair: pair[0].order)
    figures = [figure for figure in workload.figures if figure.name != "elapsed_s"]
    rows: list[tuple[object, ...]] = []
    numbers: list[tuple[Cell, ...]] = []
    for run, point in runs:
        values = [(figure, figure.of(run)) for figure in figures]
        noted = [of(run) for of in workload.notes.values()]
        rows.append(
            (
                run.order + 1,
                held(named(point, result)),
                run.repeat + 1,
                f"{datetime.fromtimestamp(run.started_at, UTC):%Y-%m-%d %H:%M:%S}",
                words.seconds(run.elapsed_s),
                *(figure.missing if value is None else figure.write(value) for figure, value in values),
                *("–" if one is None else words.figure(one) if isinstance(one, float) else one for one in noted),
            )
        )
        key = (run.order, *point.at.values().values(), run.repeat, run.started_at, run.elapsed_s)
        numbers.append((*key, *(value for _, value in values), *noted))
    header = ("order", "point", "repeat", "started (UTC)", "elapsed", *(f.title for f in figures), *workload.notes)
    columns = ("order", *result.points[0].at.values(), "repeat", "started_at", "elapsed_s", *(f.name for f in figures),
               *workload.notes)  # fmt: skip
    shown = html_table(header, rows, text_columns=frozenset({1}), caption="All runs in the order of their start")
    return Tabled(table=shown, series=Series(name="runs", header=columns, rows=tuple(numbers)))
