"""`edbench trace record`: write the trace of a job. Package replay has the other commands of traces."""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer

from cli import options as opt
from cli.context import shared, with_options
from cli.output import flush
from cli.tree import Commands
from core.errors import UsageError

if TYPE_CHECKING:
    from controller.databases import JobHandle
    from controller.jobs.figures import TraceFigures

commands = Commands()


@commands.add("record", "edbench trace record last")
def record(ctx: typer.Context, job: opt.JobArgument, storage: opt.StorageRoot = None) -> None:
    """Write the trace of a job that was created with --trace.

    `discover` and `job resume` write it themselves when they wait for the job. It can be written again at any time.
    """
    from cli.installation import installation  # the other commands here need no database
    from cli.summary import trace_text
    from controller.jobs.results import job_result
    from controller.observe.trace_collection import collect_trace, trace_figures

    context = shared(ctx)
    settings = with_options(context.settings(), storage=storage, slots=None, engine=None)
    traces: list[tuple[JobHandle, TraceFigures]] = []
    with installation(settings) as installed:
        handles = installed.find(job).each
        for handle in handles:
            if not handle.job.options.trace:
                raise UsageError(f"job {handle.id} recorded no calls: create the job with `edbench discover --trace`")
            if not handle.job.state.over:
                raise UsageError(f"job {handle.id} is {handle.job.state}: its trace can be written when it is over")
        for handle in handles:
            labels = job_result(handle, installed.settings).labels
            gathered = collect_trace(handle, installed.settings, context.clock, labels=labels, ours=installed.embedded)
            traces.append((handle, trace_figures(gathered)))
    if context.document([trace.to_json() | {"job": str(handle.id)} for handle, trace in traces]):
        return
    for _, trace in traces:
        context.out.print(trace_text(trace), markup=False, soft_wrap=True)
    flush()
