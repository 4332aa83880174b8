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
    "to": Key(TEXT, "recipients; those who are invited to an event; up to 100,000 characters", _PEOPLE),
    "cc": Key(TEXT, "recipients of copies; up to 100,000 characters", _PEOPLE),
    "bcc": Key(TEXT, "recipients of blind copies; up to 100,000 characters", _PEOPLE),
    "reply_to": Key(TEXT, "to whom answers should go (Reply-To), where that is not `from`"),
    "sent_by": Key(TEXT, "who sent it for the author (Sender), where that is not `from`"),
    "resent_from": Key(TEXT, "who sent it on as it was (Resent-From, Resent-Sender)"),
    "resent_to": Key(TEXT, "to whom (Resent-To, Resent-Cc, Resent-Bcc); up to 100,000 characters", _PEOPLE),
    "delivered_to": Key(TEXT, "whose mailbox it was put into (Delivered-To, X-Original-To, Envelope-To), where that is not `to`"),
    "subject": Key(TEXT, "subject of a message or event"),
    "date": Key(DATE, "when the message was sent, in UTC"),
    "message_id": Key(TEXT, "Message-ID without its angle brackets"),
    "in_reply_to": Key(TEXT, "Message-ID of the message that this one answers"),
    "references": Key(NUMBER, "messages of the thread before this one"),
    "reference_ids": Key(LIST, "Message-IDs of these, oldest first; of more than a hundred the first and the last 99"),
    "conversation": Key(TEXT, "place in the conversation as Outlook notes it (Thread-Index), in hexadecimal; up to 3,000 characters", 3_000),
    "date_original": Key(TEXT, "the date as the header has it"),
    "attachments": Key(LIST, "names of the attachments in order"),
    "folder": Key(TEXT, "folders of the mail store that the message is in, as A/B"),
    "signed": Key(YES, "true where there is a signature"),
    # Documents
    "title": Key(TEXT, "title"),
    "author": Key(TEXT, "author"),
    "last_author": Key(TEXT, "who saved it last"),
    "company": Key(TEXT, "company; Organization of a message"),
    "doc_subject": Key(TEXT, "subject from the document's properties; that of a message is `subject`"),
    "description": Key(TEXT, "comments or abstract in the document's properties; Comments of a message; caption of a picture"),
    "keywords": Key(TEXT, "keywords"),
    "custom_properties": Key(LIST, "properties that the author or a program added to the document's own, as `name: value`; the first 1,000"),
    "created": Key(DATE, "when the document was first saved; when a web page was saved"),
    "created_original": Key(TEXT, "the same as it is noted, where that is not in UTC"),
    "modified": Key(DATE, "when it was saved last"),
    "modified_original": Key(TEXT, "the same as it is noted"),
    "page_count": Key(NUMBER, "pages from the document's properties; counted pages are the item's `pages`"),
    "pages_without_text": Key(TEXT, "pages that have something on them and no text, where others have: 2, 5-7; up to 10,000 characters", 10_000),
    "application": Key(TEXT, "program that wrote it"),
    "address": Key(TEXT, "where a saved web page was found"),
    "thumbnail": Key(YES, "true of a small picture of the first page that the document's program put into it"),
    "rendering": Key(YES, "true of a picture that stands for an object of its document, or for another picture"),
    # Pictures
    "format": Key(TEXT, "which kind of picture"),
    "width": Key(NUMBER, "pixels across"),
    "height": Key(NUMBER, "pixels down"),
    "make": Key(TEXT, "maker of the camera"),
    "model": Key(TEXT, "camera"),
    "taken": Key(DATE, "when the picture was taken"),
    "taken_original": Key(TEXT, "the same as it is noted"),
    "digitised": Key(DATE, "when it was scanned"),
    "digitised_original": Key(TEXT, "the same as it is noted"),
    "copyright": Key(TEXT, "copyright note"),
    "latitude": Key(NUMBER, "degrees north of the equator"),
    "longitude": Key(NUMBER, "degrees east of Greenwich"),
    # Text and tables
    "charset": Key(TEXT, "charset that the text was read in"),
    "charset_source": Key(TEXT, "where it is known from: bom, declared, utf-8, structure, hint, detected or default"),
    "charset_confidence": Key(NUMBER, "of 100 texts detected with such certainty, how many were right (docs/charsets.md)"),
    "well_formed": Key(YES, "false where tags were left in the text because the XML is not well-formed"),
    "delimiter": Key(TEXT, "separator of columns"),
    "rows": Key(NUMBER, "rows, the header included"),
    "columns": Key(NUMBER, "columns of the first row"),
    # Contacts and calendars
    "contacts": Key(NUMBER, "contacts in the file"),
    "names": Key(LIST, "names of the contacts"),
    "mail": Key(LIST, "mail addresses of the contacts"),
    "events": Key(NUMBER, "events, tasks and journals in the file"),
    "start": Key(DATE, "when the first event begins, or an appointment or task of Outlook"),
    "start_original": Key(TEXT, "the same as it is noted, with the zone that is named"),
    "end": Key(DATE, "when it ends; when a task is due"),
    "end_original": Key(TEXT, "the same as it is noted"),
    "location": Key(TEXT, "where it takes place"),
    "task_owner": Key(TEXT, "whose task it is"),
    "task_state": Key(TEXT, "how far a task is: not started, in progress, complete, waiting on someone else or deferred"),
    # Results of OCR (docs/ocr.md)
    "ocr": Key(YES, "true where the text, if there is any, was recognised in a picture"),
    "ocr_engine": Key(TEXT, "program and version that read it"),
    "ocr_languages": Key(TEXT, "languages given to the OCR, as eng+deu"),
    "ocr_pages": Key(NUMBER, "pages that were read"),
    "ocr_confidence": Key(NUMBER, "how sure the program is of the letters, on average, of 100"),
    # Results of `edbench review languages` (docs/review.md)
    "language": Key(TEXT, "language of the text as an ISO 639 code; und: not detected, zxx: none"),
    # Documents opened with a password
    "decrypted": Key(YES, "true where a password opened it; the members of an archive say so too"),
    "password_line": Key(NUMBER, "line of the password bank that opened it"),
    # Members of a zip archive
    "name_charset": Key(TEXT, "charset that its name was read in, where that is a guess: the archive does not say it"),
    # Mail stores
    "password": Key(YES, "true where the store is marked with a password (which does not protect it)"),
    "empty_folders": Key(LIST, "folders without messages, as A/B, including search folders and the top one; the first 1,000"),
}  # fmt: skip

_TYPES: dict[str, tuple[type, ...]] = {TEXT: (str,), DATE: (str,), NUMBER: (int, float), LIST: (list,), YES: (bool,)}


def misfits(metadata: dict[str, Any]) -> list[str]:
    """Return keys that are not in the table, and values that do not have the table's type; an invalid date counts."""
    return [f"{key}={value!r}"[:200] for key, value in metadata.items() if not _fits(KEYS.get(key), value)]


def _fits(key: Key | None, value: Any) -> bool:
    return (
        key is not None and isinstance(value, _TYPES[key.kind]) and (key.kind != DATE or bool(_ISO.match(str(value))))
    )
