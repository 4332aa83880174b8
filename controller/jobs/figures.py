"""A job's figures: `discover --json` writes them, its summary shows them, an experiment keeps them for each run."""

from __future__ import annotations

import operator
import uuid
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any, Self

from pydantic import Field

from controller.jobs.distribution import Distribution
from controller.jobs.groups import group_state
from controller.jobs.progress import GB, gb_per_hour, per_second
from controller.observe.call_time import CallTimeFigures
from controller.observe.io_kinds import IoFigures
from controller.observe.wire import WireShares
from core.bounds import Outcome
from core.document import Document, Milli, NotNone
from core.job_types import JobType
from core.records import BankNote, FsyncPolicy, GroupKind, JobState, Layout, OcrChoice, Phase
from core.texts import many

if TYPE_CHECKING:
    from monitoring.aggregate import CallTotals

_SUMMED = ("raw_bytes", "discovered_bytes", "index_bytes", "index_written_bytes", "items", "containers", "frames_lost")  # fmt: skip
_COMMON = ("workers", "slots", "index_engine", "passes", "fsync", "layout", "filer", "passwords", "ocr", "storage", "versions", "distribution")  # fmt: skip


class SizedCalls(Document):
    """Storage calls of one op that moved bytes of one class of size; latencies in microseconds."""

    count: int
    p50_us: Milli
    p99_us: Milli


class Calls(Document):
    """Storage calls of one op; latencies in microseconds."""

    count: int
    bytes: int
    errors: int
    p50_us: Milli
    p99_us: Milli
    max_us: Milli
    processor: tuple[str, ...] = ()  # the percentiles that waiting for a CPU dominates
    # By class (core.operations); calls that moved nothing are in none.
    sizes: dict[str, SizedCalls] = Field(default={}, exclude_if=operator.not_)


def calls_figures(calls: Mapping[str, CallTotals], times: CallTimeFigures | None = None) -> dict[str, Calls]:
    """Return the figures of calls by op."""
    dominated = {} if times is None else times.dominated
    return {op: Calls(count=c.calls, bytes=c.bytes, errors=c.errors, p50_us=c.p50_us, p99_us=c.p99_us, max_us=c.max_us,
                      processor=tuple(dominated.get(op, ())), sizes=_sized(c))
            for op, c in calls.items()}  # fmt: skip


def _sized(totals: CallTotals) -> dict[str, SizedCalls]:
    return {size: SizedCalls(count=of.calls, p50_us=of.p50_us, p99_us=of.p99_us) for size, of in totals.sizes.items()}


class ChildTotals(Document):
    """Children over all containers; expected must be emitted and failed together."""

    expected: int
    emitted: int
    failed: int


class Station(Document):
    """One station of an emulated filer while there were calls."""

    utilisation: float
    mean_wait_us: float
    calls: int
    filer_ops: Annotated[float | None, NotNone] = None  # that the calls caused there; absent in older results


class FilerFigures(Document):
    """The emulated filer, with figures of its stations if these were observed (controller.filer)."""

    name: str
    scale: float
    seconds: Annotated[float | None, NotNone] = None
    stations: Annotated[dict[str, Station] | None, NotNone] = None
    misses: Annotated[dict[str, int | float] | None, NotNone] = None
    # Reads that clients' caches answered whole, and bytes of all.
    cached: Annotated[dict[str, int] | None, NotNone] = None
    series: Annotated[list[tuple[float, dict[str, Station]]] | None, NotNone] = None


class TraceFigures(Document):
    """The trace of a job."""

    path: str
    bytes: int
    calls: int
    lost: int  # calls that are missing from it
    nodes: int


class ProducedFiles(Document):
    """Files of one kind that a job wrote below its output directory."""

    kind: str
    files: int
    bytes: int


class ProductionFigures(Document):
    """Figures of a job that takes the items of others; its `discovered_bytes` are the bytes that it wrote."""

    out: str
    sources: list[uuid.UUID]
    items: int
    chosen: int = Field(
        description="Items that were chosen: produced, withheld, duplicates, system files and containers together."
    )
    withhold: list[str] = Field([], description="Tags whose items were withheld, with their families.")
    withheld: int = Field(0, description="Chosen items that were withheld.")
    copies: int = Field(0, description="Of the remaining ones, items that were omitted as duplicates (`originals`).")
    system_files: int = Field(
        0, description="Of the remaining ones, items that were omitted as system files (`not_nist`)."
    )
    containers: int = Field(0, description="Chosen containers; their content is produced only if it was chosen itself.")
    left_out: int = Field(
        0,
        description="For an export of pages: duplicates without pages that are not produced, because their original was withheld later.",
    )
    tag_changes: int = Field(0, description="Number of changes, since its creation, of tags that it selects by.")
    equal: int = Field(
        0, description="Produced items that are duplicates, by bytes or as messages, of an item with such a tag."
    )
    files: list[ProducedFiles]


def production_lines(made: ProductionFigures) -> list[tuple[str, str]]:
    """Return the numbers of items that the production chose and did not take, with the reason, then the warnings; each
    line with a label."""
    withheld = f"{many(made.withheld, 'item')}: tag {', '.join(made.withhold)}, with families"
    known = (
        ("chosen", True, f"{many(made.chosen, 'item')}, {made.items:,} of them produced"),
        ("withheld", made.withhold, withheld),
        ("copies", made.copies, f"{many(made.copies, 'item')}, omitted as duplicates"),
        ("system files", made.system_files, f"{many(made.system_files, 'item')}, omitted"),
        ("containers", made.containers, f"{made.containers:,}: their content is produced only if it was chosen itself"),
    )
    return [(name, line) for name, there, line in known if there] + production_warnings(made)


def production_warnings(made: ProductionFigures) -> list[tuple[str, str]]:
    """Return the lines that a user must read before handing out the production."""
    known = (
        (
            "left out",
            made.left_out,
            f"{many(made.left_out, 'duplicate')} without pages, whose original is withheld; `edbench produce images` makes pages "
            "of them",
        ),
        (
            "tags",
            made.tag_changes,
            f"changed {made.tag_changes:,} times since the items were chosen; the production ignores these changes",
        ),
        (
            "equal",
            made.equal,
            f"{made.equal:,} produced items are duplicates of an item with such a tag: tag them too, or use "
            "--originals",
        ),
    )
    return [(name, line) for name, there, line in known if there]


class Figures(Document):
    """Figures of a job, or of a group's jobs together; bytes are whole, times seconds, GB 10⁹ bytes."""

    job_id: uuid.UUID
    name: str
    source: str
    state: JobState
    reason: str | None
    workers: int
    slots: int
    index_engine: str
    passes: int
    fsync: FsyncPolicy
    layout: Layout
    elapsed_s: Milli
    raw_bytes: int
    discovered_bytes: int
    expansion: float | None
    index_bytes: int  # of the present index
    index_written_bytes: int = 0  # to publish it; 0: of a result from before this was recorded
    gb_per_hour_raw: Milli
    gb_per_hour_discovered: Milli
    items: int
    items_per_second: Milli
    items_per_gb_raw: int | None
    containers: int
    exceptions: dict[str, int]
    children: ChildTotals
    violations: list[str]
    phases: dict[Phase, Milli]
    disturbances: list[str]
    calls: dict[str, Calls]
    call_time: CallTimeFigures | None = None  # None: no call was recorded, or no worker reported readings
    io: IoFigures | None = None
    frames_lost: int
    calls_complete: bool
    storage: str
    storage_is: str = Field(
        "",
        description="Type, server and path of the storage under test when the job was created; also those of the source, if it is on another storage.",
    )
    elapsed_note: str = Field("", description="Pauses taken off elapsed, and suspensions in it; empty: none.")
    versions: dict[str, str]
    filer: FilerFigures | None
    passwords: BankNote
    ocr: OcrChoice | None
    wire: WireShares | None
    labels: list[str]
    distribution: Annotated[Distribution | None, NotNone] = None  # None: of a result from before this was recorded
    bounds: list[Outcome] = Field([], exclude_if=operator.not_, description="Outcomes of the bounds of --fail-if.")

    @property
    @abstractmethod
    def each(self) -> Sequence[JobFigures]:
        """The figures of each job."""

    def with_observed(self, seen: Mapping[str, Any]) -> Self:
        """Return these figures with those observed from outside: `filer`, and for a job its `trace`."""
        return type(self).model_validate({**dict(self), **seen})


class JobFigures(Figures):
    """Figures of one job."""

    span_s: tuple[float | None, float | None]  # first claim and end on its database's clock, since the epoch
    held_s: tuple[float, float] | None  # at a barrier
    database: Annotated[str | None, NotNone] = None  # of a group's job
    trace: Annotated[TraceFigures | None, NotNone] = None
    type: JobType = JobType.DISCOVERY
    production: Annotated[ProductionFigures | None, NotNone] = None

    @property
    def each(self) -> Sequence[JobFigures]:
        """The figures of this job alone."""
        return (self,)


class GroupFigures(Figures):
    """Figures of a group. `elapsed_s` is from the first claim of the first job to the end of the last, pauses included,
    less the time in which all were held at a barrier; rates are over that. Rates over the longest job's time are those
    of report R1."""

    group_id: uuid.UUID
    kind: GroupKind
    databases: int
    source_copies: int
    longest_job_s: Milli
    gb_per_hour_discovered_longest_job: Milli
    jobs: list[JobFigures]

    @property
    def each(self) -> Sequence[JobFigures]:
        """The figures of every job, in order."""
        return self.jobs


def rates(*, raw_bytes: int, discovered_bytes: int, items: int, seconds: float) -> dict[str, Any]:
    """Return the fields of Figures that follow from these sums."""
    return {
        "elapsed_s": seconds,
        "expansion": round(discovered_bytes / raw_bytes, 4) if raw_bytes else None,
        "gb_per_hour_raw": gb_per_hour(raw_bytes, seconds),
        "gb_per_hour_discovered": gb_per_hour(discovered_bytes, seconds),
        "items_per_second": per_second(items, seconds),
        "items_per_gb_raw": round(items / raw_bytes * GB) if raw_bytes else None,
    }


def merge(jobs: Sequence[JobFigures], **own: Any) -> GroupFigures:
    """Compute a group's figures from those of its jobs. `own` are the fields that do not follow from theirs: the
    group's identity, its calls (whose histograms are merged), its wire reads, and the labels of all its jobs
    together."""
    total = {key: sum(getattr(job, key) for job in jobs) for key in _SUMMED}
    longest = max(job.elapsed_s for job in jobs)
    sizes = {key: total[key] for key in ("raw_bytes", "discovered_bytes", "items")}
    exceptions: dict[str, int] = {}
    phases: dict[Phase, float] = {}
    for job in jobs:
        for code, number in job.exceptions.items():
            exceptions[code] = exceptions.get(code, 0) + number
        for phase, took in job.phases.items():
            phases[phase] = max(phases.get(phase, 0.0), took)
    return GroupFigures(
        **own,
        **total,
        **{key: getattr(jobs[0], key) for key in _COMMON},
        **rates(**sizes, seconds=_start_to_end(jobs) or longest),
        databases=len(jobs),
        state=group_state([job.state for job in jobs]),
        reason=next((job.reason for job in jobs if job.reason), None),
        longest_job_s=longest,
        gb_per_hour_discovered_longest_job=gb_per_hour(total["discovered_bytes"], longest),
        exceptions=exceptions,
        phases=phases,
        children=ChildTotals(
            **{key: sum(getattr(job.children, key) for job in jobs) for key in ChildTotals.model_fields}
        ),
        violations=[line for job in jobs for line in job.violations],
        disturbances=[*dict.fromkeys(line for job in jobs for line in job.disturbances)],
        calls_complete=all(job.calls_complete for job in jobs),
        jobs=list(jobs),
    )


def _start_to_end(jobs: Sequence[JobFigures]) -> float | None:
    """Return the seconds from first claim to last end, less the time in which all were held; None while a job has not
    ended."""
    starts, ends = [job.span_s[0] for job in jobs], [job.span_s[1] for job in jobs]
    if None in starts or None in ends:
        return None
    held = [job.held_s for job in jobs if job.held_s is not None]
    common = max(0.0, min(end for _, end in held) - max(start for start, _ in held)) if len(held) == len(jobs) else 0.0
    return max(filter(None, ends)) - min(filter(None, starts)) - common
