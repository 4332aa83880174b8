"""A slot's open shards, and how their segments get to the filer (design §3.9).

One fresh shard a process incarnation and job. New segment files are copied through the storage layer, so these
writes are recorded calls; the meta file goes last, and only then are files removed that no meta names any more.
"""

from __future__ import annotations

import os
import shutil
import uuid
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from core.moments import reached
from core.places import index_location
from core.records import Shard
from core.storage.layer import Storage
from worker.indexes.base import Commit, IndexDocument, IndexWriter
from worker.indexes.registry import new_writer

FULL_BYTES = 128_000_000  # a shard of this size is closed and a fresh one begun: merging maps whole segments into
# the slot's memory and writes them to the filer again, so what may be merged has to be bounded
KEPT_OPEN = 2  # jobs a slot works on in turn; a shard closed for another job is never reopened


@dataclass(slots=True)
class OpenShard:
    """One shard of this process."""

    id: uuid.UUID
    engine: str
    writer: IndexWriter
    location: bytes
    local: Path
    published: set[str] = field(default_factory=set)
    commits: int = 0
    size: int = 0  # bytes of the files published now

    def add(self, document: IndexDocument) -> None:
        """Queue one document for the next publication."""
        self.writer.add(document)

    def publish(self, storage: Storage, root: bytes, alive: Callable[[], None] | None = None) -> tuple[Shard, int]:
        """Commit and publish; gives the shard's row and the bytes written. `alive` is told now and then that it goes on.
        Raises StorageFault."""
        self.commits += 1
        snapshot = self.local / f"snapshot-{self.commits}"
        commit = self.writer.commit(snapshot)
        reached("publish")
        target = os.path.join(root, self.location)
        if not self.published:
            storage.mkdir(target)
        written = self._copy(storage, snapshot, target, commit, alive)
        reached("published")
        for gone in self.published - set(commit.files):  # a publication that failed half-way is gone on with
            storage.remove(os.path.join(target, os.fsencode(gone)), missing_ok=True)
            self.published.discard(gone)
        self.size = sum((snapshot / name).stat().st_size for name in commit.files)
        shutil.rmtree(snapshot)
        shard = Shard(
            id=self.id,
            engine=self.engine,
            location=self.location,
            documents=commit.documents,
            first=self.commits == 1,
        )
        return shard, written

    def _copy(
        self, storage: Storage, snapshot: Path, target: bytes, commit: Commit, alive: Callable[[], None] | None
    ) -> int:
        written = 0
        for name in (*(f for f in commit.files if f not in self.published), commit.meta):
            written += storage.copy_in(os.fsencode(snapshot / name), os.path.join(target, os.fsencode(name)), alive)
            if name != commit.meta:
                self.published.add(name)
        return written

    def close(self) -> None:
        """Stop the engine and give the local disk back."""
        self.writer.close()
        shutil.rmtree(self.local, ignore_errors=True)


class OpenShards:
    """All shards this process has open, least recently used first."""

    def __init__(self, scratch: Path) -> None:
        self._scratch = scratch
        self._open: dict[uuid.UUID, OpenShard] = {}

    def of(self, job: uuid.UUID, engine: str) -> OpenShard:
        """This process's shard of a job, made when there is none."""
        shard = self._open.pop(job, None)
        if shard is not None and shard.size >= FULL_BYTES:
            shard.close()
            shard = None
        if shard is None:
            while len(self._open) >= KEPT_OPEN:
                self._open.pop(next(iter(self._open))).close()
            shard = self._new(job, engine)
        self._open[job] = shard
        return shard

    def _new(self, job: uuid.UUID, engine: str) -> OpenShard:
        shard = uuid.uuid4()
        local = self._scratch / "shards" / shard.hex
        local.mkdir(parents=True)
        writer = new_writer(engine, local / "index")
        return OpenShard(id=shard, engine=engine, writer=writer, location=index_location(job, shard), local=local)

    def abandon(self, job: uuid.UUID) -> None:
        """Never go on with the job's shard after a task that was not written down: documents must not ride along with
        the next commit, and what was published last may have no row, so that phase finalise takes it away."""
        shard = self._open.pop(job, None)
        if shard is not None:
            shard.close()

    def close(self) -> None:
        """Close them all."""
        while self._open:
            self._open.popitem()[1].close()
