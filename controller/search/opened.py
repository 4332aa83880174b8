"""A job's index, opened for searches, and which of its documents are valid (design §3.9)."""

from __future__ import annotations

import logging
import os
import shutil
import tempfile
import threading
import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from controller.databases import JobHandle
from core.errors import RunFailed, StorageFault, UsageError
from core.records import JobState
from core.settings import Settings
from search.engine import SHAREABLE, IndexReader, open_reader
from sql.browse import BROWSE, SEARCH, IndexState

_REMOVALS = 20  # a watcher makes one lock file for a reader; one more removal is nearly always enough

log = logging.getLogger(__name__)


@contextmanager
def opened_shards(
    handle: JobHandle, settings: Settings, *, only: uuid.UUID | None = None
) -> Iterator[dict[uuid.UUID, IndexReader]]:
    """Open readers of all shards by id, or of one, valid inside the `with`.
    Raises RunFailed if a shard that the database names is not on the storage root."""
    shards = [shard for shard in handle.database.ask(BROWSE.shards, job=handle.id) if only in (None, shard.id)]
    settings.scratch.mkdir(parents=True, exist_ok=True)
    with reader_views(settings.scratch) as views:
        readers: dict[uuid.UUID, IndexReader] = {}
        for shard in shards:
            directory = settings.storage / os.fsdecode(shard.location)
            if not directory.is_dir():
                raise RunFailed(
                    f"index shard {directory} is missing; set EDBENCH_STORAGE to the storage root of job {handle.id}"
                )
            readers[shard.id] = open_reader(shard.engine, directory, views / shard.id.hex)
        yield readers


@contextmanager
def reader_views(scratch: Path) -> Iterator[Path]:
    """Create a directory for the readers' links, and remove it afterwards.

    Tantivy watches the directory of an open reader from a thread of its own and locks it with a file there. That file
    may appear while the directory is being emptied ("Directory not empty"), so the removal is retried."""
    views = Path(tempfile.mkdtemp(prefix="search-", dir=scratch))
    try:
        yield views
    finally:
        for _ in range(_REMOVALS):
            shutil.rmtree(views, ignore_errors=True)
            if not views.exists():
                break
        else:
            log.warning("%s could not be removed; it contains links only and may be deleted", views)


if TYPE_CHECKING:
    from controller.search.items import JobItems

KEPT = 4  # jobs whose index a server keeps open


@dataclass(slots=True)
class OpenIndex:
    """Readers by shard; shards in `clean` have no ghosts: each of their documents is the one that its item names."""

    handle: JobHandle
    readers: Mapping[uuid.UUID, IndexReader]
    clean: frozenset[uuid.UUID]
    _items: JobItems | None = None

    @property
    def items(self) -> JobItems:
        """All items of the job, loaded on first use; two concurrent searches may both load them, without harm."""
        if self._items is None:
            from controller.search.items import load_items  # most searches need none, and a command's start would wait

            self._items = load_items(self.handle)
        return self._items


Opened = Callable[[JobHandle], AbstractContextManager[OpenIndex]]


@contextmanager
def opened_index(handle: JobHandle, settings: Settings) -> Iterator[OpenIndex]:
    """Open a job's index, valid inside the `with`.

    Raises RunFailed if a shard is not on the storage root, StorageFault, also if one of a completed job has fewer
    documents than there are items that name it. A shard is clean if it has as many. Each document is published before
    its item names it, so any other document makes the number larger. The items are counted first: a slot may publish in
    between."""
    owned = handle.database.ask(SEARCH.owned_documents, job=handle.id)
    with opened_shards(handle, settings) as readers:
        clean = {shard for shard, reader in readers.items() if reader.documents == owned.get(shard, 0)}
        for shard in readers.keys() - clean if handle.job.state.completed else ():
            if (documents := readers[shard].documents) < owned.get(shard, 0):
                raise StorageFault(
                    f"index shard {shard.hex} of job {handle.id} lacks documents: it has {documents:,}, and "
                    f"{owned[shard]:,} items name it; the storage lost a write, run the job again"
                )
        yield OpenIndex(handle, readers, frozenset(clean))


@dataclass(slots=True)
class _Kept:
    state: IndexState
    index: OpenIndex
    closing: ExitStack
    users: int = 0
    gone: bool = False


@dataclass(slots=True)
class Indexes:
    """Indexes that the searches of one server share. Those of the last KEPT jobs that are over stay open, if the
    engine's readers can be shared: opening a thousand segments takes longer than searching them."""

    settings: Settings
    _kept: dict[uuid.UUID, _Kept] = field(default_factory=dict)
    _opening: dict[uuid.UUID, threading.Lock] = field(default_factory=dict)  # one search opens a job's index
    _lock: threading.Lock = field(default_factory=threading.Lock)

    @contextmanager
    def of(self, handle: JobHandle) -> Iterator[OpenIndex]:
        """Open the job's index; see `opened_index`."""
        state = handle.database.ask(SEARCH.index_state, job=handle.id)
        if state is None:
            raise UsageError(f"there is no job {handle.id}; see `edbench job list`")
        if not JobState(state.state).over or not SHAREABLE.issuperset(state.engines):
            with opened_index(handle, self.settings) as index:
                yield index
            return
        kept = self._take(handle, state)
        try:
            yield kept.index
        finally:
            with self._lock:
                kept.users -= 1
                self._end_unused(kept)

    def _take(self, handle: JobHandle, state: IndexState) -> _Kept:
        with self._lock:
            opening = self._opening.setdefault(handle.id, threading.Lock())
        with opening:
            with self._lock:
                kept = self._kept.pop(handle.id, None)
                if kept is not None and kept.state == state:
                    self._kept[handle.id] = kept  # the latest one
                    kept.users += 1
                    return kept
                if kept is not None:
                    self._drop(kept)
            closing = ExitStack()
            kept = _Kept(state, closing.enter_context(opened_index(handle, self.settings)), closing, users=1)
            with self._lock:
                self._kept[handle.id] = kept
                while len(self._kept) > KEPT:
                    self._drop(self._kept.pop(next(iter(self._kept))))
            return kept

    def _drop(self, kept: _Kept) -> None:
        kept.gone = True
        self._end_unused(kept)

    @staticmethod
    def _end_unused(kept: _Kept) -> None:
        if kept.gone and not kept.users:
            kept.closing.close()

    def close(self) -> None:
        """Close all of them; a running search closes its own."""
        with self._lock:
            while self._kept:
                self._drop(self._kept.popitem()[1])
