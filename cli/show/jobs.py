"""Tables for people: the list of jobs, a job's counts. Of what is drawn only the types are known here: the list comes sooner
without what counts and measures."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from rich.console import Console
from rich.table import Table

from cli.output import bytes_text
from cli.show.table import table
from controller.jobs.groups.progress import group_state
from controller.jobs.rates import duration
from controller.labels.surroundings import storage_text
from core.names import display_name
from core.options.production import JobType
from sql.groups import GroupRow
from sql.jobs import JobSummary
from sql.session import Database

if TYPE_CHECKING:
    from controller.browse.counts import JobCounts


def jobs_table(jobs: Iterable[tuple[Database, JobSummary]], groups: Mapping[uuid.UUID, GroupRow]) -> Table:
    """The list of jobs, newest first; the jobs of a group stand under its line."""
    rows: list[tuple[object, ...]] = []
    shown: set[uuid.UUID] = set()
    jobs = list(jobs)
    for database, summary in jobs:
        group = groups.get(summary.group_id) if summary.group_id else None
        if group is None:
            rows.append(_job_row(database, summary))
        elif group.id not in shown:
            shown.add(group.id)
            order = [member.job for member in group.members]
            members = [(d, s) for d, s in jobs if s.job.id in order]
            members.sort(key=lambda pair: order.index(pair[1].job.id))
            state = group_state([s.job.state for _, s in members])
            created = f"{group.created_at:%Y-%m-%d %H:%M:%S}"
            rows.append(
                (group.id, group.name, "", "", state, "", created, "", f"group of {len(group.members)}, {group.kind}")
            )
            rows += [_job_row(d, s, indent="  ") for d, s in members]
    return table(
        ("job", "name", "type", "database", "state", "phase", "created (UTC)", "storage", "reason"), rows, whole=(0, 4)
    )


def _job_row(database: Database, s: JobSummary, indent: str = "") -> tuple[object, ...]:
    created = f"{s.created_at:%Y-%m-%d %H:%M:%S}"
    return (
        f"{indent}{s.job.id}",
        s.job.name,
        s.type,
        database.name,
        s.job.state,
        s.job.phase,
        created,
        storage_text(s.surroundings),
        s.job.reason or "",
    )


def group_line(group: GroupRow) -> str:
    """What a group is."""
    copies = f", {group.source_copies} copies of it" if group.source_copies > 1 else ""
    return (
        f"group {group.id} {group.name}: {len(group.members)} {group.kind} jobs over"
        f" {display_name(group.source)}{copies}"
    )


def show_counts(console: Console, counts: JobCounts) -> None:
    """Everything about one job."""
    job, progress = counts.summary.job, counts.progress
    reason = f" ({job.reason})" if job.reason else ""
    what = "job" if counts.summary.type == JobType.DISCOVERY else f"{counts.summary.type} job"
    console.print(f"{what} {job.id} {job.name}: {job.state}{reason}, {duration(progress.elapsed_s)}", markup=False)
    if storage := storage_text(counts.summary.surroundings):
        console.print(f"storage: {storage}", markup=False, soft_wrap=True)
    if counts.summary.type == JobType.DISCOVERY:
        console.print(f"dates that note no zone: {job.options.time_zone}", markup=False)
    for line in progress.waiting:
        console.print(f"waiting: {line}", markup=False, soft_wrap=True)
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
    if job.options.production.asked:
        choice = job.options.production
        console.print(f"\n{progress.items:,} items taken, written to {choice.out}", markup=False)
        return
    children = counts.children
    console.print(
        f"\n{counts.items:,} items, {counts.loose_files:,} of them loose files; {counts.containers:,} containers:"
        f" {children.expected:,} children expected = {children.emitted:,} emitted + {children.failed:,} failed"
    )
    for violation in counts.violations:
        console.print(f"DOES NOT ADD UP: {violation.line()}", markup=False)
