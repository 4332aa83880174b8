"""Locations on the storage root (design §2), each as bytes relative to it."""

from __future__ import annotations

import hashlib
import re
import uuid

from core.records import Layout

NO_PARENT = uuid.UUID(int=0)
_NO_PARENT = NO_PARENT.bytes


def item_id(job: uuid.UUID, parent: uuid.UUID | None, ordinal: bytes) -> uuid.UUID:
    """128 bits of a hash over job, parent and ordinal.

    `ordinal` identifies the item inside its parent: for a loose file the bytes of the path relative to the source, for
    children see `number`."""
    above = _NO_PARENT if parent is None else parent.bytes
    return uuid.UUID(bytes=hashlib.blake2b(job.bytes + above + ordinal, digest_size=16).digest())


def number(n: int) -> bytes:
    """The ordinal of a child: byte offset (mbox), directory index (zip) or position, failures counted."""
    return b"#%d" % n


_NOT_PLAIN = re.compile("[^a-z0-9-]")


def job_location(job: uuid.UUID) -> bytes:
    """The folder of everything a job writes."""
    return b"jobs/" + job.hex.encode()


def copies_location(group: uuid.UUID) -> bytes:
    """The folder with the copies of a source that a group's jobs read; it is removed when they are over."""
    return b"corpora/copies-" + group.hex.encode()


def items_location(job: uuid.UUID) -> bytes:
    """The folder of a job's extracted children."""
    return job_location(job) + b"/items"


def renderings_location(job: uuid.UUID) -> bytes:
    """The folder of files that a processing job keeps between its phases; it is removed when they are over."""
    return job_location(job) + b"/rendered"


def rendered_location(job: uuid.UUID, item: uuid.UUID) -> bytes:
    """The PDF that an item was rendered to, or the reason why it was not; 256-way fan-out."""
    name = item.hex.encode()
    return renderings_location(job) + b"/" + name[:2] + b"/" + name


def indexes_location(job: uuid.UUID) -> bytes:
    """The folder of a job's index shards."""
    return job_location(job) + b"/index"


def index_location(job: uuid.UUID, shard: uuid.UUID) -> bytes:
    """The folder of one published shard."""
    return indexes_location(job) + b"/" + shard.hex.encode()


FAN_OUT = 256  # folders of extracted children, by the first two digits of their ids


def item_location(job: uuid.UUID, item: uuid.UUID, layout: Layout, worker: str) -> bytes:
    """The file of one extracted child: named by its id, never by a name that came from data; 256-way fan-out."""
    name = item.hex.encode()
    folder = items_location(job)
    if layout is Layout.PER_WORKER:
        # Of workers `A` and `a` it is one, on any storage: on case-insensitive storage their folders are one, and phase
        # finalise would take the items of the one for files that no row names.
        folder += b"/" + _NOT_PLAIN.sub("_", worker.lower()).encode()
    return folder + b"/" + name[:2] + b"/" + name


def trace_location(job: uuid.UUID) -> bytes:
    """The file of a job's trace."""
    return job_location(job) + b"/trace.edbtrace"


def trace_parts_location(job: uuid.UUID) -> bytes:
    """The folder to which workers copy their parts of a job's trace."""
    return job_location(job) + b"/trace-parts"
