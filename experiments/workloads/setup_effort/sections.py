"""The report's own sections of profile `setup-effort`: the table of tasks, and report R2's beside."""

from __future__ import annotations

from experiments.report import words
from experiments.report.markup import join, table, tag
from experiments.report.parts import Cell, Section, Series, Tabled, note
from experiments.report.views import middle
from experiments.workloads.setup_effort.result import SetupResult

# Of report R2: task, seconds, steps where they are told.
R2 = (
    ("five-member group with 20 volumes initialised", 25 * 60.0, None),
    ("a member added", 150.0, 11),
    ("six volumes deleted", 22.0, 18),
    ("a snapshot", 30.0, None),
    ("30 snapshots", 90.0, None),
    ("an expansion, and two minutes more in the guest", 30.0, 4),
    ("a restore, 10 to 15 s", 15.0, None),
    ("all tasks of its table", 43 * 60.0, None),
)


def sections(result: SetupResult) -> list[Section]:
    """In reading order."""
    return [_tasks(result), _theirs()]


def _tasks(result: SetupResult) -> Section:
    run = middle(result.points[0].repeats)
    shown, numbers, marked = list[tuple[object, ...]](), list[tuple[Cell, ...]](), set[int]()
    for task in run.tasks:
        typed = join(tag("div", tag("code", one)) for one in task.typed)
        took = "not run" if task.seconds is None else words.seconds(task.seconds)
        busy = "" if task.cpu_s is None else words.seconds(task.cpu_s)
        shown.append((task.name, typed, len(task.typed), took, busy))
        numbers.append(
            (task.name, "; ".join(task.typed), len(task.typed), task.seconds, task.cpu_s, int(task.to_result))
        )
        if task.to_result and not any(other.to_result for other in run.tasks[len(shown) :]):
            marked.add(len(shown))
            shown.append(
                ("to the first result", "", run.steps(lambda one: one.to_result), words.seconds(run.elapsed_s), "")
            )
    shown.append(("all tasks", "", run.steps(), words.seconds(run.all_s), ""))
    header = ("task", "typed", "steps", "took", "CPU time")
    tabled = Tabled(
        table=table(header, shown, text_columns=frozenset({0, 1}), marked=frozenset(marked)),
        series=Series(
            name="tasks", header=("task", "typed", "steps", "seconds", "cpu_s", "to_result"), rows=tuple(numbers)
        ),
    )
    there = ", ".join(run.versions.values())
    said = note(
        f"A step is a command that is typed. Commit {run.commit[:12]} from {run.source}, with an empty home, so that nothing was"
        f" cached but what the package index has; {words.size(run.installed_bytes)} in .venv. Packages of the system are counted and"
        f" not installed here: there was {there}. Reading and thinking are in no time, as in the report's."
    )
    return Section(anchor="tasks", title="Steps and seconds, by task", parts=(tabled, said))


def _theirs() -> Section:
    shown = [(task, "not given" if steps is None else steps, words.seconds(seconds)) for task, seconds, steps in R2]
    rows = tuple((task, steps, seconds) for task, seconds, steps in R2)
    tabled = Tabled(
        table=table(("task of report R2's administrator", "steps", "took"), shown),
        series=Series(name="report-r2", header=("task", "steps", "seconds"), rows=rows),
    )
    said = note(
        "The tasks of an array's administrator in its web interface: how the report measures effort, not comparable with ours."
    )
    return Section(anchor="report-r2", title="How report R2 measured it", parts=(tabled, said))
