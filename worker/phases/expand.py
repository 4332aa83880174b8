"""Phase expand: unpack, hash and relate, write every child to the filer (design §3.4, §3.7).

A task is either a batch of loose files or items that another task handed on (ranges of a big container, nested big
containers, members of an archive that cannot be entered in the middle)."""

from __future__ import annotations

import hashlib
import os
import uuid
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, TypeVar

from msgspec.structs import replace

from core.errors import SourceFileError
from core.records import ITEM_COST, NewTask, Phase, Shard, batches
from readers.base import Handler, MemorySource, Part, Source, is_leaf
from readers.registry import handler_for
from sql.findings import Item, TaskResult
from sql.items import ITEMS
from worker.costs import Allowance, Budget, Charges, of_expand
from worker.items.findings import Findings
from worker.items.loose import Families, loose_row
from worker.items.sources import FilerSource, HashedSource
from worker.items.texts import Indexing
from worker.items.unpack import KEEP_BYTES, Deferred, FilerStore, Unpacker
from worker.phases.rest import Rest
from worker.phases.task import TaskWork, path_bytes

_T = TypeVar("_T")
_Handed = tuple[int, dict[str, Any]]  # cost, and the entry of the payload
MANY = 1_000  # items of one loose file that fill a slot's memory sooner than those of a whole batch


def run(work: TaskWork) -> TaskResult:
    """Unpack this task's loose files or handed-on items."""
    return _Expand(work).run()


@dataclass(slots=True)
class _Expand:
    work: TaskWork
    out: Findings = field(default_factory=Findings)
    deferred: list[Deferred] = field(default_factory=list)
    indexing: Indexing | None = None
    handed_on: set[uuid.UUID] = field(default_factory=set)  # items that another task wrote
    budgets: list[Budget] = field(default_factory=list)
    families: Families = field(init=False)
    charges: Charges = field(init=False)
    unpacker: Unpacker = field(init=False)

    def __post_init__(self) -> None:
        work, options = self.work, self.work.job.options
        self.families = Families(work)
        if options.single_pass:
            self.indexing = Indexing(work, work.context.shards.of(work.job.id, options.index_engine), self.out)
        self.charges = of_expand(options.limits, work.claimed.id, work.deaths, work.spent)
        self.unpacker = Unpacker(
            job=work.job.id,
            options=options,
            store=FilerStore(work.storage, work.root, work.job.id, options.layout, work.context.worker, work.passwords),
            breadcrumb=work.context.breadcrumb,
            out=self.out,
            on_item=self.indexing.take if self.indexing else _nothing,
            convicted=work.convicted,
            untouchable=work.untouchable,
            defer=self.deferred.append,
            passwords=work.passwords,
            pause=self._pause,
            charges=self.charges if work.deaths else None,
        )

    def run(self) -> TaskResult:
        payload = self.work.claimed.payload
        rest = Rest(self.work, sorted(payload.get("files", ()), key=_file_cost, reverse=True), _file_cost)
        for path, size, *_ in rest.taken():
            self._loose(int(payload["custodian"]), path_bytes(path), size)
            self._pause()
        for part in rest.parts:
            self._follow_on(Phase.EXPAND, sum(map(_file_cost, part)), payload | {"files": part})
        if payload.get("items"):
            self._handed_on(payload["items"])
        self._put_down()
        self._hand_on()
        return self._finish()

    def _loose(self, custodian: int, relative: bytes, size: int) -> None:
        """Process one loose file: row, children, text. Its errors are booked for it alone."""
        unread = loose_row(self.work.job.id, custodian, relative, size=size)
        self.work.context.breadcrumb.begin_loose(unread.id)
        self.work.context.breadcrumb.enter(unread.id, self.unpacker.seconds(size))
        family = self.families.of(relative) if self.work.job.options.load_file else None
        if family is not None:
            unread = replace(unread, family=family)
        if unread.id in self.work.untouchable or self._given_up(unread, size):
            self.unpacker.emit(unread, None, handler_for(unread.media_type))
            return
        try:
            source, sha256, real_size, mtime_ns = self._read(relative)
            media_type = self.unpacker.identify(unread.id, source, None)
        except SourceFileError as e:
            self.work.check_source_root()
            self.unpacker.emit(unread, None, handler_for(unread.media_type))
            self.out.item_failed(unread.id, e)
            return
        handler = handler_for(media_type)
        content_hash, message_id_hash = self.unpacker.hashes(unread.id, source, handler)
        item = replace(
            unread,
            media_type=media_type,
            container=handler.container,
            family=family or (None if handler.container else unread.id),
            size=real_size,
            sha256=sha256,
            content_hash=content_hash,
            message_id_hash=message_id_hash,
            mtime_ns=mtime_ns,
        )
        self.out.raw_bytes += real_size
        self.unpacker.emit(item, source, handler)
        self.charges.passed(item.id)
        budget = self._budget(item.id, real_size)
        self.unpacker.open(item, source, handler, budget)
        budget.end()

    def _given_up(self, unread: Item, size: int) -> bool:
        """Return whether the loose file cost so much that it is not even read; book that."""
        stop = self.charges.stop(unread.id, size)
        if stop is None or not stop.reached:
            return False
        self.out.item_failed(unread.id, stop.error)
        return True

    def _budget(self, loose: uuid.UUID, size: int, allowance: Allowance | None = None) -> Budget:
        """Return the budget of this task for a loose file."""
        budget = Budget(
            self.unpacker.options.limits,
            size,
            loose=loose,
            allowance=allowance,
            seconds=self.charges.seconds_left(loose, size),
            room=self.charges.room(loose),
            stop=self.charges.stop(loose, size),
        )
        self.budgets.append(budget)
        return budget

    def _put_down(self) -> None:
        """Note that no item is read any more. If memory runs out now, the loose file with the most findings is
        charged."""
        breadcrumb = self.work.context.breadcrumb
        most = max(self.budgets, key=lambda budget: budget.children, default=None)
        if most is not None and most.children >= MANY:
            breadcrumb.begin_loose(most.loose, most.children)
        else:
            breadcrumb.begin_loose(None)
        breadcrumb.leave()

    def _read(self, relative: bytes) -> tuple[Source, bytes, int, int]:
        """Return the file's source, hash, size and modification time; small ones are read once and processed from
        memory."""
        path, name = self.work.source_path(relative), os.path.basename(relative)
        with self.work.storage.open(path) as f:
            size, mtime_ns = f.size, f.mtime_ns
            data = f.readall() if size <= KEEP_BYTES else None
        if data is not None:
            return MemorySource(name, data, self.work.passwords), hashlib.sha256(data).digest(), len(data), mtime_ns
        source = FilerSource(self.work.storage, path, name, size, own=False, passwords=self.work.passwords)
        digest, source.size = source.digest()
        return HashedSource(source, digest, mtime_ns), digest, source.size, mtime_ns

    def _handed_on(self, entries: list[dict[str, Any]]) -> None:
        with self.work.database.transaction() as conn:
            items = {item.id: item for item in ITEMS.load_items(conn, items=[uuid.UUID(e["id"]) for e in entries])}
        self.handed_on = set(items)
        for entry in entries:
            item = items[uuid.UUID(entry["id"])]
            source = self.work.source_of(item)
            if source is None:
                continue
            handler = handler_for(item.media_type)
            loose = uuid.UUID(entry["loose"])
            self.work.context.breadcrumb.begin_loose(loose)
            try:
                if (stop := self.charges.stop(loose, entry["bytes"])) is not None and stop.reached:
                    self.unpacker.refuse(item, _part(entry), stop.error)
                    continue
                budget = self._budget(loose, entry["bytes"], Allowance(*entry["left"]))
                self._open_again(item, source, handler, budget, _part(entry))
                budget.end()
            except SourceFileError as e:
                self.work.check_source_root()
                self.out.item_failed(item.id, e)

    def _open_again(self, item: Item, source: Source, handler: Handler, budget: Budget, part: Part | None) -> None:
        if item.id in self.work.convicted:
            self.unpacker.unopened(item, part)
        elif part is not None:
            self.unpacker.children(item, source, handler, budget, part)
        elif item.container and item.size > self.unpacker.options.split_bytes:
            if not self.unpacker.split(item, source, handler, budget):
                self.unpacker.children(item, source, handler, budget)
        else:
            self.unpacker.open(item, source, handler, budget)

    def _pause(self) -> None:
        """Write a portion of the findings once they are many; open items continue."""
        if self.out.rows + len(self.deferred) < self.work.portions.rows:
            return
        self._hand_on(more=True)
        self.work.write_portion(self.out.portion(open_items=self.unpacker.opened, shared=self.handed_on))

    def _hand_on(self, *, more: bool = False) -> None:
        """Add follow-on tasks (`more` will follow): for deferred items, and (two-pass) to index every item found."""
        for batch in self._batches(self._shared(more), _handed_cost):
            payload = {"items": [entry for _, entry in batch]}
            self._follow_on(Phase.EXPAND, sum(map(_handed_cost, batch)), payload)
        if self.indexing is None:
            for group in self._batches(self.out.items, _item_cost):
                ids: dict[str, Any] = {"items": [item.id.hex for item in group]}
                if notes := {item.id.hex: self.out.notes[item.id] for item in group if item.id in self.out.notes}:
                    ids["notes"] = notes
                if len(hosts := self.work.context.settings.hosts) > 1:
                    ids["written_on"] = hosts[0]  # whose memory may hold these items: another host is to read them
                self._follow_on(Phase.INDEX, sum(map(_item_cost, group)), ids)
        else:
            self.out.follow_on.extend(self.indexing.ocr_tasks())

    def _shared(self, more: bool) -> Iterator[_Handed]:
        """Yield what is handed on, each with its share of the rest of its loose file's allowance."""
        costs: dict[Budget, list[int]] = {}
        for deferred in self.deferred:
            costs.setdefault(deferred.budget, []).append(_weight(deferred))
        shares = {budget: iter(budget.hand_over(weights, more=more)) for budget, weights in costs.items()}
        for deferred in self.deferred:
            yield deferred.cost + ITEM_COST, _entry(deferred, next(shares[deferred.budget]))
        self.deferred.clear()

    def _spent(self) -> dict[uuid.UUID, float]:
        """Return the seconds spent on loose files that other tasks process too."""
        spent: dict[uuid.UUID, float] = {}
        parts = bool(self.work.claimed.payload.get("items"))
        for budget in self.budgets:
            if parts or budget.shared:
                spent[budget.loose] = spent.get(budget.loose, 0.0) + budget.seconds
        return spent

    def _follow_on(self, phase: Phase, weight: int, payload: dict[str, Any]) -> None:
        self.out.follow_on.append(NewTask(phase=phase, weight=weight, payload=payload))

    def _batches(self, values: Iterable[_T], cost: Callable[[_T], int]) -> Iterator[list[_T]]:
        options = self.unpacker.options
        return batches(values, cost, options.batch_files, options.batch_bytes)

    def _finish(self) -> TaskResult:
        shard: Shard | None = None
        index_bytes = 0
        if self.indexing is not None and self.indexing.documents:
            shard, index_bytes = self.indexing.publish()
        self.out.spent = self._spent()
        return self.out.result(shard=shard, index_bytes=index_bytes)


def _nothing(item: Item, source: Source | None, handler: Handler) -> None:
    """Do nothing: in two passes, the text is taken in phase index."""


def _file_cost(file: list[Any]) -> int:
    """Return the cost of a loose file of a payload; the largest are read first, so that none is left at the end."""
    return ITEM_COST + int(file[1])


def _part(entry: dict[str, Any]) -> Part | None:
    """Return the range that a handed-on entry represents; None for the whole item."""
    return (
        Part(
            start=entry["part"][0],
            stop=entry["part"][1],
            announced=entry.get("announced"),
            known=entry.get("known", {}),
        )
        if "part" in entry
        else None
    )


def _entry(deferred: Deferred, share: Allowance) -> dict[str, Any]:
    entry: dict[str, Any] = {
        "id": deferred.item.id.hex,
        "loose": deferred.budget.loose.hex,
        "bytes": deferred.budget.loose_bytes,
        "left": [share.extracted, share.children, share.hand_ons],
    }
    if deferred.part is not None:
        entry["part"] = [deferred.part.start, deferred.part.stop]
        entry["announced"] = deferred.part.announced
        if deferred.part.known:
            entry["known"] = deferred.part.known
    return entry


def _weight(deferred: Deferred) -> int:
    """Return the item's weight by how much may come out of it; nothing comes out of a leaf."""
    return 0 if is_leaf(handler_for(deferred.item.media_type)) else deferred.cost


def _handed_cost(handed: _Handed) -> int:
    return handed[0]


def _item_cost(item: Item) -> int:
    """Return the likely cost of indexing the item; containers are not read again."""
    return ITEM_COST + (0 if item.container else item.size)
