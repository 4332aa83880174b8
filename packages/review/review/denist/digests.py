"""MD5 and SHA-1 of a job's items, for lists without SHA-256: the ledger has only SHA-256, so the bytes are read again.

The digests are stored in portions: a killed run continues where it stopped, and the next list needs no reads. An item
whose SHA-256 differs from the ledger's is skipped; it is another file."""

from __future__ import annotations

import hashlib
import os
import uuid
from concurrent.futures import ThreadPoolExecutor

from controller.databases import JobHandle
from core.errors import SourceFileError, StorageFault, UsageError
from core.names import display_name
from core.storage.layer import Storage
from review.statements import REVIEW, Undigested

ITEMS_AT_ONCE = 1_000
READERS = 4  # each waits for the filer most of the time
_PIECE = 1_000_000


_Digests = tuple[uuid.UUID, bytes, bytes, bytes]  # an item's id, SHA-256, MD5 and SHA-1


def read_digests(handle: JobHandle) -> None:
    """Read every item of the job whose MD5 and SHA-1 are unknown. Raises UsageError if the job's source is missing or
    changed, StorageFault, DatabaseFault."""
    after, checked = uuid.UUID(int=0), False
    with ThreadPoolExecutor(READERS, "digests") as pool:
        while True:
            with handle.database.transaction() as conn:
                rows = REVIEW.without_digest(conn, job=handle.id, after=after, limit=ITEMS_AT_ONCE)
            if not rows:
                return
            if not checked:
                _check_source(handle)
                checked = True
            shares = [pool.submit(_read, handle, rows[number::READERS]) for number in range(READERS)]
            read = [digest for share in shares for digest in share.result()]
            with handle.database.transaction() as conn:
                REVIEW.put_digests(
                    conn,
                    job=handle.id,
                    items=[item for item, _, _, _ in read],
                    sha256=[sha256 for _, sha256, _, _ in read],
                    md5=[md5 for _, _, md5, _ in read],
                    sha1=[sha1 for _, _, _, sha1 in read],
                )
            after = rows[-1].id


def _check_source(handle: JobHandle) -> None:
    job, storage = handle.job, Storage()
    try:
        same = storage.root_identity(job.source) == (job.source_device, job.source_inode)
    except StorageFault as error:
        raise UsageError(_gone(handle)) from error
    if not same:
        raise UsageError(_gone(handle))


def _gone(handle: JobHandle) -> str:
    return (
        f"the source of job {handle.id}, {display_name(handle.job.source)}, does not exist or has changed; a list "
        "without SHA-256 requires its bytes"
    )


def _read(handle: JobHandle, rows: list[Undigested]) -> list[_Digests]:
    """Read the digests of one thread's share, through a storage of its own; skip items that cannot be read or have
    changed."""
    storage = Storage()
    root = handle.job.storage
    storage.keep_below(handle.job.source)
    storage.keep_below(root, own=True)
    try:
        return [digest for row in rows if (digest := _digest(storage, handle.job.source, root, row)) is not None]
    finally:
        storage.let_go()


def _digest(storage: Storage, source: bytes, root: bytes, row: Undigested) -> _Digests | None:
    if row.location is not None:
        path = os.path.join(root, bytes(row.location))
    elif row.path is not None:
        path = os.path.join(source, bytes(row.path))
    else:
        return None
    sha256, md5, sha1 = hashlib.sha256(), hashlib.md5(usedforsecurity=False), hashlib.sha1(usedforsecurity=False)
    try:
        with storage.open(path) as file:
            while piece := file.read(_PIECE):
                for running in (sha256, md5, sha1):
                    running.update(piece)
    except SourceFileError:
        return None
    if sha256.digest() != bytes(row.sha256):
        return None
    return row.id, sha256.digest(), md5.digest(), sha1.digest()
