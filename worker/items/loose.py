"""Loose files: their rows, and which of them are no regular files."""

from __future__ import annotations

import os
import stat
import uuid

from core.names import display_name, is_lossy
from core.places import item_id
from readers.errors import DocumentError, ExceptionCode
from readers.records import Kind
from sql.findings import Item


def own_name(name: bytes, shown: str, kind: Kind) -> str:
    """An item's own name as people see it: without directories, folders of a mail store or an archive, and the number
    of siblings of one name. `shown` is its part of the container path: of names that are no UTF-8 it may have more than
    `name`. An attachment's name is as its message has it: a slash in it is a letter."""
    own = display_name(name)
    if kind is Kind.LOOSE_FILE or shown.startswith(own):
        shown = own
    if kind is Kind.ATTACHMENT:
        return shown
    windows = kind is Kind.ARCHIVE_MEMBER and "/" not in shown and not is_lossy(name)  # else it may begin an escape
    separator = "\\" if windows else "/"
    return shown.rstrip(separator).rpartition(separator)[2]


UNKNOWN_TYPE = "application/octet-stream"
DIRECTORY_TYPE = "inode/directory"

_SPECIAL = (
    (stat.S_ISLNK, "inode/symlink", ExceptionCode.SYMLINK, "a link; it is not followed"),
    (stat.S_ISFIFO, "inode/fifo", ExceptionCode.SPECIAL_FILE, "a FIFO; it is not opened"),
    (stat.S_ISSOCK, "inode/socket", ExceptionCode.SPECIAL_FILE, "a socket; it is not opened"),
    (stat.S_ISCHR, "inode/chardevice", ExceptionCode.SPECIAL_FILE, "a character device; it is not opened"),
    (stat.S_ISBLK, "inode/blockdevice", ExceptionCode.SPECIAL_FILE, "a block device; it is not opened"),
)


def special(mode: int) -> tuple[str, DocumentError] | None:
    """Media type and exception of what is no regular file; None for a regular one."""
    for matches, media_type, code, detail in _SPECIAL:
        if matches(mode):
            return media_type, DocumentError(code, detail)
    return None


def loose_row(
    job: uuid.UUID,
    custodian: int,
    relative: bytes,
    *,
    media_type: str = UNKNOWN_TYPE,
    container: bool = False,
    size: int = 0,
    sha256: bytes | None = None,
    hashes: tuple[bytes | None, bytes | None] = (None, None),
    mtime_ns: int | None = None,
    family: uuid.UUID | None = None,
) -> Item:
    """The row of a loose file; `relative` is its path bytes relative to the source, `hashes` a message's, `family` that of
    another loose file which a load file names."""
    ident = item_id(job, None, relative)
    return Item(
        id=ident,
        parent=None,
        family=family or (None if container else ident),
        custodian=custodian,
        ordinal=relative,
        depth=0,
        name=os.path.basename(relative),
        container_path=(display_name(relative),),
        kind=Kind.LOOSE_FILE,
        container=container,
        media_type=media_type,
        size=size,
        sha256=sha256,
        content_hash=hashes[0],
        message_id_hash=hashes[1],
        mtime_ns=mtime_ns,
    )
