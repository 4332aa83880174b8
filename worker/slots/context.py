"""What a slot works with; put together once in the slot's process after the fork."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from core.clock import Clock, SystemClock
from core.filer.emulation import Station
from core.operations import NullRecorder, Recorder
from core.records import Phase
from core.settings import Settings
from core.storage.layer import Storage
from monitoring.metrics.tally import CallCounters, own_tally
from worker.slots.activity import Activity
from worker.slots.banks import Banks
from worker.slots.tracing import NoTracer, Tracer

if TYPE_CHECKING:
    from sql.session import Database
    from worker.indexes.publisher import OpenShards


class Breadcrumb(Protocol):
    """What a slot leaves in its row of the slot table, so that its death can be attributed (design §3.8)."""

    def begin_task(self, database: str, job: uuid.UUID, task: uuid.UUID, token: uuid.UUID, phase: Phase) -> None:
        """The slot has claimed this task; its supervisor renews the lease from now on."""

    def enter(self, item: uuid.UUID, seconds: float) -> None:
        """The slot is about to read `item` and must say something again within `seconds`."""

    def begin_loose(self, loose: uuid.UUID | None, taken: int = 0) -> None:
        """From now on, until the next one or the end of the task, the slot works on this loose file (None: on none) and
        what lies in it, of which it has taken out so many items: whatever it dies of there is charged to the loose file.
        `enter` or `leave` makes it known."""

    def within(self, parent: uuid.UUID | None, taken: int) -> None:
        """The item entered next lies directly in `parent` (None: it is the loose file), and so many items were taken
        out of the loose file."""

    def leave(self) -> None:
        """The slot reads no item now; dying here convicts nobody."""

    def doing(self, activity: Activity, detail: bytes = b"") -> None:
        """The slot reads no item now but does this, to a path perhaps; it must say something again in a while."""

    def alive(self) -> None:
        """It is still doing that, and has come on; not while it reads an item."""

    def end_task(self) -> None:
        """The task is over for this slot, finished or given back."""


class NoBreadcrumb:
    """Leaves no trace; for tools that have a supervisor of another kind (`inspect`)."""

    def begin_task(self, database: str, job: uuid.UUID, task: uuid.UUID, token: uuid.UUID, phase: Phase) -> None:
        return None

    def enter(self, item: uuid.UUID, seconds: float) -> None:
        return None

    def begin_loose(self, loose: uuid.UUID | None, taken: int = 0) -> None:
        return None

    def within(self, parent: uuid.UUID | None, taken: int) -> None:
        return None

    def leave(self) -> None:
        return None

    def doing(self, activity: Activity, detail: bytes = b"") -> None:
        return None

    def alive(self) -> None:
        return None

    def end_task(self) -> None:
        return None


class SelectableRecorder(Recorder, Protocol):
    """A recorder that books calls under a job and phase."""

    def select(self, job: uuid.UUID, phase: Phase) -> None:
        """Calls from now on belong to this job and phase."""


class UnselectedRecorder(NullRecorder):
    """Keeps nothing (settings.observe is off)."""

    def select(self, job: uuid.UUID, phase: Phase) -> None:
        return None


@dataclass(slots=True, kw_only=True)
class SlotContext:
    """One slot's process: its names, its services, its shards."""

    settings: Settings
    worker: str  # name of the worker, unique among those running
    slot: int  # 0 … slots-1
    incarnation: uuid.UUID  # of this process: new after every fork
    databases: Mapping[str, Database]
    recorder: SelectableRecorder
    storage: Storage
    crumb: Breadcrumb
    scratch: Path  # this incarnation's own local directory; the supervisor removes it after a death
    shards: OpenShards
    tally: CallCounters = field(default_factory=own_tally)
    tracer: Tracer = field(default_factory=NoTracer)
    banks: Banks = field(default_factory=Banks)
    clock: Clock = field(default_factory=SystemClock)
    filer: Station | None = None  # the emulated filer that `storage` is delayed by
    filer_digest: str = ""  # of the emulated filer that `storage` is delayed by
