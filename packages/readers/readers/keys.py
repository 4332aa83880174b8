"""Every metadata key that a handler may give, and its meaning: the same thing has the same key in every format.

Dates are ISO 8601: with `Z`, an offset or a zone's name in brackets where the format notes one, without where it does
not (local time at the author's, as most documents keep it). In the ledger they are in UTC, so that they sort as text,
and the handler's value is kept alongside (worker.items.texts). Text is on one line (readers.clean.value)."""

from __future__ import annotations

import re
from typing import Any

import msgspec

TEXT, DATE, NUMBER, LIST, YES = "text", "date", "number", "list of text", "true or false"
_PEOPLE = 100_000  # characters of recipients: a message may go to thousands, and a reviewer searches for one of them
_ISO = re.compile(r"\d{4}-\d\d-\d\d(?:T\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d|\[[^\[\]]+\])?)?\Z")


class Key(msgspec.Struct, frozen=True):
    """One key: the type of its value (one of the words above), its meaning, and the longest text."""

    kind: str
    meaning: str
    characters: int = 1_000


KEYS: dict[str, Key] = {
    # Messages, and formats that are like one
    "from": Key(TEXT, "sender, as the message shows it; the organiser of an event"),
    "to": Key(TEXT, "recipients; people invited to an event; up to 100,000 characters", _PEOPLE),
    "cc": Key(TEXT, "recipients of copies; up to 100,000 characters", _PEOPLE),
    "bcc": Key(TEXT, "recipients of blind copies; up to 100,000 characters", _PEOPLE),
    "reply_to": Key(TEXT, "address for replies (Reply-To), if it is not `from`"),
    "sent_by": Key(TEXT, "who sent it on behalf of the author (Sender), if it is not `from`"),
    "resent_from": Key(TEXT, "who resent it unchanged (Resent-From, Resent-Sender)"),
    "resent_to": Key(TEXT, "recipients of the resent message (Resent-To, Resent-Cc, Resent-Bcc); up to 100,000 characters", _PEOPLE),
    "delivered_to": Key(TEXT, "mailbox that it was delivered to (Delivered-To, X-Original-To, Envelope-To), if it is not `to`"),
    "subject": Key(TEXT, "subject of a message or event"),
    "date": Key(DATE, "when the message was sent, in UTC"),
    "message_id": Key(TEXT, "Message-ID without its angle brackets"),
    "in_reply_to": Key(TEXT, "Message-ID of the message that this one replies to"),
    "references": Key(NUMBER, "number of earlier messages in the thread"),
    "reference_ids": Key(LIST, "their Message-IDs, oldest first; if there are more than 100, the first and the last 99"),
    "conversation": Key(TEXT, "position in the conversation as Outlook records it (Thread-Index), in hexadecimal; up to 3,000 characters", 3_000),
    "date_original": Key(TEXT, "the date as written in the header"),
    "attachments": Key(LIST, "names of the attachments in order"),
    "folder": Key(TEXT, "folder of the mail store that contains the message, as A/B"),
    "signed": Key(YES, "true if there is a signature"),
    # Documents
    "title": Key(TEXT, "title"),
    "author": Key(TEXT, "author"),
    "last_author": Key(TEXT, "who last saved it"),
    "company": Key(TEXT, "company; Organization of a message"),
    "doc_subject": Key(TEXT, "subject in the document's properties; that of a message is `subject`"),
    "description": Key(TEXT, "comments or abstract in the document's properties; Comments of a message; caption of a picture"),
    "keywords": Key(TEXT, "keywords"),
    "custom_properties": Key(LIST, "properties that the author or a program added, as `name: value`; the first 1,000"),
    "created": Key(DATE, "when the document was first saved; when a web page was saved"),
    "created_original": Key(TEXT, "the same as written in the file, if that is not in UTC"),
    "modified": Key(DATE, "when it was last saved"),
    "modified_original": Key(TEXT, "the same as written in the file"),
    "page_count": Key(NUMBER, "number of pages in the document's properties; the counted number is the item's `pages`"),
    "pages_without_text": Key(TEXT, "pages with content but without text in a document with text: 2, 5-7; up to 10,000 characters", 10_000),
    "application": Key(TEXT, "program that created it"),
    "address": Key(TEXT, "address that a web page was saved from"),
    "thumbnail": Key(YES, "true for a small picture of the first page that the application added"),
    "rendering": Key(YES, "true for a picture that represents an object of its document or another picture"),
    # Pictures
    "format": Key(TEXT, "format of the picture"),
    "width": Key(NUMBER, "pixels across"),
    "height": Key(NUMBER, "pixels down"),
    "make": Key(TEXT, "maker of the camera"),
    "model": Key(TEXT, "camera"),
    "taken": Key(DATE, "when the picture was taken"),
    "taken_original": Key(TEXT, "the same as written in the file"),
    "digitised": Key(DATE, "when it was scanned"),
    "digitised_original": Key(TEXT, "the same as written in the file"),
    "copyright": Key(TEXT, "copyright note"),
    "latitude": Key(NUMBER, "degrees north of the equator"),
    "longitude": Key(NUMBER, "degrees east of Greenwich"),
    # Text and tables
    "charset": Key(TEXT, "character set in which the text was read"),
    "charset_source": Key(TEXT, "how it was determined: bom, declared, utf-8, structure, hint, detected or default"),
    "charset_confidence": Key(NUMBER, "percentage of texts detected with this certainty whose character set was right (docs/charsets.md)"),
    "well_formed": Key(YES, "false if the text contains tags because the XML is not well-formed"),
    "delimiter": Key(TEXT, "separator of columns"),
    "rows": Key(NUMBER, "rows, including the header"),
    "columns": Key(NUMBER, "columns of the first row"),
    # Contacts and calendars
    "contacts": Key(NUMBER, "contacts in the file"),
    "names": Key(LIST, "names of the contacts"),
    "mail": Key(LIST, "mail addresses of the contacts"),
    "events": Key(NUMBER, "events, tasks and journals in the file"),
    "start": Key(DATE, "start of the first event, or of an Outlook appointment or task"),
    "start_original": Key(TEXT, "the same as written in the file, with the time zone"),
    "end": Key(DATE, "when it ends; when a task is due"),
    "end_original": Key(TEXT, "the same as written in the file"),
    "location": Key(TEXT, "where it takes place"),
    "task_owner": Key(TEXT, "whose task it is"),
    "task_state": Key(TEXT, "status of a task: not started, in progress, complete, waiting on someone else or deferred"),
    # Results of OCR (docs/ocr.md)
    "ocr": Key(YES, "true if OCR read the picture, even if it found no text"),
    "ocr_engine": Key(TEXT, "OCR program and version"),
    "ocr_languages": Key(TEXT, "languages used for OCR, as eng+deu"),
    "ocr_pages": Key(NUMBER, "number of pages that OCR read"),
    "ocr_confidence": Key(NUMBER, "mean confidence that the program reports for its letters, 0 to 100"),
    # Results of `edbench review languages` (docs/review.md)
    "language": Key(TEXT, "language of the text as an ISO 639 code; und: not detected, zxx: none"),
    # Documents opened with a password
    "decrypted": Key(YES, "true if a password opened it; also set for members of an archive"),
    "password_line": Key(NUMBER, "line of the password bank that opened it"),
    # Members of a zip archive
    "name_charset": Key(TEXT, "character set in which its name was read, if guessed because the archive does not declare it"),
    # Mail stores
    "password": Key(YES, "true if the store has a password (which does not protect its content)"),
    "empty_folders": Key(LIST, "folders without messages, as A/B, including search folders and the root; the first 1,000"),
}  # fmt: skip

_TYPES: dict[str, tuple[type, ...]] = {TEXT: (str,), DATE: (str,), NUMBER: (int, float), LIST: (list,), YES: (bool,)}


def misfits(metadata: dict[str, Any]) -> list[str]:
    """Return keys that are not in the table, and values that do not have the table's type; an invalid date counts."""
    return [f"{key}={value!r}"[:200] for key, value in metadata.items() if not _fits(KEYS.get(key), value)]


def _fits(key: Key | None, value: Any) -> bool:
    return (
        key is not None and isinstance(value, _TYPES[key.kind]) and (key.kind != DATE or bool(_ISO.match(str(value))))
    )
