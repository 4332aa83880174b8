"""What a slot works with; put together once in the slot's process after the fork."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from core.clock import Clock, SystemClock
from core.operations import NullRecorder, Recorder
from core.records import Phase
from core.settings import Settings
from core.storage.delay import Station
from core.storage.layer import Storage
from monitoring.metrics.tally import CallCounters, own_tally
from readers.parsers import ParserSet
from worker.slots.banks import Banks
from worker.slots.breadcrumb import Breadcrumb
from worker.slots.custodians import Custodians
from worker.slots.tracing import NoTracer, Tracer

if TYPE_CHECKING:
    from search.publisher import OpenShards
    from sql.session import Database


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
    custodians: Custodians = field(default_factory=Custodians)
    parsers: ParserSet | None = None  # that read what it does; None: not asked for yet (worker.slots.noting)
    noted: set[str] = field(default_factory=set)  # databases that have them written down
    clock: Clock = field(default_factory=SystemClock)
    filer: Station | None = None  # the emulated filer that `storage` is delayed by
    filer_digest: str = ""  # of the emulated filer that `storage` is delayed by
