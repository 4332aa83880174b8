"""Section: length and steadiness of runs, by the rule for results."""

from __future__ import annotations

from experiments.report import words
from experiments.report.columns import Column, tabled
from experiments.report.parts import Section, note, paragraph
from experiments.report.views import named
from experiments.result.schema import Result, Steady
from experiments.result.steady import RULE

ANCHOR, TITLE = "steady", "Length and steady state"
_Row = tuple[str, int, Steady]  # the point, the repeat, the interval


def _drift(value: float) -> str:
    return f"{value * 100:+.1f} %".replace("-", "\u2212")


_COLUMNS: tuple[Column[_Row], ...] = (
    Column("point", "point", lambda row: row[0], text=True),
    Column("repeat", "repeat", lambda row: row[1]),
    Column("of", "of", lambda row: row[2].what, text=True),
    Column("start_s", None, lambda row: row[2].start_s),
    Column("seconds", "judged", lambda row: row[2].seconds, words.seconds),
    Column("rate", "per second", lambda row: row[2].rate, words.figure),
    Column("spread", "spread", lambda row: row[2].spread, words.percent),
    Column("drift", "drift", lambda row: row[2].drift, _drift),
    Column("", "95 % interval of the drift", lambda row: f"{_drift(row[2].drift_low)} to {_drift(row[2].drift_high)}"),
    Column("drift_low", None, lambda row: row[2].drift_low),
    Column("drift_high", None, lambda row: row[2].drift_high),
    Column("steady", "", lambda row: int(row[2].steady), lambda steady: "" if steady else "not steady", text=True),
)


def steadiness(result: Result) -> Section:
    """A line for each interval of each run that is long enough."""
    rows = [
        (named(point, result), run.repeat + 1, one)
        for point in result.points
        for run in point.repeats
        for one in run.steady
    ]
    if not rows:
        return Section(
            anchor=ANCHOR, title=TITLE, parts=(paragraph(_length(result)), note("No interval is long enough."))
        )
    shown = tabled("steady", _COLUMNS, rows, mark=lambda row: not row[2].steady)
    return Section(anchor=ANCHOR, title=TITLE, parts=(paragraph(_length(result)), shown, note(f"Steady: {RULE}.")))


def _length(result: Result) -> str:
    shortest = min(run.elapsed_s for point in result.points for run in point.repeats)
    least = (result.conditions.get("steady_state") or {}).get("min_seconds")
    rule = f"; a result requires {words.seconds(least)} of each" if least is not None else ""
    short = [point for point in result.points if point.short]
    many = f" SHORT: {words.listed(named(point, result) for point in short)}." if short else ""
    return f"The shortest run took {words.seconds(shortest)}{rule}.{many} Points that are SHORT are not judged."
