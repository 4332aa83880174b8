"""`edbench job`: list, show and control jobs, and print their chain of custody."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import chain
from typing import TYPE_CHECKING, Annotated

import typer

from cli import options as opt
from cli.context import CommandContext, shared
from cli.installation import installation
from cli.output import bytes_text, flush, print_lines, table
from cli.tree import Commands
from core import texts
from core.csv_cells import csv_cells
from core.errors import RunFailed
from core.texts import many
from readers.errors import ExceptionCode

if TYPE_CHECKING:
    import uuid
    from datetime import datetime

    from rich.console import Console
    from rich.table import Table

    from controller.browse.counts import JobCounts
    from controller.databases import JobHandle, Jobs
    from core.document import Document
    from core.records import JobState
    from core.settings import Settings
    from sql.jobs import GroupRow, JobProgress, JobSummary
    from sql.session import Database

commands = Commands()


@commands.add("list", "edbench job list")
def list_jobs(
    ctx: typer.Context,
    limit: opt.Limit = 50,
) -> None:
    """List the jobs, newest first."""
    context = shared(ctx)
    work = ("controller.jobs.groups", "controller.jobs.groups", "rich.table")
    with installation(context.settings(), broker=False, work=work, looks=False) as installed:
        from controller.databases import newest_jobs
        from controller.jobs.groups import list_groups

        found = newest_jobs(installed.databases, limit)
        done = {summary.job.id: _progress(database, summary) for database, summary in found}
        if context.output != "table":
            from controller.jobs.documents import ListedJob, line_of  # a table is made from rows

            lines = [line_of(s, database.name, done[s.job.id]) for database, s in found]
            context.document(lines, fields=list(ListedJob.model_fields))
        elif found:
            groups = {row.id: row for row in list_groups(installed.databases)}
            context.out.print(jobs_table(found, groups, done))
        else:
            context.say("there is no job yet; create one with `edbench discover DIR`")


def _progress(database: Database, summary: JobSummary) -> JobProgress:
    from sql.jobs import progress

    return database.ask(progress, summary.job.id)


def jobs_table(
    jobs: Iterable[tuple[Database, JobSummary]],
    groups: Mapping[uuid.UUID, GroupRow],
    done: Mapping[uuid.UUID, JobProgress],
) -> Table:
    """The list of jobs, newest first; the jobs of a group are below its line, which has their sums.

    `done`: of each job, by its id."""
    from controller.jobs.groups import group_state
    from controller.labels.rules import storage_text

    rows: list[tuple[object, ...]] = []
    shown: set[uuid.UUID] = set()
    jobs = list(jobs)

    def add(database: Database, s: JobSummary, indent: str = "") -> None:
        state = f"{s.job.state}" if s.job.state.over else f"{s.job.state}, {s.job.phase}"
        names = (f"{indent}{s.job.id}", s.job.name, s.type, database.name, state)
        rows.append(
            (*names, *_sums([done[s.job.id]]), _time(s.created_at), s.job.reason or "", storage_text(s.surroundings))
        )

    for database, summary in jobs:
        group = groups.get(summary.group_id) if summary.group_id else None
        if group is None:
            add(database, summary)
        elif group.id not in shown:
            shown.add(group.id)
            order = [member.job for member in group.members]
            members = [(d, s) for d, s in jobs if s.job.id in order]
            members.sort(key=lambda one: order.index(one[1].job.id))
            names = (group.id, group.name, "", "sum", group_state([s.job.state for _, s in members]))
            sums = _sums([done[s.job.id] for _, s in members])
            rows.append((*names, *sums, _time(group.created_at), f"group of {len(order)}, {group.kind}", ""))
            for member in members:
                add(*member, indent="  ")
    columns = ("job", "name", "type", "database", "state", "items", "discovered", "elapsed", "created (UTC)", "reason")
    made = table((*columns, "storage"), rows, right=(5, 6, 7), whole=(0, 4))
    storages = {str(row[-1]) for row in rows} - {""}
    if len(storages) == 1:  # one line instead of a wide column
        made.columns.pop()
        made.caption, made.caption_justify = f"storage: {storages.pop()}", "left"
    return made


def _sums(jobs: Sequence[JobProgress]) -> tuple[int, str, str]:
    """Items and discovered bytes of jobs, and the longest job's elapsed time."""
    from controller.jobs.progress import duration

    discovered = sum(job.discovered_bytes for job in jobs)
    elapsed = max((job.elapsed_s for job in jobs), default=0.0)
    return sum(job.items for job in jobs), bytes_text(discovered), duration(elapsed)


def _time(moment: datetime) -> str:
    return f"{moment:%Y-%m-%d %H:%M:%S}"


@commands.add("show", "edbench job show last")
def show(ctx: typer.Context, job: opt.JobArgument) -> None:
    """Show a job: phases, items, exceptions, children, bounds.

    Items are counted by kind, media type and text state, exceptions by code. Each bound of --fail-if is shown with the
    measured value once the job has ended.

    For a group, the sum and every job of it are shown."""
    context = shared(ctx)
    with installation(context.settings(), broker=False, work=("controller.browse.counts", "rich.table")) as installed:
        from controller.browse.counts import count_job
        from core.job_types import types_of

        selected = installed.find(job)
        if context.output != "table":
            context.document(_document(selected, installed.settings))
            return
        if selected.group is not None:
            context.out.print(group_line(selected.group))
        counted: Iterable[tuple[JobHandle, JobCounts]] = ((handle, count_job(handle)) for handle in selected.each)
        if selected.group is not None:
            counted = list(counted)
            context.out.print(sum_table(counted))
        for handle, counts in counted:
            if selected.group is not None:
                context.out.print()
            show_counts(context.out, counts)
            flush()  # counts can be read while the rest is computed
            types_of(handle.job.options.of_type).sections(context.out, handle)
        from controller.observe.wire import wire_shares  # brings documents

        if (wire := wire_shares(selected.each)) is not None:
            from cli.summary import show_wire

            show_wire(context.out, wire)
        if _bounded(selected):
            from controller.jobs.results import BOUND_COLUMNS, bound_rows

            context.out.print()
            context.out.print(table(BOUND_COLUMNS, bound_rows(selected, installed.settings)))


def _bounded(selected: Jobs) -> bool:
    return any(handle.job.options.fail_if for handle in selected.each)


def group_line(group: GroupRow) -> str:
    """A group in one line."""
    from core.names import display_name

    copies = f", {group.source_copies} copies of it" if group.source_copies > 1 else ""
    return (
        f"group {group.id} {group.name}: {len(group.members)} {group.kind} jobs over"
        f" {display_name(group.source)}{copies}"
    )


def sum_table(counted: Iterable[tuple[JobHandle, JobCounts]]) -> Table:
    """A line for each job of a group, and their sum; rates of the sum are over the longest job's elapsed time."""
    from controller.jobs.documents import holds_of, sum_of
    from controller.jobs.progress import duration

    holds = [holds_of(counts, handle.database.name) for handle, counts in counted]
    lines = [*((str(job.database), str(job.state), sum_of([job])) for job in holds), ("sum", "", sum_of(holds))]
    columns = ("database", "state", "elapsed", "items", "exceptions", "raw", "discovered", "GB/hour discovered")
    rows = [
        (
            *(name, state, duration(one.elapsed_s), f"{one.items:,}", f"{one.exceptions:,}"),
            *(bytes_text(one.raw_bytes), bytes_text(one.discovered_bytes), f"{one.gb_per_hour_discovered:.1f}"),
        )
        for name, state, one in lines
    ]
    return table(columns, rows, right=range(2, len(columns)))


def show_counts(console: Console, counts: JobCounts) -> None:
    """Print the counts of one job."""
    from controller.jobs.progress import duration
    from controller.labels.rules import storage_text
    from core.job_types import JobType

    job, progress = counts.summary.job, counts.progress
    reason = f" ({job.reason})" if job.reason else ""
    what = "job" if counts.summary.type == JobType.DISCOVERY else f"{counts.summary.type} job"
    console.print(f"{what} {job.id} {job.name}: {job.state}{reason}, {duration(progress.elapsed_s)}")
    if storage := storage_text(counts.summary.surroundings):
        print_lines(console, f"storage: {storage}")
    if counts.summary.type == JobType.DISCOVERY:
        console.print(f"time zone of dates without one: {job.options.time_zone}")
    print_lines(console, *(f"waiting: {line}" for line in progress.waiting))
    sections = (
        (
            ("phase", "tasks done", "open", "items", "seconds"),
            [(p.phase, p.done, p.open, p.items, f"{p.elapsed_s:.1f}") for p in progress.phases.values()],
        ),
        (("kind", "items", "bytes"), [(c.name, c.items, bytes_text(c.bytes)) for c in counts.kinds]),
        (("media type", "items", "bytes"), [(c.name, c.items, bytes_text(c.bytes)) for c in counts.media_types]),
        (("text", "items", "characters", "pages"), [(c.name, c.items, c.characters, c.pages) for c in counts.texts]),
        (
            ("exception", "level", "number", "missing children"),
            [(c.code, c.level, c.exceptions, c.missing) for c in counts.exceptions],
        ),
    )
    for columns, rows in sections:
        if rows:
            console.print()
            numbers = [n for n, name in enumerate(columns) if n and name != "level"]
            console.print(table(columns, rows, right=numbers))
    if (given := job.options.of_type) is not None and given.out:
        console.print(f"\n{many(progress.items, 'item')} produced, written to {given.out}")
        return
    children = counts.children
    console.print(
        f"\n{many(counts.items, 'item')}, {counts.loose_files:,} of them loose files; {many(counts.containers, 'container')}:"
        f" {children.expected:,} children expected = {children.emitted:,} emitted + {children.failed:,} failed"
    )
    for violation in counts.violations:
        console.print(f"DOES NOT ADD UP: {violation.line()}")


def _document(selected: Jobs, settings: Settings) -> Document:
    from controller.browse.counts import count_job
    from controller.jobs.documents import document_of, group_document, holds_of
    from controller.observe.wire import wire_shares
    from core.job_types import types_of

    wire, bounds = wire_shares(selected.each), []
    if _bounded(selected):
        from controller.jobs.results import outcomes_of  # a job's figures, which take more than its counts

        bounds = outcomes_of(selected, settings)
    if selected.group is None:
        (handle,) = selected.each
        own = handle.database.ask(types_of(handle.job.options.of_type).figures, handle)
        return document_of(count_job(handle), wire, bounds, own)
    holds = [holds_of(count_job(handle), handle.database.name) for handle in selected.each]
    return group_document(selected.group, wire, bounds, holds)


@commands.add("pause", "edbench job pause 3f2a")
def pause(ctx: typer.Context, job: opt.JobArgument) -> None:
    """Pause a running job: finish its open tasks and start no others."""
    from controller.jobs.jobs import pause_job
    from core.records import JobState

    context = shared(ctx)
    with installation(context.settings(), looks=False) as installed:
        _end(context, installed.find(job), pause_job, JobState.PAUSED)


@commands.add("resume", "edbench job resume last --workers 2")
def resume(
    ctx: typer.Context,
    job: opt.JobArgument,
    workers: opt.PlannedWorkers = None,
    slots: opt.PlannedSlots = None,
    storage: opt.StorageRoot = None,
) -> None:
    """Continue a job and wait for its end.

    The job is paused or suspended, or its command was killed.

    With EDBENCH_DATABASES set, the workers belong to a system that runs by itself: the job is set running and the
    command ends."""
    from controller.jobs.create import resume_all
    from controller.jobs.jobs import refuse_other_storage, wait_for_orphan
    from core.settings import filer_source
    from sql.jobs import summary

    context = shared(ctx)
    settings = context.settings(storage=storage, slots=slots)
    with installation(settings) as installed:
        jobs = installed.find(job)
        if not installed.embedded:
            from cli.discover import refuse_scaling

            refuse_scaling(workers, slots)
            _print_state(context, jobs.id, resume_all(jobs, attach=False))
            return
        first = jobs.each[0]
        planned = first.database.ask(summary, first.id)
    settings = dataclasses.replace(settings, filer=filer_source(first.job.options.filer.source))
    workers = workers or planned.workers_planned or opt.DEFAULT_WORKERS
    slots = slots or planned.slots_planned or settings.slots
    # Attached again, because the number of connections to the database follows from the slots.
    with installation(settings, slots=workers * slots) as installed:
        jobs = installed.find(str(jobs.id))
        for handle in jobs.each:
            refuse_other_storage(handle, installed.settings.storage)
            wait_for_orphan(handle, context.clock)
        resume_all(jobs, attach=True)

        from cli.discover import follow

        follow(context, installed, jobs, workers=workers, slots=slots)


@commands.add("requeue", "edbench job requeue last --code unreadable")
def requeue(
    ctx: typer.Context,
    job: opt.JobArgument,
    code: Annotated[ExceptionCode | None, typer.Option(help="Requeue only exceptions with this code.")] = None,
    passwords: opt.Passwords = None,
    workers: opt.PlannedWorkers = None,
    slots: opt.PlannedSlots = None,
    storage: opt.StorageRoot = None,
) -> None:
    """Process the exceptions of a completed job again.

    Every loose file that has an exception, or contains an item that has one, is unpacked and indexed again with everything
    inside it; the job's result records this. The passwords of --passwords are added to those of the job:
    `edbench job requeue last --code encrypted --passwords found.txt` opens what could not be opened before."""
    from controller.jobs.jobs import refuse_other_storage, requeue_exceptions
    from core.passwords import read_bank

    context = shared(ctx)
    bank = read_bank(passwords) if passwords else None
    with installation(context.settings(storage=storage)) as installed:
        jobs = installed.find_discovered(job)
        root = installed.settings.storage
        if installed.embedded or bank is not None:  # a system's own processes have the storage root
            for handle in jobs.each:
                refuse_other_storage(handle, root)
        files = requeue_exceptions(jobs, code.value if code else None, storage_root=root, passwords=bank)
    context.say(f"processed again: {many(files, 'loose file')}")
    resume(ctx, str(jobs.id), workers, slots, storage)


@commands.add("cancel", "edbench job cancel 3f2a")
def cancel(ctx: typer.Context, job: opt.JobArgument, storage: opt.StorageRoot = None) -> None:
    """Cancel a job for good; its items stay until it is deleted."""
    from controller.jobs.create import clean_copies
    from controller.jobs.jobs import cancel_job
    from core.records import JobState

    context = shared(ctx)
    settings = context.settings(storage=storage)
    with installation(settings, looks=False) as installed:
        jobs = installed.find(job)
        _end(context, jobs, cancel_job, JobState.CANCELLED)
        clean_copies(jobs, settings.storage)


def _end(context: CommandContext, jobs: Jobs, ask: Callable[[JobHandle], JobState], wanted: JobState) -> None:
    """Request that the jobs end, wait until they have, and print the state. In a group, jobs that have ended keep their
    state. Raises UsageError if all have."""
    from controller.jobs.groups import group_state
    from controller.jobs.jobs import ask_all, settle_job
    from core.records import JobState

    ask_all(jobs, ask)
    states = [settle_job(handle, context.clock) for handle in jobs.each]
    state = group_state(states)
    if state in (JobState.PAUSING, JobState.CANCELLING):
        raise RunFailed(
            f"job {jobs.id} is still {state}: it waits for a long task; check it with `edbench job show {jobs.id}`"
        )
    if state is not wanted:
        context.say(f"job {jobs.id} had already ended: it is {state}")
    _print_state(context, jobs.id, state)


def _print_state(context: CommandContext, job: uuid.UUID, state: str) -> None:
    if not context.document({"job": str(job), "state": str(state)}):
        context.last_line(f"{job} {state}")


@commands.add("delete", "edbench job delete 3f2a")
def delete(
    ctx: typer.Context,
    job: opt.JobArgument,
    yes: Annotated[bool, typer.Option("--yes", help=texts.YES)] = False,
    storage: opt.StorageRoot = None,
) -> None:
    """Delete a job: its rows and its files on the filer.

    The job must not be running. The source stays, and so do extractions, processing jobs and exports that took items of a
    discovery; the command asks before it deletes such a discovery.

    Files that other programs put into the output directory of an extraction, processing or export stay and are
    listed."""
    from cli.leftovers import confirm
    from controller.jobs.create import delete_all, refuse_member
    from controller.jobs.jobs import takers

    context = shared(ctx)
    settings = context.settings(storage=storage)
    with installation(settings) as installed:
        jobs = installed.find(job)
        refuse_member(installed.databases, jobs)
        if not yes and (users := takers(jobs)):
            confirm(
                f"Delete discovery {jobs.id}, whose items {many(len(users), 'job')} took ({', '.join(users)})? [y/N] "
            )
        for line in delete_all(jobs, settings.storage):
            context.say(line)
        _print_state(context, jobs.id, "deleted")


@commands.add("custody", "edbench job custody last -o jsonl --output-file custody.jsonl")
def custody(
    ctx: typer.Context,
    job: opt.JobArgument,
    actions: Annotated[bool, typer.Option("--actions", help="Print only the actions of operators, no items.")] = False,
) -> None:
    """Print a job's chain of custody.

    The table shows the operator actions. The other formats have them, then every item with its hashes, parser and task.

    Each action has a hash over itself and the action before it. An action that was changed, or whose predecessor was
    removed, is marked `broken`, and the exit status is 1. Note the last action's `chain`: with it, the recipient of a
    list sees whether its end was cut off. `last` is the newest discovery."""
    context = shared(ctx)
    with installation(context.settings(), work=("controller.custody",), looks=False) as installed:
        from controller.custody import FIELDS, action_records, ended, items_of, parser_records

        handles = (installed.find_discovered(job) if job == "last" else installed.find(job)).each
        listed = list(action_records(handles))
        read = () if actions else chain(parser_records(handles), items_of(handles))
        if not context.document(ended(chain(listed, read)), fields=FIELDS):
            names = ("at", "who", "action", "details")
            context.out.print(table(names, (csv_cells(each, names, raw=True) for each in listed), whole=(0,)))
    flush()
    if broken := sum(each["broken"] for each in listed):
        raise RunFailed(f"{broken} operator actions differ from the record, or earlier actions are missing")
