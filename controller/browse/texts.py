"""The text of one item, as its index document holds it."""

from __future__ import annotations

from controller.databases import JobHandle
from controller.search.opened import opened_shards
from core.settings import Settings
from sql.faces.browse import WholeItem


def item_text(handle: JobHandle, settings: Settings, row: WholeItem) -> str | None:
    """The text that was indexed of an item; None while it has no document.

    Whoosh has no way to one document by its item, so its shard is looked through. Raises RunFailed when the shard is
    not on the storage root, StorageFault.
    """
    if row.shard is None or row.owner is None:
        return None
    with opened_shards(handle, settings, only=row.shard) as readers:
        reader = readers.get(row.shard)
        return None if reader is None else reader.body(row.id, row.owner)
