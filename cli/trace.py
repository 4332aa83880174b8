"""`edbench trace record`: write the trace of a job. Package replay has the other commands of traces."""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer

from cli import options as opt
from cli.context import shared
from cli.output import flush, print_lines
from cli.tree import Commands
from core.errors import UsageError

if TYPE_CHECKING:
    from controller.databases import JobHandle
    from controller.jobs.figures import TraceFigures

commands = Commands()


@commands.add("record", "edbench trace record last")
def record(ctx: typer.Context, job: opt.JobArgument, storage: opt.StorageRoot = None) -> None:
    """Write the trace of a job that was created with --trace.

    `discover` and `job resume` write it themselves when they wait for the job. It can be written again at any time."""
    from cli.installation import installation  # the other commands here need no database
    from cli.summary import trace_text
    from controller.jobs.results import job_result
    from controller.observe.trace_collection import collect_trace, trace_figures

    context = shared(ctx)
    settings = context.settings(storage=storage)
    traces: list[tuple[JobHandle, TraceFigures]] = []
    with installation(settings) as installed:
        handles = installed.find(job).each
        for handle in handles:
            if not handle.job.options.trace:
                raise UsageError(f"job {handle.id} recorded no calls: create the job with `edbench discover --trace`")
            if not handle.job.state.over:
                raise UsageError(
                    f"job {handle.id} is {handle.job.state}: its trace can be written when the job has ended"
                )
        for handle in handles:
            labels = job_result(handle, installed.settings).labels
            gathered = collect_trace(handle, installed.settings, context.clock, labels=labels, ours=installed.embedded)
            traces.append((handle, trace_figures(gathered)))
    if context.document([trace.to_json() | {"job": str(handle.id)} for handle, trace in traces]):
        return
    print_lines(context.out, *(trace_text(trace) for _, trace in traces))
    flush()
