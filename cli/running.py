"""What `discover` and `resume` share: follow the job, then tell how it ended."""

from __future__ import annotations

import sys
from pathlib import Path

from cli.context import CommandContext, Installation
from cli.live import progress_display
from cli.output import flush, write_json
from cli.show import show_result
from controller.databases import JobHandle
from controller.results import job_result
from controller.run import Crew, judge, run_to_rest
from core.errors import Interrupted, SystemFault


def follow(
    context: CommandContext,
    installed: Installation,
    handle: JobHandle,
    *,
    workers: int,
    slots: int,
    json_file: Path | None,
) -> None:
    """Wait for the job, print its summary and, as the last line of standard output, its id.

    Raises RunFailed when it is suspended, failed or does not add up; Interrupted after Ctrl-C or SIGTERM.
    """
    job = str(handle.id)
    crew = Crew(settings=installed.settings, ours=installed.embedded, workers=workers, slots=slots, env=context.env)
    try:
        with progress_display(context.err) as display:
            outcome = run_to_rest(handle, crew, context.clock, display.show, context.say)
        if outcome.interrupted and not outcome.state.over:
            raise Interrupted(f"job {job} is {outcome.state}; go on with `edbench resume {job}`")
        result = job_result(handle, installed.settings, calls_complete=outcome.calls_complete)
        if json_file is not None:
            write_json(json_file, result)
        show_result(context.out, result)
        flush()
        remark = judge(outcome, job, len(result["violations"]))
        if remark is not None:
            context.say(remark)
        if outcome.interrupted:
            raise Interrupted(f"job {job} is {outcome.state}")
    except SystemFault:
        context.say(f"once that is mended, `edbench resume {job}` goes on")
        raise
    finally:
        print(job, file=sys.stdout, flush=True)
