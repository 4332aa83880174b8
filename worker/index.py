"""Phase index: read every item again from the filer, take its text, feed the slot's shard (design §3.9).

Containers are not read again: their content is their children's; they get a document of metadata only.
"""

from __future__ import annotations

import uuid
from typing import Any

from core.errors import DocumentError, SourceFileError
from core.records import Item, TaskResult
from sql.items import item_codes, load_items
from worker.findings import Findings
from worker.formats.base import MemorySource, Source
from worker.formats.registry import handler_for
from worker.store import KEEP_BYTES
from worker.task import TaskWork
from worker.texts import Indexing


def run(work: TaskWork) -> TaskResult:
    """Index this task's items and publish the slot's shard."""
    ids = [uuid.UUID(text) for text in work.claimed.payload["items"]]
    with work.database.transaction() as conn:
        items = load_items(conn, ids)
        known = item_codes(conn, ids)
    out = Findings(known=known, notes=_notes(work.claimed.payload))
    indexing = Indexing(work, work.context.shards.of(work.job.id, work.job.options.index_engine), out)
    limits = work.job.options.limits
    for item in items:
        work.context.crumb.enter(item.id, limits.item_seconds + limits.item_seconds_per_mb * item.size / 1e6)
        _index(work, indexing, item)
    work.context.crumb.leave()
    out.follow_on.extend(indexing.ocr_tasks())
    shard, index_bytes = indexing.shard.publish(work.storage, work.root)
    return out.result(shard=shard, index_bytes=index_bytes)


def _notes(payload: dict[str, Any]) -> dict[uuid.UUID, dict[str, Any]]:
    """What phase expand learned of these items and no reading of them alone would tell."""
    return {uuid.UUID(item): about for item, about in payload.get("notes", {}).items()}


def _index(work: TaskWork, indexing: Indexing, item: Item) -> None:
    handler = handler_for(item.media_type)
    source: Source | None = None
    if item.id in work.convicted:
        indexing.out.item_failed(item.id, DocumentError(*work.convicted[item.id]))
    elif not item.container:
        try:
            source = read_item(work, item)
        except SourceFileError as e:
            work.check_source_root()
            indexing.out.item_failed(item.id, e)
    indexing.take(item, source, handler)


def read_item(work: TaskWork, item: Item) -> Source | None:
    """Small items are read with one call; of large ones the handler reads what it needs."""
    source = work.source_of(item)
    if source is None or item.size > KEEP_BYTES:
        return source
    return MemorySource(item.name, source.whole(KEEP_BYTES), work.passwords)
