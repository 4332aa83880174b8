"""Setup-effort: steps and seconds of this project's own set-up, from a machine with an empty home to the first result (report R2)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from experiments.profiles.about import profile_about
from experiments.report import words
from experiments.workload import Figure
from experiments.workloads.setup_effort.profile import SetupEffort
from experiments.workloads.setup_effort.result import NAME, SetupPoint, SetupResult, SetupSeen, run_of
from experiments.workloads.setup_effort.telling import SetupTelling

if TYPE_CHECKING:
    from experiments.report.parts import Section

PROFILE = SetupEffort


def _sections(result: SetupResult) -> list[Section]:
    from experiments.workloads.setup_effort.sections import sections  # with what draws: slow to come

    return sections(result)


ABOUT = profile_about(
    name=NAME,
    report="R2",
    result=SetupResult,
    point=SetupPoint,
    seen=SetupSeen,
    run_of=run_of,
    figures=(
        Figure(name="elapsed_s", title="to the first result", of=lambda run: run.elapsed_s, headline=True, write=words.seconds,
               unit="s"),
        Figure(name="steps", title="steps", of=lambda run: float(run.steps(lambda task: task.to_result)), headline=True,
               write=words.count),
        Figure(name="all_s", title="all tasks", of=lambda run: run.all_s, write=words.seconds, unit="s"),
        Figure(name="all_steps", title="steps of all", of=lambda run: float(run.steps()), write=words.count),
        Figure(name="installed_bytes", title="installed", of=lambda run: float(run.installed_bytes), write=words.size,
               unit="bytes"),
    ),
    sections=_sections,
    notes={"commit": lambda run: run.commit[:12]},
    telling=SetupTelling,
    makers="commands",
)  # fmt: skip
