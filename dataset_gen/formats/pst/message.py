"""Messages: properties by their tags, recipients, attachments, messages inside them ([MS-PST] 2.4.5, 2.4.6, [MS-OXPROPS])."""

from __future__ import annotations

import functools
import hashlib
import re
from collections.abc import Iterable
from dataclasses import dataclass, field

from dataset_gen.formats import mapi_mail as mapi
from dataset_gen.formats.pst import heap
from readers.mail_form import Address, MailAttachment, MailForm

# The store
RECORD_KEY = 0x0FF90102
REPLICA_VERSIONS = 0x0E340102
REPLICA_FLAGS = 0x0E380003
VALID_FOLDERS = 0x35DF0003
IPM_SUBTREE = 0x35E00102
WASTEBASKET = 0x35E30102
FINDER = 0x35E70102
NO_RESTRICTIONS = 0x6633000B
PASSWORD = 0x67FF0003

# Folders
CONTENT_COUNT = 0x36020003
UNREAD_COUNT = 0x36030003
SUBFOLDERS = 0x360A000B
CONTAINER_CLASS = 0x3613001F
HIDDEN_COUNT = 0x66350003
HIDDEN_UNREAD = 0x66360003
SEARCH_FLAGS = 0x660B0003

# Messages
IMPORTANCE = 0x00170003
PRIORITY = 0x00260003
SENSITIVITY = 0x00360003
SUBMIT_TIME = 0x00390040
SENT_KEY = 0x003B0102
SENT_ENTRY = 0x00410102
SENT_NAME = 0x0042001F
SENT_TYPE = 0x0064001F
SENT_ADDRESS = 0x0065001F
TOPIC = 0x0070001F
CONVERSATION = 0x00710102
SENDER_ENTRY = 0x0C190102
SENDER_NAME = 0x0C1A001F
SENDER_KEY = 0x0C1D0102
SENDER_TYPE = 0x0C1E001F
SENDER_ADDRESS = 0x0C1F001F
DISPLAY_BCC = 0x0E02001F
DISPLAY_CC = 0x0E03001F
DISPLAY_TO = 0x0E04001F
DELIVERY_TIME = 0x0E060040
MESSAGE_FLAGS = 0x0E070003
MESSAGE_SIZE = 0x0E080003
MESSAGE_STATUS = 0x0E170003
CREATED = 0x30070040
MODIFIED = 0x30080040
SEARCH_KEY = 0x300B0102
CODEPAGE = 0x3FDE0003
LOCALE = 0x3FF10003
SENDER_SMTP = 0x5D01001F
SENT_SMTP = 0x5D02001F

# Recipients
RESPONSIBLE = 0x0E0F000B
OBJECT_TYPE = 0x0FFE0003
ENTRY_ID = 0x0FFF0102
ADDRESS_TYPE = 0x3002001F
ADDRESS = 0x3003001F
DISPLAY_TYPE = 0x39000003
PLAIN_NAME = 0x39FF001F
RICH = 0x3A40000B

# Attachments
ATTACH_SIZE = 0x0E200003
ATTACH_NUMBER = 0x0E210003
ATTACH_DATA = 0x37010102
ATTACH_OBJECT = 0x3701000D
ATTACH_EXTENSION = 0x3703001F
ATTACH_SHORT = 0x3704001F
ATTACH_METHOD = 0x37050003
ATTACH_LONG = 0x3707001F
RENDERING = 0x370B0003
ATTACH_MIME = 0x370E001F
CONTENT_ID = 0x3712001F
ATTACH_FLAGS = 0x37140003
HIDDEN = 0x7FFE000B


ATTACHMENT_TABLE = 0x671  # its number inside a message, and of its template in the store
_FIRST, _STEP = 0x401 << 5 | 5, 1 << 5
_MESSAGE = 0x401 << 5 | 4  # number of a message inside an attachment
_BY_VALUE, _EMBEDDED = 1, 5  # PidTagAttachMethod
_NOT_IN_TEXT = -1
_SHOWN_IN_HTML = 4  # PidTagAttachFlags


def attach(blocks: heap.Blocks, attachments: Iterable[MailAttachment], modified: int) -> tuple[list[heap.SubNode], int]:
    """Write the attachments of a message. Returns their nodes, the table first, none if there are none, and their size."""
    table = heap.TableContext(blocks, heap.ATTACHMENTS)
    nodes: list[heap.SubNode] = []
    total = 0
    for number, one in enumerate(attachments):
        nid = _FIRST + number * _STEP
        values, inside, size = _content(blocks, one)
        values |= {
            ATTACH_SIZE: min(size, 0x7FFF_FFFF),
            ATTACH_NUMBER: number,
            RENDERING: _NOT_IN_TEXT,
            ATTACH_FLAGS: _SHOWN_IN_HTML if one.content_id else 0,
            HIDDEN: bool(one.content_id),
            CREATED: modified,
            MODIFIED: modified,
        }
        if one.content_id:
            values[CONTENT_ID] = one.content_id
        nodes.append(heap.SubNode(nid, *heap.write_properties(blocks, values, inside)))
        table.row(nid, values)
        total += size
    if nodes:
        nodes.insert(0, heap.SubNode(ATTACHMENT_TABLE, *table.finish()))
    return nodes, total


def _content(blocks: heap.Blocks, one: MailAttachment) -> tuple[dict[int, heap.Value], list[heap.SubNode], int]:
    """Properties, subnodes and size of what is attached."""
    if one.message is not None:
        inner = write_message(blocks, one.message)
        subject = one.message.subject
        values: dict[int, heap.Value] = {
            ATTACH_METHOD: _EMBEDDED,
            ATTACH_OBJECT: heap.Nested(_MESSAGE, min(inner.size, 0x7FFF_FFFF)),
            mapi.DISPLAY_NAME: subject,
            ATTACH_SHORT: subject,
        }
        return values, [heap.SubNode(_MESSAGE, inner.data, inner.sub)], inner.size
    stored = one.data or b""
    stem, dot, extension = one.name.rpartition(".")
    values = {ATTACH_METHOD: _BY_VALUE, ATTACH_DATA: stored, ATTACH_MIME: one.media_type}
    if one.name:
        values |= {ATTACH_LONG: one.name, mapi.DISPLAY_NAME: one.name, ATTACH_SHORT: _short(one.name)}
    if dot and stem:
        values[ATTACH_EXTENSION] = dot + extension
    return values, [], len(stored)


def _short(name: str) -> str:
    """A name of eight and three characters, as old programs want it."""
    stem, _, extension = name.rpartition(".") if "." in name[1:] else (name, "", "")
    plain = "".join(c for c in stem if c.isascii() and c.isalnum()) or "FILE"
    tail = "".join(c for c in extension if c.isascii() and c.isalnum())[:3]
    if plain != stem or len(plain) > 8:
        plain = plain[:6] + "~1"
    return f"{plain}.{tail}" if tail else plain


TO, CC, BCC = 1, 2, 3
_MAIL_USER = 6  # PidTagObjectType


def shown_name(person: Address) -> str:
    """What a reader shows: the name, or the address of a person without one."""
    return person[0] or person[1]


@functools.lru_cache(maxsize=4096)
def entry_id(person: Address) -> bytes:
    """The entry id of a person in no address book: it contains the name and address."""
    return mapi.one_off(shown_name(person), person[1])


@functools.lru_cache(maxsize=4096)
def search_key(person: Address) -> bytes:
    """The key that is equal for the same person."""
    return f"SMTP:{person[1]}\0".upper().encode("utf-8", "replace")


def sender(person: Address) -> dict[int, heap.Value]:
    """Who sent it and on whose behalf: the same."""
    name = shown_name(person)
    out: dict[int, heap.Value] = {SENDER_NAME: name, SENT_NAME: name}
    if person[1]:
        entry, key = entry_id(person), search_key(person)
        out |= {
            SENDER_TYPE: "SMTP",
            SENDER_ADDRESS: person[1],
            SENDER_SMTP: person[1],
            SENDER_ENTRY: entry,
            SENDER_KEY: key,
            SENT_TYPE: "SMTP",
            SENT_ADDRESS: person[1],
            SENT_SMTP: person[1],
            SENT_ENTRY: entry,
            SENT_KEY: key,
        }
    return out


def write_recipients(blocks: heap.Blocks, people: Iterable[tuple[int, Address]]) -> tuple[int, int]:
    """The table of recipients, each with `TO`, `CC` or `BCC`."""
    table = heap.TableContext(blocks, heap.RECIPIENTS)
    for number, (kind, person) in enumerate(people):
        name = shown_name(person)
        row: dict[int, heap.Value] = {
            mapi.RECIPIENT_TYPE: kind,
            RESPONSIBLE: True,
            OBJECT_TYPE: _MAIL_USER,
            mapi.DISPLAY_NAME: name,
            PLAIN_NAME: name,
            DISPLAY_TYPE: 0,
            RICH: False,
        }
        if person[1]:
            entry = entry_id(person)
            row |= {
                ADDRESS_TYPE: "SMTP",
                ADDRESS: person[1],
                ENTRY_ID: entry,
                RECORD_KEY: entry,
                SEARCH_KEY: search_key(person),
            }
        table.row(number, row)
    return table.finish()


RECIPIENT_TABLE = 0x692  # its number inside a message, and of its template in the store
UNDATED = 130_645_440_000_000_000  # 2015-01-01: when a message without a date was "created"
_READ, _WITH_ATTACHMENTS = 1, 0x10  # PidTagMessageFlags
_PREFIX = re.compile(r"[^\W\d_]{1,3}: ?")  # of a subject: up to three letters and a colon ([MS-OXCMSG] 3.2.4.3)
_UTF8, _ENGLISH = 65001, 0x409
_PLAIN, _HTML = 1, 3  # PidTagNativeBody


@dataclass(frozen=True, slots=True, kw_only=True)
class Extras:
    """What a message has in addition to its form."""

    message_class: str = "IPM.Note"
    headers: str | None = None  # as they came over the wire
    properties: heap.Properties = field(default_factory=dict)  # more of them, named ones included; they win


@dataclass(frozen=True, slots=True, kw_only=True)
class Written:
    """A message that is in the file."""

    data: int  # block ids
    sub: int
    size: int  # bytes, about, as in PidTagMessageSize
    shown: heap.Properties  # the values of its row in a table of contents


def write_message(blocks: heap.Blocks, form: MailForm, extras: Extras | None = None) -> Written:
    """Write a message and all that is in it. Raises ValueError for one that was sent before 1601."""
    extras = extras or Extras()
    recipients = [(kind, person) for kind, group in ((TO, form.to), (CC, form.cc), (BCC, form.bcc)) for person in group]
    nodes = [heap.SubNode(RECIPIENT_TABLE, *write_recipients(blocks, recipients))]
    modified = UNDATED if form.sent is None else mapi.filetime(form.sent)
    if modified < 0:
        raise ValueError(f"{form.sent} s is before 1601: a store cannot say so")
    attached, size = attach(blocks, form.attachments, modified)
    nodes += attached
    shown = _shown(form, extras, modified, has_attachments=bool(attached))
    values = {**shown, **_more(form, extras, modified)}
    size += sum([len(v) for v in values.values() if isinstance(v, str | bytes)])
    shown[MESSAGE_SIZE] = values[MESSAGE_SIZE] = min(size, 0x7FFF_FFFF)
    values |= extras.properties
    data, sub = heap.write_properties(blocks, values, nodes)
    return Written(
        data=data, sub=sub, size=size, shown=shown | {t: v for t, v in extras.properties.items() if t in shown}
    )


def _shown(form: MailForm, extras: Extras, modified: int, *, has_attachments: bool) -> dict[int, heap.Value]:
    """The properties that a table of contents has too."""
    subject, topic = _subject(form.subject)
    out: dict[int, heap.Value] = {
        IMPORTANCE: 1,  # normal
        mapi.MESSAGE_CLASS: extras.message_class,
        SENSITIVITY: 0,
        mapi.SUBJECT: subject,
        TOPIC: topic,
        CONVERSATION: _conversation(form, modified),
        DISPLAY_TO: "; ".join(map(shown_name, form.to)),
        DISPLAY_CC: "; ".join(map(shown_name, form.cc)),
        MESSAGE_FLAGS: _READ | (_WITH_ATTACHMENTS if has_attachments else 0),
        MESSAGE_STATUS: 0,
        MODIFIED: modified,
    }
    if form.sent is not None:
        out[SUBMIT_TIME] = out[DELIVERY_TIME] = modified
    if form.sender is not None:
        out[SENT_NAME] = shown_name(form.sender)
    return out


def _more(form: MailForm, extras: Extras, modified: int) -> dict[int, heap.Value]:
    """The properties that only the message has."""
    key = f"{form.message_id}\0{form.subject}\0{form.sent}".encode("utf-8", "replace")
    out: dict[int, heap.Value] = {
        PRIORITY: 0,
        DISPLAY_BCC: "; ".join(map(shown_name, form.bcc)),
        CREATED: modified,
        SEARCH_KEY: hashlib.sha256(key).digest()[:16],
        CODEPAGE: _UTF8,
        LOCALE: _ENGLISH,
    }
    if form.sender is not None:
        out |= sender(form.sender)
    if form.message_id:
        out[mapi.MESSAGE_ID] = f"<{form.message_id}>"
    if form.in_reply_to:
        out[mapi.IN_REPLY_TO] = f"<{form.in_reply_to}>"
    if form.references:
        out[mapi.REFERENCES] = " ".join(f"<{reference}>" for reference in form.references)
    if extras.headers is not None:
        out[mapi.HEADERS] = mapi.crlf(extras.headers)
    if form.plain is not None:
        out[mapi.BODY] = mapi.crlf(form.plain)
        out[mapi.NATIVE_BODY] = _PLAIN
    if form.html is not None:
        out[mapi.HTML] = mapi.crlf(form.html).encode("utf-8", "replace")
        out[mapi.NATIVE_BODY] = _HTML
    return out


def _subject(text: str) -> tuple[str, str]:
    """A subject as a store has it, and without its prefix. It begins with the length of its prefix (2.5.3.1.1.1)."""
    match = _PREFIX.match(text)
    length = len(match[0]) if match else 0
    return f"\x01{chr(length + 1)}{text}" if text else "", text[length:]


def _conversation(form: MailForm, modified: int) -> bytes:
    """A conversation index: its beginning is of the thread ([MS-OXOMSG] 2.2.1.3)."""
    first = form.references[0] if form.references else form.in_reply_to or form.message_id
    thread = hashlib.sha256(first.encode("utf-8", "replace")).digest()[:16]
    return b"\x01" + (modified >> 24).to_bytes(5, "big", signed=True) + thread
