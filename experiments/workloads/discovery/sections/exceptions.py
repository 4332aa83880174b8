"""The exceptions that the runs recorded."""

from __future__ import annotations

from experiments.report import words
from experiments.report.parts import Column, Html, Section, Tabled, paragraph, series, table
from experiments.report.views import held
from experiments.workloads.discovery.result import Point, Result, Run
from experiments.workloads.discovery.views import KEYS, point_name, totals_by_key

ANCHOR, TITLE = "exceptions", "Exceptions"


def exceptions(result: Result) -> Section:
    """By code, for each run; the same corpus must give the same ones to each job."""
    runs = [(point, run, totals_by_key(run, "exceptions")) for point in result.points for run in point.repeats]
    codes = sorted({code for _, _, totals in runs for code in totals})
    if not codes:
        said = f"No exception was recorded in {words.many(len(runs), 'run')}."
        return Section(anchor=ANCHOR, title=TITLE, parts=(paragraph(said),))
    columns = (*KEYS, *map(_of_code, codes))
    shown = Tabled(table=_table(codes, _alike(result)), series=series("exceptions", columns, runs))
    return Section(anchor=ANCHOR, title=TITLE, parts=(shown, paragraph(_sentence(result))))


def _of_code(code: str) -> Column[tuple[Point, Run, dict[str, int]]]:
    return Column(code, None, lambda row: row[2].get(code, 0))


def _table(codes: list[str], columns: list[tuple[str, dict[str, int]]]) -> Html:
    """Codes down and runs across, or the other way where there are more runs than codes."""
    if len(columns) > len(codes):
        rows = [(name, *(words.count(totals.get(code, 0)) for code in codes)) for name, totals in columns]
        return table(("runs", *codes), rows)
    across = [(code, *(words.count(totals.get(code, 0)) for _, totals in columns)) for code in codes]
    return table(("exception", *(name for name, _ in columns)), across)


def _alike(result: Result) -> list[tuple[str, dict[str, int]]]:
    """A row for the runs of a point; one for all points of as many databases where every run found the same."""
    rows: list[tuple[str, dict[str, int]]] = []
    for databases in sorted({point.databases for point in result.points}):
        points = [point for point in result.points if point.databases == databases]
        runs = [(point, run, totals_by_key(run, "exceptions")) for point in points for run in point.repeats]
        totals = runs[0][2]
        if all(other == totals for _, _, other in runs):
            which = "the run" if len(runs) == 1 else f"each of {len(runs)} runs"
            rows.append((held(f"{which} with {words.many(databases, 'database')}"), totals))
        else:
            rows += [(f"{point_name(p, result.points)}, repeat {r.repeat + 1}", other) for p, r, other in runs]
    return rows


def _sentence(result: Result) -> str:
    by_databases: dict[int, list[dict[str, int]]] = {}
    for point in result.points:
        by_databases.setdefault(point.databases, []).extend(totals_by_key(run, "exceptions") for run in point.repeats)
    said = []
    for databases, totals in sorted(by_databases.items()):
        where = f" with {words.many(databases, 'database')}" if len(by_databases) > 1 else ""
        number = sum(totals[0].values())
        if len(totals) == 1:
            said.append(f"the run{where} recorded {words.many(number, 'exception')}")
        elif all(one == totals[0] for one in totals):
            said.append(
                f"each of {words.many(len(totals), 'run')}{where} recorded the same {words.many(number, 'exception')}"
            )
        else:
            least, most = (pick(sum(one.values()) for one in totals) for pick in (min, max))
            said.append(f"the {len(totals)} runs{where} differ: {least:,} to {words.many(most, 'exception')}")
    text = words.listed(said)
    return text[0].upper() + text[1:] + "."
