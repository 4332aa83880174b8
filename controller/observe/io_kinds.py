"""Every kind of I/O of a job: the recorded kinds, the others, and the related counters.

Bytes are None if nothing counts them. The kernel's counters of a disk or a mount include all programs on that host, and
no counter includes what its caches answer: so they are shown next to the kinds and not subtracted from one another."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence

from pydantic import AliasChoices, Field

from controller.databases import JobHandle
from controller.timeline.readings import counter, number
from core.document import Document
from core.job_types import JobType
from core.operations import Op
from monitoring.aggregate import CallTotals, step_for
from monitoring.observations import BLOCK, DATABASE, WIRE
from sql.connection import Connection
from sql.timeline import TIMELINE, Values

_POINTS = 600
_MARGIN_SECONDS = 5  # before and after a job: readings to grow from
Source = tuple[str, str]  # kind of observation, and its source
Moved = tuple[int, int]  # bytes read and written
_NOTHING = "nothing"
_BY_SERVERS = (
    "counters of the whole database server: pages read, temporary files and its log; pages written back are not counted"
)
_COUNTERS = {BLOCK: ("read_bytes", "write_bytes"), WIRE: ("read_bytes", "written_bytes")}


class IoKind(Document):
    """One kind of I/O; `when` and `counted_by` are text for people."""

    kind: str
    recorded: bool  # by the storage layer: in rates, latencies and traces, and delayed by an emulated filer
    read_bytes: int | None
    written_bytes: int | None
    when: str
    counted_by: str = Field(validation_alias=AliasChoices("counted_by", "told_by"))  # results of earlier versions

    @property
    def bytes(self) -> int:
        """The bytes of both directions, as far as they are known."""
        return (self.read_bytes or 0) + (self.written_bytes or 0)


class IoCounter(Document):
    """The kernel's counter of a disk or a mount."""

    kind: str
    source: str
    read_bytes: int
    written_bytes: int


class IoFigures(Document):
    """All kinds of a job's I/O; the share is of the known bytes, None if there are none."""

    kinds: list[IoKind]
    counters: list[IoCounter]
    unrecorded_share: float | None


def io_of(handles: Sequence[JobHandle], calls: Mapping[str, CallTotals], *, raw_bytes: int, copies: int) -> IoFigures:
    """Return the I/O of a job, or of a group's jobs together.
    `copies` of the source were made for them, of `raw_bytes` in all. Raises DatabaseFault."""
    with contextlib.ExitStack() as stack:
        jobs = [(stack.enter_context(handle.database.transaction()), handle) for handle in handles]
        databases = [_grown(conn, handle, [DATABASE]) for conn, handle in jobs]
        counters = _longest(_grown(conn, handle, list(_COUNTERS)) for conn, handle in jobs)
    read, written = (calls[op.label].bytes if op.label in calls else 0 for op in (Op.READ, Op.WRITE))
    moved = [pair for by_source in databases for pair in by_source.values()]
    of_servers = (sum(read for read, _ in moved), sum(written for _, written in moved)) if moved else None
    before, within, after = "before the measured time", "within elapsed", "after the end"
    there = (
        (_kind("calls of the job", (read, written), within, "the storage layer, per call", recorded=True), True),
        (_kind("databases", of_servers, within, _BY_SERVERS), True),
        (_kind("copies of the source", (raw_bytes, raw_bytes), before, "the sizes of the files"), copies > 1),
        (_kind("the controller's calls", None, f"before the first claim and {after}", _NOTHING), True),
        (
            _kind("memory-mapped reads of the index", None, f"{after}, by searches and verify", _NOTHING),
            all(h.job.options.type is JobType.DISCOVERY for h in handles),
        ),
        (_kind("trace parts", None, f"{within} and {after}", _NOTHING), any(h.job.options.trace for h in handles)),
    )
    kinds = [kind for kind, holds in there if holds]
    return IoFigures(
        kinds=kinds,
        counters=[
            IoCounter(kind=kind, source=source, read_bytes=read, written_bytes=written)
            for (kind, source), (read, written) in sorted(counters.items())
        ],
        unrecorded_share=unrecorded_share(kinds),
    )


def unrecorded_share(kinds: Iterable[IoKind]) -> float | None:
    """Return unrecorded bytes ÷ all bytes, of those that are known; None if there are none."""
    all_kinds = list(kinds)
    every = sum(kind.bytes for kind in all_kinds)
    return round(sum(kind.bytes for kind in all_kinds if not kind.recorded) / every, 4) if every else None


def _kind(kind: str, moved: Moved | None, when: str, counted_by: str, *, recorded: bool = False) -> IoKind:
    read, written = moved or (None, None)
    return IoKind(
        kind=kind, recorded=recorded, read_bytes=read, written_bytes=written, when=when, counted_by=counted_by
    )


def _longest(of_jobs: Iterable[dict[Source, Moved]]) -> dict[Source, Moved]:
    """Return the largest readings of each source. Every database has those of the hosts; the job that ran longest has
    most."""
    out: dict[Source, Moved] = {}
    for one in of_jobs:
        for source, moved in one.items():
            out[source] = max(moved, out.get(source, moved), key=sum)
    return out


def _grown(conn: Connection, handle: JobHandle, kinds: list[str]) -> dict[Source, Moved]:
    """Return the bytes read and written within a job's elapsed time, by kind and source."""
    out: dict[Source, Moved] = {}
    for start, end in _courses(conn, handle):
        for source, (read, written) in _grown_between(conn, kinds, start, end).items():
            before = out.get(source, (0, 0))
            out[source] = (before[0] + read, before[1] + written)
    return out


def _courses(conn: Connection, handle: JobHandle) -> Iterator[tuple[float, float]]:
    """Yield from when until when the job ran: from its first claim to its end without what elapsed leaves out, such as
    the time until it was requeued."""
    times = TIMELINE.timeline_job(conn, job=handle.id)
    if (start := times.started) is None:
        return
    for pause in TIMELINE.timeline_pauses(conn, job=handle.id):
        if pause.reason is None and pause.finished is not None:
            yield start, pause.started
            start = pause.finished
    yield start, times.finished or times.stopped or times.now


def _grown_between(conn: Connection, kinds: list[str], start: float, end: float) -> dict[Source, Moved]:
    """Return the growth of each source. Sources with fewer than two readings, or with older readings that lack these
    counters, are omitted."""
    low, high = math.floor(start) - _MARGIN_SECONDS, math.ceil(end) + _MARGIN_SECONDS
    where = {"step": step_for(low, high, _POINTS), "first": low + 10, "last": high - 10}
    by_source: dict[tuple[str, str], list[tuple[int, Values]]] = {}
    for row in TIMELINE.timeline_readings(conn, kinds=kinds, low=low, high=high, **where):
        by_source.setdefault((row.kind, row.source), []).append((row.second, row.values))
    out = {}
    for (kind, source), readings in by_source.items():
        grown = [counter(readings, number(key)).grown(start, end) for key in _COUNTERS.get(kind, _COUNTERS[BLOCK])]
        if all(seconds for _, seconds in grown):
            out[kind, source] = (round(grown[0][0]), round(grown[1][0]))
    return out
