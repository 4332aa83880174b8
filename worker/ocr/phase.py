"""Phase ocr: read pictures and PDFs without text again from the filer, and put their text into the index.

An item in which text was found gets a new index document, by a new owner; that of phase index is a ghost from then on, as
one of an attempt that was taken over is (design §3.9).
"""

from __future__ import annotations

import uuid

from msgspec.structs import replace

from core.errors import SourceFileError, SystemFault
from core.records import Shard
from readers.base import Source
from readers.errors import DocumentError
from readers.records import TextState
from readers.registry import handler_for
from sql.findings import Item, ItemText, TaskResult
from sql.items import item_codes, load_items, load_texts
from worker.costs.rereading import ItemCosts
from worker.items.findings import Findings
from worker.items.sources import confirm
from worker.items.texts import Indexing, take_text
from worker.ocr.candidates import bare_pages, is_candidate
from worker.ocr.reading import Reader
from worker.ocr.tesseract import Engine, OcrUnavailable, find_engine
from worker.phases.index import read_item
from worker.phases.task import TaskWork


def engine_of(languages: str, worker: str) -> Engine:
    """The tesseract that a job wants of this worker; raises SystemFault, which suspends the job, where it has none."""
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
        items, texts = load_items(conn, ids), load_texts(conn, ids)
        out = Findings(known=item_codes(conn, ids))
    options, context = work.job.options, work.context
    reader = Reader(
        engine=engine_of(options.ocr.languages, context.worker),
        choice=options.ocr,
        limits=options.limits,
        clock=context.clock,
        enter=context.crumb.enter,
    )
    indexing = Indexing(work, context.shards.of(work.job.id, options.index_engine), out)
    costs = ItemCosts(work, ids)
    for item in items:
        if is_candidate(item, texts[item.id]):
            with costs.of(item) as refusal:
                _read(work, reader, indexing, item, texts[item.id], refusal)
    context.crumb.leave()
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
    """Mark as partial an item whose bare pages are not read: until now it was `ok` by the text of its other pages."""
    if row.state is TextState.OK and bare_pages(row):
        indexing.out.texts.append(replace(row, state=TextState.PARTIAL))


def _own(item: Item, row: ItemText, source: Source, reader: Reader) -> str:
    """The text of an item that has text as well as bare pages, or a caption, taken again for its new index document."""
    if not (bare_pages(row) or row.characters):
        return ""
    return take_text(item, source, handler_for(item.media_type), reader.limits, Findings())[0]
