"""The work of a task, as every task body gets it, and the costs of items that are read again (phases index and ocr)."""

from __future__ import annotations

import base64
import os
import uuid
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from contextlib import contextmanager
from dataclasses import dataclass, field

from core.errors import StorageFault
from core.names import display_name
from core.records import ClaimedTask, Job
from core.storage.layer import Storage
from core.storage.whole import WHOLE, Parts, parts_below
from readers.errors import DocumentError, ExceptionCode
from readers.passwords import NO_PASSWORDS, Passwords
from sql.findings import Item, TaskResult
from sql.ledger import Death, ancestors
from sql.session import Database
from worker.costs import ItemCharges, of_items, processor_seconds
from worker.items.portions import Portions
from worker.items.sources import FilerSource, HashedSource
from worker.slots.breadcrumb import Activity
from worker.slots.context import SlotContext

_SOURCE_TROUBLE = (ExceptionCode.VANISHED, ExceptionCode.UNREADABLE)


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskWork:
    """One claim of one task, with its job and its slot."""

    context: SlotContext
    database: Database
    claimed: ClaimedTask
    job: Job
    custodians: Mapping[int, str]
    convicted: Mapping[uuid.UUID, tuple[ExceptionCode, str]]
    untouchable: AbstractSet[uuid.UUID]  # those of them that are not read
    portions: Portions
    deaths: Sequence[Death] = ()  # of this phase
    spent: Mapping[uuid.UUID, float] = field(default_factory=dict)  # seconds by loose file, in this phase
    passwords: Passwords = NO_PASSWORDS
    source_device: int | None = None  # device of the source's root on this host; None: the phase does not check it

    @property
    def storage(self) -> Storage:
        """Storage layer of the slot."""
        return self.context.storage

    @property
    def root(self) -> bytes:
        """The storage root."""
        return os.fsencode(self.context.settings.storage)

    def source_path(self, relative: bytes) -> bytes:
        """Return the absolute path of something in the job's source."""
        return os.path.join(self.job.source, relative) if relative else self.job.source

    def source_of(self, item: Item) -> FilerSource | None:
        """Return the item's bytes on the filer; None if it has none that could be read."""
        if item.sha256 is None:
            return None
        if item.parent is None:
            path = self.source_path(item.ordinal)
        elif item.location is None:
            return None
        else:
            path = os.path.join(self.root, item.location)
        own = item.parent is not None
        source = FilerSource(self.storage, path, item.name, item.size, own=own, passwords=self.passwords)
        return HashedSource(source, item.sha256, item.mtime_ns)

    def write_portion(self, task_result: TaskResult) -> None:
        """Write a part of what was found; the slot reads no item then. Raises SystemFault, TaskLost."""
        self.before_writing(task_result)
        self.portions.write(task_result)
        self.context.tally.brought(task_result)
        self.context.breadcrumb.leave()

    def before_writing(self, task_result: TaskResult) -> None:
        """Check the source root and sync what was written, before the ledger learns of it. Raises StorageFault."""
        breadcrumb = self.context.breadcrumb
        breadcrumb.leave()
        # A job that produces reads of the sources of others, and has looked at them itself.
        produces = self.job.options.type.produces
        if not produces and any(e.code in _SOURCE_TROUBLE for e in task_result.exceptions):
            self.check_source_root()  # a reader inside a handler may have met an unmounted source, not a bad file
        breadcrumb.doing(Activity.SYNCING, b"what it wrote")
        self.storage.sync_written()
        breadcrumb.doing(Activity.COMMITTING)

    def check_source_root(self) -> int:
        """Return the source root's device number on this host. Raises StorageFault unless the root is what it was when
        the job was created (design §3.5), and whole."""
        return self.check_root_of(self.job)

    def check_root_of(self, job: Job) -> int:
        """Check the source root of another job in the same way."""
        try:
            identity = self.storage.root_identity(job.source)
        except StorageFault as e:
            raise StorageFault(
                f"the source {display_name(job.source)} no longer exists ({os.strerror(e.errno)}); mount it",
                errno=e.errno,
            ) from e
        if not same_root(identity, (job.source_device, job.source_inode)):
            raise StorageFault(
                f"the source {display_name(job.source)} is not the directory that the job was created for; mount "
                "that one"
            )
        _whole(job.source, identity[0])
        return identity[0]

    def source_parts(self) -> Parts:
        """Return the parts of the source's file system as its client reports them. Raises StorageFault if one of them
        is away: its files would be in no listing, and would not exist."""
        return WHOLE if self.source_device is None else _whole(self.job.source, self.source_device)


def _whole(source: bytes, device: int) -> Parts:
    parts = parts_below(source, device)
    if parts.away:
        raise StorageFault(
            f"the source {display_name(source)} is incomplete: {', '.join(parts.away)} of its file system is not "
            "available; its files would be recorded as missing. Restore it"
        )
    return parts


def same_root(one: tuple[int, int], other: tuple[int, int]) -> bool:
    """Return whether two (device, inode) are one directory, seen from hosts that may differ.

    A file system without a block device of its own (NFS and its like) gets a device number with major 0 from each host,
    so that two such numbers cannot be compared; the inode is the server's and counts."""
    unnamed = not os.major(one[0]) and not os.major(other[0])
    return one[1] == other[1] and (unnamed or one[0] == other[0])


def path_text(path: bytes) -> str:
    """Return path bytes as a payload has them."""
    return base64.b64encode(path).decode("ascii")


def path_bytes(text: str) -> bytes:
    """Return the bytes from `path_text`."""
    return base64.b64decode(text)


NOTED_SECONDS = 5.0  # least time of one loose file in one task that is noted, because many items may take less


class ItemCosts:
    """Selection of the items that are not read, because their loose file or a container around them cost too much, and
    measurement of the others."""

    def __init__(self, work: TaskWork, items: Sequence[uuid.UUID]) -> None:
        self._work = work
        self._seconds: Counter[tuple[int, str]] = Counter()
        self._one: dict[tuple[int, str], uuid.UUID] = {}  # an item of each loose file
        self._charges = self._look(items) if work.deaths or work.spent else None

    def _look(self, items: Sequence[uuid.UUID]) -> ItemCharges:
        work = self._work
        dead = [death.item for death in work.deaths if death.item is not None]
        with work.database.transaction() as conn:
            around = ancestors(conn, {*items, *dead})
        return of_items(work.job.options.limits, work.claimed.id, work.deaths, work.spent, around)

    @contextmanager
    def of(self, item: Item) -> Iterator[DocumentError | None]:
        """Measure one item's reading; yield why it is not read, or None. Once for each item, in their order."""
        begun = processor_seconds()
        yield self.refusal(item.id)
        # The display name of the loose file stands for it, so that nothing has to be looked up for most tasks.
        loose = (item.custodian, item.container_path[0])
        self._one.setdefault(loose, item.id)
        self._seconds[loose] += processor_seconds() - begun  # type: ignore[assignment]

    def refusal(self, item: uuid.UUID) -> DocumentError | None:
        """Return why the item is not to be read; None if it is."""
        refusal = self._charges.refusal(item) if self._charges is not None else None
        if item in self._work.convicted:
            return DocumentError(*self._work.convicted[item])
        return refusal

    def spent(self) -> dict[uuid.UUID, float]:
        """Return the seconds by loose file, of those that took long."""
        slow = {self._one[loose]: s for loose, s in self._seconds.items() if s >= NOTED_SECONDS}
        if not slow:
            return {}
        with self._work.database.transaction() as conn:
            around = ancestors(conn, slow)
        spent: Counter[uuid.UUID] = Counter()
        for item, seconds in slow.items():
            if item in around:
                spent[around[item][-1].id] += seconds
        return dict(spent)
