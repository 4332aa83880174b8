"""The summaries of jobs: the result of `discover`, storage calls, bytes over the wire."""

from __future__ import annotations

from collections.abc import Mapping

from rich.console import Console
from rich.table import Table
from rich.text import Text

from cli.output import bytes_text, micros_text, table
from controller.jobs.figures import (
    Calls,
    Figures,
    FilerFigures,
    GroupFigures,
    JobFigures,
    ProductionFigures,
    TraceFigures,
    production_lines,
)
from controller.jobs.progress import duration
from controller.labels.rules import DOMINATED_MARK, advice_on
from controller.observe.call_time import CallTimeFigures
from controller.observe.io_kinds import IoFigures, IoKind
from controller.observe.wire import WireShare, WireShares
from core.texts import many


def show_result(console: Console, figures: Figures) -> None:
    """Print the summary of `discover`."""
    grid = Table.grid(padding=(0, 2))
    for name, value in [*_filer_rows(figures.filer), *_result_rows(figures), *_wire_rows(figures.wire)]:
        grid.add_row(name, Text(value))
    console.print(grid)
    if figures.exceptions:
        console.print()
        rows = sorted(figures.exceptions.items(), key=lambda pair: (-pair[1], pair[0]))
        console.print(table(("exception", "number"), rows, right=(1,)))
    if figures.calls:
        console.print()
        console.print(calls_table(figures.calls))
    for line in figures.violations:
        console.print(f"DOES NOT ADD UP: {line}")


def _filer_rows(filer: FilerFigures | None) -> list[tuple[str, str]]:
    """Rows that state first that this was no real storage."""
    if filer is None:
        return []
    stations = ", ".join(
        f"{name} {of.utilisation:.0%} busy, mean wait {of.mean_wait_us / 1e3:.1f} ms"
        for name, of in (filer.stations or {}).items()
    )
    rows = [("EMULATED FILER", f"{filer.name}, scale 1/{filer.scale:g}")]
    return [*rows, ("stations", stations), *_filer_ops_rows(filer)] if stations else rows


def _filer_ops_rows(filer: FilerFigures) -> list[tuple[str, str]]:
    """Filer ops of the calls, and their rate over the time in which there were calls; older results have none."""
    ops = sum(of.filer_ops or 0.0 for of in (filer.stations or {}).values())
    return [("filer ops", f"{ops:,.0f}, {ops / filer.seconds:,.0f} a second")] if ops and filer.seconds else []


def _wire_rows(wire: WireShares | None) -> list[tuple[str, str]]:
    """A row with wire-read ÷ call-read, if NFS was read."""
    if wire is None or wire.total.ratio is None:
        return []
    parts = ", ".join(f"{phase} {share.ratio:.2f}" for phase, share in wire.phases.items() if share.ratio is not None)
    return [("wire", f"wire-read ÷ call-read {wire.total.ratio:.2f}" + (f" ({parts})" if parts else ""))]


def _result_rows(of: Figures) -> list[tuple[str, str]]:
    made = of.production if isinstance(of, JobFigures) else None
    phases = ", ".join(f"{name} {seconds:.1f} s" for name, seconds in of.phases.items())
    return [
        *([("type", of.type)] if isinstance(of, JobFigures) and made is not None else []),
        ("state", of.state + (f" ({of.reason})" if of.reason else "")),
        *([("storage", of.storage_is)] if of.storage_is else []),
        ("elapsed", f"{_elapsed(of)} ({phases}){_longest(of)}" if phases else "0 s"),
        *(_found_rows(of) if made is None else _produced_rows(of, made)),
        *call_time_rows(of.call_time),
        *io_rows(of.io),
        *([("passwords", f"{of.passwords.count:,}, bank {of.passwords.digest[:8]}")] if of.passwords.count else []),
        *([("ocr", f"tesseract, {of.ocr.languages}, at most {many(of.ocr.pages, 'page')} an item")] if of.ocr else []),
        *((str(job.database), _job_text(job)) for job in of.each if job is not of),
        *(("trace", trace_text(job.trace)) for job in of.each if job.trace is not None),
        ("labels", "; ".join(of.labels)),
        *(("what to do", line) for line in advice_on(of.labels)),
        *(("bound", outcome.line) for outcome in of.bounds),
    ]


def _produced_rows(of: Figures, made: ProductionFigures) -> list[tuple[str, str]]:
    """Rows for a job that takes the items of others."""
    return [
        ("items", f"{of.items:,}, {of.items_per_second:,.0f} a second"),
        *production_lines(made),
        ("written", f"{bytes_text(of.discovered_bytes)}, {of.gb_per_hour_discovered:.1f} GB/hour"),
        *((each.kind, f"{many(each.files, 'file')}, {bytes_text(each.bytes)}") for each in made.files),
        ("output", made.out),
        ("run with", f"{of.workers} x {many(of.slots, 'slot')}, fsync {of.fsync}"),
    ]


def _found_rows(of: Figures) -> list[tuple[str, str]]:
    """Rows for a discovery."""
    children = of.children
    sound = not of.violations and children.expected == children.emitted + children.failed
    passes = "two-pass" if of.passes == 2 else "single-pass"
    expansion = f", expansion {of.expansion:.2f}" if of.expansion else ""
    return [
        ("raw", f"{bytes_text(of.raw_bytes)}, {of.gb_per_hour_raw:.1f} GB/hour"),
        ("discovered", f"{bytes_text(of.discovered_bytes)}, {of.gb_per_hour_discovered:.1f} GB/hour{expansion}"),
        ("items", f"{of.items:,}, {of.items_per_second:,.0f} a second"),
        (
            "children",
            f"{children.expected:,} expected = {children.emitted:,} emitted + {children.failed:,} failed"
            f" in {many(of.containers, 'container')}: {'adds up' if sound else 'DOES NOT ADD UP'}",
        ),
        ("index", f"{bytes_text(of.index_bytes)}{_written(of)}, {of.index_engine}"),
        ("run with", f"{of.workers} x {many(of.slots, 'slot')}, {passes}, fsync {of.fsync}"),
        *([("distribution", str(of.distribution))] if of.distribution and of.distribution.chosen else []),
    ]


def _elapsed(of: Figures) -> str:
    return ", ".join(filter(None, (duration(of.elapsed_s), of.elapsed_note)))


def _written(of: Figures) -> str:
    """Bytes written for the index; they are load on the storage and not part of the index's size."""
    return f" ({bytes_text(of.index_written_bytes)} written)" if of.index_written_bytes else ""


def _longest(of: Figures) -> str:
    """The elapsed time of a group's longest job, which report R1 calls elapsed."""
    if not isinstance(of, GroupFigures):
        return ""
    rate = of.gb_per_hour_discovered_longest_job
    return f" start to end; longest job {duration(of.longest_job_s)}, {rate:.1f} GB/hour discovered over that"


def trace_text(trace: TraceFigures) -> str:
    """A job's trace in one line."""
    lost = f", {trace.lost:,} more are lost" if trace.lost else ""
    return f"{trace.path} ({bytes_text(trace.bytes)}, {many(trace.calls, 'call')}{lost})"


def _job_text(job: JobFigures) -> str:
    return (
        f"{job.state}, {duration(job.elapsed_s)}, discovered {bytes_text(job.discovered_bytes)},"
        f" {job.gb_per_hour_discovered:.1f} GB/hour, job {job.job_id}"
    )


def calls_table(calls: Mapping[str, Calls]) -> Table:
    """A table of calls by op and class of size; it marks percentiles that are dominated by waiting for a core."""
    rows: list[tuple[object, ...]] = []
    for op, c in calls.items():
        rows.append((op, c.count, bytes_text(c.bytes), c.errors, _percentile(c, "p50"), _percentile(c, "p99")))
        rows += [
            (f"  {size}", of.count, "", "", micros_text(of.p50_us), micros_text(of.p99_us))
            for size, of in c.sizes.items()
        ]
    shown = table(("call", "number", "bytes", "errors", "p50 µs", "p99 µs"), rows, right=(1, 2, 3, 4, 5))
    if any(c.processor for c in calls.values()):
        shown.caption = f"{DOMINATED_MARK} more than half is waiting for a core"
    return shown


def _percentile(call: Calls, name: str) -> str:
    return micros_text(getattr(call, f"{name}_us")) + (DOMINATED_MARK if name in call.processor else "")


def call_time_rows(time: CallTimeFigures | None) -> list[tuple[str, str]]:
    """A row on how the time inside storage calls was spent."""
    if time is None or not time.call_s:
        return []
    service, processor = time.service_s / time.call_s, time.processor_s / time.call_s
    queue = "" if time.queue_s is None else f", {time.queue_s / time.call_s:.0%} in the filer's queues"
    about = "" if time.exact else "about "
    shares = f"{service:.0%} service{queue}, {about}{processor:.0%} waiting for a core"
    return [("in calls", f"{time.call_s:,.1f} s over all slots: {shares}")]


def io_rows(io: IoFigures | None) -> list[tuple[str, str]]:
    """A row with the share and the kinds of I/O that are not recorded; none if that is unknown."""
    if io is None or io.unrecorded_share is None:
        return []
    rest = [kind for kind in io.kinds if not kind.recorded]
    counted = ", ".join(f"{kind.kind} {bytes_text(kind.bytes)}" for kind in rest if _is_counted(kind))
    others = ", ".join(kind.kind for kind in rest if not _is_counted(kind))
    share = f"{io.unrecorded_share:.0%} of the known bytes are not recorded: {counted or 'none'}"
    return [("I/O", share + (f"; not counted: {others}" if others else ""))]


def _is_counted(kind: IoKind) -> bool:
    return kind.read_bytes is not None or kind.written_bytes is not None


def show_wire(console: Console, wire: WireShares) -> None:
    """Print a line for each phase and the total."""
    rows = [(phase.value, *_cells(share)) for phase, share in wire.phases.items()]
    rows.append(("whole job", *_cells(wire.total)))
    console.print()
    console.print(table(("read in", "by calls", "over the wire", "wire ÷ call", ""), rows, right=(1, 2, 3)))
    hosts = len({source.partition(":")[0] for source in wire.sources})
    console.print(
        f"wire: NFS mounts of {many(hosts, 'host')}, with reads of all programs; well below 1, a "
        "client's cache answered"
    )
    if wire.other_jobs:
        console.print(
            f"wire: {many(wire.other_jobs, 'other job')} ran meanwhile; these figures may include their reads"
        )


def _cells(share: WireShare) -> tuple[str, str, str, str]:
    ratio = "" if share.ratio is None else f"{share.ratio:.2f}"
    return bytes_text(share.call_read_bytes), bytes_text(share.wire_read_bytes), ratio, share.why or ""
