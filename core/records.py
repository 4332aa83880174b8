"""Records that stages exchange. Frozen, keyword-only; one sentence for each field that needs one."""

from __future__ import annotations

import builtins
import dataclasses
import enum
import uuid
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, TypeVar

import msgspec

from core.job_types import PHASES as PHASES
from core.job_types import PRODUCING_PHASES as PRODUCING_PHASES
from core.job_types import JobType as JobType
from core.job_types import MissingOptions, TypeOptions, key_of, registered, types_of
from core.job_types import Phase as Phase
from core.options import DEFAULT_ZONE as DEFAULT_ZONE
from core.options import BankNote as BankNote
from core.options import FilerChoice as FilerChoice
from core.options import OcrChoice as OcrChoice
from core.plain import surplus


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Limits of design §3; reaching one is an exception with its own code."""

    depth: int = 16  # containers and documents inside one another, the loose file being 0
    parse_bytes: int = 64_000_000  # a single message or document that must be parsed whole
    expansion_ratio: float = 100.0  # extracted bytes over loose-file bytes, above the floor
    expansion_floor: int = 32_000_000  # extracted bytes under one loose file that are never questioned
    extracted_bytes: int = 1_000_000_000_000  # extracted bytes under one loose file
    children: int = 10_000_000  # items under one loose file
    hand_ons: int = 100_000  # ranges and items under one loose file that are left to other tasks
    item_seconds: float = 60.0  # deadline of one item …
    item_seconds_per_mb: float = 2.0  # … and for each 10⁶ bytes of it
    loose_seconds: float = 300.0  # CPU time for one loose file with all that it holds, in one phase …
    loose_seconds_per_mb: float = 10.0  # … and for each 10⁶ bytes of it
    deaths: int = 6  # slots that may die in one loose file, or in one container in it, in one phase …
    deaths_per_mb: float = 0.25  # … and for each 10⁶ bytes of it
    text_characters: int = 50_000_000  # text taken from one item

    def item_deadline(self, size: int) -> float:
        """Seconds for one item of this size."""
        return self.item_seconds + self.item_seconds_per_mb * size / 1e6

    def seconds_of(self, size: int) -> float:
        """Seconds for a loose file of this size with everything in it."""
        return self.loose_seconds + self.loose_seconds_per_mb * size / 1e6

    def deaths_of(self, size: int) -> int:
        """Number of slots that may die in a loose file or container of this size."""
        return self.deaths + int(self.deaths_per_mb * size / 1e6)


ITEM_COST = 4_096  # opening, parsing and recording a small item, in bytes of a large one

_T = TypeVar("_T")


def full(entries: int, cost: int, more: int, most_entries: int, most_cost: int) -> bool:
    """Whether a batch is closed before an entry that costs `more`; an empty one takes any entry."""
    return entries > 0 and (entries >= most_entries or cost + more > most_cost)


def batches(values: Iterable[_T], cost: Callable[[_T], int], most_entries: int, most_cost: int) -> Iterator[list[_T]]:
    """Split the values into batches, in order."""
    batch: list[_T] = []
    total = 0
    for value in values:
        more = cost(value)
        if full(len(batch), total, more, most_entries, most_cost):
            yield batch
            batch, total = [], 0
        batch.append(value)
        total += more
    if batch:
        yield batch


T = TypeVar("T", bound=TypeOptions)
_OWN_PHASES = (Phase.WALK, Phase.EXPAND, Phase.INDEX, Phase.OCR, Phase.FINALISE)  # of a discovery


class JobState(enum.StrEnum):
    """States of a job (design §3.5); the -ing ones last until nothing runs."""

    RUNNING = "running"
    PAUSING = "pausing"
    PAUSED = "paused"
    HELD = "held"  # waits at the barrier into `JobOptions.hold_before` until it is released
    CANCELLING = "cancelling"
    CANCELLED = "cancelled"
    SUSPENDED = "suspended"  # the system failed; `resume` once it is fixed
    COMPLETED = "completed"
    COMPLETED_WITH_EXCEPTIONS = "completed_with_exceptions"
    DELETING = "deleting"  # its files and rows are being deleted

    @property
    def over(self) -> bool:
        """Whether no command except delete can change the job any more."""
        return self in (JobState.CANCELLED, JobState.COMPLETED, JobState.COMPLETED_WITH_EXCEPTIONS, JobState.DELETING)

    @property
    def completed(self) -> bool:
        """Whether all its work was done, with exceptions or without."""
        return self in (JobState.COMPLETED, JobState.COMPLETED_WITH_EXCEPTIONS)


class GroupKind(enum.StrEnum):
    """The kinds of groups, by what their jobs share."""

    SIMULTANEOUS = "simultaneous"  # each is over the same data set
    SHARDED = "sharded"  # each is over some of the custodians, all of them together over the data set


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
    """The times at which written files are forced to stable storage; stated on every result."""

    NONE = "none"
    TASK = "task"
    FILE = "file"


class Layout(enum.StrEnum):
    """Directory layout of extracted children under `jobs/<job>/items/`."""

    SHARED = "shared"  # one fan-out tree for all workers
    PER_WORKER = "per-worker"


class Priority(enum.StrEnum):
    """The share of the slots that a job gets among others: each step has four times the tasks of the one below."""

    LOW = "low"
    NORMAL = "normal"
    HIGH = "high"


class TaskOrder(enum.StrEnum):
    """The order in which a job's pending tasks are sent."""

    LARGEST = "largest"  # so that no large one is left at the end of a phase
    FAIR = "fair"  # in random order: a custodian with small files does not wait for one with large files


@dataclass(frozen=True, slots=True, kw_only=True)
class JobOptions:
    """The options that a job was created with; stored with it, so that every worker on every host agrees."""

    single_pass: bool = False
    index_engine: str = "tantivy"
    fsync: FsyncPolicy = FsyncPolicy.NONE
    layout: Layout = Layout.SHARED
    limits: Limits = field(default_factory=Limits)
    lease_seconds: float = 30.0  # a running task is pending again when its lease has run out
    dispatch_seconds: float = 60.0  # a dispatched task that no slot claimed is pending again after this
    batch_bytes: int = 32_000_000  # a task takes about this much …
    batch_files: int = 500  # … or this many items, whichever comes first
    split_bytes: int = 64_000_000  # containers above this are cut into ranges of about this much
    filer: FilerChoice = field(default_factory=FilerChoice)
    passwords: BankNote = field(default_factory=BankNote)
    trace: bool = False  # every call is kept (traces)
    ocr: OcrChoice = field(default_factory=OcrChoice)
    # Most tasks of phase index at a time, whatever the number of slots; None: no limit.
    index_streams: int | None = None
    # Tasks of phase index are put together at its barrier until there are no more than so many; None: they stay as
    # phase expand made them. For data so small that a task's own share of the work would be most of it.
    index_tasks: int | None = None
    null: bool = False  # on null storage: published files that no task reads again are discarded (decision 0049)
    hold_before: Phase | None = None  # the barrier into this phase is crossed only when the requester releases the job
    priority: Priority = Priority.NORMAL
    task_order: TaskOrder = TaskOrder.LARGEST
    # Most tasks sent and not done for each live slot; None: 2 to 8, by the length of tasks.
    window_factor: int | None = None
    phase_slots: dict[Phase, int] = field(default_factory=dict)  # tasks of a phase at a time at most, by phase
    most_tasks: int | None = None  # tasks of the job at a time at most, in every phase
    # Slots that jobs of other clients leave free while this one runs; without a client, jobs of other types.
    reserve_slots: int | None = None
    time_zone: str = DEFAULT_ZONE  # of dates without a zone
    fail_if: tuple[str, ...] = ()  # bounds on its figures (core.bounds)
    load_file: bool = False  # the source was made from a load file (core.imported)
    of_type: TypeOptions | None = None  # of a job whose type a package registers (core.job_types)

    @property
    def type(self) -> JobType:
        """The type of the job."""
        return JobType.DISCOVERY if self.of_type is None else self.of_type.type

    @property
    def phases(self) -> tuple[Phase, ...]:
        """The phases of the job, in order. Raises PackageMissing."""
        if self.of_type is not None:
            return types_of(self.of_type).phases[self.type]
        return tuple(p for p in _OWN_PHASES if p is not Phase.OCR or self.ocr.asked)

    def at_a_time(self, phase: Phase) -> int | None:
        """The most tasks of this phase at a time, as `demand` in sql/queries/tasks.sql computes it; None: no limit."""
        streams = self.index_streams if phase is Phase.INDEX else None
        return min(filter(None, (streams, self.phase_slots.get(phase), self.most_tasks)), default=None)

    def of(self, kind: builtins.type[T]) -> T:
        """The options of a registered type. Raises PackageMissing, or TypeError if the job has another type."""
        if not isinstance(self.of_type, kind):
            types_of(self.of_type)
            raise TypeError(f"a job of type {self.type} has no {kind.__name__}")
        return self.of_type

    def to_json(self) -> dict[str, Any]:
        """Plain data for the job row: the options of a registered type have a key of their own, and `type` names it."""
        given = self.of_type
        out = dataclasses.asdict(self if given is None else dataclasses.replace(self, of_type=None))
        del out["of_type"]
        if given is not None:
            own: Any = given.data if isinstance(given, MissingOptions) else dataclasses.asdict(given)  # type: ignore[call-overload]
            out |= {"type": self.type.value, key_of(given): own}
        return out

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> JobOptions:
        """The inverse of `to_json`. Raises TypeError for unknown keys (a newer version wrote them), ValueError for values
        of another type."""
        rest = dict(data)
        of_type = _of_type(rest) if "type" in rest else None
        options = msgspec.convert(rest, cls)
        if of_type is not None:
            options = dataclasses.replace(options, of_type=of_type)
        if unknown := surplus(data, options.to_json(), "options"):
            raise TypeError(f"unknown field {unknown}")
        return options


def _of_type(data: dict[str, Any]) -> TypeOptions:
    """Take the options of a registered type out of `data`."""
    kind = JobType(data.pop("type"))
    known = [key for key in data if key in registered()]
    keys = known or [key for key in data if key not in JobOptions.__dataclass_fields__]
    key = keys[0] if keys else ""
    own = data.pop(key, None)
    return msgspec.convert(own, registered()[key].options) if known else MissingOptions(key, kind, own)


class NewTask(msgspec.Struct, frozen=True, kw_only=True):
    """A task for the ledger."""

    phase: Phase
    weight: int  # estimated cost in bytes; larger is dispatched first
    payload: dict[str, Any]


FINALISE_LIST = "folders"  # in the payload of a task of phase finalise: first digits of its fan-out folders …
FINALISE_REST = ""  # … the work that is done once …
FINALISE_TABLES = "tables"  # … and, for producing jobs, the tables about the whole job
FINALISE_SHARES = (*"0123456789abcdef", FINALISE_REST)  # all work of phase finalise of a discovery


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimedTask:
    """A claimed task. (id, token) is the fence of everything that is written under this claim."""

    id: uuid.UUID
    job: uuid.UUID
    phase: Phase
    token: uuid.UUID  # the claim token: random, made by the slot that claimed
    attempt: int  # for people: how often the task was claimed, as far as the database knows; nothing is decided by it
    payload: dict[str, Any]
    portions: int = 0  # of results that earlier claims of the task have written (sql.ledger)

    @property
    def owner(self) -> str:
        """The owner of index documents written under this claim, stored in each of them."""
        return self.token.hex


class Shard(msgspec.Struct, frozen=True, kw_only=True):
    """One index shard: owned by one process incarnation, never reopened by another."""

    id: uuid.UUID
    engine: str
    location: bytes  # directory relative to the storage root
    documents: int  # documents committed by its owner so far, ghosts included
    size: int = 0  # bytes of its published files now
    first: bool = False  # nothing was published to it before


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """A job as stored in the ledger."""

    id: uuid.UUID
    name: str
    state: JobState
    phase: Phase
    source: bytes  # absolute path
    source_device: int
    source_inode: int
    storage: bytes  # absolute path of the storage root
    options: JobOptions
    reason: str | None  # why it is suspended


class Custodian(msgspec.Struct, frozen=True, kw_only=True):
    """The person whose data it is: a first-level directory of the source."""

    number: int  # within its job
    name: bytes


ROOT_CUSTODIAN = b"_root"  # files above the first-level directories
