"""`edbench discover`, and functions by which any command follows a job to its end."""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer

from cli import options as opt
from cli.automation import Automation
from cli.context import CommandContext, shared
from cli.experiment import Discovering
from cli.output import await_answer, flush
from cli.tree import Commands
from core.errors import Interrupted, RunFailed, SystemFault, UsageError

if TYPE_CHECKING:
    from cli.installation import Installation
    from controller.databases import Jobs
    from controller.jobs.figures import Figures, JobFigures
    from controller.jobs.orders import OperatorOrder

commands = Commands()


class Run(Automation, Discovering):
    """The options of the command in addition to those of the job and its workers."""


@commands.add(
    "discover", "edbench discover c --workers 2 -o json --output-file r.json", "controller.jobs.orders:OperatorOrder"
)
def discover(
    ctx: typer.Context,
    *,
    source: opt.Source,
    workers: opt.Workers = opt.DEFAULT_WORKERS,
    slots: opt.Slots = None,
    order: OperatorOrder,
    run: Run,
) -> None:
    """The command starts PostgreSQL, the broker and the workers unless EDBENCH_DATABASES is set. Ctrl-C pauses the job. The
    exit status is 1 when another command cancels the job, 0 when another command pauses it, 3 when a figure is beyond a bound of
    --fail-if.

    The last line of the table is the job's id. With --databases 2 and more it is the id of the group of simultaneous
    jobs, which every command accepts as JOB; the GB/hour of a group is the sum of its jobs over the elapsed time of the
    longest."""
    from cli.installation import installation  # the database's libraries are slow to import
    from cli.serve import page_during
    from controller.filer import refuse_no_common_arbiter
    from controller.jobs.create import create_discovery
    from controller.jobs.run import crew_of
    from controller.jobs.source import prepare_source, refuse_own_output
    from core.passwords import read_bank
    from core.storage.layer import Storage
    from worker.ocr.tesseract import refuse_no_ocr

    context = shared(ctx)
    settings = context.settings(storage=run.storage, slots=slots, engine=order.index_engine, filer=order.filer)
    plan = order.plan(settings, read_bank(run.passwords) if run.passwords else None)
    if settings.embedded:
        refuse_no_ocr(plan.options.ocr)
    run.begin("discover")
    await_answer(settings.storage, source)
    filer = Storage()
    prepared = prepare_source(filer, source)
    refuse_own_output(prepared, settings)
    with (
        installation(settings, slots=workers * settings.slots, databases=order.databases) as installed,
        page_during(context, installed.settings, run.page),
    ):
        if not installed.embedded:
            refuse_scaling(workers if opt.given(ctx, "workers") else None, slots)
        databases = installed.first(order.databases)
        refuse_no_common_arbiter(databases, installed.settings, ours=installed.embedded)
        crew = (workers, settings.slots) if installed.embedded else crew_of(databases[0])
        jobs = create_discovery(databases, filer, settings, prepared, plan, workers=crew[0], slots=crew[1])
        follow(context, installed, jobs, workers=crew[0], slots=crew[1], automation=run)


def refuse_scaling(workers: int | None, slots: int | None) -> None:
    """Raise UsageError if workers or slots were given, and the workers belong to a system that runs by itself."""
    if workers is not None or slots is not None:
        raise UsageError(
            f"{'--workers' if workers is not None else '--slots'}: this command does not start the workers of this "
            "system (EDBENCH_DATABASES is set); omit the option, or change them where they were started; for "
            f"containers, on their host: edbench scale {workers or 6}",
            field="workers",
        )


def follow(
    context: CommandContext,
    installed: Installation,
    jobs: Jobs,
    *,
    workers: int,
    slots: int,
    automation: Automation | None = None,
) -> None:
    """Wait for a job or group, then print its summary with the id as the last line, or its document.

    Raises RunFailed when a job is suspended, cancelled, failed or does not add up, BoundsBroken for a bound of
    --fail-if; Interrupted after Ctrl-C or SIGTERM."""
    from cli.progress import progress_display
    from cli.summary import show_result
    from controller.filer import watched_filer
    from controller.jobs.create import clean_copies
    from controller.jobs.groups import group_state, refresh
    from controller.jobs.results import figures_of
    from controller.jobs.run import judge, processes, run_all_to_rest

    called = str(jobs.id)
    settings = installed.settings
    own = processes(settings, workers, slots, context.env) if installed.embedded else None
    try:
        with watched_filer(installed.settings) as watched, progress_display(context.err) as display:
            show, every = display.show, display.every
            outcomes = run_all_to_rest(jobs.each, settings, own, context.clock, show, context.say, every)
            observed = watched()
        state = group_state([outcome.state for outcome in outcomes])
        interrupted = any(outcome.interrupted for outcome in outcomes)
        if interrupted and not state.over:
            raise Interrupted(f"job {called} is {state}; continue it with `edbench job resume {called}`")
        complete = all(outcome.calls_complete for outcome in outcomes)
        await_answer(installed.settings.storage, waits=f"job {called} is {state}; ")  # the summary reads it
        result: Figures = figures_of(refresh(jobs), installed.settings, calls_complete=complete).with_observed(observed)
        untraced: list[str] = []
        if state.over:
            result, untraced = _with_traces(context, installed, jobs, result)
        context.document(result)
        show_result(context.people, result)
        flush()
        clean_copies(jobs, installed.settings.storage)
        for outcome, each in zip(outcomes, result.each, strict=True):
            remark = judge(outcome, called, len(each.violations))
            if remark is not None:
                context.say(remark)
        if interrupted:
            raise Interrupted(f"job {called} is {state}")
        if untraced:
            raise RunFailed(f"the job is complete, but its trace is not: {untraced[0]}")
        if state.over:
            first = f"job {called}: {result.gb_per_hour_discovered:,.1f} GB/hour discovered, {state}"
            (automation or Automation()).settle("discover", first, result.bounds, result.elapsed_s, context.env)
    except SystemFault:
        context.say(f"job {called} is suspended: remove the cause, then run `edbench job resume {called}`")
        raise
    finally:
        context.last_line(called)


def _with_traces(
    context: CommandContext, installed: Installation, selected: Jobs, result: Figures
) -> tuple[Figures, list[str]]:
    """The result with the trace of each job that has one, or the reason why it could not be written."""
    from controller.jobs.figures import GroupFigures
    from controller.observe.trace_collection import collect_trace, trace_figures

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
            jobs[-1] = each.with_observed({"trace": trace_figures(gathered)})
        except UsageError as error:
            failures.append(str(error))
    return (result.with_observed({"jobs": jobs}) if isinstance(result, GroupFigures) else jobs[0]), failures
