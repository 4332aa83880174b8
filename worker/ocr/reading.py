"""All pages of one item through tesseract, under the item's own limits."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from msgspec.structs import replace

from core.clock import Clock
from core.errors import SourceFileError, SystemFault
from core.records import OcrChoice, Shard
from readers.base import Source
from readers.clean import Collector
from readers.errors import DocumentError, ExceptionCode
from readers.records import Limits, TextState
from readers.registry import handler_for
from sql.findings import Item, ItemText, TaskResult
from sql.items import ITEMS
from worker.items.findings import Findings
from worker.items.guard import guarded
from worker.items.sources import confirm
from worker.items.texts import Indexing, take_text
from worker.ocr.candidates import bare_pages, is_candidate
from worker.ocr.pages import Pages, pages_of
from worker.ocr.tesseract import Engine, OcrUnavailable, Recognised, find_engine, recognise
from worker.phases.index import read_item
from worker.phases.task import ItemCosts, TaskWork

_SLACK_SECONDS = 30.0  # of a page's deadline in its slot, added to tesseract's own: to render it
_DAMAGE = frozenset((ExceptionCode.CORRUPT, ExceptionCode.TRUNCATED))


@dataclass(frozen=True, slots=True)
class Reader:
    """Reader of pages in this process. `enter` is called for each page, with the seconds that it may take."""

    engine: Engine
    choice: OcrChoice
    limits: Limits
    clock: Clock
    enter: Callable[[uuid.UUID, float], None]

    def read(self, item: Item, row: ItemText, source: Source, out: Findings, own: str = "") -> tuple[str, ItemText]:
        """Return the item's text and its new row; what goes wrong is booked as an item-level exception, unless it is
        the damage that the item is known for. An item with text of its `own` gets that and the text of its bare
        pages."""
        reading = Reading(self.limits.text_characters, own, bare_pages(row))
        self.enter(item.id, self._page_seconds)
        try:
            with guarded, pages_of(source, item.media_type, self.limits, self.choice) as pages:
                self._pages(item, pages, reading)
        except DocumentError as failed:
            reading.errors.append(failed)
        damaged = any((item.id, code) in out.known for code in _DAMAGE)
        for error in reading.errors:
            if not (damaged and error.code in _DAMAGE):
                out.item_failed(item.id, error)
        return reading.text, reading.row(row, self.choice, self.engine)

    @property
    def _page_seconds(self) -> float:
        """Seconds for a page: it is rendered once, and read twice if the first process was killed."""
        return 2 * self.choice.page_seconds + _SLACK_SECONDS

    def _pages(self, item: Item, pages: Pages, reading: Reading) -> None:
        deadline = self.clock.monotonic_ns() + int(self.choice.item_seconds * 1e9)
        wanted = reading.wanted or range(pages.count)
        for done, number in enumerate(wanted):
            if done >= self.choice.pages or reading.full:
                reading.cut = True
                return
            if self.clock.monotonic_ns() > deadline:
                detail = f"the time for all pages was used up after {done} of {len(wanted)}"
                raise DocumentError(ExceptionCode.TIMEOUT, detail)
            self.enter(item.id, self._page_seconds)
            try:
                with guarded:
                    self._page(pages, number, reading)
            except DocumentError as error:
                where = f"page {number + 1}: " if pages.count > 1 else ""
                reading.errors.append(DocumentError(error.code, where + error.detail))

    def _page(self, pages: Pages, number: int, reading: Reading) -> None:
        picture = pages.page(number)
        if picture is not None:
            got = recognise(self.engine, picture.file, self.choice, frame=picture.frame, dpi=picture.dpi)
            reading.add(got)
        reading.pages += 1


@dataclass(slots=True)
class Reading:
    """Result of one item's pages so far."""

    limit: int  # characters
    own: str = ""  # the text that it has of its own
    wanted: list[int] = field(default_factory=list)  # pages (from 0); all where it has no text
    pages: int = 0  # read, or seen to be blank
    cut: bool = False
    found: bool = False  # words, on any page
    letters: int = 0
    confidence: float = 0.0  # of all letters together
    errors: list[DocumentError] = field(default_factory=list)
    collector: Collector = field(init=False)

    def __post_init__(self) -> None:
        self.collector = Collector(self.limit)
        if self.own:
            self.collector.add(self.own if self.own.endswith("\n") else f"{self.own}\n")

    def add(self, page: Recognised) -> None:
        """Add one more page, with a line break after its text."""
        self.cut = self.cut or page.cut
        self.letters += page.letters
        self.confidence += page.confidence
        if page.text:
            self.found = True
            self.collector.add(f"{page.text}\n")

    @property
    def full(self) -> bool:
        """Whether no more characters fit."""
        return self.collector.cut

    @property
    def text(self) -> str:
        return self.collector.text()

    def row(self, before: ItemText, choice: OcrChoice, engine: Engine) -> ItemText:
        """Return the item's row, with a note that its text was recognised and is not stored in it.

        If nothing was found, and nothing went wrong, the item has no text layer, as before."""
        about: dict[str, Any] = {
            "ocr": True,
            "ocr_engine": f"tesseract {engine.version}",
            "ocr_languages": choice.languages,
            "ocr_pages": self.pages,
        }
        if self.letters:
            about["ocr_confidence"] = round(self.confidence / self.letters)
        metadata = before.metadata | about
        return replace(before, state=self._state(before), characters=len(self.text), metadata=metadata)

    def _state(self, before: ItemText) -> TextState:
        if self.cut or self.full:
            return TextState.TRUNCATED_BY_LIMIT
        if self.errors:
            if self.found or self.wanted:  # words of other pages
                return TextState.PARTIAL
            return before.state if self.own else TextState.FAILED
        found = self.found and before.state is TextState.NO_TEXT_LAYER  # a caption is not the text of the picture
        return TextState.OK if found else before.state


def engine_of(languages: str, worker: str) -> Engine:
    """Return the tesseract for a job; raises SystemFault, which suspends the job, if this worker has none."""
    try:
        engine = find_engine()
        engine.needs(languages)
    except OcrUnavailable as error:
        raise SystemFault(
            f"worker {worker} cannot do the OCR of this job (--ocr): {error.what}; {error.fix}, then resume the job"
        ) from error
    return engine


def run(work: TaskWork) -> TaskResult:
    """Read this task's items and publish the slot's shard."""
    ids = [uuid.UUID(text) for text in work.claimed.payload["items"]]
    with work.database.transaction() as conn:
        items = ITEMS.load_items(conn, items=ids)
        texts = {text.item: text for text in ITEMS.load_texts(conn, items=ids)}
        out = Findings(known=set(ITEMS.item_codes(conn, items=ids)))
    options, context = work.job.options, work.context
    reader = Reader(
        engine=engine_of(options.ocr.languages, context.worker),
        choice=options.ocr,
        limits=options.limits,
        clock=context.clock,
        enter=context.breadcrumb.enter,
    )
    indexing = Indexing(work, context.shards.of(work.job.id, options.index_engine), out)
    costs = ItemCosts(work, ids)
    for item in items:
        if is_candidate(item, texts[item.id]):
            with costs.of(item) as refusal:
                _read(work, reader, indexing, item, texts[item.id], refusal)
    context.breadcrumb.leave()
    shard: Shard | None = None
    index_bytes = 0
    if out.owners:
        shard, index_bytes = indexing.publish()
    return out.result(shard=shard, index_bytes=index_bytes)


def _read(
    work: TaskWork, reader: Reader, indexing: Indexing, item: Item, row: ItemText, refusal: DocumentError | None
) -> None:
    try:
        if refusal is not None:
            raise refusal
        source = read_item(work, item)
    except DocumentError as error:
        if isinstance(error, SourceFileError):
            work.check_source_root()
        indexing.out.item_failed(item.id, error)
        _leave(row, indexing)
        return
    if source is None:
        return
    text, new = reader.read(item, row, source, indexing.out, _own(item, row, source, reader))
    try:
        confirm(source)
    except DocumentError as error:
        indexing.out.item_failed(item.id, error)
        _leave(row, indexing)
        return
    if text:
        indexing.book(item, text, new)
    else:
        indexing.out.texts.append(new)


def _leave(row: ItemText, indexing: Indexing) -> None:
    """Mark as partial an item whose bare pages are not read: its state was `ok` by the text of its other pages."""
    if row.state is TextState.OK and bare_pages(row):
        indexing.out.texts.append(replace(row, state=TextState.PARTIAL))


def _own(item: Item, row: ItemText, source: Source, reader: Reader) -> str:
    """Return the text of an item with text as well as bare pages, or a caption, taken again for its new index
    document."""
    if not (bare_pages(row) or row.characters):
        return ""
    return take_text(item, source, handler_for(item.media_type), reader.limits, Findings())[0]
