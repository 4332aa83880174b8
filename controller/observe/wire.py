"""Wire-read ÷ call-read by phase: how much of what a job read came from the filer, and not from a client's cache.

Calls are counted by phase, exactly. Wire counters are each host's own, once a second, and do not know phases: a phase's
share is their growth between its start and its end, with the growth within a second divided evenly. So a phase of less
than two seconds has no ratio, nor has one that overlaps another phase of its group. Reads of other programs over the
same mount are included in the wire's bytes; `other_jobs` counts our other jobs at that time."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated

from pydantic import AfterValidator

from controller.databases import JobHandle
from controller.timeline.readings import Counter
from core.document import Document, Milli, NotNone
from core.operations import Op
from core.records import PHASES, Phase
from sql.figures import FIGURES, WireReading

SHORTEST_SECONDS = 2.0


class WireShare(Document):
    """Bytes of one phase, or of the whole job; `ratio` is None if it is unknown, and `why` is the reason."""

    seconds: Milli
    call_read_bytes: int
    wire_read_bytes: int
    ratio: Annotated[float | None, AfterValidator(lambda ratio: ratio and round(ratio, 4))]
    why: Annotated[str | None, NotNone] = None


class WireShares(Document):
    """Shares of the whole and by phase, and the sources (a superblock of a host each) that were counted."""

    total: WireShare
    phases: dict[Phase, WireShare]
    sources: tuple[str, ...]
    other_jobs: int


@dataclass(slots=True)
class WireReads:
    """Wire reads of the mounts that have the storage root or a source."""

    counters: Mapping[str, Counter]  # by source

    def between(self, start: float, finish: float) -> float:
        """Return the bytes read in that time (epoch seconds), over all hosts."""
        return sum(counter.grown(start, finish)[0] for counter in self.counters.values())


def wire_reads(handles: Sequence[JobHandle], first: float, last: float) -> WireReads:
    """Return the wire reads of the mounts under these jobs around that time; empty if nothing is mounted over NFS."""
    places = [os.fsdecode(handle.job.source) for handle in handles]
    rows: dict[tuple[str, int], WireReading] = {}
    for handle in handles:
        with handle.database.transaction() as conn:
            observed = FIGURES.wire_reads(conn, first=int(first), last=int(last))
            rows |= {(row.source, row.second): row for row in observed}
    wanted = {row.source for row in rows.values() if row.storage}
    points = {(row.source, point) for row in rows.values() for point in row.points or ()}
    for path in places:
        wanted |= _under(path, points)
    readings: dict[str, list[tuple[int, float]]] = {}
    for (source, second), row in sorted(rows.items()):
        if source in wanted:
            readings.setdefault(source, []).append((second, row.read_bytes))
    # A reading is from some moment of its second: for spans of a few seconds the middle gives the smallest error.
    return WireReads({source: Counter(observed, taken=0.5) for source, observed in readings.items()})


def _under(path: str, points: set[tuple[str, str]]) -> set[str]:
    """Return the sources that have a path: on each host that of the longest mount point above it."""
    best: dict[str, tuple[int, str]] = {}
    for source, point in points:
        if path == point or path.startswith(point.rstrip("/") + "/"):
            host = source.partition(":")[0]
            best[host] = max(best.get(host, (0, "")), (len(point), source))
    return {source for _, source in best.values()}


def wire_shares(handles: Sequence[JobHandle]) -> WireShares | None:
    """Return wire-read ÷ call-read of a job or of a group's jobs together; None if nothing was read over NFS mounts.
    Raises DatabaseFault."""
    windows: dict[Phase, list[tuple[float, float]]] = {}
    calls = dict.fromkeys(PHASES, 0)
    for handle in handles:
        with handle.database.transaction() as conn:
            for row in FIGURES.phase_times(conn, job=handle.id):
                windows.setdefault(Phase(row.phase), []).append((row.start, row.finish))
            for phase, moved in FIGURES.bytes_by_phase(conn, job=handle.id, op=int(Op.READ)).items():
                calls[phase] += moved
    if not windows:
        return None
    whole = {phase: (min(a for a, _ in spans), max(b for _, b in spans)) for phase, spans in windows.items()}
    first, last = min(a for a, _ in whole.values()), max(b for _, b in whole.values())
    reads = wire_reads(handles, first, last)
    if not reads.counters:
        return None
    return WireShares(
        phases={phase: _share(phase, whole, calls[phase], reads) for phase in PHASES if phase in whole},
        total=_ratio(first, last, sum(calls.values()), reads),
        sources=tuple(reads.counters),
        other_jobs=_others(handles, first, last),
    )


def _share(phase: Phase, whole: Mapping[Phase, tuple[float, float]], calls: int, reads: WireReads) -> WireShare:
    start, finish = whole[phase]
    others = [span for other, span in whole.items() if other is not phase]
    if any(start < b and a < finish for a, b in others):
        return _ratio(start, finish, calls, reads, why="another phase of the group ran at the same time")
    return _ratio(start, finish, calls, reads)


def _ratio(start: float, finish: float, calls: int, reads: WireReads, *, why: str | None = None) -> WireShare:
    wire = round(reads.between(start, finish))
    if why is None and finish - start < SHORTEST_SECONDS:
        why = f"shorter than {SHORTEST_SECONDS:.0f} s"
    if why is None and not calls:
        why = "nothing was read by calls"
    ratio = wire / calls if why is None else None
    return WireShare(seconds=finish - start, call_read_bytes=calls, wire_read_bytes=wire, ratio=ratio, why=why)


def _others(handles: Sequence[JobHandle], first: float, last: float) -> int:
    jobs = [str(handle.id) for handle in handles]
    others = 0
    for database in {handle.database.name: handle.database for handle in handles}.values():
        others += database.ask(FIGURES.jobs_meanwhile, jobs=jobs, first=first, last=last)
    return others
