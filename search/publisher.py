"""A slot's open shards, and the publication of their segments to the filer (design §3.9, decision 50).

A process incarnation opens a new shard for each job. Each task's documents are written on scratch by a writer of their
own, and its files copied through the storage layer, so these writes are recorded calls; the meta file goes last.
Published segments are never merged, rewritten or removed: only the meta file is replaced by one that names more."""

from __future__ import annotations

import json
import os
import shutil
import uuid
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from core.errors import StorageFault
from core.moments import reached
from core.places import index_location
from core.records import Shard
from core.storage.layer import Storage
from search.engine import META, SEGMENTS, Built, IndexDocument, IndexWriter, new_writer

FULL_SEGMENTS = 32  # a shard with so many is not continued: its meta file is rewritten with each publication
KEPT_OPEN = 8  # jobs a slot works on in turn; a shard closed for another job is never reopened


@dataclass(slots=True)
class OpenShard:
    """One shard of this process; its published segments are on the filer only."""

    id: uuid.UUID
    engine: str
    location: bytes
    local: Path  # for the writer of the current task
    writer: IndexWriter | None = None
    segments: list[Any] = field(default_factory=list)  # published, as the engine's meta file lists them
    documents: int = 0
    size: int = 0  # bytes of the files that the meta file names, itself left out
    begun: bool = False  # a publication was attempted

    def add(self, document: IndexDocument) -> None:
        """Queue one document for the next publication. Raises StorageFault."""
        self._writing().add(document)

    def _writing(self) -> IndexWriter:
        if self.writer is None:
            self.writer = new_writer(self.engine, self.local)
        return self.writer

    def publish(self, storage: Storage, root: bytes, alive: Callable[[], None] | None = None) -> tuple[Shard, int]:
        """Publish the added documents; return the shard's row and the bytes written. `alive` is called from time to
        time. Raises StorageFault; then the shard must be abandoned."""
        built = self._writing().finish()
        meta = self._joined()
        reached("publish")
        target = os.path.join(root, self.location)
        first, self.begun = not self.begun, True
        if first:
            storage.mkdir(target)
        sizes = [
            storage.copy_in(os.fsencode(self.local / name), os.path.join(target, os.fsencode(name)), alive)
            for name in (*built.files, META)
        ]
        reached("published")
        self.segments = meta
        return self._published(built, sizes, first), sum(sizes)

    def _joined(self) -> list[Any]:
        """Add the segments published before to the meta file on scratch; return all segments."""
        file = self.local / META
        try:
            meta = json.loads(file.read_bytes())
            meta[SEGMENTS] = [*self.segments, *meta[SEGMENTS]]
            file.write_text(json.dumps(meta, separators=(",", ":")))
        except OSError as e:
            raise StorageFault(f"{file} on scratch: {e.strerror}; check that scratch has space, then resume") from e
        return list(meta[SEGMENTS])

    def _published(self, built: Built, sizes: list[int], first: bool) -> Shard:
        self.close()
        self.documents += built.documents
        self.size += sum(sizes[:-1])
        return Shard(
            id=self.id,
            engine=self.engine,
            location=self.location,
            documents=self.documents,
            size=self.size + sizes[-1],
            first=first,
        )

    def close(self) -> None:
        """End a task's writer and free the local disk; documents that were added and not published are dropped."""
        if self.writer is not None:
            self.writer.close()
            self.writer = None
        shutil.rmtree(self.local, ignore_errors=True)


class OpenShards:
    """All open shards of this process, least recently used first."""

    def __init__(self, scratch: Path) -> None:
        self._scratch = scratch
        self._open: dict[uuid.UUID, OpenShard] = {}

    def of(self, job: uuid.UUID, engine: str) -> OpenShard:
        """Return this process's shard of a job; open it if necessary."""
        shard = self._open.pop(job, None)
        if shard is None or len(shard.segments) >= FULL_SEGMENTS:
            while len(self._open) >= KEPT_OPEN:
                self._open.pop(next(iter(self._open)))
            shard = self._new(job, engine)
        self._open[job] = shard
        return shard

    def _new(self, job: uuid.UUID, engine: str) -> OpenShard:
        shard = uuid.uuid4()
        local = self._scratch / "shards" / shard.hex
        return OpenShard(id=shard, engine=engine, location=index_location(job, shard), local=local)

    def abandon(self, job: uuid.UUID) -> None:
        """Stop using the job's shard after a task that was not recorded: its documents must not be included in the next
        publication. Its last publication may have no row, so phase finalise removes it."""
        shard = self._open.pop(job, None)
        if shard is not None:
            shard.close()

    def close(self) -> None:
        """Close them all."""
        while self._open:
            self._open.popitem()[1].close()
