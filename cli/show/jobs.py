"""Tables for people: a job's result, its counts, the list of jobs."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Mapping
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from cli.output import bytes_text, micros_text
from cli.show.table import table
from controller.browse.counts import JobCounts
from controller.jobs.groups.progress import group_state
from controller.jobs.rates import duration
from controller.labels.advice import advice_on
from controller.observe.call_time import MARK
from core.names import display_name
from sql.groups import GroupRow
from sql.jobs import JobSummary
from sql.session import Database


def show_result(console: Console, result: dict[str, Any]) -> None:
    """The summary that `discover` prints."""
    grid = Table.grid(padding=(0, 2))
    for name, value in [*_filer_rows(result), *_result_rows(result), *_wire_rows(result)]:
        grid.add_row(name, escape(value))
    console.print(grid)
    if result["exceptions"]:
        console.print()
        rows = sorted(result["exceptions"].items(), key=lambda pair: (-pair[1], pair[0]))
        console.print(table(("exception", "number"), rows, right=(1,)))
    if result["calls"]:
        console.print()
        console.print(calls_table(result["calls"]))
    for line in result["violations"]:
        console.print(f"DOES NOT ADD UP: {line}", markup=False)


def _filer_rows(result: dict[str, Any]) -> list[tuple[str, str]]:
    """First of all that this was no real storage."""
    filer = result.get("filer")
    if not filer:
        return []
    stations = ", ".join(
        f"{name} {of['utilisation']:.0%} busy, mean wait {of['mean_wait_us'] / 1e3:.1f} ms"
        for name, of in filer.get("stations", {}).items()
    )
    rows = [("EMULATED FILER", f"{filer['name']}, scale 1/{filer['scale']:g}")]
    return [*rows, ("stations", stations)] if stations else rows


def _wire_rows(result: dict[str, Any]) -> list[tuple[str, str]]:
    """Wire-read ÷ call-read, where NFS was read."""
    wire = result.get("wire")
    if not wire or wire["total"]["ratio"] is None:
        return []
    phases = {phase: share["ratio"] for phase, share in wire["phases"].items() if share["ratio"] is not None}
    parts = ", ".join(f"{phase} {ratio:.2f}" for phase, ratio in phases.items())
    return [("wire", f"wire-read ÷ call-read {wire['total']['ratio']:.2f}" + (f" ({parts})" if parts else ""))]


def _result_rows(result: dict[str, Any]) -> list[tuple[str, str]]:
    children = result["children"]
    sound = not result["violations"] and children["expected"] == children["emitted"] + children["failed"]
    phases = ", ".join(f"{name} {seconds:.1f} s" for name, seconds in result["phases"].items())
    passes = "two-pass" if result["passes"] == 2 else "single-pass"
    expansion = f", expansion {result['expansion']:.2f}" if result["expansion"] else ""
    return [
        ("state", result["state"] + (f" ({result['reason']})" if result["reason"] else "")),
        ("elapsed", f"{duration(result['elapsed_s'])} ({phases}){_longest(result)}" if phases else "0 s"),
        ("raw", f"{bytes_text(result['raw_bytes'])}, {result['gb_per_hour_raw']:.1f} GB/hour"),
        (
            "discovered",
            f"{bytes_text(result['discovered_bytes'])}, {result['gb_per_hour_discovered']:.1f} GB/hour{expansion}",
        ),
        ("items", f"{result['items']:,}, {result['items_per_second']:,.0f} a second"),
        (
            "children",
            f"{children['expected']:,} expected = {children['emitted']:,} emitted + {children['failed']:,} failed"
            f" in {result['containers']:,} containers: {'adds up' if sound else 'DOES NOT ADD UP'}",
        ),
        ("index", f"{bytes_text(result['index_bytes'])}, {result['index_engine']}"),
        ("run with", f"{result['workers']} x {result['slots']} slots, {passes}, fsync {result['fsync']}"),
        *_call_time_rows(result),
        *_io_rows(result),
        *_passwords_row(result),
        *_ocr_row(result),
        *_databases_rows(result),
        *_trace_rows(result),
        ("labels", "; ".join(result["labels"])),
        *(("what to do", line) for line in advice_on(result["labels"])),
    ]


def _longest(result: dict[str, Any]) -> str:
    """Of a group: what report R1 takes for elapsed."""
    if "longest_job_s" not in result:
        return ""
    rate = result["gb_per_hour_discovered_longest_job"]
    return f" start to end; longest job {duration(result['longest_job_s'])}, {rate:.1f} GB/hour discovered over that"


def _passwords_row(result: dict[str, Any]) -> list[tuple[str, str]]:
    """How many passwords were tried on encrypted items, and of which bank."""
    bank = result.get("passwords")
    return [("passwords", f"{bank['count']:,}, bank {bank['digest'][:8]}")] if bank and bank["count"] else []


def _ocr_row(result: dict[str, Any]) -> list[tuple[str, str]]:
    """What was read out of pictures."""
    ocr = result.get("ocr")
    return [("ocr", f"tesseract, {ocr['languages']}, at most {ocr['pages']:,} pages an item")] if ocr else []


def _trace_rows(result: dict[str, Any]) -> list[tuple[str, str]]:
    """Where the trace of each job is that asked for one."""
    found = [job["trace"] for job in result.get("jobs", [result]) if "trace" in job]
    return [("trace", trace_text(trace)) for trace in found]


def trace_text(trace: Mapping[str, Any]) -> str:
    """A job's trace in one line."""
    lost = f", {trace['lost']:,} more are lost" if trace["lost"] else ""
    return f"{trace['path']}, {bytes_text(trace['bytes'])}, {trace['calls']:,} calls{lost}"


def _databases_rows(result: dict[str, Any]) -> list[tuple[str, str]]:
    """One line for each job of a group."""
    return [
        (
            job["database"],
            f"{job['state']}, {duration(job['elapsed_s'])}, discovered {bytes_text(job['discovered_bytes'])},"
            f" {job['gb_per_hour_discovered']:.1f} GB/hour, job {job['job_id']}",
        )
        for job in result.get("jobs", [])
    ]


def calls_table(calls: dict[str, dict[str, Any]]) -> Table:
    """Storage calls by op."""
    rows = [
        (op, c["count"], bytes_text(c["bytes"]), c["errors"], *(_percentile(c, name) for name in ("p50", "p99")))
        for op, c in calls.items()
    ]
    found = table(("call", "number", "bytes", "errors", "p50 µs", "p99 µs"), rows, right=(1, 2, 3, 4, 5))
    if any(c.get("processor") for c in calls.values()):
        found.caption = f"{MARK} more than half of it is waiting for a processor, as far as can be told"
    return found


def _percentile(call: Mapping[str, Any], name: str) -> str:
    """In microseconds, marked where the processor dominates it."""
    return micros_text(call[f"{name}_us"]) + (MARK if name in call.get("processor", ()) else "")


def _io_rows(result: Mapping[str, Any]) -> list[tuple[str, str]]:
    """How much of what is read and written is not recorded, and which; nothing where that is not known."""
    found = result.get("io")
    if not found or found["unrecorded_share"] is None:
        return []
    rest = [kind for kind in found["kinds"] if not kind["recorded"]]
    counted = [
        f"{kind['kind']} {bytes_text((kind['read_bytes'] or 0) + (kind['written_bytes'] or 0))}"
        for kind in rest
        if kind["read_bytes"] is not None or kind["written_bytes"] is not None
    ]
    others = [kind["kind"] for kind in rest if kind["read_bytes"] is None and kind["written_bytes"] is None]
    share = (
        f"{found['unrecorded_share']:.0%} of the bytes that are known are not recorded: {', '.join(counted) or 'none'}"
    )
    return [("I/O", share + (f"; not counted: {', '.join(others)}" if others else ""))]


def _call_time_rows(result: Mapping[str, Any]) -> list[tuple[str, str]]:
    """What the time inside storage calls was."""
    time = result.get("call_time")
    if not time or not time["call_s"]:
        return []
    part = {
        name: time[f"{name}_s"] / time["call_s"]
        for name in ("service", "queue", "processor")
        if time[f"{name}_s"] is not None
    }
    most = "" if time["exact"] else "about "
    queue = f", {part['queue']:.0%} in the filer's queues" if "queue" in part else ""
    said = f"{part['service']:.0%} service{queue}, {most}{part['processor']:.0%} waiting for a processor"
    return [("in calls", f"{time['call_s']:,.1f} s over all slots: {said}")]


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
