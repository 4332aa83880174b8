"""Section: which streams were behind their intended starts, and how far."""

from __future__ import annotations

from experiments.report import words
from experiments.report.markup import table
from experiments.report.parts import Cell, Section, Series, Tabled, note
from experiments.report.views import named
from experiments.workloads.replay.backlog import LEAST_SECONDS, MOST
from experiments.workloads.replay.result import ReplayResult

ANCHOR, TITLE = "backlog", "Streams behind their intended starts"
_HEADER = ("point", "repeat", "client", "streams", "seconds behind", "calls behind")


def backlog(result: ReplayResult) -> Section | None:
    """A line for each client that was behind, the worst of each run first; None where none was."""
    shown, numbers = [], list[tuple[Cell, ...]]()
    for point in result.points:
        for run in point.repeats:
            for one in run.backlog:
                name, streams = named(point, result), ", ".join(one.streams)
                where = (name, run.repeat + 1, one.client, streams)
                shown.append((*where, words.seconds(one.seconds), words.count(one.calls)))
                numbers.append((*where, one.seconds, one.calls))
    if not shown:
        return None
    told = Tabled(
        table=table(_HEADER, shown, text_columns=frozenset({0, 3})),
        series=Series(name="backlog", header=tuple(word.replace(" ", "_") for word in _HEADER), rows=tuple(numbers)),
    )
    said = note(
        f"Clients whose calls began {words.seconds(LEAST_SECONDS)} or more after their intended starts, of each run the {MOST} worst:"
        " the latest such start, and the most calls that were due and not over at the end of a second. A client that plays"
        " several streams is behind with all of them together."
    )
    return Section(anchor=ANCHOR, title=TITLE, parts=(told, said))
