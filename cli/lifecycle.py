"""`edbench pause`, `resume`, `cancel` and `delete`."""

from __future__ import annotations

import typer

from cli.context import CommandContext, installation, shared, with_options, writable_file
from cli.discover import DEFAULT_WORKERS
from cli.options import JobArgument, JsonFile, PlannedSlots, PlannedWorkers, StorageRoot
from cli.running import follow
from controller.databases import JobHandle
from controller.jobs import cancel_job, delete_job, pause_job, resume_job, settle_job, wait_for_orphan
from core.errors import RunFailed
from core.operations import NullRecorder
from core.records import JobState
from core.storage import Storage
from sql.jobs import summary


def pause(ctx: typer.Context, job: JobArgument) -> None:
    """Pause a running job: what runs is finished, nothing is begun, and `resume` goes on."""
    context = shared(ctx)
    with installation(context.settings()) as installed:
        handle = installed.find(job)
        pause_job(handle)
        _settle(context, handle, "paused")


def cancel(ctx: typer.Context, job: JobArgument) -> None:
    """End a job for good; what it found so far stays until `delete`."""
    context = shared(ctx)
    with installation(context.settings()) as installed:
        handle = installed.find(job)
        cancel_job(handle)
        _settle(context, handle, "cancelled")


def _settle(context: CommandContext, handle: JobHandle, wanted: str) -> None:
    state = settle_job(handle, context.clock)
    if state in (JobState.PAUSING, JobState.CANCELLING):
        raise RunFailed(f"job {handle.id} is {state} still: a task is long at work; see `edbench job {handle.id}`")
    if state.value != wanted:
        context.say(f"job {handle.id} came to its end before: it is {state}")
    print(f"{handle.id} {state}")


def resume(
    ctx: typer.Context,
    job: JobArgument,
    workers: PlannedWorkers = None,
    slots: PlannedSlots = None,
    json_file: JsonFile = None,
    storage: StorageRoot = None,
) -> None:
    """Go on with a job that is paused or suspended, or whose command was killed, and wait for it.

    With EDBENCH_DATABASES set, the workers are others' to run: the job is set running and the command ends.
    """
    context = shared(ctx)
    writable_file(json_file, "--json")
    settings = with_options(context.settings(), storage=storage, slots=slots, engine=None)
    with installation(settings) as installed:
        handle = installed.find(job)
        if not installed.embedded:
            print(f"{handle.id} {resume_job(handle, attach=False)}")
            return
        with handle.database.transaction() as conn:
            planned = summary(conn, handle.id)
    workers = workers or planned.workers_planned or DEFAULT_WORKERS
    slots = slots or planned.slots_planned or settings.slots
    # Attached anew, because how many connections the database takes follows from the slots.
    with installation(settings, slots=workers * slots) as installed:
        handle = installed.find(str(handle.id))
        wait_for_orphan(handle, context.clock)
        resume_job(handle, attach=True)
        follow(context, installed, handle, workers=workers, slots=slots, json_file=json_file)


def delete(
    ctx: typer.Context,
    job: JobArgument,
    storage: StorageRoot = None,
) -> None:
    """Remove a job that does not run: its rows, and its files on the filer. The source is not touched."""
    context = shared(ctx)
    settings = with_options(context.settings(), storage=storage, slots=None, engine=None)
    with installation(settings) as installed:
        handle = installed.find(job)
        delete_job(handle, Storage(NullRecorder()), installed.settings.storage)
        print(f"{handle.id} deleted")
