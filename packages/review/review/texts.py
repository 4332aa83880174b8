"""The texts of a job's items, from the index."""

from __future__ import annotations

import uuid
from collections.abc import Iterator

from controller.databases import JobHandle
from controller.search.opened import opened_shards
from core.settings import Settings
from sql.browse import BROWSE, SEARCH


def texts_of(handle: JobHandle, settings: Settings) -> Iterator[tuple[uuid.UUID, str]]:
    """Yield each item's one valid text (design §3.9), in no order, one shard open at a time; "" for an item without
    text. Raises RunFailed if a shard is not on the storage root, StorageFault, DatabaseFault."""
    with handle.database.transaction() as conn:
        shards = BROWSE.shards(conn, job=handle.id)
    for shard in shards:
        with handle.database.transaction() as conn:
            rows = SEARCH.shard_owners(conn, job=handle.id, shard=shard.id)
        owners = {uuid.UUID(bytes=bytes(row.item)): row.owner for row in rows}
        if owners:
            with opened_shards(handle, settings, only=shard.id) as readers:
                yield from readers[shard.id].bodies(owners)
