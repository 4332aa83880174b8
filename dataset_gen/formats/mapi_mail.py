"""The properties of a mail ([MS-OXCMSG], [MS-OXOMSG], [MS-OXPROPS]): from a `MailForm` to a `Message`.

Texts get the line ends that MAPI wants, CRLF. Identifiers that a mail system would draw at random (search keys, the
conversation's index) follow from the Message-ID."""

from __future__ import annotations

import codecs
import functools
import hashlib
import struct
import zlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from readers.mail_form import Address, MailAttachment, MailForm, write_message

LONG, BOOLEAN, STRING, TIME, BINARY, MANY_STRING = 0x0003, 0x000B, 0x001F, 0x0040, 0x0102, 0x101F

Value: TypeAlias = int | bool | str | bytes | Sequence[str]
Properties: TypeAlias = dict[int, Value]

_TO_1601 = 11_644_473_600  # seconds between 1601-01-01 and 1970-01-01


def guid(text: str) -> bytes:
    """Return a GUID as stored on disk: the first three fields little-endian."""
    a, b, c, d, e = text.split("-")
    return struct.pack("<IHH", int(a, 16), int(b, 16), int(c, 16)) + bytes.fromhex(d + e)


# Property sets ([MS-OXPROPS] 1.3.2)
PS_MAPI = guid("00020328-0000-0000-C000-000000000046")
PS_PUBLIC_STRINGS = guid("00020329-0000-0000-C000-000000000046")
PS_INTERNET_HEADERS = guid("00020386-0000-0000-C000-000000000046")
PSETID_COMMON = guid("00062008-0000-0000-C000-000000000046")
PSETID_APPOINTMENT = guid("00062002-0000-0000-C000-000000000046")
PSETID_MEETING = guid("6ED8DA90-450B-101B-98DA-00AA003F1305")
IID_MESSAGE = guid("00020307-0000-0000-C000-000000000046")


@dataclass(frozen=True, slots=True)
class Named:
    """The name of a named property: a number or a string in a property set, and the type of its values."""

    set: bytes
    name: int | str
    type: int


@dataclass(slots=True)
class Attachment:
    """One attachment: its data is a property, unless it is a message."""

    properties: Properties
    message: Message | None = None


@dataclass(slots=True)
class Message:
    """A message with its recipients and attachments."""

    properties: Properties
    named: dict[Named, Value] = field(default_factory=dict)
    recipients: list[Properties] = field(default_factory=list)
    attachments: list[Attachment] = field(default_factory=list)


def filetime(seconds: int) -> int:
    """Seconds since the epoch as a FILETIME: 100 ns since 1601, UTC."""
    return (seconds + _TO_1601) * 10_000_000


def from_filetime(value: int) -> int:
    """Whole seconds since the epoch."""
    return value // 10_000_000 - _TO_1601


def crc(data: bytes | bytearray | memoryview) -> int:
    """Return the CRC of [MS-OXRTFCP] 3.1.3.2 and [MS-PST] 5.3: CRC-32 that neither starts nor ends with inverted
    bits."""
    return zlib.crc32(data, 0xFFFFFFFF) ^ 0xFFFFFFFF


@dataclass(slots=True)
class Names:
    """The identifiers that a file or store gives to named properties ([MS-OXMSG] 2.2.3, [MS-PST] 2.4.7), in order of their
    first use."""

    numbers: dict[tuple[bytes, int | str], int] = field(default_factory=dict)

    def tag(self, named: Named) -> int:
        """Return the tag under which the property's value is stored."""
        number = self.numbers.setdefault((named.set, named.name), len(self.numbers))
        return (0x8000 + number) << 16 | named.type

    def map(self, buckets: int) -> dict[int, bytes]:
        """Return the map by number of its properties: other property sets than the two well-known, entries, strings,
        and the entries again by hash."""
        sets = [PS_MAPI, PS_PUBLIC_STRINGS]
        entries, strings = bytearray(), bytearray()
        hashed: dict[int, bytes] = {}
        for (owner, name), number in self.numbers.items():
            if owner not in sets:
                sets.append(owner)
            where = sets.index(owner) + 1
            if isinstance(name, str):
                raw = name.encode("utf-16-le")
                kind, offset, key = where << 1 | 1, len(strings), crc(raw)
                strings += struct.pack("<I", len(raw)) + raw + bytes(-len(raw) % 4)
            else:
                kind, offset, key = where << 1, name, name
            entries += struct.pack("<IHH", offset, kind, number)
            bucket = 0x1000 + (key ^ kind) % buckets
            hashed[bucket] = hashed.get(bucket, b"") + struct.pack("<IHH", key, kind, number)
        return {2: b"".join(sets[2:]), 3: bytes(entries), 4: bytes(strings), **hashed}


@functools.lru_cache(maxsize=4096)
def one_off(name: str, address: str) -> bytes:
    """Return the entry identifier of a person in no address book ([MS-OXCDATA] 2.2.5.1)."""
    head = bytes(4) + bytes.fromhex("812b1fa4bea310199d6e00dd010f5402") + b"\0\0\x01\x80"
    return head + f"{name}\0SMTP\0{address}\0".encode("utf-16-le", "replace")


MESSAGE_CLASS = 0x001A001F
SUBJECT = 0x0037001F
SUBMITTED = 0x00390040
HEADERS = 0x007D001F
BODY = 0x1000001F
HTML = 0x10130102
RTF_COMPRESSED = 0x10090102
RTF_IN_SYNC = 0x0E1F000B
NATIVE_BODY = 0x10160003
MESSAGE_ID = 0x1035001F
REFERENCES = 0x1039001F
IN_REPLY_TO = 0x1042001F
ATTACH_DATA = 0x37010102
ATTACH_LONG_NAME = 0x3707001F
ATTACH_NAME = 0x3704001F
ATTACH_OBJECT = 0x3701000D
RECIPIENT_TYPE = 0x0C150003
DISPLAY_NAME = 0x3001001F
ENTRY_ID = 0x0FFF0102

_CODE_PAGE = 65001  # UTF-8
_UNICODE_STORE = 0x00040E79  # STORE_UNICODE_OK and what stores can do as a rule
_BY_VALUE, _EMBEDDED = 1, 5  # PidTagAttachMethod
_READ, _UNMODIFIED, _HAS_ATTACHMENTS = 1, 2, 0x10  # PidTagMessageFlags
_PLAIN, _HTML = 1, 3  # PidTagNativeBody
_FIRST_OF_2015 = 1_420_070_400
_NINE_YEARS = 9 * 365 * 86_400
_MAILER = Named(PS_INTERNET_HEADERS, "x-mailer", STRING)

NamedProperties: TypeAlias = Mapping[Named, Value]


@dataclass(frozen=True, slots=True, kw_only=True)
class Details:
    """Properties of an item in addition to those of its mail."""

    message_class: str = "IPM.Note"
    properties: Mapping[int, Value] = field(default_factory=dict)  # these go over those of the mail
    named: NamedProperties = field(default_factory=dict)


NOTE = Details()
RECEIPT = "REPORT.IPM.Note.IPNRN"  # the class of read receipts


def message_of(form: MailForm, details: Details = NOTE) -> Message:
    """Return the mail as an item; messages in it are notes."""
    return Message(
        properties={**properties_of(form, details.message_class, _headers(form)), **details.properties},
        named={_MAILER: "Example Mail 9.2", **details.named},
        recipients=list(recipients(form)),
        attachments=[
            Attachment(attachment_properties(a, number), None if a.message is None else message_of(a.message))
            for number, a in enumerate(form.attachments)
        ],
    )


def _headers(form: MailForm) -> str:
    """Return the header of the mail, without that of its body."""
    alone = write_message(replace(form, plain=None, html=None, attachments=()))
    return f"{alone[: alone.rindex(b'Content-Type:')].decode()}X-Mailer: Example Mail 9.2\n\n"


def crlf(text: str) -> str:
    """Return a text with the line ends of MAPI."""
    return text.replace("\n", "\r\n")


def properties_of(form: MailForm, message_class: str, headers: str | None = None) -> Properties:
    """Return the properties of the mail itself; `headers` as they came over the wire."""
    out: Properties = {
        MESSAGE_CLASS: message_class,
        0x0FFE0003: 5,  # ObjectType: message
        0x340D0003: _UNICODE_STORE,  # StoreSupportMask
        0x00170003: 1,  # Importance: normal
        0x00260003: 0,  # Priority
        0x00360003: 0,  # Sensitivity
        0x0E070003: _READ | _UNMODIFIED | (_HAS_ATTACHMENTS if form.attachments else 0),  # MessageFlags
        0x0E1B000B: bool(form.attachments),  # HasAttachments
        0x3FDE0003: _CODE_PAGE,  # InternetCodepage
        0x3FFD0003: 1252,  # MessageCodepage
        **_subject(form.subject),
        0x0E04001F: _names(form.to),  # DisplayTo, Cc, Bcc
        0x0E03001F: _names(form.cc),
        0x0E02001F: _names(form.bcc),
        **_threading(form),
        **({} if headers is None else {HEADERS: crlf(headers)}),
        0x300B0102: hashlib.sha256(form.message_id.encode("utf-8", "replace")).digest()[:16],  # SearchKey
    }
    if form.sent is not None:
        sent = filetime(form.sent)
        # ClientSubmitTime, MessageDeliveryTime (two seconds later), CreationTime, LastModificationTime
        out |= {SUBMITTED: sent, 0x0E060040: sent + 20_000_000, 0x30070040: sent, 0x30080040: sent + 20_000_000}
    if form.sender is not None:
        out |= _person(form.sender, 0x0C1A, 0x0C1E, 0x0C1F, 0x5D01, 0x0C19)  # Sender…
        out |= _person(form.sender, 0x0042, 0x0064, 0x0065, 0x5D02, 0x0041)  # SentRepresenting…
    if form.plain is not None:
        out[BODY] = crlf(form.plain)
    if form.html is not None:
        out[HTML] = crlf(form.html).encode("utf-8", "replace")
    out[NATIVE_BODY] = _PLAIN if form.html is None else _HTML
    return out


def _subject(subject: str) -> Properties:
    """Subject, its prefix and the rest: a prefix is up to three letters with a colon ([MS-OXCMSG] 2.2.1.9)."""
    prefix, colon, rest = subject.partition(": ")
    if not colon or not 1 <= len(prefix) <= 3 or not prefix.isalpha():
        prefix, rest = "", subject
    shown = f"{prefix}: " if prefix else ""
    return {SUBJECT: subject, 0x003D001F: shown, 0x0E1D001F: rest, 0x0070001F: rest}  # …, ConversationTopic


def _threading(form: MailForm) -> Properties:
    """Message-ID, references, and the place in the conversation ([MS-OXOMSG] 2.2.1.3)."""
    out: Properties = {}
    if form.message_id:
        out[MESSAGE_ID] = f"<{form.message_id}>"
    if form.references:
        out[REFERENCES] = " ".join(f"<{r}>" for r in form.references)
    if form.in_reply_to:
        out[IN_REPLY_TO] = f"<{form.in_reply_to}>"
    first = form.references[0] if form.references else form.message_id
    key = hashlib.sha256(first.encode("utf-8", "replace")).digest()
    began = filetime(_FIRST_OF_2015 + int.from_bytes(key[16:20], "big") % _NINE_YEARS)
    replies = b"".join(number.to_bytes(5, "big") for number in range(1, len(form.references) + 1))
    out[0x00710102] = began.to_bytes(8, "big")[:6] + key[:16] + replies  # ConversationIndex
    return out


def _names(people: Iterable[Address]) -> str:
    return "; ".join(name or address for name, address in people)


def _person(person: Address, name: int, kind: int, address: int, smtp: int, entry: int) -> Properties:
    """Display name, and if the person has one, address type, address, SMTP address and entry identifier."""
    shown: Properties = {name << 16 | 0x1F: person[0] or person[1]}
    if not person[1]:
        return shown
    return shown | {
        kind << 16 | 0x1F: "SMTP",
        address << 16 | 0x1F: person[1],
        smtp << 16 | 0x1F: person[1],
        entry << 16 | 0x102: one_off(person[0] or person[1], person[1]),
    }


def search_key(address: str) -> bytes:
    """Return the key that is equal for the same person."""
    return f"SMTP:{address.upper()}\0".encode("utf-8", "replace")


def recipients(form: MailForm) -> Iterable[Properties]:
    """Yield one row a recipient, To first, Bcc last ([MS-OXOMSG] 2.2.3)."""
    row = 0
    for kind, people in enumerate((form.to, form.cc, form.bcc), 1):
        for person in people:
            yield {
                0x30000003: row,  # RowId
                RECIPIENT_TYPE: kind,
                0x0FFE0003: 6,  # ObjectType: a person
                0x39000003: 0,  # DisplayType
                0x0E0F000B: True,  # Responsibility
                **_person(person, 0x3001, 0x3002, 0x3003, 0x39FE, 0x0FFF),
                0x300B0102: search_key(person[1]),
            }
            row += 1


def attachment_properties(attachment: MailAttachment, number: int) -> Properties:
    """Return the properties of an attachment, without those of a message; `number` is its place ([MS-OXCMSG] 2.2.2)."""
    out: Properties = {
        0x0E210003: number,  # AttachNumber
        0x37050003: _BY_VALUE if attachment.message is None else _EMBEDDED,
        0x370B0003: -1,  # RenderingPosition: not in the text
        0x37140003: 4 if attachment.content_id else 0,  # AttachFlags: shown by the HTML
        0x7FFE000B: bool(attachment.content_id),  # AttachmentHidden
        0x0FFE0003: 7,  # ObjectType: attachment
    }
    if attachment.content_id:
        out[0x3712001F] = attachment.content_id
    if attachment.message is not None:
        out[DISPLAY_NAME] = attachment.message.subject or "message"
        return out
    data = attachment.data or b""
    stem, dot, extension = attachment.name.rpartition(".")
    if attachment.name:
        out |= {DISPLAY_NAME: attachment.name, ATTACH_LONG_NAME: attachment.name, ATTACH_NAME: short(attachment.name)}
    if dot and stem:
        out[0x3703001F] = f".{extension}"  # AttachExtension
    out[0x370E001F] = attachment.media_type  # AttachMimeTag
    out[0x0E200003] = len(data)  # AttachSize
    out[ATTACH_DATA] = data
    return out


def short(name: str) -> str:
    """Return the name in DOS form, eight characters and three."""
    stem, _, extension = name.rpartition(".") if "." in name else (name, "", "")
    plain = [
        "".join(c for c in part.upper() if c.isascii() and (c.isalnum() or c in "_-")) for part in (stem, extension)
    ]
    base = plain[0] or "FILE"
    if base != stem.upper() or len(base) > 8:
        base = f"{base[:6]}~1"
    return f"{base}.{plain[1][:3]}" if plain[1] else base


_PRELOADED = (  # 2.1.2.1: what the dictionary holds before the first byte
    rb"{\rtf1\ansi\mac\deff0\deftab720{\fonttbl;}{\f0\fnil \froman \fswiss \fmodern \fscript \fdecor MS Sans SerifSymbol"
    rb"ArialTimes New RomanCourier{\colortbl\red0\green0\blue0" + b"\r\n" + rb"\par \pard\plain\f0\fs20\b\i\u\tab\tx"
)
_DICTIONARY = 4096
_LONGEST = 17
_SHORTEST = 3  # two bytes would gain nothing
_PLACES = {_PRELOADED[i : i + _SHORTEST]: i for i in range(len(_PRELOADED) - _SHORTEST + 1)}
_HEAD = (
    r"{\rtf1\ansi\ansicpg1252\fromtext \deff0{\fonttbl{\f0\fswiss Arial;}}"
    "\r\n"
    r"{\colortbl\red0\green0\blue0;\red0\green0\blue255;}"
    "\r\n"
    r"\uc1\pard\plain\deftab360 \f0\fs20 "
)


def from_plain(text: str) -> bytes:
    """Return a plain text (LF at line ends) as an RTF document."""
    escaped = text.replace("\\", "\\\\").replace("{", "\\{").replace("}", "\\}")
    return (_HEAD + escaped.replace("\n", "\\par\r\n") + "}").encode("ascii", RTF_UNICODE)


def rtf_escapes(text: str) -> str:
    r"""UTF-16 code units as \uN with a question mark for readers that do not know them; N is signed."""
    return "".join(rf"\u{unit}?" for (unit,) in struct.iter_unpack("<h", text.encode("utf-16-le", "replace")))


def _by_unicode(error: UnicodeError) -> tuple[str, int]:
    assert isinstance(error, UnicodeEncodeError)
    return rtf_escapes(error.object[error.start : error.end]), error.end


RTF_UNICODE = "edbench.rtf-unicode"  # for `str.encode`: characters beyond ASCII as newer writers of RTF put them
codecs.register_error(RTF_UNICODE, _by_unicode)


def compress(data: bytes) -> bytes:
    """Return the compressed stream with its header: sizes, LZFu, CRC (2.1.3.1)."""
    body = _tokens(data)
    return struct.pack("<II4sI", len(body) + 12, len(data), b"LZFu", crc(body)) + body


def _tokens(data: bytes) -> bytes:
    """Yield literals and references, eight to a run after a byte whose bits distinguish them; a reference to the next
    place to be written is the end (2.2)."""
    buffer = _PRELOADED + data
    latest = _PLACES.copy()  # the latest place of three bytes
    at, end = len(_PRELOADED), len(buffer)
    out = bytearray()
    run, flags, count = bytearray(), 0, 0
    while True:
        start, length = _match(buffer, latest, at, end) if at < end else (at, 0)
        if length or at == end:
            flags |= 1 << count
            run += ((start % _DICTIONARY) << 4 | max(0, length - 2)).to_bytes(2, "big")
        else:
            run.append(buffer[at])
            length = 1
        count += 1
        if count == 8 or at == end:
            out.append(flags)
            out += run
            run, flags, count = bytearray(), 0, 0
            if at == end:
                return bytes(out)
        for i in range(at, at + length):
            latest[buffer[i : i + _SHORTEST]] = i
        at += length


def _match(buffer: bytes, latest: dict[bytes, int], at: int, end: int) -> tuple[int, int]:
    """Return the latest place of the next bytes in the dictionary, and the number of equal ones; 0 if there is none."""
    start = latest.get(buffer[at : at + _SHORTEST], -1)
    if start < 0 or at - start > _DICTIONARY - _LONGEST or at + _SHORTEST > end:
        return 0, 0
    length, most = _SHORTEST, min(_LONGEST, end - at)
    while length < most and buffer[start + length] == buffer[at + length]:
        length += 1
    return start, length
