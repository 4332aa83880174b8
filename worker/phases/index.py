"""Phase index: read every item but containers again from the filer, take its text, feed the slot's shard (design §3.9).

Containers are not read again: their content is their children's; they get a document of metadata only."""

from __future__ import annotations

import uuid

from core.errors import SourceFileError
from readers.base import MemorySource, Source
from readers.errors import DocumentError
from readers.registry import handler_for
from sql.findings import Item, TaskResult
from sql.items import ITEMS
from worker.items.findings import Findings
from worker.items.texts import Indexing
from worker.items.unpack import KEEP_BYTES
from worker.phases.task import ItemCosts, TaskWork


def run(work: TaskWork) -> TaskResult:
    """Index this task's items and publish the slot's shard."""
    ids = [uuid.UUID(text) for text in work.claimed.payload["items"]]
    with work.database.transaction() as conn:
        items = ITEMS.load_items(conn, items=ids)
        known = ITEMS.item_codes(conn, items=ids)
    # What phase expand learned of these items that reading them alone would not show.
    notes = {uuid.UUID(item): about for item, about in work.claimed.payload.get("notes", {}).items()}
    out = Findings(known=set(known), notes=notes)
    indexing = Indexing(work, work.context.shards.of(work.job.id, work.job.options.index_engine), out)
    costs = ItemCosts(work, ids)
    for item in items:
        work.context.breadcrumb.enter(item.id, work.job.options.limits.item_deadline(item.size))
        with costs.of(item) as refusal:
            _index(work, indexing, item, refusal)
    work.context.breadcrumb.leave()
    out.spent = costs.spent()
    out.follow_on.extend(indexing.ocr_tasks())
    shard, index_bytes = indexing.publish()
    return out.result(shard=shard, index_bytes=index_bytes)


def _index(work: TaskWork, indexing: Indexing, item: Item, refusal: DocumentError | None) -> None:
    handler = handler_for(item.media_type)
    source: Source | None = None
    if refusal is not None:
        indexing.out.item_failed(item.id, refusal)
    elif not item.container:
        try:
            source = read_item(work, item)
        except DocumentError as e:
            if isinstance(e, SourceFileError):
                work.check_source_root()
            indexing.out.item_failed(item.id, e)
    indexing.take(item, source, handler)


def read_item(work: TaskWork, item: Item) -> Source | None:
    """Return a source of the item: a small one is read with one call, a large one as the handler needs it."""
    source = work.source_of(item)
    if source is None or item.size > KEEP_BYTES:
        return source
    return MemorySource(item.name, source.whole(KEEP_BYTES), work.passwords)
