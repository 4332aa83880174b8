"""Findings of one attempt of a task, gathered until they are written in one transaction."""

from __future__ import annotations

import uuid
from collections.abc import Container
from typing import Any

from msgspec import Struct, field

from core.records import ExceptionLevel, NewTask, Shard
from readers.errors import DocumentError, ExceptionCode
from sql.findings import ContainerCount, IndexOwner, Item, ItemException, ItemText, TaskResult

CHARACTERS_A_ROW = 2_000  # metadata beyond this counts as further rows


class Findings(Struct):
    """Findings of a running task; `result` freezes them."""

    items: list[Item] = field(default_factory=list)
    exceptions: list[ItemException] = field(default_factory=list)
    containers: list[ContainerCount] = field(default_factory=list)
    texts: list[ItemText] = field(default_factory=list)
    owners: list[IndexOwner] = field(default_factory=list)
    follow_on: list[NewTask] = field(default_factory=list)
    notes: dict[uuid.UUID, dict[str, Any]] = field(default_factory=dict)  # for metadata of items, from around them
    spent: dict[uuid.UUID, float] = field(default_factory=dict)  # seconds by loose file
    raw_bytes: int = 0
    extracted_bytes: int = 0
    known: set[tuple[uuid.UUID, ExceptionCode]] = field(default_factory=set)  # item-level: none is recorded twice
    written: int = 0  # items that portions had
    characters: int = 0  # of metadata gathered now

    def item_failed(self, item: uuid.UUID, error: DocumentError) -> None:
        """Record that this one item failed; its row exists. The same code twice (children, then text) counts once."""
        if (item, error.code) not in self.known:
            self.known.add((item, error.code))
            self._add(item, error.code, ExceptionLevel.ITEM, error.detail, None)

    def children_missing(self, item: uuid.UUID, code: ExceptionCode, detail: str, missing: int | None) -> None:
        """Record that children of this item have no row."""
        self._add(item, code, ExceptionLevel.NODE, detail, missing)

    def _add(
        self, item: uuid.UUID, code: ExceptionCode, level: ExceptionLevel, detail: str, missing: int | None
    ) -> None:
        self.exceptions.append(ItemException(item=item, code=code, level=level, detail=detail, missing=missing))

    @property
    def rows(self) -> int:
        """Number of gathered rows, in rows of ordinary size, without follow-on tasks."""
        return len(self.items) + len(self.exceptions) + len(self.containers) + self.characters // CHARACTERS_A_ROW

    def add_text(self, row: ItemText) -> None:
        """Add the text row of an item."""
        self.texts.append(row)
        self.characters += sum(len(v if isinstance(v, str) else str(v)) for v in row.metadata.values())

    def portion(self, *, open_items: Container[uuid.UUID] = (), shared: Container[uuid.UUID] = ()) -> TaskResult:
        """Return what was gathered since the last portion, to be written now, and forget it here, except the sums.

        `open_items` may still fail; their known codes are kept. Counts of `shared` items, which other tasks add to as
        well, stay for the end: they could not be taken out again."""
        stay = [count for count in self.containers if count.item in shared]
        self.containers = [count for count in self.containers if count.item not in shared]
        result = TaskResult(**self._rows())
        self.written += len(self.items)
        for gathered in (self.items, self.exceptions, self.texts, self.owners, self.follow_on, self.notes):
            gathered.clear()
        self.containers = stay
        self.characters = 0
        self.known = {(item, code) for item, code in self.known if item in open_items}
        return result

    def result(self, *, shard: Shard | None = None, index_bytes: int = 0) -> TaskResult:
        """Return everything found except the portions, in the form for the ledger."""
        sums = {name: getattr(self, name) for name in ("written", "spent", "raw_bytes", "extracted_bytes")}
        return TaskResult(**self._rows(), **sums, shard=shard, index_bytes=index_bytes)

    def _rows(self) -> dict[str, Any]:
        """Return the findings that become rows of the ledger."""
        kinds = ("items", "exceptions", "containers", "texts", "owners", "follow_on")
        return {name: tuple(getattr(self, name)) for name in kinds}


class ChildCounts(Struct):
    """Children of one item: emitted, failed by code, and whether an unknown number is missing at the end."""

    announced: int | None
    of_range: bool = False  # of one range of a big container: its counts are added to those of the others
    emitted: int = 0
    failures: dict[ExceptionCode, tuple[int, str]] = field(default_factory=dict)
    cut: DocumentError | None = None

    def fail(self, error: DocumentError) -> None:
        """Count one child (or `missing` of them) that has no row."""
        count, first = self.failures.get(error.code, (0, error.detail))
        self.failures[error.code] = (count + (error.missing or 1), first)

    @property
    def failed(self) -> int:
        return sum(count for count, _ in self.failures.values())

    def book(self, item: Item, out: Findings) -> None:
        """Write the counts and the node-level exceptions, so that expected = emitted + failed whatever the handler did;
        nothing for a document without children."""
        failed, remainder = self.failed, False
        for code, (count, detail) in self.failures.items():
            out.children_missing(item.id, code, detail, count)
        lacking = failed or self.announced or (self.cut is not None and self.cut.missing)
        if not (item.container or self.emitted or lacking):
            if self.cut is not None:
                out.item_failed(item.id, self.cut)
            return
        if self.cut is not None:
            lost, remainder = self._lost_with_the_cut(failed)
            failed += lost
            out.children_missing(item.id, self.cut.code, self.cut.detail, None if remainder else lost)
        elif (lost := self._difference(failed)) > 0:
            failed += lost
            detail = f"{lost} of {self.announced} announced children are missing"
            out.children_missing(item.id, ExceptionCode.CORRUPT, detail, lost)
        out.containers.append(
            ContainerCount(
                item=item.id,
                announced=None
                if self.announced is None or self.of_range
                else max(self.announced, self.emitted + failed),
                emitted=self.emitted,
                failed=failed,
                remainder_unknown=remainder,
            )
        )

    def _lost_with_the_cut(self, failed: int) -> tuple[int, bool]:
        """Return how many children the cut cost, and whether that number only replaces an unknown one."""
        missing = self.cut.missing if self.cut is not None else None
        if self.announced is not None:
            return max(0, self._difference(failed), missing or 0), False
        return (1, True) if missing is None else (missing, False)

    def _difference(self, failed: int) -> int:
        """Return how many announced children are neither emitted nor failed."""
        return 0 if self.announced is None else self.announced - self.emitted - failed
