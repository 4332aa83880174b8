"""Loose files: their rows, those that are not regular files, and their records in an imported load file."""

from __future__ import annotations

import os
import stat
import uuid
from typing import TYPE_CHECKING, Any

import msgspec

from core.errors import SourceFileError
from core.imported import LOAD_DIRECTORY, RECORDS, Record
from core.names import LOAD_KEY, LOAD_PREFIX, display_name, is_lossy
from core.places import item_id
from readers.clean import value
from readers.errors import DocumentError, ExceptionCode, corrupt, too_large
from readers.identification.identify import identify
from readers.keys import KEYS, misfits
from readers.records import Kind
from readers.registry import handler_for
from sql.findings import Item
from worker.items.findings import Findings
from worker.items.sources import FilerSource

if TYPE_CHECKING:
    from worker.phases.task import TaskWork


def own_name(name: bytes, shown: str, kind: Kind) -> str:
    """Return an item's own name for people: without directories, folders of a mail store or an archive, and the number
    of siblings of one name.

    `shown` is its part of the container path: for names that are not UTF-8 it may have more than `name`. The name of an
    attachment is that in its message: a slash in it is a letter."""
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
    """Return media type and exception of a file that is not regular; None for a regular one."""
    for matches, media_type, code, detail in _SPECIAL:
        if matches(mode):
            return media_type, DocumentError(code, detail)
    return None


def loose_row(
    job: uuid.UUID,
    custodian: int,
    relative: bytes,
    *,
    ident: uuid.UUID | None = None,
    media_type: str = UNKNOWN_TYPE,
    container: bool = False,
    size: int = 0,
    sha256: bytes | None = None,
) -> Item:
    """Return the row of a loose file; `relative` is its path bytes relative to the source, `ident` its id if it is
    known."""
    ident = ident or item_id(job, None, relative)
    return Item(
        id=ident,
        parent=None,
        family=None if container else ident,
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
    )


MOST_BYTES = 32_000_000  # of a record; one of a load file has 16 million characters at most
VALUE_CHARACTERS = 100_000
# Fields that no other source has if a record has no native.
_OWN = ("from", "to", "cc", "bcc", "subject", "date", "title", "author")
_RECORDS = os.fsencode(f"{LOAD_DIRECTORY}/{RECORDS}")


def note_record(work: TaskWork, item: Item, out: Findings) -> None:
    """Book the fields of this loose file's record as notes of its surroundings, and what is wrong with the file."""
    record = _record(work, item.ordinal, out, item.id)
    if record is None:
        return
    out.notes[item.id] = metadata(record)
    if (error := _wrong(record, item)) is not None:
        out.item_failed(item.id, error)


def metadata(record: Record) -> dict[str, Any]:
    """Return the record's fields and, if there is no native, the metadata that it would have had."""
    fields = {key: value(text, VALUE_CHARACTERS) for key, text in record.fields.items() if LOAD_KEY.match(key)}
    own = {} if record.native else {name: fields.get(LOAD_PREFIX + name, "")[: KEYS[name].characters] for name in _OWN}
    return {key: text for key, text in fields.items() if text} | {
        name: text for name, text in own.items() if text and not misfits({name: text})
    }


class Families:
    """Families of a task's loose files by their load file."""

    def __init__(self, work: TaskWork) -> None:
        self._work = work
        self._known: dict[str, uuid.UUID | None] = {}

    def of(self, relative: bytes) -> uuid.UUID | None:
        """Return the family; None: its own, if any. An unreadable file is booked when its text is taken."""
        record = _record(self._work, relative)
        if record is None or not record.first or "\0" in record.first:
            return None
        if record.first not in self._known:
            self._known[record.first] = self._topmost(os.fsencode(record.first))
        return self._known[record.first]

    def _topmost(self, relative: bytes) -> uuid.UUID | None:
        """Return the loose file's id; None if it is a container, which is in no family, or cannot be read."""
        work, path = self._work, self._work.source_path(relative)
        try:
            size = work.storage.stat(path).st_size
            source = FilerSource(work.storage, path, os.path.basename(relative), size, own=False)
            container = handler_for(identify(source, None)).container
        except SourceFileError:
            work.check_source_root()
            return None
        return None if container else item_id(work.job.id, None, relative)


def _record(
    work: TaskWork, relative: bytes, out: Findings | None = None, item: uuid.UUID | None = None
) -> Record | None:
    """Return the record of a loose file; None if it cannot be read, which is booked in `out`, if given."""
    try:
        return _read(work, relative)
    except DocumentError as error:
        if isinstance(error, SourceFileError):
            work.check_source_root()
        if out is not None and item is not None:
            out.item_failed(item, error)
        return None


def _read(work: TaskWork, relative: bytes) -> Record:
    """Read the record of a loose file. Raises DocumentError."""
    with work.storage.open(work.source_path(os.path.join(_RECORDS, relative + b".json"))) as file:
        if file.size > MOST_BYTES:
            raise too_large(f"its record in the load file has {file.size:,} bytes; the limit is {MOST_BYTES:,}")
        data = file.readall()
    try:
        return msgspec.json.decode(data, type=Record)
    except msgspec.MsgspecError as error:
        raise corrupt(f"its record in the load file is invalid: {error}") from error


def _wrong(record: Record, item: Item) -> DocumentError | None:
    if record.code is not None:
        return DocumentError(record.code, record.detail)
    if not record.sha256 or item.sha256 is None or item.sha256.hex() == record.sha256:
        return None
    detail = f"sha256 {item.sha256.hex()} now, {record.sha256} when the load file was imported"
    return DocumentError(ExceptionCode.HASH_DIFFERS, detail)
