"""`edbench pause`, `resume`, `cancel` and `delete`."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

import typer

from cli.context import CommandContext, installation, jobs_of, shared, with_options, writable_file
from cli.discover import DEFAULT_WORKERS
from cli.options import JobArgument, JsonFile, PlannedSlots, PlannedWorkers, StorageRoot
from cli.running import follow
from controller.databases import JobHandle
from controller.group_progress import group_state
from controller.groups import Group, clean_group, delete_group, refuse_member, resume_all
from controller.jobs import cancel_job, delete_job, pause_job, settle_job, wait_for_orphan
from core.errors import RunFailed, UsageError
from core.operations import NullRecorder
from core.records import JobState
from core.settings import filer_source
from core.storage import Storage
from sql.jobs import summary


def pause(ctx: typer.Context, job: JobArgument) -> None:
    """Pause a running job: what runs is finished, nothing is begun, and `resume` goes on."""
    context = shared(ctx)
    with installation(context.settings()) as installed:
        _end(context, installed.find(job), pause_job, JobState.PAUSED)


def cancel(ctx: typer.Context, job: JobArgument, storage: StorageRoot = None) -> None:
    """End a job for good; what it found so far stays until `delete`."""
    context = shared(ctx)
    settings = with_options(context.settings(), storage=storage, slots=None, engine=None)
    with installation(settings) as installed:
        found = installed.find(job)
        _end(context, found, cancel_job, JobState.CANCELLED)
        if isinstance(found, Group):
            clean_group(found, Storage(NullRecorder()), settings.storage)


def _end(
    context: CommandContext, found: JobHandle | Group, ask: Callable[[JobHandle], JobState], wanted: JobState
) -> None:
    """Ask the jobs to end, wait until they have, and print the state. Of a group, jobs that cannot be asked any more
    keep their state; UsageError when none can."""
    refused: UsageError | None = None
    handles = jobs_of(found)
    asked = 0
    for handle in handles:
        try:
            ask(handle)
            asked += 1
        except UsageError as error:
            refused = error
    if refused is not None and not asked:
        raise refused
    states = [settle_job(handle, context.clock) for handle in handles]
    state = group_state(states)
    if state in (JobState.PAUSING, JobState.CANCELLING):
        raise RunFailed(f"job {found.id} is {state} still: a task is long at work; see `edbench job {found.id}`")
    if state is not wanted:
        context.say(f"job {found.id} came to its end before: it is {state}")
    print(f"{found.id} {state}")


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
        found = installed.find(job)
        if not installed.embedded:
            print(f"{found.id} {resume_all(found, attach=False)}")
            return
        first = jobs_of(found)[0]
        with first.database.transaction() as conn:
            planned = summary(conn, first.id)
    settings = dataclasses.replace(settings, filer=filer_source(first.job.options.filer.source))
    workers = workers or planned.workers_planned or DEFAULT_WORKERS
    slots = slots or planned.slots_planned or settings.slots
    # Attached anew, because how many connections the database takes follows from the slots.
    with installation(settings, slots=workers * slots) as installed:
        found = installed.find(str(found.id))
        for handle in jobs_of(found):
            wait_for_orphan(handle, context.clock)
        resume_all(found, attach=True)
        follow(context, installed, found, workers=workers, slots=slots, json_file=json_file)


def delete(
    ctx: typer.Context,
    job: JobArgument,
    storage: StorageRoot = None,
) -> None:
    """Remove a job that does not run: its rows, and its files on the filer. The source is not touched."""
    context = shared(ctx)
    settings = with_options(context.settings(), storage=storage, slots=None, engine=None)
    with installation(settings) as installed:
        found = installed.find(job)
        filer = Storage(NullRecorder())
        if isinstance(found, Group):
            delete_group(found, filer, settings.storage)
        else:
            refuse_member(installed.databases, found)
            delete_job(found, filer, settings.storage)
        print(f"{found.id} deleted")
