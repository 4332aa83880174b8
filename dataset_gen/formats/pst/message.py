"""Messages in a store: the properties of any mail, and those that exist only in a store ([MS-PST] 2.4.5, 2.4.6)."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable

from dataset_gen.formats import mapi_mail as mapi
from dataset_gen.formats.pst import heap
from readers.mail_form import MailAttachment, MailForm

ATTACHMENT_TABLE, RECIPIENT_TABLE = 0x671, 0x692  # their numbers inside a message, and of their templates in the store
_ATTACHMENT, _STEP = 0x401 << 5 | 5, 1 << 5  # number of a message's first attachment, and from one to the next
_MESSAGE = 0x401 << 5 | 4  # number of a message inside an attachment
UNDATED = 130_645_440_000_000_000  # 2015-01-01: when a message without a date was "created"
_READ, _WITH_ATTACHMENTS = 1, 0x10  # PidTagMessageFlags
_PREFIX = re.compile(r"[^\W\d_]{1,3}: ?")  # of a subject: up to three letters and a colon ([MS-OXCMSG] 3.2.4.3)
_ENGLISH = 0x409
_MOST = 0x7FFF_FFFF

_CREATED, _MODIFIED, _MESSAGE_SIZE, _ATTACH_SIZE = 0x30070040, 0x30080040, 0x0E080003, 0x0E200003
# What files of one message have and stores do not: ObjectType, StoreSupportMask, HasAttachments, MessageCodepage, the
# subject in pieces.
_OF_FILES = frozenset((0x0FFE0003, 0x340D0003, 0x0E1B000B, 0x3FFD0003, 0x003D001F, 0x0E1D001F))


def write_message(
    blocks: heap.Blocks, form: MailForm, details: mapi.Details = mapi.NOTE
) -> tuple[dict[int, heap.Value], int, int, int]:
    """Write a message with everything in it; the named properties of `details` must be among its properties already.

    Returns its properties, their approximate bytes with the attachments, and the block ids of its data and subnodes.
    Raises ValueError for one that was sent before 1601."""
    modified = UNDATED if form.sent is None else mapi.filetime(form.sent)
    if modified < 0:
        raise ValueError(f"{form.sent} s is before 1601: a store cannot say so")
    recipients = heap.SubNode(RECIPIENT_TABLE, *_write_recipients(blocks, form))
    attachments, size = _write_attachments(blocks, form.attachments, modified)
    subject, topic = _subject(form.subject)
    key = f"{form.message_id}\0{form.subject}\0{form.sent}".encode("utf-8", "replace")
    values = (
        _stored(mapi.properties_of(form, details.message_class))
        | {
            mapi.SUBJECT: subject,
            0x0070001F: topic,  # ConversationTopic
            0x00710102: _conversation(form, modified),  # ConversationIndex
            0x300B0102: hashlib.sha256(key).digest()[:16],  # SearchKey
            0x0E070003: _READ | (_WITH_ATTACHMENTS if attachments else 0),  # MessageFlags
            0x0E170003: 0,  # MessageStatus
            0x3FF10003: _ENGLISH,  # MessageLocaleId
            _CREATED: modified,
            _MODIFIED: modified,
        }
    )
    if form.sent is not None:
        values[0x0E060040] = modified  # MessageDeliveryTime
    if form.sender is not None and form.sender[1]:
        values[0x0C1D0102] = values[0x003B0102] = mapi.search_key(form.sender[1])  # Sender…, SentRepresenting…
    values |= details.properties
    size = min(size + sum([len(v) for v in values.values() if isinstance(v, str | bytes)]), _MOST)
    values[_MESSAGE_SIZE] = size
    return values, size, *heap.write_properties(blocks, values, [recipients, *attachments])


def _stored(properties: mapi.Properties) -> dict[int, heap.Value]:
    return {tag: value for tag, value in properties.items() if tag not in _OF_FILES}


def _write_recipients(blocks: heap.Blocks, form: MailForm) -> tuple[int, int]:
    """Write the table of recipients; returns block ids of data and of subnodes."""
    table = heap.TableContext(blocks, heap.RECIPIENTS)
    for number, row in enumerate(mapi.recipients(form)):
        entry = row.get(mapi.ENTRY_ID, b"")
        more = {
            0x39FF001F: row[mapi.DISPLAY_NAME],
            0x3A40000B: False,
            0x0FF90102: entry,
        }  # 7BitDisplayName, SendRichInfo, RecordKey
        table.row(number, {**row, **more})
    return table.finish()


def _write_attachments(
    blocks: heap.Blocks, attachments: Iterable[MailAttachment], modified: int
) -> tuple[list[heap.SubNode], int]:
    """Write the attachments of a message. Returns their nodes, the table first, none if there are none, and their size."""
    table = heap.TableContext(blocks, heap.ATTACHMENTS)
    nodes: list[heap.SubNode] = []
    total = 0
    for number, one in enumerate(attachments):
        nid = _ATTACHMENT + number * _STEP
        values = _stored(mapi.attachment_properties(one, number)) | {_CREATED: modified, _MODIFIED: modified}
        size, inside = len(one.data or b""), []
        if one.message is not None:
            _, size, data, sub = write_message(blocks, one.message)
            inside = [heap.SubNode(_MESSAGE, data, sub)]
            subject = one.message.subject
            values |= {mapi.ATTACH_OBJECT: heap.Nested(_MESSAGE, size), _ATTACH_SIZE: size}
            values |= {mapi.DISPLAY_NAME: subject, mapi.ATTACH_NAME: subject}
        elif one.name:
            values[mapi.ATTACH_NAME] = _short(one.name)
        nodes.append(heap.SubNode(nid, *heap.write_properties(blocks, values, inside)))
        table.row(nid, values)
        total += size
    if nodes:
        nodes.insert(0, heap.SubNode(ATTACHMENT_TABLE, *table.finish()))
    return nodes, total


def _short(name: str) -> str:
    """Return the name in the form of eight and three characters, for old programs."""
    stem, _, extension = name.rpartition(".") if "." in name[1:] else (name, "", "")
    plain = "".join(c for c in stem if c.isascii() and c.isalnum()) or "FILE"
    tail = "".join(c for c in extension if c.isascii() and c.isalnum())[:3]
    if plain != stem or len(plain) > 8:
        plain = plain[:6] + "~1"
    return f"{plain}.{tail}" if tail else plain


def _subject(text: str) -> tuple[str, str]:
    """Return the subject as a store has it, and without its prefix. It begins with the length of its prefix
    (2.5.3.1.1.1)."""
    match = _PREFIX.match(text)
    length = len(match[0]) if match else 0
    return f"\x01{chr(length + 1)}{text}" if text else "", text[length:]


def _conversation(form: MailForm, modified: int) -> bytes:
    """Return a conversation index, whose beginning identifies the thread ([MS-OXOMSG] 2.2.1.3)."""
    first = form.references[0] if form.references else form.in_reply_to or form.message_id
    thread = hashlib.sha256(first.encode("utf-8", "replace")).digest()[:16]
    return b"\x01" + (modified >> 24).to_bytes(5, "big", signed=True) + thread
