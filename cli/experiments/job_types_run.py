"""What `edbench experiment job-types` does."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from cli.answering import await_answer
from cli.context import CommandContext
from cli.installation import installation
from cli.jobs.live import progress_display
from cli.output import flush
from cli.show.study import show_study, show_warnings
from controller.jobs.jobs import prepare_source
from core.errors import UsageError
from core.operations import NullRecorder
from core.settings import Settings
from core.storage.layer import Storage
from experiments.kinds.grid import Grid, checked
from experiments.package.finish import finish
from experiments.study import conduct
from experiments.workloads.job_types.result import TypeLoad
from experiments.workloads.job_types.workload import TYPES, JobTypes, Stage


def run_types(
    context: CommandContext,
    settings: Settings,
    corpus: Path,
    workers: Sequence[int],
    repeats: int,
    min_seconds: float,
    seed: int,
    time_zone: str,
) -> None:
    """Measure, and print the table. Raises what `conduct` does."""
    if not settings.embedded:
        raise UsageError("job-types starts workers of its own: unset EDBENCH_DATABASES and EDBENCH_BROKER")
    await_answer(corpus)
    source = prepare_source(Storage(NullRecorder()), corpus)
    points = [TypeLoad(type=kind.value, workers=many) for kind in TYPES for many in checked(workers, "--workers")]
    with (
        installation(settings, slots=max(workers) * settings.slots) as installed,
        progress_display(context.err) as display,
    ):
        stage = Stage(
            settings=installed.settings,
            database=installed.first(1)[0],
            time_zone=time_zone,
            env=context.env,
            clock=context.clock,
            show=display.show,
            say=context.say,
        )
        kind = Grid("sweep", "type", points, repeats=repeats, seed=seed)
        result, directory = conduct(JobTypes(stage, source), kind, min_seconds)
    show_study(context.out, result)
    show_warnings(context.out, result)
    page = finish(result, directory)
    flush()
    print(page)
