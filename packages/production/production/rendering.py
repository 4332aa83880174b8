"""Phases render and stamp of jobs that process."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from collections.abc import Set as AbstractSet
from contextlib import ExitStack, contextmanager

from PIL import Image

from core.errors import SourceFileError
from core.job_types import FileKind
from core.records import Limits
from production.layout import Place
from production.options import ProducedFile, ProductionChoice
from production.output import Evidence, Output
from production.pages import SUFFIXES, ImagingChoice, Leaves, encoded, keep_rendered, leaves_of, slip_sheet, stamped
from production.rows import ProducedFindings
from production.statements import PRODUCTION, BatchRow
from readers.base import Source
from readers.errors import DocumentError, ExceptionCode
from sql.findings import Item, TaskResult
from worker.items.findings import Findings
from worker.items.sources import FoundSource
from worker.office.converting import KINDS
from worker.phases.task import ItemCosts, TaskWork

_PAGE_SECONDS = 120.0  # the longest time for opening an item or drawing a page


def render(work: TaskWork) -> TaskResult:
    """Count the pages of this task's items, for the barrier to number them. An item that cannot be drawn has one page,
    its slip sheet; the reason is recorded when that is written."""
    batch, pages = _Batch(work), []
    keep_rendered(work, batch.documents(), batch.check)
    for row, item in batch.items():
        count = 1
        with batch.opened(row, item, _recorded_later) as leaves:
            if leaves is not None:
                count = leaves.count
        pages.append((row.number, count))
    return TaskResult(own=ProducedFindings(pages=tuple(pages)), written=len(pages), spent=batch.costs.spent())


def stamp(work: TaskWork) -> TaskResult:
    """Draw the pages of this task's items, each with its number, one file for each page. A page that cannot be drawn
    becomes a slip sheet in its place and an exception of its item."""
    batch, out, findings = _Batch(work), Output(work), Findings()
    files: list[ProducedFile] = []
    for row, item in batch.items():
        files += _Item(batch, out, findings, row, item).written()
    return TaskResult(
        own=ProducedFindings(files=tuple(files)), exceptions=tuple(findings.exceptions), written=len(batch.rows), extracted_bytes=out.written,
        spent=batch.costs.spent(),
    )  # fmt: skip


def _recorded_later(_error: DocumentError) -> None:
    """Ignore the failure: phase stamp meets it again."""


def _other_pages(now: int, counted: int) -> DocumentError:
    """Return the error of an item whose page count has changed: it could not be opened when pages were counted and can
    be now, or it differs."""
    detail = f"it now has {now} pages, but {counted} were counted and numbered; run the processing job again"
    return DocumentError(ExceptionCode.HANDLER_ERROR, detail)


def _not_shown(lost: AbstractSet[str]) -> DocumentError:
    some = ", ".join(f"U+{ord(c):04X}" for c in sorted(lost)[:5])
    detail = f"{len(lost)} characters ({some}) are not rendered correctly: no installed typeface has them, or FriBiDi is missing"
    return DocumentError(ExceptionCode.UNSUPPORTED, detail)


class _Batch:
    """The items of a task."""

    def __init__(self, work: TaskWork) -> None:
        first, last = work.claimed.payload["first"], work.claimed.payload["last"]
        with work.database.transaction() as conn:
            self.rows = PRODUCTION.production_batch(conn, job=work.job.id, first=first, last=last)
        self.work, self.choice = work, ImagingChoice.of(work.job.options.of(ProductionChoice))
        ids = [row.item for row in self.rows]
        self._evidence, self.costs = Evidence(work), ItemCosts(work, ids)
        self._items = self._evidence.items(ids)
        self._refusal: DocumentError | None = None

    def items(self) -> Iterator[tuple[BatchRow, Item]]:
        """Yield the items in order, each charged to its loose file."""
        for row in self.rows:
            item = self._items[row.item]
            with self.costs.of(item) as self._refusal:
                self.enter(item)
                yield row, item
        self.work.context.breadcrumb.leave()

    def documents(self) -> Iterator[tuple[Item, Source | DocumentError, Limits]]:
        """Yield the items for LibreOffice, each with its source or the reason why it must not be read any more, and the
        limits with which it was found."""
        for row in self.rows:
            item = self._items[row.item]
            if item.media_type in KINDS and item.size:
                source = self.costs.refusal(item.id) or self._source(row, item)
                if source is not None:
                    yield item, source, self._evidence.options(row.source_job).limits

    def check(self) -> None:
        """Raise StorageFault unless the sources are what they were when their jobs were created."""
        for job in {row.source_job for row in self.rows}:
            self._evidence.check(job)

    def _source(self, row: BatchRow, item: Item) -> FoundSource | None:
        limits = self._evidence.options(row.source_job).limits
        return self._evidence.source(item, row.source_job, limits.parse_bytes)

    def enter(self, item: Item) -> None:
        """Begin a page, and start its deadline."""
        self.work.context.breadcrumb.enter(item.id, _PAGE_SECONDS)

    @contextmanager
    def opened(self, row: BatchRow, item: Item, failed: Callable[[DocumentError], None]) -> Iterator[Leaves | None]:
        """Open the item and yield its pages; None if it cannot be drawn, and then `failed` is called with the
        reason."""
        with ExitStack() as stack:
            leaves: Leaves | None = None
            try:
                if self._refusal is not None:
                    raise self._refusal
                source = self._source(row, item)
                found_by = self._evidence.options(row.source_job)
                leaves = stack.enter_context(leaves_of(self.work, item, source, self.choice.rendering, found_by))
            except DocumentError as error:
                if isinstance(error, SourceFileError):
                    self._evidence.check(row.source_job)
                failed(error)
            yield leaves


class _Item:
    """One item that is written page by page."""

    def __init__(self, batch: _Batch, out: Output, findings: Findings, row: BatchRow, item: Item) -> None:
        self._batch, self._out, self._findings, self._row, self._item = batch, out, findings, row, item
        self._why: DocumentError | None = None

    def written(self) -> list[ProducedFile]:
        """Write as many pages as were counted: all of them slip sheets if the item has more or fewer now."""
        counted = self._row.pages or 1
        with self._batch.opened(self._row, self._item, self._failed) as leaves:
            if leaves is not None and leaves.count != counted:
                self._failed(_other_pages(leaves.count, counted))
                leaves = None
            files = [self._page(leaves, number) for number in range(counted)]
            if leaves is not None:
                for error in (*leaves.faults, *([_not_shown(leaves.lost)] if leaves.lost else ())):
                    self._findings.item_failed(self._item.id, error)
            return files

    def _failed(self, error: DocumentError) -> None:
        self._why = error
        self._findings.item_failed(self._item.id, error)

    def _page(self, leaves: Leaves | None, number: int) -> ProducedFile:
        row, choice = self._row, self._batch.choice
        bates = self._out.choice.control((row.first_page or 0) + number)
        self._batch.enter(self._item)
        image, dpi = self._leaf(leaves, number)
        data = encoded(stamped(image, dpi, bates), dpi, choice.format)
        name = bates + SUFFIXES[choice.format]
        return self._out.put(row.number, FileKind.IMAGE, Place(row.volume, row.folder), name, data, page=number + 1)

    def _leaf(self, leaves: Leaves | None, number: int) -> tuple[Image.Image, int]:
        if leaves is not None:
            try:
                return leaves.leaf(number)
            except DocumentError as error:
                self._failed(error)
        many, item = self._row.pages or 1, self._item
        why = "" if self._why is None else f"{self._why.code}: {self._why.detail}"
        place = (
            f"Page {number + 1} of {many} could not be rendered." if many > 1 else "This item could not be rendered."
        )
        lines = [
            place,
            "",
            why[:90],
            "",
            f"Name: {item.container_path[-1][:80]}",
            f"Type: {item.media_type}",
            f"Bytes: {item.size:,}",
            *([f"Exceptions in the discovery: {', '.join(self._row.codes)}"] if self._row.codes else ()),
        ]
        return slip_sheet(lines, self._batch.choice.dpi)
