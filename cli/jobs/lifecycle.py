"""`edbench pause`, `resume`, `cancel` and `delete`."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from cli.context import CommandContext, shared, with_options, writable_file
from cli.installation import Installation, installation
from cli.jobs.cluster import compose_cluster
from cli.jobs.discover import DEFAULT_WORKERS
from cli.options import Cluster as ClusterOption
from cli.options import JobArgument, JsonFile, PlannedSlots, PlannedWorkers, StorageRoot
from controller.databases import JobHandle, Jobs
from controller.jobs.groups.create import clean_copies, delete_all, refuse_member, resume_all
from controller.jobs.groups.progress import group_state
from controller.jobs.jobs import cancel_job, pause_job, resume_job, settle_job, wait_for_orphan
from controller.jobs.lifecycle import ask_all
from core.errors import RunFailed
from core.operations import NullRecorder
from core.records import JobState
from core.settings import filer_source
from core.storage.layer import Storage
from sql.jobs import summary

if TYPE_CHECKING:
    from controller.cluster.compose import ComposeCluster


def pause(ctx: typer.Context, job: JobArgument) -> None:
    """Pause a running job: what runs is finished, nothing is begun, and `resume` goes on."""
    context = shared(ctx)
    with installation(context.settings(), looks=False) as installed:
        _end(context, installed.find(job), pause_job, JobState.PAUSED)


def cancel(ctx: typer.Context, job: JobArgument, storage: StorageRoot = None) -> None:
    """End a job for good; what it found so far stays until `delete`."""
    context = shared(ctx)
    settings = with_options(context.settings(), storage=storage, slots=None, engine=None)
    with installation(settings, looks=False) as installed:
        jobs = installed.find(job)
        _end(context, jobs, cancel_job, JobState.CANCELLED)
        clean_copies(jobs, Storage(NullRecorder()), settings.storage)


def _end(context: CommandContext, jobs: Jobs, ask: Callable[[JobHandle], JobState], wanted: JobState) -> None:
    """Ask the jobs to end, wait until they have, and print the state. Of a group, jobs that cannot be asked any more
    keep their state; UsageError when none can."""
    ask_all(jobs, ask)
    states = [settle_job(handle, context.clock) for handle in jobs.each]
    state = group_state(states)
    if state in (JobState.PAUSING, JobState.CANCELLING):
        raise RunFailed(f"job {jobs.id} is {state} still: a task is long at work; see `edbench job {jobs.id}`")
    if state is not wanted:
        context.say(f"job {jobs.id} came to its end before: it is {state}")
    print(f"{jobs.id} {state}")


def resume(
    ctx: typer.Context,
    job: JobArgument,
    workers: PlannedWorkers = None,
    slots: PlannedSlots = None,
    json_file: JsonFile = None,
    storage: StorageRoot = None,
    cluster: ClusterOption = None,
) -> None:
    """Go on with a job that is paused or suspended, or whose command was killed, and wait for it.

    With EDBENCH_DATABASES set, the workers are others' to run: the job is set running and the command ends. With
    --cluster compose they are containers: a job that runs there already is waited for, one that is over is shown.
    """
    context = shared(ctx)
    writable_file(json_file, "--json")
    settings = with_options(context.settings(cluster), storage=storage, slots=slots, engine=None)
    with installation(settings) as installed:
        jobs = installed.find(job)
        if not installed.embedded:
            with _containers(context, installed, jobs, cluster, workers, slots) as containers:
                if containers is None:
                    print(f"{jobs.id} {resume_all(jobs, attach=False)}")
                else:
                    _resume_in(containers, context, installed, jobs, json_file)
            return
        first = jobs.each[0]
        with first.database.transaction() as conn:
            planned = summary(conn, first.id)
    settings = dataclasses.replace(settings, filer=filer_source(first.job.options.filer.source))
    workers = workers or planned.workers_planned or DEFAULT_WORKERS
    slots = slots or planned.slots_planned or settings.slots
    # Attached anew, because how many connections the database takes follows from the slots.
    with installation(settings, slots=workers * slots) as installed:
        jobs = installed.find(str(jobs.id))
        for handle in jobs.each:
            wait_for_orphan(handle, context.clock)
        resume_all(jobs, attach=True)

        from cli.jobs.running import follow  # what runs a job is slow to come

        follow(context, installed, jobs, workers=workers, slots=slots, json_file=json_file)


def _containers(
    context: CommandContext,
    installed: Installation,
    jobs: Jobs,
    cluster: str | None,
    workers: int | None,
    slots: int | None,
) -> AbstractContextManager[ComposeCluster | None]:
    """The Compose system's workers, as the job wants them; None where others run them."""
    filer = filer_source(jobs.each[0].job.options.filer.source)
    attached = dataclasses.replace(installed, settings=dataclasses.replace(installed.settings, filer=filer))
    return compose_cluster(context, attached, cluster, workers=workers, slots=slots)


def _resume_in(
    containers: ComposeCluster,
    context: CommandContext,
    installed: Installation,
    jobs: Jobs,
    json_file: Path | None,
) -> None:
    """What runs there already, because only its command was killed, is followed as it is; it may be over meanwhile."""
    states = {handle.id: handle.job.state for handle in jobs.each}
    if all(state.over for state in states.values()):
        context.say(f"job {jobs.id} came to its end before: it is {group_state(list(states.values()))}")
    elif JobState.RUNNING not in states.values():
        resume_all(jobs, attach=False)
    else:
        context.say(f"job {jobs.id} is running: waiting for it")
        for handle in jobs.each:
            if not (states[handle.id].over or states[handle.id] is JobState.RUNNING):
                resume_job(handle, attach=False)

    from cli.jobs.running import follow  # as above

    follow(
        context,
        installed,
        jobs,
        workers=containers.workers,
        slots=containers.slots,
        json_file=json_file,
        cluster=containers,
    )


def delete(
    ctx: typer.Context,
    job: JobArgument,
    storage: StorageRoot = None,
) -> None:
    """Remove a job that does not run: its rows, and its files on the filer. The source is not touched.

    What somebody else put into the output directory of an extraction, processing or export stays, and is told.
    """
    context = shared(ctx)
    settings = with_options(context.settings(), storage=storage, slots=None, engine=None)
    with installation(settings) as installed:
        jobs = installed.find(job)
        refuse_member(installed.databases, jobs)
        for line in delete_all(jobs, Storage(NullRecorder()), settings.storage):
            context.say(line)
        print(f"{jobs.id} deleted")
