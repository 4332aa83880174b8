"""The bytes of other jobs' items, read again where their job had them: a loose file in its source, a child where it was
written."""

from __future__ import annotations

import os
import uuid
from collections.abc import Mapping, Sequence

from core.errors import StorageFault, UsageError
from core.records import Job, JobOptions
from sql import jobs
from sql.findings import Item
from sql.items import load_items
from worker.items.sources import FilerSource, FoundSource
from worker.phases.task import TaskWork


class Evidence:
    """Of one task. Each job's source is known to be what it was before anything of it is read."""

    def __init__(self, work: TaskWork) -> None:
        self._work = work
        self._jobs: dict[uuid.UUID, Job] = {}

    def items(self, ids: Sequence[uuid.UUID]) -> Mapping[uuid.UUID, Item]:
        """The rows of these. Raises StorageFault where one has gone with its job."""
        with self._work.database.transaction() as conn:
            found = {item.id: item for item in load_items(conn, ids)}
        if (gone := len(set(ids)) - len(found)) > 0:
            raise items_gone(gone)
        return found

    def source(self, item: Item, job: uuid.UUID, most: int) -> FoundSource | None:
        """The item's bytes as they were when it was found, `most` of them; None when it has none that could be read then.
        Raises StorageFault."""
        if item.sha256 is None:
            return None
        path = item.ordinal if item.parent is None else None
        source = self.bytes_at(job, path, item.location, item.name, item.size)
        return None if source is None else FoundSource(source, item.sha256, most)

    def bytes_at(
        self, job: uuid.UUID, path: bytes | None, location: bytes | None, name: bytes, size: int
    ) -> FilerSource | None:
        """Those of a loose file with this path in its job's source, or of a child that was written there."""
        if path is not None:
            root = self._source_of(job).source
            return FilerSource(self._work.storage, os.path.join(root, path), name, size, own=False)
        if location is None:
            return None
        return FilerSource(self._work.storage, os.path.join(self._work.root, location), name, size, own=True)

    def check(self, job: uuid.UUID) -> None:
        """Raises StorageFault unless the job's source is what it was when the job was created."""
        self._work.check_root_of(self._source_of(job))

    def options(self, job: uuid.UUID) -> JobOptions:
        """By which the job found its items: what is read of one again is what was read then, and is in the index."""
        return self._source_of(job).options

    def _source_of(self, job: uuid.UUID) -> Job:
        if job not in self._jobs:
            try:
                with self._work.database.transaction() as conn:
                    found = jobs.get_job(conn, job)
            except UsageError as e:
                raise StorageFault(f"job {job}, whose items this job produces, was deleted; cancel this job") from e
            self._work.storage.keep_below(found.source, hold=True)
            self._work.check_root_of(found)
            self._jobs[job] = found
        return self._jobs[job]


def items_gone(many: int) -> StorageFault:
    """So many items have no row any more."""
    return StorageFault(f"{many} of the items are gone: the job that found them was changed; cancel this one")
