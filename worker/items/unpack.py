"""Engine that unpacks an item: children go to the store, rows and exceptions to the findings.

It is independent of tasks, the database and the ledger; `worker.phases.expand` and `inspect` both drive it. All its
decisions follow from positions in the data, so that a re-run finds the same (design §3.6)."""

from __future__ import annotations

import hashlib
import os
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from typing import Protocol

from msgspec import Struct, field
from msgspec.structs import replace

from core.names import display_name, sibling_name, unsafe_name
from core.places import item_id, item_location, number
from core.records import JobOptions, Layout
from core.storage.layer import Storage
from readers.base import Child, Handler, MemorySource, Part, Source, is_leaf
from readers.errors import DocumentError, ExceptionCode
from readers.identification.identify import extension_of, identify
from readers.identification.lesser import read_as_less
from readers.passwords import NO_PASSWORDS, Passwords
from readers.records import Kind, Siblings
from readers.registry import handler_for
from sql.findings import ContainerCount, Item
from worker.costs import Budget, Charges
from worker.items.findings import ChildCounts, Findings
from worker.items.guard import guarded
from worker.items.sources import CHUNK, FilerSource, HashedSource, confirm
from worker.slots.breadcrumb import Breadcrumb

KEEP_BYTES = 16_000_000  # a child up to this is worked on from memory; a larger one is read back from its file


class ChildStore(Protocol):
    """Store of the bytes of children."""

    def put(self, item: uuid.UUID, chunks: Iterable[bytes]) -> bytes | None:
        """Keep the bytes; return the location relative to the storage root, or None if there is none."""

    def source(self, item: uuid.UUID, name: bytes, size: int, sha256: bytes) -> Source:
        """Return a source over the bytes that were kept, which have this hash."""


class FilerStore:
    """Store with one file on the filer for each child, under a temporary name until it is whole."""

    def __init__(
        self,
        storage: Storage,
        root: bytes,
        job: uuid.UUID,
        layout: Layout,
        worker: str,
        passwords: Passwords = NO_PASSWORDS,
    ) -> None:
        self._storage = storage
        self._root = root
        self._job = job
        self._layout = layout
        self._worker = worker
        self._passwords = passwords

    def _location(self, item: uuid.UUID) -> bytes:
        return item_location(self._job, item, self._layout, self._worker)

    def put(self, item: uuid.UUID, chunks: Iterable[bytes]) -> bytes | None:
        location = self._location(item)
        self._storage.write_file(os.path.join(self._root, location), chunks)
        return location

    def source(self, item: uuid.UUID, name: bytes, size: int, sha256: bytes) -> Source:
        path = os.path.join(self._root, self._location(item))
        written = FilerSource(self._storage, path, name, size, own=True, passwords=self._passwords)
        return HashedSource(written, sha256, None)


class Intake:
    """One child's bytes on their way to the store: counted, hashed, charged, and kept if they are few.

    A stream that breaks after its first byte leaves a partial child with `error`; one that breaks before gives
    DocumentError at `begin`, and nothing is written. A broken budget passes through, so the store drops the file."""

    def __init__(self, child: Child, budget: Budget) -> None:
        self._child = child
        self._budget = budget
        self._hash = hashlib.sha256()
        self._kept: list[bytes] = []
        self._first = b""
        self.size = 0
        self.error: DocumentError | None = None

    def begin(self) -> None:
        """Read the first bytes; raises DocumentError when none are available."""
        if self._child.data is not None:
            self._first = self._child.data
        elif self._child.stream is not None:
            with guarded:
                self._first = self._child.stream.read(CHUNK)

    def __iter__(self) -> Iterator[bytes]:
        chunk = self._first
        while chunk:
            self._budget.charge(len(chunk))
            self.size += len(chunk)
            self._hash.update(chunk)
            if self.size <= KEEP_BYTES or self._child.data is not None:
                self._kept.append(chunk)
            else:
                self._kept.clear()
            yield chunk
            chunk = self._more()

    def _more(self) -> bytes:
        if self._child.stream is None:
            return b""
        try:
            with guarded:
                return self._child.stream.read(CHUNK)
        except DocumentError as e:
            self.error = e
            return b""

    @property
    def sha256(self) -> bytes:
        return self._hash.digest()

    def memory_source(self, passwords: Passwords = NO_PASSWORDS) -> MemorySource | None:
        """Return the child from memory, if all of it was kept."""
        if self.size > KEEP_BYTES and self._child.data is None:
            return None
        data = self._kept[0] if len(self._kept) == 1 else b"".join(self._kept)
        return MemorySource(self._child.name, data, passwords)


OnItem = Callable[[Item, Source | None, Handler], None]
Convicted = Mapping[uuid.UUID, tuple[ExceptionCode, str]]


class Deferred(Struct, frozen=True):
    """An item whose children another task unpacks."""

    item: Item
    budget: Budget  # shared by all that this task leaves of one loose file
    part: Part | None = None
    parts: int = 1  # number of ranges into which the item was cut

    @property
    def cost(self) -> int:
        """Likely bytes; the unit of a range may be another."""
        return self.item.size // self.parts


class Unpacker(Struct, kw_only=True):
    """Unpacker of items of one job.

    `defer` gets items that are too big for this task; None means: do everything here. `on_item` sees every item once
    its row is known, with its bytes if they can be read."""

    job: uuid.UUID
    options: JobOptions
    store: ChildStore
    breadcrumb: Breadcrumb
    out: Findings
    on_item: OnItem
    convicted: Convicted
    untouchable: AbstractSet[uuid.UUID] = frozenset()  # convicted items whose bytes are not to be looked at
    defer: Callable[[Deferred], None] | None = None
    passwords: Passwords = NO_PASSWORDS
    on_done: Callable[[Item], None] | None = None  # everything about the item has been found
    pause: Callable[[], None] | None = None  # between two children: what was found so far may be taken out of `out`
    opened: list[uuid.UUID] = field(
        default_factory=list
    )  # items whose children are being taken out, from the outside in
    charges: Charges | None = None  # None: nothing has cost too much yet

    def seconds(self, size: int) -> float:
        """Return the deadline of an item of this size."""
        return self.options.limits.item_deadline(size)

    def emit(self, item: Item, source: Source | None, handler: Handler) -> None:
        """Book a complete row."""
        self.out.items.append(item)
        if item.size == 0 and item.sha256 is not None:
            self.out.item_failed(item.id, DocumentError(ExceptionCode.ZERO_BYTES, "it has no bytes"))
        if item.parent is not None and (why := unsafe_name(item.name)):
            self.out.item_failed(item.id, DocumentError(ExceptionCode.UNSAFE_NAME, f"its name {why}"))
        if item.parent is None and (less := read_as_less(None, extension_of(item.name), item.media_type)):
            self.out.item_failed(item.id, less)
        if self.convicted and item.id in self.convicted:
            self.unopened(item)
            source = None
        self.on_item(item, source, handler)

    def unopened(self, item: Item, part: Part | None = None) -> None:
        """Book a convicted item: its children, or those in this range, are missing."""
        self.refuse(item, part, DocumentError(*self.convicted[item.id]))

    def refuse(self, item: Item, part: Part | None, error: DocumentError) -> None:
        """Book an item, or a range of it, that is not opened: its children are missing."""
        tally = _tally(part)
        tally.cut = error
        tally.book(item, self.out)

    def open(self, item: Item, source: Source, handler: Handler, budget: Budget) -> None:
        """Unpack the item's children, here or (of big items) in tasks of their own."""
        if item.size == 0 or is_leaf(handler) or (self.convicted and item.id in self.convicted):
            return
        if item.depth >= self.options.limits.depth:
            self._refuse_depth(item, source, handler)
            return
        if self.defer is not None and item.container and item.size > self.options.split_bytes:
            if self.split(item, source, handler, budget):
                return
            if item.depth > 0 and budget.hand_on():
                self.defer(Deferred(item, budget))
                return
        self.children(item, source, handler, budget)

    def _refuse_depth(self, item: Item, source: Source, handler: Handler) -> None:
        """Book an exception for an item at the nesting limit if it would have children; they stay unopened."""
        tally = ChildCounts(None)
        try:
            with guarded:
                tally.announced = handler.announced(source)
                if item.container or next(handler.children(source, self.options.limits), None) is not None:
                    limit = self.options.limits.depth
                    tally.cut = DocumentError(
                        ExceptionCode.NESTING_LIMIT, f"it is nested {limit} deep and was not opened"
                    )
        except DocumentError as e:
            tally.cut = e
        if tally.cut is not None and not item.container:
            self.out.item_failed(item.id, tally.cut)
        else:
            tally.book(item, self.out)

    def split(self, item: Item, source: Source, handler: Handler, budget: Budget) -> bool:
        """Hand ranges of a big container to tasks of their own; return False if the format cannot be entered."""
        if self.defer is None or not handler.splits:
            return False
        try:
            with guarded:
                parts = handler.parts(source, self.options.split_bytes)
                announced = handler.announced(source)
        except DocumentError:
            return False  # too damaged for ranges; reading it in order reports what is wrong
        if len(parts) < 2 or not budget.hand_on(len(parts)):
            return False
        self.out.containers.append(ContainerCount(item=item.id, announced=announced, emitted=0, failed=0))
        for part in parts:
            self.defer(Deferred(item, budget, part, len(parts)))
        return True

    def children(self, item: Item, source: Source, handler: Handler, budget: Budget, part: Part | None = None) -> None:
        """Unpack all children of the item, or of one range of it, and everything inside them."""
        stop = self.charges.stop(item.id, item.size) if self.charges is not None else None
        if stop is not None and stop.reached:
            self.refuse(item, part, stop.error)
            return
        tally = _tally(part)
        inside = _Inside(item, budget, tally, self._hands_on(item, handler))
        self.opened.append(item.id)
        try:
            with guarded:
                if part is None:
                    tally.announced = handler.announced(source)
                children = handler.children(source, self.options.limits, part)
            while True:
                if stop is not None:
                    stop.check()
                budget.check()
                self.breadcrumb.within(item.parent, budget.children)
                self.breadcrumb.enter(item.id, self.seconds(item.size))
                with guarded:
                    child = next(children, None)
                if child is None:
                    break
                self._child(inside, child)
                if self.pause is not None:
                    self.pause()
        except DocumentError as e:
            tally.cut = e
        tally.book(item, self.out)
        try:
            confirm(source)
        except DocumentError as e:
            self.out.item_failed(item.id, e)
        self.opened.pop()

    def _hands_on(self, item: Item, handler: Handler) -> bool:
        """Return whether other tasks open the members of this container: it is big and has no ranges."""
        return self.defer is not None and item.container and not handler.splits and item.size > self.options.split_bytes

    def _child(self, inside: _Inside, child: Child) -> None:
        ident = item_id(self.job, inside.item.id, number(child.ordinal))
        if not child.occurrence:
            # Messages are named by folder and subject, which many share; their stores are read in ranges.
            child.occurrence = 1 if child.kind is Kind.MESSAGE else inside.names.occurrence(child.name)
        if child.error is not None and not child.emit:
            inside.tally.fail(child.error)
            return
        if self.charges is not None and (judged := self.charges.passed(ident)):
            self.convicted = {**self.convicted, ident: judged}
        self.breadcrumb.within(inside.item.id, inside.budget.children)
        self.breadcrumb.enter(ident, self.seconds(child.size_hint or len(child.data or b"")))
        if self.convicted and (ident in self.untouchable or (ident in self.convicted and child.data is None)):
            child = replace(
                child, data=None, stream=None, size_hint=None, error=None, media_type=None
            )  # its bytes killed a slot
        taken = self._take(inside, ident, child)
        if taken is None:
            return
        item, source, handler, error = taken
        inside.tally.emitted += 1
        if child.notes:
            self.out.notes[item.id] = child.notes
        self.emit(item, source, handler)
        for failure in (child.error, error):
            if failure is not None:
                self._failed(item, failure)
        if source is not None:
            shallow = item.depth < self.options.limits.depth
            if inside.hands_on and self.defer is not None and shallow and inside.budget.hand_on():
                self.defer(Deferred(item, inside.budget))
            else:
                self.open(item, source, handler, inside.budget)
        if self.on_done is not None:
            self.on_done(item)

    def _failed(self, item: Item, failure: DocumentError) -> None:
        """Book the failure of an item that has a row; `missing` of its own children have none."""
        if not failure.missing:
            self.out.item_failed(item.id, failure)
            return
        lost = ChildCounts(None)
        lost.fail(failure)
        lost.book(item, self.out)

    def _take(
        self, inside: _Inside, ident: uuid.UUID, child: Child
    ) -> tuple[Item, Source | None, Handler, DocumentError | None] | None:
        """Store the bytes and fill all fields of the row; return None if the child has no row."""
        try:
            inside.budget.count_child()
        except DocumentError as e:
            inside.tally.fail(e)
            return None
        if child.stream is None and (child.data is None or (child.error is not None and not child.data)):
            unread = child.media_type or _unread_type(child)
            item = _row(inside.item, ident, child, unread, child.size_hint or 0)
            return item, None, handler_for(unread), None
        intake = Intake(child, inside.budget)
        try:
            inside.budget.foresee(child.size_hint or len(child.data or b""))
            intake.begin()
            location = self.store.put(ident, intake)
            source = intake.memory_source(self.passwords) or self.store.source(
                ident, child.name, intake.size, intake.sha256
            )
            media_type = self.identify(ident, source, child.media_type)
        except DocumentError as e:
            if intake.size:
                inside.budget.give_back(intake.size)
            inside.tally.fail(DocumentError(e.code, f"{display_name(child.name)}: {e.detail}"))
            return None
        self.out.extracted_bytes += intake.size
        handler = handler_for(media_type)
        content_hash, message_id_hash = self.hashes(ident, source, handler)
        item = replace(
            _row(inside.item, ident, child, media_type, intake.size),
            container=handler.container,
            family=inside.item.family or (None if handler.container else ident),
            sha256=intake.sha256,
            content_hash=content_hash,
            message_id_hash=message_id_hash,
            location=location,
        )
        return (
            item,
            source,
            handler,
            intake.error or read_as_less(child.media_type, extension_of(child.name), media_type),
        )

    def identify(self, ident: uuid.UUID, source: Source, declared: str | None) -> str:
        """Return the media type. Unless the item is convicted, its hashes and children are needed next."""
        return identify(source, declared, None if ident in self.convicted else self.options.limits)

    def hashes(self, ident: uuid.UUID, source: Source, handler: Handler) -> tuple[bytes | None, bytes | None]:
        """(content hash, Message-ID hash) of a message; Nones for everything else and for the unreadable."""
        if self.convicted and ident in self.convicted:
            return None, None
        try:
            with guarded:
                hashes = handler.message_hashes(source, self.options.limits)
        except DocumentError:
            return None, None  # children and text of the same message say what is wrong with it
        return (hashes.content_hash, hashes.message_id_hash) if hashes else (None, None)


def _row(parent: Item, ident: uuid.UUID, child: Child, media_type: str, size: int) -> Item:
    """Return the row of a child whose bytes are not read."""
    return Item(
        id=ident,
        parent=parent.id,
        family=parent.family or ident,
        custodian=parent.custodian,
        ordinal=number(child.ordinal),
        depth=parent.depth + 1,
        name=child.name,
        container_path=(*parent.container_path, _shown(child)),
        kind=Kind(child.kind),
        container=False,
        media_type=media_type,
        size=size,
        sha256=None,
    )


def _tally(part: Part | None) -> ChildCounts:
    """Return the counts for a whole item, whose handler reports its announced children, or for a range, which has that
    number."""
    return ChildCounts(None) if part is None else ChildCounts(part.announced, of_range=True)


def _shown(child: Child) -> str:
    """Return the child's name in its container path."""
    shown = display_name(child.name if child.shown is None else child.shown.encode("utf-8", "replace"))
    return sibling_name(shown, child.occurrence)


def _unread_type(child: Child) -> str:
    """Return the media type of a child without bytes."""
    link = child.error is not None and child.error.code is ExceptionCode.SYMLINK
    return "inode/symlink" if link else "application/octet-stream"


class _Inside(Struct, frozen=True):
    """The item whose children are being unpacked."""

    item: Item
    budget: Budget
    tally: ChildCounts
    hands_on: bool
    names: Siblings = field(default_factory=Siblings)
