"""What `discover` and `resume` share: follow the job, then tell how it ended."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from cli.answering import await_answer
from cli.context import CommandContext
from cli.installation import Installation
from cli.jobs.live import progress_display
from cli.output import flush, write_json
from cli.show.result import show_result
from controller.databases import Jobs
from controller.filer.emulated import watched_filer
from controller.jobs.figures import Figures, GroupFigures, JobFigures
from controller.jobs.groups.create import clean_copies
from controller.jobs.groups.find import refresh
from controller.jobs.groups.progress import group_state
from controller.jobs.groups.results import figures_of
from controller.jobs.run import Crew, judge, run_all_to_rest
from controller.observe.trace_collection import collect_trace, trace_figures
from core.errors import Interrupted, RunFailed, SystemFault, UsageError
from core.operations import NullRecorder
from core.storage.layer import Storage

if TYPE_CHECKING:
    from controller.cluster.compose import ComposeCluster


def follow(
    context: CommandContext,
    installed: Installation,
    jobs: Jobs,
    *,
    workers: int,
    slots: int,
    json_file: Path | None,
    cluster: ComposeCluster | None = None,
) -> None:
    """Wait for a job or group, print its summary and, as the last line of standard output, its id.

    Raises RunFailed when a job is suspended, failed or does not add up; Interrupted after Ctrl-C or SIGTERM.
    """
    called = str(jobs.id)
    crew = Crew(
        settings=installed.settings,
        ours=installed.embedded,
        workers=workers,
        slots=slots,
        env=context.env,
        cluster=cluster,
    )
    try:
        watching = watched_filer(installed.settings) if cluster is None else cluster.watched_filer()
        with watching as filer, progress_display(context.err) as display:
            outcomes = run_all_to_rest(jobs.each, crew, context.clock, display.show, context.say)
            beside = filer.figures()
            if cluster is not None:
                beside["containers_stats"] = cluster.containers_stats()
        state = group_state([outcome.state for outcome in outcomes])
        interrupted = any(outcome.interrupted for outcome in outcomes)
        if interrupted and not state.over:
            raise Interrupted(f"job {called} is {state}; go on with `edbench resume {called}`")
        complete = all(outcome.calls_complete for outcome in outcomes)
        await_answer(installed.settings.storage, waits=f"job {called} is {state}; ")  # the summary looks at it
        result: Figures = figures_of(refresh(jobs), installed.settings, calls_complete=complete).beside(beside)
        untraced: list[str] = []
        if state.over:
            result, untraced = _with_traces(context, installed, jobs, result)
        if json_file is not None:
            write_json(json_file, result.to_json())
        show_result(context.out, result)
        flush()
        clean_copies(jobs, Storage(NullRecorder()), installed.settings.storage)
        for outcome, each in zip(outcomes, result.each, strict=True):
            remark = judge(outcome, called, len(each.violations))
            if remark is not None:
                context.say(remark)
        if interrupted:
            raise Interrupted(f"job {called} is {state}")
        if untraced:
            raise RunFailed(f"the job is done, its trace is not: {untraced[0]}")
    except SystemFault:
        context.say(f"once that is mended, `edbench resume {called}` goes on")
        raise
    finally:
        print(called, file=sys.stdout, flush=True)


def _with_traces(
    context: CommandContext, installed: Installation, selected: Jobs, result: Figures
) -> tuple[Figures, list[str]]:
    """The result with the trace of each job that asked for one; why there is none, where it failed."""
    failures: list[str] = []
    jobs: list[JobFigures] = []
    for handle, each in zip(selected.each, result.each, strict=True):
        jobs.append(each)
        if not handle.job.options.trace:
            continue
        try:
            gathered = collect_trace(
                handle, installed.settings, context.clock, labels=each.labels, ours=installed.embedded
            )
            jobs[-1] = each.beside({"trace": trace_figures(gathered)})
        except UsageError as error:
            failures.append(str(error))
    return (result.beside({"jobs": jobs}) if isinstance(result, GroupFigures) else jobs[0]), failures
