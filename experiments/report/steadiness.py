"""Section: length and steadiness of runs, by the rule for results."""

from __future__ import annotations

from experiments.report import words
from experiments.report.markup import table
from experiments.report.parts import Cell, Section, Series, Tabled, note, paragraph
from experiments.report.views import named
from experiments.result.schema import Result
from experiments.result.steady import RULE

ANCHOR, TITLE = "steady", "Length and steady state"
_HEADER = ("point", "repeat", "of", "judged", "per second", "spread", "drift", "95 % interval of the drift", "")
_COLUMNS = (
    "point",
    "repeat",
    "of",
    "start_s",
    "seconds",
    "rate",
    "spread",
    "drift",
    "drift_low",
    "drift_high",
    "steady",
)


def steadiness(result: Result) -> Section:
    """A line for each interval of each run that is long enough."""
    shown, numbers = [], list[tuple[Cell, ...]]()
    for point in result.points:
        for run in point.repeats:
            for one in run.steady:
                name = named(point, result)
                drift = [
                    f"{value * 100:+.1f} %".replace("-", "\u2212")
                    for value in (one.drift, one.drift_low, one.drift_high)
                ]
                shown.append(
                    (name, run.repeat + 1, one.what, words.seconds(one.seconds), words.figure(one.rate),
                     words.percent(one.spread), drift[0], f"{drift[1]} to {drift[2]}", "" if one.steady else "not steady")
                )  # fmt: skip
                numbers.append(
                    (name, run.repeat + 1, one.what, one.start_s, one.seconds, one.rate, one.spread, one.drift,
                     one.drift_low, one.drift_high, int(one.steady))
                )  # fmt: skip
    marked = frozenset(place for place, row in enumerate(shown) if row[-1])
    if not shown:
        return Section(
            anchor=ANCHOR, title=TITLE, parts=(paragraph(_length(result)), note("No interval is long enough."))
        )
    tabled = Tabled(
        table=table(_HEADER, shown, text_columns=frozenset({0, 2, 8}), marked=marked),
        series=Series(name="steady", header=_COLUMNS, rows=tuple(numbers)),
    )
    return Section(anchor=ANCHOR, title=TITLE, parts=(paragraph(_length(result)), tabled, note(f"Steady: {RULE}.")))


def _length(result: Result) -> str:
    shortest = min(run.elapsed_s for point in result.points for run in point.repeats)
    least = (result.conditions.get("steady_state") or {}).get("min_seconds")
    rule = f"; a result requires {words.seconds(least)} of each" if least is not None else ""
    short = [point for point in result.points if point.short]
    many = f" SHORT: {words.listed(named(point, result) for point in short)}." if short else ""
    return f"The shortest run took {words.seconds(shortest)}{rule}.{many} Points that are SHORT are not judged."
