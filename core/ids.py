"""Deterministic item ids (design §3.6): a re-run of any task names every item as the first run did."""

from __future__ import annotations

import hashlib
import uuid

NO_PARENT = uuid.UUID(int=0)
_NO_PARENT = NO_PARENT.bytes


def item_id(job: uuid.UUID, parent: uuid.UUID | None, ordinal: bytes) -> uuid.UUID:
    """128 bits of a hash over job, parent and ordinal.

    `ordinal` is what identifies the item inside its parent: the path bytes relative to the source for
    a loose file; see `number` for children.
    """
    above = _NO_PARENT if parent is None else parent.bytes
    return uuid.UUID(bytes=hashlib.blake2b(job.bytes + above + ordinal, digest_size=16).digest())


def number(n: int) -> bytes:
    """The ordinal of a child: byte offset (mbox), directory index (zip) or position, failures counted."""
    return b"#%d" % n
