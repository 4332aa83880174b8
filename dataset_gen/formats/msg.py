"""Outlook items as files: .msg ([MS-OXMSG]), a compound file with a storage an object and a stream a property.

write_item(Message(properties={SUBJECT: "…"}, recipients=[…], attachments=[…]))

`mapi_mail.message_of` makes such a message from the fields of a mail. Loose files are letters of threads, and items on their
own: notes, read receipts, appointments, meetings."""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Callable, Sequence
from dataclasses import replace

from dataset_gen.formats import mapi_mail as mapi
from dataset_gen.formats.eml import Formed, Letter, formed, mail_date, single
from dataset_gen.made import Made, Order, branch
from dataset_gen.rng import Dice
from readers import cfb
from readers.cfb import Storage
from readers.mail_form import MailForm

MEDIA_TYPE = "application/vnd.ms-outlook"
_CLASS = mapi.guid("00020D0B-0000-0000-C000-000000000046")
_PROPERTIES = "__properties_version1.0"
_READ_WRITE = 6  # flags of a property: it may be read and changed (2.4.2.1)
_FIXED = {
    mapi.LONG: struct.Struct("<IIi4x"),
    mapi.BOOLEAN: struct.Struct("<II?7x"),
    mapi.TIME: struct.Struct("<IIQ"),
}
_SIZED = struct.Struct("<IIII")
_NAME_STREAMS = 0x1F


def write_item(message: mapi.Message) -> bytes:
    """Return the file. Raises ValueError for a property type that is not known here."""
    names = mapi.Names()
    root = Storage(clsid=_CLASS)
    _fill(root, message, names, top=True)
    mapped = {f"__substg1.0_{number:04X}0102": data for number, data in names.map(_NAME_STREAMS).items()}
    root.storages.append(Storage("__nameid_version1.0", streams=mapped))
    return cfb.write(root)


def _fill(storage: Storage, message: mapi.Message, names: mapi.Names, *, top: bool) -> None:
    """Add a message's properties, recipients and attachments (2.2, 2.4.1.1, 2.4.1.2)."""
    recipients, attachments = len(message.recipients), len(message.attachments)
    head = struct.pack("<8xIIII", recipients, attachments, recipients, attachments) + (bytes(8) if top else b"")
    named = {names.tag(name): value for name, value in message.named.items()}
    _put(storage, head, {**message.properties, **named} if named else message.properties)
    for number, properties in enumerate(message.recipients):
        inner = Storage(f"__recip_version1.0_#{number:08X}")
        _put(inner, bytes(8), properties)
        storage.storages.append(inner)
    for number, attachment in enumerate(message.attachments):
        inner = Storage(f"__attach_version1.0_#{number:08X}")
        _attach(inner, attachment, names)
        storage.storages.append(inner)


def _attach(storage: Storage, attachment: mapi.Attachment, names: mapi.Names) -> None:
    if attachment.message is None:
        _put(storage, bytes(8), attachment.properties)
        return
    entry = _SIZED.pack(mapi.ATTACH_OBJECT, _READ_WRITE, 0xFFFFFFFF, 1)
    _put(storage, bytes(8) + entry, attachment.properties)
    inner = Storage(f"__substg1.0_{mapi.ATTACH_OBJECT:08X}")
    _fill(inner, attachment.message, names, top=False)
    storage.storages.append(inner)


def _put(storage: Storage, head: bytes, properties: mapi.Properties) -> None:
    """Add the property stream, and a stream for each value that is not stored in it (2.4.2)."""
    out = [head]
    streams = storage.streams
    for tag, value in properties.items():
        layout = _FIXED.get(tag & 0xFFFF)
        if layout is not None:
            out.append(layout.pack(tag, _READ_WRITE, value))
            continue
        data, size = _variable(tag, value, streams)
        streams[f"__substg1.0_{tag:08X}"] = data
        out.append(_SIZED.pack(tag, _READ_WRITE, size, 0))
    streams[_PROPERTIES] = b"".join(out)


def _variable(tag: int, value: mapi.Value, streams: dict[str, bytes]) -> tuple[bytes, int]:
    """Return a value's stream and its stated size, which counts a string's terminator although it is not stored.

    The strings of a multiple value have streams of their own (2.1.4.2)."""
    kind = tag & 0xFFFF
    if kind == mapi.STRING and isinstance(value, str):
        data = value.encode("utf-16-le", "replace")
        return data, len(data) + 2
    if kind == mapi.BINARY and isinstance(value, bytes):
        return value, len(value)
    if kind == mapi.MANY_STRING and isinstance(value, Sequence):
        texts = [f"{text}\0".encode("utf-16-le", "replace") for text in value]
        streams |= {f"__substg1.0_{tag:08X}-{number:08X}": text for number, text in enumerate(texts)}
        lengths = struct.pack(f"<{len(texts)}I", *map(len, texts))
        return lengths, len(lengths)
    raise ValueError(f"a property {tag:#010x} cannot have {type(value).__name__} as its value")


FIXED_BYTES = 17_000  # of a note without text and attachments: streams are small and many
_RICH = 24  # number of letters with RTF text, of 256 in plain text
_LONGEST_RICH = 6000  # characters
_CATEGORIES = mapi.Named(mapi.PS_PUBLIC_STRINGS, "Keywords", mapi.MANY_STRING)
_ROOMS = ("Room 1.12", "Room 2.07", "Board room", "Canteen", "Conference call", "")
_LABELS = ("Follow up", "Client matter", "Internal", "Budget")


def write(letter: Letter) -> Made:
    """Build a letter as a file of its own; the forwarded message is an item in the item."""
    mail = formed(letter)
    return _made(
        mail, mapi.Details(message_class=mapi.RECEIPT, properties=_report(mail.form)) if letter.receipt else mapi.NOTE
    )


def _made(mail: Formed, details: mapi.Details = mapi.NOTE) -> Made:
    data = write_item(mapi.message_of(mail.form, _with_rich_text(mail.form, details)))
    return branch(
        data,
        MEDIA_TYPE,
        own=(*mail.own(), details.message_class.encode()),
        children=mail.children,
        characters=mail.characters,
        terms=mail.terms,
    )


def _with_rich_text(form: MailForm, details: mapi.Details) -> mapi.Details:
    """Return details with an RTF rendition for some letters in plain text, as Outlook writes it."""
    if form.html is not None or form.plain is None or len(form.plain) > _LONGEST_RICH:
        return details
    if hashlib.sha256(form.message_id.encode()).digest()[1] >= _RICH:
        return details
    rich: dict[int, mapi.Value] = {
        mapi.RTF_COMPRESSED: mapi.compress(mapi.from_plain(form.plain)),
        mapi.RTF_IN_SYNC: True,
    }
    return replace(details, properties={**details.properties, **rich})


def build(order: Order) -> Made:
    """Build an item on its own: mostly a note, with attachments for the rest of the size or a message in it."""
    dice = order.dice
    draw = dice.random()
    if draw < 0.2 and order.size < 4 * FIXED_BYTES:
        kind = _receipt if draw < 0.06 else _meeting if draw < 0.15 else _appointment
        return _other(order, kind)
    wanted = 1500 if order.size < FIXED_BYTES + 5000 else int((order.size - FIXED_BYTES - 5000) * 1.37) + 2600
    if draw > 0.85:
        inner = single(order.part(1, wanted // 2))
        letter = replace(single(replace(order, size=wanted // 2)), forwarded=inner, references=(inner.message_id,))
    else:
        letter = single(replace(order, size=wanted))
    named: dict[mapi.Named, mapi.Value] = {_CATEGORIES: (dice.pick(_LABELS),)} if dice.chance(0.3) else {}
    return _made(formed(letter), mapi.Details(named=named))


def _other(order: Order, kind: Callable[[Formed, Dice], tuple[MailForm, mapi.Details]]) -> Made:
    """Build a small item of another class than a note, in plain text."""
    letter = replace(single(replace(order, size=1200)), html=False)
    mail = formed(letter)
    form, details = kind(mail, order.dice)
    return _made(replace(mail, form=form, characters=len(form.plain or "")), details)


def _receipt(mail: Formed, dice: Dice) -> tuple[MailForm, mapi.Details]:
    """Return a read receipt ([MS-OXOMSG] 2.2.2): what was read, and when."""
    form = mail.form
    sent = (form.sent or 0) - 600 - dice.below(90_000)
    head = f"Your message\n\nSubject: {form.subject}\nSent: {mail_date(sent)}\n\nwas read on {mail_date(form.sent or 0)}.\n\n"
    report = {
        **_report(form),
        0x0049001F: form.subject,
        0x004E0040: mapi.filetime(sent),
    }  # OriginalSubject, …SubmitTime
    read = replace(form, subject=f"Read: {form.subject}", plain=head + (form.plain or ""))
    return read, mapi.Details(message_class=mapi.RECEIPT, properties=report)


def _report(form: MailForm) -> dict[int, mapi.Value]:
    """Return the properties that every receipt has ([MS-OXOMSG] 2.2.2)."""
    when = mapi.filetime(form.sent or 0)
    tag = hashlib.sha256(form.message_id.encode()).digest()
    return {0x00320040: when, 0x002A0040: when, 0x00310102: tag}  # ReportTime, ReceiptTime, ReportTag


def _appointment(mail: Formed, dice: Dice) -> tuple[MailForm, mapi.Details]:
    """Return an entry of a calendar ([MS-OXOCAL] 2.2.1)."""
    return mail.form, mapi.Details(message_class="IPM.Appointment", named=_calendar(mail.form, dice))


def _meeting(mail: Formed, dice: Dice) -> tuple[MailForm, mapi.Details]:
    """Return an invitation ([MS-OXOCAL] 2.2.6)."""
    named = _calendar(mail.form, dice)
    key = hashlib.sha256(mail.form.message_id.encode()).digest()
    # GlobalObjectId ([MS-OXOCAL] 2.2.1.27): no exception of a series, created when the item was sent
    identifier = bytes.fromhex("040000008200e00074c5b7101a82e008") + bytes(4)
    identifier += (
        mapi.filetime(mail.form.sent or 0).to_bytes(8, "little") + bytes(8) + (16).to_bytes(4, "little") + key[:16]
    )
    named |= {
        mapi.Named(mapi.PSETID_MEETING, 0x0003, mapi.BINARY): identifier,
        mapi.Named(mapi.PSETID_MEETING, 0x0023, mapi.BINARY): identifier,  # CleanGlobalObjectId
        mapi.Named(mapi.PSETID_APPOINTMENT, 0x8217, mapi.LONG): 3,  # AppointmentStateFlags: a meeting, received
        mapi.Named(mapi.PSETID_MEETING, 0x0026, mapi.LONG): 1,  # MeetingType: a new one
    }
    details = mapi.Details(message_class="IPM.Schedule.Meeting.Request", named=named, properties={0x0063000B: True})
    return mail.form, details


def _calendar(form: MailForm, dice: Dice) -> dict[mapi.Named, mapi.Value]:
    """Return time, length and place of a meeting ([MS-OXOCAL] 2.2.1)."""
    starts = (form.sent or 0) // 1800 * 1800 + 86_400 * dice.between(1, 20)
    minutes = 30 * dice.between(1, 6)
    return {
        mapi.Named(mapi.PSETID_APPOINTMENT, 0x820D, mapi.TIME): mapi.filetime(starts),
        mapi.Named(mapi.PSETID_APPOINTMENT, 0x820E, mapi.TIME): mapi.filetime(starts + 60 * minutes),
        mapi.Named(mapi.PSETID_APPOINTMENT, 0x8213, mapi.LONG): minutes,
        mapi.Named(mapi.PSETID_APPOINTMENT, 0x8208, mapi.STRING): dice.pick(_ROOMS),
        mapi.Named(mapi.PSETID_APPOINTMENT, 0x8205, mapi.LONG): 2,  # BusyStatus: busy
        mapi.Named(mapi.PSETID_APPOINTMENT, 0x8215, mapi.BOOLEAN): False,  # all day
        mapi.Named(mapi.PSETID_APPOINTMENT, 0x8223, mapi.BOOLEAN): False,  # recurring
        mapi.Named(mapi.PSETID_COMMON, 0x8516, mapi.TIME): mapi.filetime(starts),  # CommonStart, CommonEnd
        mapi.Named(mapi.PSETID_COMMON, 0x8517, mapi.TIME): mapi.filetime(starts + 60 * minutes),
        mapi.Named(mapi.PSETID_COMMON, 0x8503, mapi.BOOLEAN): True,  # ReminderSet
        mapi.Named(mapi.PSETID_COMMON, 0x8501, mapi.LONG): 15,
    }
