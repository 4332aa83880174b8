"""winmail.dat, Outlook's encapsulation of a message for other mail programs ([MS-OXTNEF]): a document whose children
are the attachments of the message."""

from __future__ import annotations

import itertools
import struct
import zlib
from collections.abc import Iterator
from datetime import datetime, timedelta

from msgspec import Struct, field

from readers.base import Child, Declared, LeafHandler, MemorySource, Part, Source, Text
from readers.charset_labels import by_page
from readers.errors import DocumentError, corrupt, truncated
from readers.last import Last
from readers.mail.eml import MAIL_KEYS, EmlHandler
from readers.mail_form import MailForm, message_name, write_message
from readers.office.ole import objects as ole_objects
from readers.outlook.mapi import properties as mapi
from readers.outlook.mapi.fields import FIELD_KEYS, LEFT_OF_FIELDS, NAMED, has_fields, our_id
from readers.outlook.mapi.form import FormReader, note_in_child, note_in_text
from readers.outlook.mapi.properties import MapiAttachment, MapiMessage, Properties, string_charset
from readers.records import Kind, Limits

SIGNATURE = b"\x78\x9f\x3e\x22"
_ATTRIBUTE = struct.Struct("<BHHI")  # level, id, type, length (2.1.3.1)
_SUBJECT, _SENT, _CLASS, _BODY, _DATA, _TITLE = 0x8004, 0x8005, 0x8008, 0x800C, 0x800F, 0x8010
_NEW_ATTACHMENT, _PROPERTIES, _RECIPIENTS, _ATTACHMENT, _CODEPAGE = 0x9002, 0x9003, 0x9004, 0x9005, 0x9007
_STRUCTURES = frozenset((mapi.STRING_8, mapi.STRING, mapi.BINARY, mapi.OBJECT))
_SIZES = {
    0x0005: 8,
    0x0006: 8,
    0x0007: 8,
    mapi.INTEGER_64: 8,
    mapi.TIME: 8,
    0x0048: 16,
}  # all other types have four bytes
_MAX_COUNT = 100_000
_MAX_RECIPIENTS = 20_000
_INTERFACE = 16  # bytes before an object: its interface


class Tnef(Struct):
    """A parsed stream. `error` is the reason why it ends too early; the available parts are kept."""

    message: Properties = field(default_factory=Properties)
    recipients: list[Properties] = field(default_factory=list)
    attachments: list[Properties] = field(default_factory=list)
    error: DocumentError | None = None

    def as_message(self) -> MapiMessage:
        """Return the message with its attachments."""
        return MapiMessage(self.message, self.recipients, lambda: map(_attachment, self.attachments))


def read(data: bytes) -> Tnef:
    """Parse everything in the stream. Raises DocumentError if it does not begin as TNEF."""
    if len(data) < 6 or not data.startswith(SIGNATURE):
        raise corrupt("it does not begin like TNEF")
    out = Tnef()
    old: dict[int, bytes] = {}
    codec = ""
    for level, ident, value in _attributes(data, out):
        if ident == _CODEPAGE and len(value) >= 4:
            codec = by_page(int.from_bytes(value[:4], "little"))
        elif ident == _PROPERTIES and level == 1:
            out.message.values.update(_list(value, 0, out)[0].values)
        elif ident == _RECIPIENTS:
            out.recipients = _table(value, out)
        elif level == 1:
            old.setdefault(ident, value)
        elif level == 2:
            _of_attachment(out, ident, value)
    for ident, where in ((_SUBJECT, mapi.SUBJECT), (_CLASS, mapi.MESSAGE_CLASS), (_BODY, mapi.BODY)):
        if ident in old and where not in out.message.values:
            out.message.values[where] = (mapi.STRING_8, old[ident])
    if (sent := _file_time(old.get(_SENT, b""))) is not None:
        out.message.values.setdefault(mapi.SUBMIT_TIME, (mapi.TIME, sent))
    if not has_fields(
        out.message.text(mapi.MESSAGE_CLASS)
    ):  # they do not count for the detection of the charset either
        for ident in [ident for ident in out.message.values if ident >= NAMED]:
            del out.message.values[ident]
    out.message.detected = string_charset((out.message, *out.recipients), codec)
    for own in (out.message, *out.recipients, *out.attachments):
        own.codec = out.message.detected.charset
    return out


def _file_time(value: bytes) -> bytes | None:
    """Convert year, month, day, hour, minute and second (2.1.3.3.3) to a FILETIME; None without a date."""
    if len(value) < 12:
        return None
    try:
        when = datetime(*struct.unpack_from("<6H", value))
    except ValueError:
        return None
    return ((when - datetime(1601, 1, 1)) // timedelta(microseconds=1) * 10).to_bytes(8, "little", signed=True)


def _attributes(data: bytes, out: Tnef) -> Iterator[tuple[int, int, bytes]]:
    """Yield (level, id, data) of each attribute. Fill bytes and line ends may follow the last one."""
    at = 6
    while at + _ATTRIBUTE.size <= len(data):
        level, ident, _, length = _ATTRIBUTE.unpack_from(data, at)
        if level not in (1, 2):
            break
        at += _ATTRIBUTE.size
        value = data[at : at + length]
        if len(value) < length:
            out.error = truncated(f"an attribute ends after {len(value)} of {length} bytes")
        elif at + length + 2 <= len(data):
            stored = int.from_bytes(data[at + length : at + length + 2], "little")
            if stored != _checksum(value) and out.error is None:
                out.error = corrupt("the checksum of an attribute is wrong")
        at += length + 2
        yield level, ident, value
    if (rest := data[at:].strip(b"\0\r\n\t ")) and out.error is None:
        out.error = corrupt(f"{len(rest):,} bytes after the last attribute were not read")


def _checksum(value: bytes) -> int:
    """Return the sum of all bytes modulo 65,536 (2.1.3.1). The low half of Adler-32 from zero is such a sum modulo
    65,521, so it is exact for 256 bytes; this is four times as fast as adding in Python."""
    if len(value) <= 64:
        return sum(value) & 0xFFFF
    pieces = [value[at : at + 256] for at in range(0, len(value), 256)]
    return sum(map(zlib.adler32, pieces, itertools.repeat(0))) & 0xFFFF  # the high halves are multiples of 65,536


def _of_attachment(out: Tnef, ident: int, value: bytes) -> None:
    if ident == _NEW_ATTACHMENT or not out.attachments:
        out.attachments.append(Properties())
    own = out.attachments[-1].values
    if ident == _TITLE:
        own.setdefault(mapi.ATTACH_NAME, (mapi.STRING_8, value))
    elif ident == _DATA:
        own.setdefault(mapi.ATTACH_DATA, (mapi.BINARY, value))
    elif ident == _ATTACHMENT:
        properties = _list(value, 0, out)[0].values
        if mapi.ATTACH_DATA in own:
            properties.setdefault(mapi.ATTACH_DATA, own[mapi.ATTACH_DATA])
        own.update(properties)


def _list(data: bytes, at: int, out: Tnef) -> tuple[Properties, int]:
    """Return a list of properties (2.1.3.4) and the position after it; the readable ones of a damaged list."""
    properties = Properties()
    count = int.from_bytes(data[at : at + 4], "little")
    at += 4
    try:
        for _ in range(min(count, _MAX_COUNT)):
            kind, ident = struct.unpack_from("<HH", data, at)
            at += 4
            name = at
            if ident >= NAMED:
                at = _behind_name(data, at)
            value, at = _value(data, at, kind)
            if not kind & mapi.MULTIPLE:
                properties.values.setdefault(ident, (kind, value))
                if ident >= NAMED and (ours := _our_id(data, name)):
                    properties.values.setdefault(ours, (kind, value))
    except struct.error:
        at = len(data)
        out.error = out.error or corrupt("a list of properties breaks off")
    return properties, at


def _our_id(data: bytes, at: int) -> int:
    """Return our id of a property that has a number for a name; 0 if it is not needed."""
    kind, number = struct.unpack_from("<II", data, at + 16)
    return 0 if kind else our_id(data[at : at + 16], number)


def _behind_name(data: bytes, at: int) -> int:
    """Return the position after a named property's set, kind, and number or name."""
    (kind,) = struct.unpack_from("<I", data, at + 16)
    if not kind:
        return at + 24
    (length,) = struct.unpack_from("<I", data, at + 20)
    return at + 24 + int(length + 3 & ~3)


def _value(data: bytes, at: int, kind: int) -> tuple[bytes, int]:
    """Return a property's (last) value, and the position after it. Raises struct.error if it is cut."""
    base = kind & ~mapi.MULTIPLE
    sized = base in _STRUCTURES
    count = 1
    if sized or kind & mapi.MULTIPLE:
        (count,) = struct.unpack_from("<I", data, at)
        at += 4
        if count > _MAX_COUNT:
            raise struct.error("it has more values than possible")
    value = b""
    for _ in range(count):
        if sized:
            (length,) = struct.unpack_from("<I", data, at)
            at += 4
        else:
            length = _SIZES.get(base, 4)
        value = data[at : at + length]
        if len(value) < length:
            raise struct.error("a value breaks off")
        at += length + (-length & 3)
    return value, at


def _table(data: bytes, out: Tnef) -> list[Properties]:
    count = int.from_bytes(data[:4], "little")
    rows: list[Properties] = []
    at = 4
    for _ in range(min(count, _MAX_RECIPIENTS)):
        if at >= len(data):
            break
        row, at = _list(data, at, out)
        rows.append(row)
    return rows


def _attachment(own: Properties) -> MapiAttachment:
    kind, data = own.values.get(mapi.ATTACH_DATA, (0, b""))
    if not kind:
        return MapiAttachment(own)
    if kind == mapi.OBJECT:
        inner = data[_INTERFACE:]
        if inner.startswith(SIGNATURE):
            return MapiAttachment(own, message=lambda: read(inner).as_message())
        return MapiAttachment(own, size=len(inner), data=lambda: ole_objects.unwrapped(inner) or (b"", inner))
    return MapiAttachment(own, size=len(data), data=lambda: (b"", data))


_EML = EmlHandler()
_STREAMS = Last(read)


def _without_attachments(data: bytes, limits: Limits) -> tuple[bytes, MailForm]:
    """Return the message in canonical form, and the form."""
    form = FormReader(limits).form(_STREAMS(data).as_message(), attachments=False)
    return write_message(form), form


_MESSAGES = Last(_without_attachments)


class TnefHandler(LeafHandler):
    """One TNEF stream."""

    name = "tnef"
    declared = Declared(
        title="Outlook attachments in one (winmail.dat)",
        extensions=("dat", "tnef"),
        text="the body of the message that it encodes; the fields of a contact before its note",
        metadata=(*MAIL_KEYS, *FIELD_KEYS),
        children="attachments in order: messages as mail messages, embedded OLE objects as files",
        leaves_out=(
            "properties without a corresponding field of a mail message",
            LEFT_OF_FIELDS,
            "more than 20,000 recipients",
        ),
    ).alone()

    def children(self, source: Source, limits: Limits, part: Part | None = None) -> Iterator[Child]:
        """Yield files in the text, then the attachments in order, messages among them in canonical form. Raises the
        damage at the end."""
        data = source.whole(limits.parse_bytes)
        inline = _EML.children(MemorySource(b"", _MESSAGES(data, limits)[0]), limits)
        stream = _STREAMS(data)
        attached = (_child(attachment, limits) for attachment in stream.as_message().attachments())
        for position, child in enumerate(filter(None, itertools.chain(inline, attached))):
            child.ordinal = position
            child.name = child.name or b"part-%d" % position
            yield child
        if stream.error is not None:
            raise stream.error

    def text(self, source: Source, limits: Limits) -> Text:
        """Return the message's body; its fields as metadata."""
        data = source.whole(limits.parse_bytes)
        message, form = _MESSAGES(data, limits)
        out = _EML.text(MemorySource(source.name, message), limits)
        out.error = out.error or _STREAMS(data).error
        note_in_text(out, form)
        return out


def _child(attachment: MapiAttachment, limits: Limits) -> Child | None:
    """Return an attachment; None for a link."""
    reader = FormReader(limits)
    try:
        made = reader.attachment(attachment)
    except DocumentError as e:
        return Child(name=b"", kind=Kind.ATTACHMENT, ordinal=0, error=e, emit=False)
    if made is None:
        return None
    name, content, declared = made.name, made.data, made.media_type
    if made.message is not None:
        name, content, declared = message_name(made.message.subject), write_message(made.message), "message/rfc822"
    child = Child(
        name=name.encode("utf-8", "backslashreplace"),
        kind=Kind.ATTACHMENT,
        ordinal=0,
        data=content,
        error=reader.error,
        media_type=declared,
    )
    return note_in_child(child, made.message)
