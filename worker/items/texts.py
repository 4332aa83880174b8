"""Text of an item into the index document and the `item_text` row."""

from __future__ import annotations

import math
import os
from typing import TYPE_CHECKING, Any

from msgspec import Struct, field
from msgspec.structs import replace

from core.dates import in_utc, is_date, zone_named
from core.errors import SystemFault
from core.records import DEFAULT_ZONE, NewTask, Shard
from readers.base import TEXT_STATE, Handler, Source, Text
from readers.errors import DocumentError, ExceptionCode, FieldUnread, PagesWithoutText, corrupt, unsupported
from readers.keys import DATE, KEYS
from readers.records import Limits, TextState
from sql.findings import IndexOwner, Item, ItemText
from worker.items.findings import Findings
from worker.items.guard import guarded
from worker.items.loose import note_record, own_name
from worker.items.sources import confirm
from worker.ocr.candidates import is_candidate, tasks
from worker.slots.breadcrumb import Activity

_DATES = tuple(name for name, key in KEYS.items() if key.kind == DATE)


def without_unread_dates(metadata: dict[str, Any]) -> tuple[dict[str, Any], FieldUnread | None]:
    """Return the metadata without invalid date values (`2024-13-45`, `3/5/24`), whose originals are kept in a field of
    their own, and the exception that reports them: sorting and filters use dates, so an uncertain one is absent."""
    wrong = [name for name in _DATES if name in metadata and not is_date(str(metadata[name]))]
    if not wrong:
        return metadata, None
    out = {name: value for name, value in metadata.items() if name not in wrong}
    for name in wrong:
        out.setdefault(f"{name}_original", str(metadata[name]))
    originals = ", ".join(f"{name} {str(metadata[name])[:80]!r}" for name in wrong)
    return out, FieldUnread(ExceptionCode.CORRUPT, f"ambiguous or invalid dates: {originals}")


def with_dates_in_utc(metadata: dict[str, Any], zone: str) -> dict[str, Any]:
    """The metadata with its dates in UTC; `zone` is the name of the zone of times that note none. The original of a
    date is kept next to it, as `created_original` for `created`, unless it was in UTC. Raises SystemFault for a zone
    that this host lacks."""
    local = [name for name in _DATES if name in metadata and str(metadata[name])[-1:] != "Z"]
    if not local:
        return metadata
    of_job = zone_named(zone)
    if of_job is None:
        raise SystemFault(f"this host has no time zone {zone}; install the locked version of package tzdata")
    out = dict(metadata)
    for name in local:
        was = str(metadata[name])
        out[name] = in_utc(was, of_job)
        if out[name] != was and not was.endswith("+00:00"):
            out.setdefault(f"{name}_original", was)
    return out


if TYPE_CHECKING:
    from search.engine import IndexDocument
    from search.publisher import OpenShard
    from worker.phases.task import TaskWork

CHARACTERS_A_PAGE = 3_000  # where the format knows no pages (glossary)

UNREAD_SHARE = 0.02  # share of a text's characters: with more replaced it is `partial`

# Sender and recipients of a message in the index.
_SENDERS = ("from", "sent_by", "reply_to", "resent_from")
_RECIPIENTS = ("to", "cc", "bcc", "resent_to", "delivered_to")
# New state for a state, if a child's notes have one.
_AT_BEST: dict[tuple[str | None, TextState], TextState] = {
    (TextState.GUESSED, TextState.OK): TextState.GUESSED,
    (TextState.PARTIAL, TextState.OK): TextState.PARTIAL,
    (TextState.PARTIAL, TextState.EMPTY): TextState.FAILED,
}

_STATE_OF_ERROR = {
    ExceptionCode.ENCRYPTED: TextState.ENCRYPTED,
    ExceptionCode.UNSUPPORTED: TextState.UNSUPPORTED,
}


def take_text(
    item: Item,
    source: Source | None,
    handler: Handler,
    limits: Limits,
    out: Findings,
    time_zone: str = DEFAULT_ZONE,
    *,
    ocr: bool = False,
) -> tuple[str, ItemText]:
    """Return the item's text and its row, with the notes from the items around it; errors are booked as item-level
    exceptions.

    Dates are in UTC; `time_zone` is the zone of those without one. With `ocr`, pages without text in formats that OCR
    reads are no exception: OCR reports their result. Containers have no text of their own: their content is their
    children's. They may have metadata."""
    text, row = _taken(item, source, handler, limits, out, ocr)
    if out.notes:
        row = _annotated(row, out.notes.get(item.id))
    metadata, unread = without_unread_dates(row.metadata)
    if unread is not None:
        out.item_failed(item.id, unread)
    dated = with_dates_in_utc(metadata, time_zone)
    return text, row if dated is row.metadata else replace(row, metadata=dated)


def _taken(
    item: Item, source: Source | None, handler: Handler, limits: Limits, out: Findings, ocr: bool
) -> tuple[str, ItemText]:
    if item.container:
        about = _about(source, handler, limits)
        return "", ItemText(item=item.id, state=TextState.EMPTY, characters=0, pages=0, metadata=about)
    if source is None:
        return "", ItemText(item=item.id, state=TextState.FAILED, characters=0, pages=0)
    if item.size == 0:
        return "", ItemText(item=item.id, state=TextState.EMPTY, characters=0, pages=1)
    try:
        with guarded:
            taken = handler.text(source, limits)
        confirm(source)
    except DocumentError as e:
        out.item_failed(item.id, e)
        return "", ItemText(item=item.id, state=_state_of(e), characters=0, pages=1)
    return _booked(item, taken, limits.text_characters, out, ocr)


def _unread(text: str) -> DocumentError | None:
    """Return the exception for a text with so many replacement characters that words are missing."""
    lost = text.count("\ufffd")
    if lost <= UNREAD_SHARE * len(text):
        return None
    return corrupt(f"{lost:,} of {len(text):,} characters are not in its character set")


def _state_of(error: DocumentError | None) -> TextState:
    """Return the state of an item that has no text, by the error that it had."""
    return TextState.EMPTY if error is None else _STATE_OF_ERROR.get(error.code, TextState.FAILED)


def _of_text(error: DocumentError | None) -> DocumentError | None:
    """Return the error if it means that some of the text is missing."""
    return None if isinstance(error, FieldUnread) else error


def _annotated(row: ItemText, notes: dict[str, Any] | None) -> ItemText:
    """Return the row with the notes from around the item: further metadata, and a text state worse than its bytes
    suggest."""
    if not notes:
        return row
    further = {key: value for key, value in notes.items() if key != TEXT_STATE}
    state = _AT_BEST.get((notes.get(TEXT_STATE), row.state), row.state)
    return replace(row, state=state, metadata={**further, **row.metadata})


def _about(source: Source | None, handler: Handler, limits: Limits) -> dict[str, Any]:
    """Return a container's own metadata; none when it is damaged, which its children report."""
    if source is None or source.size == 0:
        return {}
    try:
        with guarded:
            return handler.text(source, limits).metadata
    except DocumentError:
        return {}


def _booked(item: Item, taken: Text, limit: int, out: Findings, ocr: bool) -> tuple[str, ItemText]:
    text, state, lacks = taken.text, taken.state, taken.error
    if len(text) > limit:
        text, state = text[:limit], TextState.TRUNCATED_BY_LIMIT
    if state in (None, TextState.GUESSED):
        state = (state or TextState.OK) if text.strip() else _state_of(_of_text(taken.error))
    pages = taken.pages if taken.pages is not None else max(1, math.ceil(len(text) / CHARACTERS_A_PAGE))
    row = ItemText(item=item.id, state=state, characters=len(text), pages=pages, metadata=taken.metadata)
    if ocr and isinstance(lacks, PagesWithoutText) and is_candidate(item, row):
        lacks = None
    if state in (TextState.OK, TextState.GUESSED) and (error := _of_text(lacks) or _unread(text)) is not None:
        row, lacks = replace(row, state=TextState.PARTIAL), error
    if lacks is not None:
        out.item_failed(item.id, lacks)
    if state is TextState.UNSUPPORTED:
        out.item_failed(item.id, unsupported(f"no handler reads {item.media_type}"))
    return text, row


class Indexing(Struct):
    """Indexing of one claim's items: feeds the slot's shard and books text and owner of each."""

    work: TaskWork
    shard: OpenShard
    out: Findings
    documents: int = 0  # added by this claim; portions may have taken their owners
    pictures: list[tuple[Item, ItemText]] = field(default_factory=list)  # for phase ocr

    def take(self, item: Item, source: Source | None, handler: Handler) -> None:
        """Take the text of one item; its bytes may be None when they were not available."""
        options = self.work.job.options
        asked = options.ocr.asked
        if loaded := options.load_file and item.parent is None:
            note_record(self.work, item, self.out)
        body, row = take_text(item, source, handler, options.limits, self.out, options.time_zone, ocr=asked)
        if loaded:
            self.out.notes.pop(item.id, None)  # a batch of them would fill memory
        self.book(item, body, row)
        if asked and is_candidate(item, row):
            self.pictures.append((item, row))

    def ocr_tasks(self) -> list[NewTask]:
        """Return the tasks of phase ocr for the items since the last call; none if the job does not request OCR."""
        new_tasks = list(tasks(self.pictures, self.work.job.options.ocr))
        self.pictures.clear()
        return new_tasks

    def publish(self) -> tuple[Shard, int]:
        """Publish the slot's shard with this attempt's additions; return it and the bytes written. Raises
        StorageFault."""
        work, breadcrumb = self.work, self.work.context.breadcrumb
        breadcrumb.doing(Activity.PUBLISHING, os.path.join(work.root, self.shard.location))
        return self.shard.publish(work.storage, work.root, breadcrumb.alive)

    def book(self, item: Item, body: str, row: ItemText) -> None:
        """Book the item's row, and that its index document is now the only valid one."""
        self.shard.add(self._document(item, body, row.metadata))
        self.documents += 1
        self.out.add_text(row)
        self.out.owners.append(IndexOwner(item=item.id, shard=self.shard.id))

    def _document(self, item: Item, body: str, metadata: dict[str, Any]) -> IndexDocument:
        from search.engine import IndexDocument  # without a job there is no index

        return IndexDocument(
            item=item.id,
            owner=self.work.claimed.owner,
            body=body,
            custodian=self.work.custodians.get(item.custodian, ""),
            type=item.media_type,
            kind=item.kind.value,
            name=own_name(item.name, item.container_path[-1], item.kind),  # no path: plain words search it
            path=" / ".join(item.container_path),
            subject=_words(metadata.get("subject")),
            sender=_words([metadata.get(k) for k in _SENDERS]),
            recipients=_words([metadata.get(k) for k in _RECIPIENTS]),
            title=_words(metadata.get("title")),
            author=_words(metadata.get("author")),
        )


def _words(value: Any) -> str:
    """Return a metadata value as text for the index."""
    if value is None:
        return ""
    if isinstance(value, (list, tuple)):
        return " ".join(filter(None, (_words(v) for v in value)))
    return str(value)
