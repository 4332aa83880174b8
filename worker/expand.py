"""Phase expand: unpack, hash and relate, write every child to the filer (design §3.4, §3.7).

A task is either a batch of loose files or items that another task handed on (ranges of a big container, nested
big containers, members of an archive that cannot be entered in the middle).
"""

from __future__ import annotations

import hashlib
import os
import uuid
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, TypeVar

from core.errors import SourceFileError
from core.records import Item, NewTask, Phase, Shard, TaskResult
from sql.items import load_items
from worker.budget import Budget
from worker.findings import Findings
from worker.formats.base import Handler, MemorySource, Part, Source
from worker.formats.registry import handler_for
from worker.identify import identify
from worker.loose import loose_row
from worker.sources import FilerSource
from worker.store import KEEP_BYTES, FilerStore
from worker.task import TaskWork, path_bytes
from worker.texts import Indexing
from worker.unpack import Deferred, Unpacker

_T = TypeVar("_T")
_ITEM_COST = 4_096  # opening, parsing and booking a small item, in bytes of a big one


def run(work: TaskWork) -> TaskResult:
    """Unpack this task's loose files or handed-on items."""
    return _Expand(work).run()


@dataclass(slots=True)
class _Expand:
    work: TaskWork
    out: Findings = field(default_factory=Findings)
    deferred: list[Deferred] = field(default_factory=list)
    indexing: Indexing | None = None
    unpacker: Unpacker = field(init=False)

    def __post_init__(self) -> None:
        work, options = self.work, self.work.job.options
        if options.single_pass:
            self.indexing = Indexing(work, work.context.shards.of(work.job.id, options.index_engine), self.out)
        self.unpacker = Unpacker(
            job=work.job.id,
            options=options,
            store=FilerStore(work.storage, work.root, work.job.id, options.layout, work.context.worker, work.passwords),
            crumb=work.context.crumb,
            out=self.out,
            on_item=self.indexing.take if self.indexing else _nothing,
            convicted=work.convicted,
            untouchable=work.untouchable,
            defer=self.deferred.append,
            passwords=work.passwords,
        )

    def run(self) -> TaskResult:
        payload = self.work.claimed.payload
        for path, size, mtime_ns in payload.get("files", ()):
            self._loose(int(payload["custodian"]), path_bytes(path), size, mtime_ns)
        if payload.get("items"):
            self._handed_on(payload["items"])
        self.work.context.crumb.leave()
        self._hand_on()
        return self._finish()

    def _loose(self, custodian: int, relative: bytes, size: int, mtime_ns: int) -> None:
        """One loose file: row, children, text. What is wrong with it stays with it."""
        unread = loose_row(self.work.job.id, custodian, relative, size=size)
        self.work.context.crumb.enter(unread.id, self.unpacker.seconds(size))
        if unread.id in self.work.untouchable:
            self.unpacker.emit(unread, None, handler_for(unread.media_type))
            return
        try:
            source, sha256, real_size = self._read(relative)
            media_type = identify(source, None)
        except SourceFileError as e:
            self.work.check_source_root()
            self.unpacker.emit(unread, None, handler_for(unread.media_type))
            self.out.item_failed(unread.id, e)
            return
        handler = handler_for(media_type)
        item = loose_row(
            self.work.job.id,
            custodian,
            relative,
            media_type=media_type,
            container=handler.container,
            size=real_size,
            sha256=sha256,
            hashes=self.unpacker.hashes(unread.id, source, handler),
            mtime_ns=mtime_ns,
        )
        self.out.raw_bytes += real_size
        self.unpacker.emit(item, source, handler)
        self.unpacker.open(item, source, handler, Budget(self.unpacker.options.limits, real_size))

    def _read(self, relative: bytes) -> tuple[Source, bytes, int]:
        """The file's source, hash and size; small ones are read once and worked on from memory."""
        path, name = self.work.source_path(relative), os.path.basename(relative)
        with self.work.storage.open(path) as f:
            size = f.size
            data = f.readall() if size <= KEEP_BYTES else None
        if data is not None:
            return MemorySource(name, data, self.work.passwords), hashlib.sha256(data).digest(), len(data)
        source = FilerSource(self.work.storage, path, name, size, own=False)
        digest, size = source.digest()
        passwords = self.work.passwords
        return FilerSource(self.work.storage, path, name, size, own=False, passwords=passwords), digest, size

    def _handed_on(self, entries: list[dict[str, Any]]) -> None:
        with self.work.database.transaction() as conn:
            found = {item.id: item for item in load_items(conn, [uuid.UUID(e["id"]) for e in entries])}
        for entry in entries:
            item = found[uuid.UUID(entry["id"])]
            source = self.work.source_of(item)
            if source is None:
                continue
            handler = handler_for(item.media_type)
            budget = Budget(self.unpacker.options.limits, entry["loose"], spent=entry["spent"])
            try:
                self._open_again(item, source, handler, budget, _part(entry))
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

    def _hand_on(self) -> None:
        """Follow-on tasks: what was deferred here, and (two-pass) the index batches of every item found."""
        for batch in self._batches(self.deferred, _deferred_cost):
            payload = {"items": [_entry(d) for d in batch]}
            self._follow_on(Phase.EXPAND, sum(map(_deferred_cost, batch)), payload)
        if self.indexing is None:
            for group in self._batches(self.out.items, _item_cost):
                ids: dict[str, Any] = {"items": [item.id.hex for item in group]}
                if notes := {item.id.hex: self.out.notes[item.id] for item in group if item.id in self.out.notes}:
                    ids["notes"] = notes
                self._follow_on(Phase.INDEX, sum(map(_item_cost, group)), ids)
        else:
            self.out.follow_on.extend(self.indexing.ocr_tasks())

    def _follow_on(self, phase: Phase, weight: int, payload: dict[str, Any]) -> None:
        self.out.follow_on.append(NewTask(phase=phase, weight=weight, payload=payload))

    def _batches(self, values: Iterable[_T], cost: Callable[[_T], int]) -> Iterator[list[_T]]:
        options = self.unpacker.options
        batch: list[_T] = []
        total = 0
        for value in values:
            if batch and (len(batch) >= options.batch_files or total + cost(value) > options.batch_bytes):
                yield batch
                batch, total = [], 0
            batch.append(value)
            total += cost(value)
        if batch:
            yield batch

    def _finish(self) -> TaskResult:
        shard: Shard | None = None
        index_bytes = 0
        if self.indexing is not None and self.out.owners:
            shard, index_bytes = self.indexing.shard.publish(self.work.storage, self.work.root)
        return self.out.result(shard=shard, index_bytes=index_bytes)


def _nothing(item: Item, source: Source | None, handler: Handler) -> None:
    """Two-pass: the text is taken in phase index."""


def _part(entry: dict[str, Any]) -> Part | None:
    """The range that a handed-on entry stands for; None for the whole item."""
    return (
        Part(start=entry["part"][0], stop=entry["part"][1], announced=entry.get("announced"))
        if "part" in entry
        else None
    )


def _entry(deferred: Deferred) -> dict[str, Any]:
    entry = {"id": deferred.item.id.hex, "spent": deferred.budget_spent, "loose": deferred.loose_bytes}
    if deferred.part is not None:
        entry["part"] = [deferred.part.start, deferred.part.stop]
        entry["announced"] = deferred.part.announced
    return entry


def _deferred_cost(deferred: Deferred) -> int:
    """A range costs what one range is cut to, whatever its unit (bytes or directory indexes)."""
    return deferred.cost + _ITEM_COST


def _item_cost(item: Item) -> int:
    """What indexing the item is likely to cost; containers are not read again."""
    return _ITEM_COST + (0 if item.container else item.size)
