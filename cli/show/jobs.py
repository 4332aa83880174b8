"""Tables for people: a job's result, its counts, the list of jobs."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Mapping

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from cli.output import bytes_text
from cli.show.calls import call_time_rows, calls_table, io_rows
from cli.show.table import table
from controller.browse.counts import JobCounts
from controller.jobs.figures import Figures, FilerFigures, GroupFigures, JobFigures, TraceFigures
from controller.jobs.groups.progress import group_state
from controller.jobs.rates import duration
from controller.labels.advice import advice_on
from controller.observe.wire import WireShares
from core.names import display_name
from sql.groups import GroupRow
from sql.jobs import JobSummary
from sql.session import Database


def show_result(console: Console, figures: Figures) -> None:
    """The summary that `discover` prints."""
    grid = Table.grid(padding=(0, 2))
    for name, value in [*_filer_rows(figures.filer), *_result_rows(figures), *_wire_rows(figures.wire)]:
        grid.add_row(name, escape(value))
    console.print(grid)
    if figures.exceptions:
        console.print()
        rows = sorted(figures.exceptions.items(), key=lambda pair: (-pair[1], pair[0]))
        console.print(table(("exception", "number"), rows, right=(1,)))
    if figures.calls:
        console.print()
        console.print(calls_table(figures.calls))
    for line in figures.violations:
        console.print(f"DOES NOT ADD UP: {line}", markup=False)


def _filer_rows(filer: FilerFigures | None) -> list[tuple[str, str]]:
    """First of all that this was no real storage."""
    if filer is None:
        return []
    stations = ", ".join(
        f"{name} {of.utilisation:.0%} busy, mean wait {of.mean_wait_us / 1e3:.1f} ms"
        for name, of in (filer.stations or {}).items()
    )
    rows = [("EMULATED FILER", f"{filer.name}, scale 1/{filer.scale:g}")]
    return [*rows, ("stations", stations)] if stations else rows


def _wire_rows(wire: WireShares | None) -> list[tuple[str, str]]:
    """Wire-read ÷ call-read, where NFS was read."""
    if wire is None or wire.total.ratio is None:
        return []
    parts = ", ".join(f"{phase} {share.ratio:.2f}" for phase, share in wire.phases.items() if share.ratio is not None)
    return [("wire", f"wire-read ÷ call-read {wire.total.ratio:.2f}" + (f" ({parts})" if parts else ""))]


def _result_rows(of: Figures) -> list[tuple[str, str]]:
    children = of.children
    sound = not of.violations and children.expected == children.emitted + children.failed
    phases = ", ".join(f"{name} {seconds:.1f} s" for name, seconds in of.phases.items())
    passes = "two-pass" if of.passes == 2 else "single-pass"
    expansion = f", expansion {of.expansion:.2f}" if of.expansion else ""
    discovered = f"{bytes_text(of.discovered_bytes)}, {of.gb_per_hour_discovered:.1f} GB/hour{expansion}"
    bank, ocr = of.passwords, of.ocr
    return [
        ("state", of.state + (f" ({of.reason})" if of.reason else "")),
        ("elapsed", f"{duration(of.elapsed_s)} ({phases}){_longest(of)}" if phases else "0 s"),
        ("raw", f"{bytes_text(of.raw_bytes)}, {of.gb_per_hour_raw:.1f} GB/hour"),
        ("discovered", discovered),
        ("items", f"{of.items:,}, {of.items_per_second:,.0f} a second"),
        (
            "children",
            f"{children.expected:,} expected = {children.emitted:,} emitted + {children.failed:,} failed"
            f" in {of.containers:,} containers: {'adds up' if sound else 'DOES NOT ADD UP'}",
        ),
        ("index", f"{bytes_text(of.index_bytes)}{_written(of)}, {of.index_engine}"),
        ("run with", f"{of.workers} x {of.slots} slots, {passes}, fsync {of.fsync}"),
        *call_time_rows(of.call_time),
        *io_rows(of.io),
        *([("passwords", f"{bank.count:,}, bank {bank.digest[:8]}")] if bank.count else []),
        *([("ocr", f"tesseract, {ocr.languages}, at most {ocr.pages:,} pages an item")] if ocr else []),
        *((str(job.database), _job_text(job)) for job in of.each if job is not of),
        *(("trace", trace_text(job.trace)) for job in of.each if job.trace is not None),
        ("labels", "; ".join(of.labels)),
        *(("what to do", line) for line in advice_on(of.labels)),
    ]


def _written(of: Figures) -> str:
    """Storage is loaded with this, and the index is not larger by it."""
    return f" ({bytes_text(of.index_written_bytes)} written)" if of.index_written_bytes else ""


def _longest(of: Figures) -> str:
    """Of a group: what report R1 takes for elapsed."""
    if not isinstance(of, GroupFigures):
        return ""
    rate = of.gb_per_hour_discovered_longest_job
    return f" start to end; longest job {duration(of.longest_job_s)}, {rate:.1f} GB/hour discovered over that"


def trace_text(trace: TraceFigures) -> str:
    """A job's trace in one line."""
    lost = f", {trace.lost:,} more are lost" if trace.lost else ""
    return f"{trace.path}, {bytes_text(trace.bytes)}, {trace.calls:,} calls{lost}"


def _job_text(job: JobFigures) -> str:
    return (
        f"{job.state}, {duration(job.elapsed_s)}, discovered {bytes_text(job.discovered_bytes)},"
        f" {job.gb_per_hour_discovered:.1f} GB/hour, job {job.job_id}"
    )


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
            rows.append((group.id, group.name, "", state, "", created, f"group of {len(group.members)}, {group.kind}"))
            rows += [_job_row(d, s, indent="  ") for d, s in members]
    return table(("job", "name", "database", "state", "phase", "created (UTC)", "reason"), rows, whole=(0, 3))


def _job_row(database: Database, s: JobSummary, indent: str = "") -> tuple[object, ...]:
    created = f"{s.created_at:%Y-%m-%d %H:%M:%S}"
    return f"{indent}{s.job.id}", s.job.name, database.name, s.job.state, s.job.phase, created, s.job.reason or ""


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
    console.print(f"job {job.id} {job.name}: {job.state}{reason}, {duration(progress.elapsed_s)}", markup=False)
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
    children = counts.children
    console.print(
        f"\n{counts.items:,} items, {counts.loose_files:,} of them loose files; {counts.containers:,} containers:"
        f" {children.expected:,} children expected = {children.emitted:,} emitted + {children.failed:,} failed"
    )
    for violation in counts.violations:
        console.print(f"DOES NOT ADD UP: {violation.line()}", markup=False)
