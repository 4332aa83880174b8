"""Phase finalise: remove files that no row names, then force everything to stable storage (design §3.10).

A task has a share of the fan-out folders and of the index's shards, by the first digit of their names; the one that has
FINALISE_REST among them processes all other names and the sync. Several tasks need no order: each sweep removes only
files of its own share.

Files without a row come from claims that were taken over, lost by a crash of the database, or killed. A slot that was
stopped for longer than its lease and wakes up after this phase removes its own files (`remove_leftovers`). Limit: not
if it is killed before that."""

from __future__ import annotations

import logging
import os
import uuid
from collections.abc import Iterator, Sequence

from core.errors import SourceFileError, SystemFault
from core.places import index_location, indexes_location, items_location
from core.records import FINALISE_LIST, FINALISE_REST, Layout, Phase
from core.storage.layer import EntryKind
from readers.errors import ExceptionCode
from sql import states
from sql.findings import TaskResult
from sql.items import ITEMS
from worker.items.findings import Findings
from worker.phases.task import TaskWork
from worker.slots.breadcrumb import Activity

log = logging.getLogger(__name__)


def remove_leftovers(work: TaskWork, result: TaskResult) -> None:
    """Remove the files of a result that was dropped and that no row names; nothing while the job may still add rows.

    A fault is only logged: the files are unused."""
    job = work.job.id
    written = {item.id: item.location for item in result.items if item.location is not None}
    try:
        with work.database.transaction() as conn:
            if states.hold_phase(conn, job) is not Phase.FINALISE:  # held: it is not requeued meanwhile
                return
            known = ITEMS.item_locations(conn, items=list(written))
            for item, location in written.items():
                if known.get(item) != location:
                    work.storage.remove(os.path.join(work.root, location), missing_ok=True)
            if result.shard is not None and result.shard.id not in ITEMS.shard_ids(conn, job=job):
                work.storage.remove_tree(os.path.join(work.root, index_location(job, result.shard.id)))
    except SystemFault as error:
        log.warning("task %s: unused files were not removed: %s", work.claimed.id, error)


_ROWS_AT_ONCE = 5_000
_DIGITS = b"0123456789abcdef"


def run(work: TaskWork) -> TaskResult:
    """Leave exactly what the database knows of in this task's share, and sync the storage root's file system."""
    shares = set(work.claimed.payload[FINALISE_LIST])
    digits = b"".join(share.encode() for share in shares)
    _remove_items_without_row(work, digits)
    _remove_shards_without_row(work, digits, rest=FINALISE_REST in shares)
    if FINALISE_REST in shares:
        work.context.breadcrumb.doing(Activity.SYNCING, work.root)
        work.storage.sync_tree(work.root)
    return Findings().result()


def _folders(work: TaskWork, digits: bytes) -> Iterator[bytes]:
    """Yield the fan-out folders whose names begin with one of the digits, relative to the storage root."""
    top = items_location(work.job.id)
    tops = [top]
    if work.job.options.layout is Layout.PER_WORKER:
        tops = [os.path.join(top, name) for name in _directories(work, top)]
    for folder in tops:
        for name in _directories(work, folder):
            if name[:1] in digits:
                yield os.path.join(folder, name)


def _directories(work: TaskWork, relative: bytes) -> list[bytes]:
    """Return the names of the directories in one; none if it was never made (the job's own folder is known to
    exist)."""
    work.context.breadcrumb.doing(Activity.LISTING, os.path.join(work.root, relative))
    try:
        entries = work.storage.scan(os.path.join(work.root, relative))
    except SourceFileError as e:
        if e.code is ExceptionCode.VANISHED:
            return []
        raise
    return [e.name for e in entries if e.kind is EntryKind.DIRECTORY]


def _remove_items_without_row(work: TaskWork, digits: bytes) -> None:
    """Remove item files without a row. A small job's folders hold few files, so several are queried together."""
    places: list[bytes] = []
    for folder in _folders(work, digits):
        path = os.path.join(work.root, folder)
        work.context.breadcrumb.doing(Activity.LISTING, path)
        with work.storage.listing(path, work.context.scratch, work.context.breadcrumb.alive) as listing:
            for entries in listing:
                places += [os.path.join(folder, e.name) for e in entries]
                while len(places) >= _ROWS_AT_ONCE:
                    _sweep(work, places[:_ROWS_AT_ONCE])
                    del places[:_ROWS_AT_ONCE]
    if places:
        _sweep(work, places)


def _sweep(work: TaskWork, places: Sequence[bytes]) -> None:
    work.context.breadcrumb.doing(Activity.REMOVING, os.path.join(work.root, os.path.dirname(places[0])))
    ids = [_item_of(os.path.basename(place)) for place in places]
    with work.database.transaction() as conn:
        known = ITEMS.item_locations(conn, items=[i for i in ids if i is not None])
    for place, ident in zip(places, ids, strict=True):
        if ident is None or known.get(ident) != place:
            # Another claim may have written here: one that was taken over and does not know it yet.
            work.storage.remove(os.path.join(work.root, place), missing_ok=True)


def _item_of(name: bytes) -> uuid.UUID | None:
    """Return the item for which a file is named; None for temporary files."""
    try:
        return uuid.UUID(name.decode("ascii")) if len(name) == 32 else None
    except ValueError:
        return None


def _remove_shards_without_row(work: TaskWork, digits: bytes, *, rest: bool) -> None:
    """Remove shards without a row whose names begin with one of the digits; `rest`: also what has another name."""
    top = indexes_location(work.job.id)
    with work.database.transaction() as conn:
        known = {shard.hex.encode() for shard in ITEMS.shard_ids(conn, job=work.job.id)}
    for name in _directories(work, top):
        if name[:1] not in digits and not (rest and name[:1] not in _DIGITS):
            continue
        shard = os.path.join(work.root, top, name)
        work.context.breadcrumb.doing(Activity.REMOVING, shard)
        if name not in known:
            work.storage.remove_tree(shard)
            continue
        for entry in work.storage.scan(shard):
            if entry.name.endswith(b".tmp"):  # its slot died while it published
                work.storage.remove(os.path.join(shard, entry.name), missing_ok=True)
