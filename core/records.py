"""What passes between stages. Frozen, keyword-only; one sentence for each field that needs one."""

from __future__ import annotations

import dataclasses
import enum
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import msgspec

from core.batches import Limits as Limits
from core.options.choices import DEFAULT_ZONE as DEFAULT_ZONE
from core.options.choices import BankNote as BankNote
from core.options.choices import FilerChoice as FilerChoice
from core.options.choices import OcrChoice as OcrChoice
from core.options.choices import ReplayChoice as ReplayChoice
from core.options.production import JobType, Priority, ProductionChoice
from core.plain import surplus


class JobState(enum.StrEnum):
    """States of a job (design §3.5); the -ing ones last until nothing runs."""

    RUNNING = "running"
    PAUSING = "pausing"
    PAUSED = "paused"
    HELD = "held"  # stands at the barrier where `JobOptions.hold_before` says so, until it is let go
    CANCELLING = "cancelling"
    CANCELLED = "cancelled"
    SUSPENDED = "suspended"  # the system failed; `resume` once it is mended
    COMPLETED = "completed"
    COMPLETED_WITH_EXCEPTIONS = "completed_with_exceptions"
    DELETING = "deleting"  # its files and rows are going

    @property
    def over(self) -> bool:
        """No command can change it any more, except delete."""
        return self in (JobState.CANCELLED, JobState.COMPLETED, JobState.COMPLETED_WITH_EXCEPTIONS, JobState.DELETING)

    @property
    def completed(self) -> bool:
        """All its work was done, with exceptions or without."""
        return self in (JobState.COMPLETED, JobState.COMPLETED_WITH_EXCEPTIONS)


class GroupKind(enum.StrEnum):
    """What the jobs of a group share."""

    SIMULTANEOUS = "simultaneous"  # each is over the same data set
    SHARDED = "sharded"  # each is over some of the custodians, all of them together over the data set


class Phase(enum.StrEnum):
    """The phases that a job may have, in order; see JobOptions.phases."""

    WALK = "walk"
    EXPAND = "expand"
    INDEX = "index"
    OCR = "ocr"  # only where a job asks for it (JobOptions.phases)
    REPLAY = "replay"  # in place of all before it, in a job that replays a trace
    EXTRACT = "extract"  # of a job that extracts or exports: texts out of the index, in place of all before it
    RENDER = "render"  # of a job that processes: its pages counted …
    STAMP = "stamp"  # … and drawn, with the numbers that the barrier gave them
    EXPORT = "export"  # of a job that exports: natives, and pages that another job made
    FINALISE = "finalise"


PHASES: tuple[Phase, ...] = tuple(Phase)
_PRODUCING: Mapping[JobType, tuple[Phase, ...]] = {
    JobType.EXTRACTION: (Phase.EXTRACT, Phase.FINALISE),
    JobType.PROCESSING: (Phase.RENDER, Phase.STAMP, Phase.FINALISE),
    JobType.EXPORT: (Phase.EXTRACT, Phase.EXPORT, Phase.FINALISE),
}
PRODUCING_PHASES = frozenset(p for phases in _PRODUCING.values() for p in phases)
_OF_OTHERS = PRODUCING_PHASES - {Phase.FINALISE} | {Phase.REPLAY}


class TaskState(enum.StrEnum):
    """States of a task in the ledger."""

    HELD = "held"  # found by a claim that has not finished; pending once it has
    PENDING = "pending"
    DISPATCHED = "dispatched"  # a message was sent; pending again after its deadline
    RUNNING = "running"  # claimed by a slot under a lease
    DONE = "done"


class ExceptionLevel(enum.StrEnum):
    """Node: a container could not be opened fully, so items are missing. Item: this one item failed."""

    NODE = "node"
    ITEM = "item"


class FsyncPolicy(enum.StrEnum):
    """When written files are forced to stable storage; stated on every result."""

    NONE = "none"
    TASK = "task"
    FILE = "file"


class Layout(enum.StrEnum):
    """Directory layout of extracted children under `jobs/<job>/items/`."""

    SHARED = "shared"  # one fan-out tree for all workers
    PER_WORKER = "per-worker"


@dataclass(frozen=True, slots=True, kw_only=True)
class JobOptions:
    """What a job was created with; stored with it, so that every worker on every host agrees."""

    single_pass: bool = False
    index_engine: str = "tantivy"
    fsync: FsyncPolicy = FsyncPolicy.NONE
    layout: Layout = Layout.SHARED
    limits: Limits = field(default_factory=Limits)
    lease_seconds: float = 30.0  # a running task is pending again when its lease has run out
    dispatch_seconds: float = 60.0  # a dispatched task that nobody claimed is pending again after this
    batch_bytes: int = 32_000_000  # a task takes about this much …
    batch_files: int = 500  # … or this many items, whichever comes first
    split_bytes: int = 64_000_000  # containers above this are cut into ranges of about this much
    filer: FilerChoice = field(default_factory=FilerChoice)
    passwords: BankNote = field(default_factory=BankNote)
    trace: bool = False  # every call is kept (traces)
    ocr: OcrChoice = field(default_factory=OcrChoice)
    replay: ReplayChoice = field(default_factory=ReplayChoice)
    index_streams: int | None = (
        None  # so many tasks of phase index at a time at most, whatever slots there are; None: no limit
    )
    # Tasks of phase index are put together at its barrier until there are no more than so many; None: they stay as
    # phase expand made them. For data so small that a task's own share of the work would be most of it.
    index_tasks: int | None = None
    null: bool = False  # on null storage: what is published and read by no task again is discarded (decision 0049)
    hold_before: Phase | None = None  # the barrier into this phase is crossed only when whoever asked lets the job go
    priority: Priority = Priority.NORMAL
    time_zone: str = DEFAULT_ZONE  # of dates that note none
    load_file: bool = False  # the source was made of one (production.loadfiles.imported)
    production: ProductionChoice = field(default_factory=ProductionChoice)

    @property
    def type(self) -> JobType:
        """What kind of job it is."""
        return JobType.REPLAY if self.replay.asked else self.production.type

    @property
    def phases(self) -> tuple[Phase, ...]:
        """Those that the job goes through, in order."""
        if self.replay.asked:
            return (Phase.REPLAY, Phase.FINALISE)
        if self.production.asked:
            return _PRODUCING[self.production.type]
        return tuple(p for p in PHASES if p not in _OF_OTHERS and (p is not Phase.OCR or self.ocr.asked))

    def to_json(self) -> dict[str, Any]:
        """Plain data for the job row."""
        return dataclasses.asdict(self)

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> JobOptions:
        """The inverse of `to_json`. Raises TypeError for unknown keys (a newer version wrote them), ValueError for values
        of another type."""
        options = msgspec.convert(data, cls)
        if unknown := surplus(data, options.to_json(), "options"):
            raise TypeError(f"unknown field {unknown}")
        return options


class NewTask(msgspec.Struct, frozen=True, kw_only=True):
    """A task to be put into the ledger."""

    phase: Phase
    weight: int  # estimated cost in bytes; larger is dispatched first
    payload: dict[str, Any]


FINALISE_LIST = "folders"  # in the payload: what a task of phase finalise has to do, first digits of fan-out folders …
FINALISE_REST = ""  # … and whatever is to be done once …
FINALISE_TABLES = "tables"  # … and, of jobs that produce, what is told of the whole as tables
FINALISE_SHARES = (*"0123456789abcdef", FINALISE_REST)  # all of it, of a discovery


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimedTask:
    """A task as its slot got it. (id, token) is the fence of everything that is written under this claim."""

    id: uuid.UUID
    job: uuid.UUID
    phase: Phase
    token: uuid.UUID  # the claim token: random, made by the slot that claimed
    attempt: int  # for people: how often the task was claimed, as far as the database knows; nothing is decided by it
    payload: dict[str, Any]
    portions: int = 0  # of findings that earlier claims of the task have written (sql.groups)

    @property
    def owner(self) -> str:
        """What the index documents written under this claim carry."""
        return self.token.hex


class Shard(msgspec.Struct, frozen=True, kw_only=True):
    """One index shard: owned by one process incarnation, never reopened by another."""

    id: uuid.UUID
    engine: str
    location: bytes  # directory relative to the storage root
    documents: int  # documents committed by its owner so far, ghosts included
    size: int = 0  # bytes of its published files as they stand
    first: bool = False  # nothing was published to it before


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """A job as the ledger has it."""

    id: uuid.UUID
    name: str
    state: JobState
    phase: Phase
    source: bytes  # absolute path
    source_device: int
    source_inode: int
    storage: bytes | None = None  # absolute path of the storage root; None: made before it was noted
    options: JobOptions
    reason: str | None  # why it is suspended


class Custodian(msgspec.Struct, frozen=True, kw_only=True):
    """The person whose data it is: a first-level directory of the source."""

    number: int  # within its job
    name: bytes


ROOT_CUSTODIAN = b"_root"  # files above the first-level directories
