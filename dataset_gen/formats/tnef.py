"""winmail.dat: a message as Outlook packs it for mail systems that do not know its properties ([MS-OXTNEF] 14.0).

write(Message(properties={SUBJECT: "…"}, attachments=[…]))

A stream of attributes, those of the message first, then those of each attachment. What old mail programs knew has
attributes of its own; the property lists contain everything, texts in UTF-16."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime

from dataset_gen.formats import mapi_mail as mapi
from dataset_gen.formats.eml import EPOCH, YEARS, formed, single
from dataset_gen.made import Made, Order, Placed, branch, placed
from dataset_gen.material.people import everyone, file_stem
from dataset_gen.material.text import prose
from readers.mail_form import MailAttachment, MailForm, message_name
from readers.records import Kind

MEDIA_TYPE = "application/vnd.ms-tnef"
_SIGNATURE = 0x223E9F78
_MESSAGE, _ATTACHMENT = 1, 2  # levels
_CODE_PAGE = 1252
_CLASSES = {  # 2.1.3.3.1: what they were called when the format was made
    "IPM.Note": "IPM.Microsoft Mail.Note",
    mapi.RECEIPT: "IPM.Microsoft Mail.Read Receipt",
    "REPORT.IPM.Note.NDR": "IPM.Microsoft Mail.Non-Delivery",
    "IPM.Schedule.Meeting.Request": "IPM.Microsoft Schedule.MtgReq",
}
_TNEF_VERSION, _OEM_CODE_PAGE, _CLASS = 0x00089006, 0x00069007, 0x00078008
_SUBJECT, _DATE_SENT, _RECIPIENTS, _MESSAGE_PROPERTIES = 0x00018004, 0x00038005, 0x00069004, 0x00069003
_RENDERING, _MODIFIED, _TITLE, _DATA, _PROPERTIES = 0x00069002, 0x00038013, 0x00018010, 0x0006800F, 0x00069005


def write(message: mapi.Message) -> bytes:
    """Return the stream. Raises ValueError for a property type that is not known here."""
    own = message.properties
    listed = _listed(own, message.named)
    out = [struct.pack("<IH", _SIGNATURE, zlib.crc32(listed) & 0xFFFF or 1)]  # the key may not be 0 (2.1.3.1)
    _add(out, _MESSAGE, _TNEF_VERSION, struct.pack("<I", 0x00010000))
    _add(out, _MESSAGE, _OEM_CODE_PAGE, struct.pack("<II", _CODE_PAGE, 0))
    named = str(own.get(mapi.MESSAGE_CLASS, "IPM.Note"))
    _add(out, _MESSAGE, _CLASS, _old(_CLASSES.get(named, named)))
    if mapi.SUBJECT in own:
        _add(out, _MESSAGE, _SUBJECT, _old(str(own[mapi.SUBJECT])))
    if mapi.SUBMITTED in own:
        _add(out, _MESSAGE, _DATE_SENT, _date(own[mapi.SUBMITTED]))
    if message.recipients:
        rows = [_listed(properties) for properties in message.recipients]
        _add(out, _MESSAGE, _RECIPIENTS, struct.pack("<I", len(rows)) + b"".join(rows))
    _add(out, _MESSAGE, _MESSAGE_PROPERTIES, listed)
    for attachment in message.attachments:
        _attach(out, attachment, own)
    return b"".join(out)


def _attach(out: list[bytes], attachment: mapi.Attachment, message: mapi.Properties) -> None:
    """Add the attributes of one attachment, first the one with its place in the text (2.1.3.3.15 to 2.1.3.3.23)."""
    own = attachment.properties
    _add(out, _ATTACHMENT, _RENDERING, struct.pack("<HIHHI", 1, 0xFFFFFFFF, 32, 32, 0))
    if mapi.SUBMITTED in message:
        _add(out, _ATTACHMENT, _MODIFIED, _date(message[mapi.SUBMITTED]))
    _add(out, _ATTACHMENT, _TITLE, _old(str(own.get(mapi.ATTACH_LONG_NAME, own.get(mapi.DISPLAY_NAME, "")))))
    data = own.get(mapi.ATTACH_DATA)
    if isinstance(data, bytes):
        _add(out, _ATTACHMENT, _DATA, data)
    rest = {tag: value for tag, value in own.items() if tag != mapi.ATTACH_DATA}
    if attachment.message is not None:
        rest[mapi.ATTACH_OBJECT] = mapi.IID_MESSAGE + write(attachment.message)
    _add(out, _ATTACHMENT, _PROPERTIES, _listed(rest))


def _add(out: list[bytes], level: int, attribute: int, data: bytes) -> None:
    """Add an attribute: level, identifier, length, data, and the sum of the data's bytes (2.1.3.2)."""
    out += (struct.pack("<BII", level, attribute, len(data)), data, struct.pack("<H", checksum(data)))


def checksum(data: bytes) -> int:
    """Return the sum of the bytes modulo 65536. Adler-32 that starts at 0 adds bytes up in its lower half, exactly so
    for 256 of them; that is many times as fast as adding numbers."""
    add = zlib.adler32
    return sum([add(data[at : at + 256], 0) & 0xFFFF for at in range(0, len(data), 256)]) & 0xFFFF


def _old(text: str) -> bytes:
    """Return a text in the code page, ended by NUL."""
    return text.encode("cp1252", "replace") + b"\0"


def _date(value: mapi.Value) -> bytes:
    """Return a date and its weekday, Sunday 0 (2.1.3.3: DTR)."""
    if not isinstance(value, int):
        raise ValueError(f"{value!r} is no time")
    t = datetime.fromtimestamp(mapi.from_filetime(value), UTC)
    return struct.pack("<7H", t.year, t.month, t.day, t.hour, t.minute, t.second, t.isoweekday() % 7)


def _listed(properties: mapi.Properties, named: Mapping[mapi.Named, mapi.Value] | None = None) -> bytes:
    """Return a property list (2.1.3.4): number of properties, then each with its tag, its name if it has one, and its
    value."""
    out = [struct.pack("<I", len(properties) + len(named or ()))]
    for tag, value in properties.items():
        out.append(struct.pack("<I", tag))
        out.append(_value(tag & 0xFFFF, value))
    names = mapi.Names()
    for name, value in (named or {}).items():
        out.append(struct.pack("<I", names.tag(name)))
        out.append(_name(name))
        out.append(_value(name.type, value))
    return b"".join(out)


def _name(named: mapi.Named) -> bytes:
    if isinstance(named.name, int):
        return named.set + struct.pack("<II", 0, named.name)
    return named.set + struct.pack("<I", 1) + _sized(f"{named.name}\0".encode("utf-16-le"))


def _sized(data: bytes) -> bytes:
    """Bytes with their length in front, filled up to a multiple of four."""
    return struct.pack("<I", len(data)) + data + bytes(-len(data) % 4)


_FIXED: dict[int, Callable[..., bytes]] = {
    mapi.LONG: struct.Struct("<i").pack,
    mapi.BOOLEAN: struct.Struct("<?3x").pack,
    mapi.TIME: struct.Struct("<Q").pack,
}


def _value(kind: int, value: mapi.Value) -> bytes:
    """Return a value as its type has it; those of variable size have their number in front."""
    fixed = _FIXED.get(kind)
    if fixed is not None:
        return fixed(value)
    if kind == mapi.STRING and isinstance(value, str):
        return _values([f"{value}\0".encode("utf-16-le", "replace")])
    if kind in (mapi.BINARY, mapi.ATTACH_OBJECT & 0xFFFF) and isinstance(value, bytes):
        return _values([value])
    if kind == mapi.MANY_STRING and isinstance(value, Sequence):
        return _values(f"{text}\0".encode("utf-16-le", "replace") for text in value)
    raise ValueError(f"a property of type {kind:#06x} cannot have {type(value).__name__} as its value")


def _values(data: Iterable[bytes]) -> bytes:
    sized = [_sized(one) for one in data]
    return struct.pack("<I", len(sized)) + b"".join(sized)


FILE_NAME = "winmail.dat"
_FORMATS = ("docx", "xlsx", "pdf", "jpg", "txt", "csv", "html", "png")
_OWN_BYTES = 4000  # of a message without its attachments
_LONGEST_RICH = 3000  # characters
_SMALLEST = 2500  # bytes of an attachment
_WITH_MESSAGE = 0.15


def build(order: Order) -> Made:
    """Build a text and one to three documents for the rest of the size, now and then with a message."""
    dice = order.dice
    lines = [f"{term}." for term in order.terms]
    lines += prose().lines(dice, dice.between(100, 1200), accented=True)
    text = "\n".join(lines) + "\n"
    sender = dice.pick(everyone())
    attached, children = _attached(order)
    form = MailForm(
        message_id=f"{dice.below(1 << 48):012x}.{dice.below(1 << 30)}@mail.example",
        sent=EPOCH + dice.below(YEARS),
        sender=sender,
        subject=prose().title(dice),
        plain=text,
        attachments=tuple(attached),
    )
    return branch(
        _written(form, text if dice.chance(0.5) and len(text) <= _LONGEST_RICH else None),
        MEDIA_TYPE,
        own=(form.subject.encode(), form.message_id.encode(), text.encode()),
        children=children,
        characters=len(text),
        terms=order.terms,
    )


def _attached(order: Order) -> tuple[list[MailAttachment], tuple[Placed, ...]]:
    """Return the attachments of the message and their ground truth."""
    dice = order.dice
    attached: list[MailAttachment] = []
    children: list[tuple[str, Made]] = []
    count = dice.between(1, 3)
    for number in range(count):
        fmt = dice.pick(_FORMATS)
        made = order.child(fmt, number, max(_SMALLEST, (order.size - _OWN_BYTES) // count))
        name = f"{file_stem(dice)[:80]}.{fmt}"
        attached.append(MailAttachment(name=name, data=made.data, media_type=made.truth.media_type))
        children.append((name, made))
    if dice.chance(_WITH_MESSAGE):
        inner = formed(single(order.part(count, _SMALLEST)))
        attached.append(MailAttachment(name="", message=inner.form))
        children.append((message_name(inner.form.subject), inner.message()))
    return attached, placed(Kind.ATTACHMENT, children)


def _written(form: MailForm, rich: str | None) -> bytes:
    """Return the stream, with the text as RTF too where it is given."""
    properties: dict[int, mapi.Value] = {}
    if rich is not None:
        properties = {mapi.RTF_COMPRESSED: mapi.compress(mapi.from_plain(rich)), mapi.RTF_IN_SYNC: True}
    return write(mapi.message_of(form, mapi.Details(properties=properties)))
