"""Storage calls as people see them: by op, what the time inside them was, and what is not among them."""

from __future__ import annotations

from collections.abc import Mapping

from rich.table import Table

from cli.output import bytes_text, micros_text
from cli.show.table import table
from controller.jobs.figures import Calls
from controller.observe.call_time import MARK, CallTimeFigures
from controller.observe.io_kinds import IoFigures, IoKind


def calls_table(calls: Mapping[str, Calls]) -> Table:
    """By op, and under it by class of size; percentiles that waiting for a processor dominates are marked."""
    rows: list[tuple[object, ...]] = []
    for op, c in calls.items():
        rows.append((op, c.count, bytes_text(c.bytes), c.errors, _percentile(c, "p50"), _percentile(c, "p99")))
        rows += [
            (f"  {size}", of.count, "", "", micros_text(of.p50_us), micros_text(of.p99_us))
            for size, of in c.sizes.items()
        ]
    shown = table(("call", "number", "bytes", "errors", "p50 µs", "p99 µs"), rows, right=(1, 2, 3, 4, 5))
    if any(c.processor for c in calls.values()):
        shown.caption = f"{MARK} more than half of it is waiting for a processor"
    return shown


def _percentile(call: Calls, name: str) -> str:
    return micros_text(getattr(call, f"{name}_us")) + (MARK if name in call.processor else "")


def call_time_rows(time: CallTimeFigures | None) -> list[tuple[str, str]]:
    """What the time inside storage calls was."""
    if time is None or not time.call_s:
        return []
    service, processor = time.service_s / time.call_s, time.processor_s / time.call_s
    queue = "" if time.queue_s is None else f", {time.queue_s / time.call_s:.0%} in the filer's queues"
    about = "" if time.exact else "about "
    said = f"{service:.0%} service{queue}, {about}{processor:.0%} waiting for a processor"
    return [("in calls", f"{time.call_s:,.1f} s over all slots: {said}")]


def io_rows(io: IoFigures | None) -> list[tuple[str, str]]:
    """How much of what is read and written is not recorded, and which; nothing where that is not known."""
    if io is None or io.unrecorded_share is None:
        return []
    rest = [kind for kind in io.kinds if not kind.recorded]
    counted = ", ".join(f"{kind.kind} {bytes_text(kind.bytes)}" for kind in rest if _is_counted(kind))
    others = ", ".join(kind.kind for kind in rest if not _is_counted(kind))
    share = f"{io.unrecorded_share:.0%} of the bytes that are known are not recorded: {counted or 'none'}"
    return [("I/O", share + (f"; not counted: {others}" if others else ""))]


def _is_counted(kind: IoKind) -> bool:
    return kind.read_bytes is not None or kind.written_bytes is not None
