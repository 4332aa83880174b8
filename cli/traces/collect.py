"""`edbench trace collect`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer

from cli.context import shared, with_options
from cli.options import AsJson, JobArgument, StorageRoot
from cli.output import flush, print_json
from core.errors import UsageError

if TYPE_CHECKING:
    from controller.databases import JobHandle
    from controller.jobs.figures import TraceFigures


def collect(ctx: typer.Context, job: JobArgument, storage: StorageRoot = None, as_json: AsJson = False) -> None:
    """Make the trace of a job that is over, where no command was there to see its end.

    `discover` and `resume` do it themselves when they wait for a job that was created with --trace. A job's trace may
    be made again at any time.
    """
    from cli.installation import installation  # other commands on traces ask no database
    from cli.show.result import trace_text
    from controller.jobs.results import job_result
    from controller.observe.trace_collection import collect_trace, trace_figures

    context = shared(ctx)
    settings = with_options(context.settings(), storage=storage, slots=None, engine=None)
    traces: list[tuple[JobHandle, TraceFigures]] = []
    with installation(settings) as installed:
        handles = installed.find(job).each
        for handle in handles:
            if not handle.job.options.trace:
                raise UsageError(f"job {handle.id} kept no calls: a trace is asked for by `edbench discover --trace`")
            if not handle.job.state.over:
                raise UsageError(f"job {handle.id} is {handle.job.state}: its trace is made when it is over")
        for handle in handles:
            labels = job_result(handle, installed.settings).labels
            gathered = collect_trace(handle, installed.settings, context.clock, labels=labels, ours=installed.embedded)
            traces.append((handle, trace_figures(gathered)))
    if as_json:
        print_json([trace.to_json() | {"job": str(handle.id)} for handle, trace in traces])
        return
    for _, trace in traces:
        context.out.print(trace_text(trace), markup=False, soft_wrap=True)
    flush()
