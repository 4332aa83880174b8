"""Requeue of a finished job's exceptions: what is removed, and the tasks that process it again."""

from __future__ import annotations

import base64
import uuid
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from core.errors import UsageError
from core.records import JobOptions, JobState, JobType, NewTask, Phase
from sql import bulk
from sql.connection import Connection
from sql.deletion import refuse_taken
from sql.interface import QUERIES

_DIRECTORY = "inode/directory"  # media type of the item for a directory that could not be listed
ROOTS_AT_ONCE = 5_000  # loose files
_FILE_COST = 4_096  # part of a task's weight, in addition to the file's bytes
TAKEN = "cancel that job, or wait until it has ended, then requeue"  # advice if a job takes the items


def requeue(conn: Connection, job: uuid.UUID, options: JobOptions, code: str | None = None) -> int:
    """Remove every loose file that has an exception (of one code, if given) or contains an item with one, with
    everything inside it, and create tasks that process it again; return the number of loose files.

    The job is paused afterwards; resume it. Call it in a durable transaction. Raises UsageError if the job did not
    complete with exceptions, another job takes its items, or no such exception can be requeued."""
    if options.type is not JobType.DISCOVERY:
        raise UsageError(f"job {job} is of type {options.type}; requeue works on discovery jobs only")
    row = QUERIES["lock_job"].run(conn, job=job).one_or_none()
    state = None if row is None else JobState(row.state)
    if state is not JobState.COMPLETED_WITH_EXCEPTIONS:
        raise UsageError(
            f"job {job} is {state or 'deleted'}; only a job that completed with exceptions can be requeued"
        )
    refuse_taken(conn, job, TAKEN)
    QUERIES["requeue_roots"].run(conn, job=job, code=code)
    gone: Counter[str] = Counter()
    first = Phase.EXPAND
    for roots in _roots(conn):
        found = QUERIES["requeue_remove"].run(conn, job=job, roots=[root.id for root in roots])
        removed: Any = found.one()._asdict()
        gone.update(removed, roots=len(roots))
        tasks = [_walk(root) for root in roots if root.media_type == _DIRECTORY]
        first = Phase.WALK if tasks else first
        tasks += _expand([root for root in roots if root.media_type != _DIRECTORY], options)
        bulk.insert_tasks(conn, job, tasks)
    if not gone["roots"]:
        what = (
            "exceptions that another attempt could resolve"
            if code is None
            else f"exceptions with code {code} that another attempt could resolve"
        )
        raise UsageError(f"job {job} has no {what}")
    _correct(conn, job, gone, two_pass=not options.single_pass)
    QUERIES["requeue_job"].run(conn, job=job, phase=first.value)
    return gone["roots"]


def requeued_files(conn: Connection, job: uuid.UUID) -> int:
    """Number of loose files of the job that have been requeued so far."""
    return int(QUERIES["requeued_files"].run(conn, job=job).scalar_one())


def _roots(conn: Connection) -> Iterator[Sequence[Any]]:
    """Return the loose files, some at a time."""
    after = 0
    while rows := QUERIES["requeue_some"].run(conn, after=after, limit=ROOTS_AT_ONCE).all():
        yield rows
        after += len(rows)


def _correct(conn: Connection, job: uuid.UUID, gone: Counter[str], *, two_pass: bool) -> None:
    """Subtract the removed rows from the sums over tasks."""
    QUERIES["requeue_correction"].run(
        conn,
        job=job,
        phase=Phase.EXPAND.value,
        requeued=gone["roots"],
        items=gone["items"],
        raw_bytes=gone["raw_bytes"],
        extracted_bytes=gone["extracted_bytes"],
    )
    read = {Phase.INDEX: gone["texts"] if two_pass else 0, Phase.OCR: gone["by_ocr"]}
    for phase, texts in read.items():
        if texts:
            QUERIES["requeue_correction"].run(
                conn, job=job, phase=phase.value, requeued=0, items=texts, raw_bytes=0, extracted_bytes=0
            )


def _text(path: Any) -> str:
    return base64.b64encode(bytes(path)).decode("ascii")


def _walk(root: Any) -> NewTask:
    payload = {"custodian": root.custodian, "directories": [_text(root.path)], "files_only": False}
    return NewTask(phase=Phase.WALK, weight=1, payload=payload)


def _expand(roots: Sequence[Any], options: JobOptions) -> Iterator[NewTask]:
    """Batches as phase walk makes them, each of one custodian."""
    batch: list[Any] = []
    nbytes = 0
    for root in roots:
        full = len(batch) >= options.batch_files or nbytes + root.bytes > options.batch_bytes
        if batch and (full or root.custodian != batch[0].custodian):
            yield _batch(batch, nbytes)
            batch, nbytes = [], 0
        batch.append(root)
        nbytes += root.bytes
    if batch:
        yield _batch(batch, nbytes)


def _batch(roots: Sequence[Any], nbytes: int) -> NewTask:
    files = [[_text(root.path), root.bytes, root.mtime_ns or 0] for root in roots]
    payload = {"custodian": roots[0].custodian, "files": files}
    return NewTask(phase=Phase.EXPAND, weight=nbytes + _FILE_COST * len(files), payload=payload)
