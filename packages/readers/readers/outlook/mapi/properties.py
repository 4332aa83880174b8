"""Properties of messages as Outlook stores them, in a PST, an MSG or a winmail.dat ([MS-OXPROPS], [MS-OXCDATA] 2.11).

A property is an id and a type with raw bytes; this is the common part of the three formats."""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator, Sequence
from typing import Final

from msgspec import Struct, field

from readers import charset
from readers.charset import CharsetSource, Detected
from readers.charset_labels import by_page
from readers.errors import DocumentError

INTEGER_16, INTEGER_32, BOOLEAN, OBJECT, INTEGER_64 = 0x0002, 0x0003, 0x000B, 0x000D, 0x0014
STRING_8, STRING, TIME, BINARY = 0x001E, 0x001F, 0x0040, 0x0102
MULTIPLE: Final = 0x1000  # in a type: several values

# Messages
MESSAGE_CLASS, SUBJECT, SUBMIT_TIME, SUBJECT_PREFIX, HEADERS = 0x001A, 0x0037, 0x0039, 0x003D, 0x007D
REPRESENTING_NAME, REPRESENTING_TYPE, REPRESENTING_EMAIL, REPRESENTING_SMTP = 0x0042, 0x0064, 0x0065, 0x5D02
SENDER_NAME, SENDER_TYPE, SENDER_EMAIL, SENDER_SMTP = 0x0C1A, 0x0C1E, 0x0C1F, 0x5D01
DISPLAY_BCC, DISPLAY_CC, DISPLAY_TO, DELIVERY_TIME, NORMALIZED_SUBJECT = 0x0E02, 0x0E03, 0x0E04, 0x0E06, 0x0E1D
BODY, RTF_COMPRESSED, HTML, MESSAGE_ID, REFERENCES, IN_REPLY_TO = 0x1000, 0x1009, 0x1013, 0x1035, 0x1039, 0x1042
INTERNET_CODEPAGE, MESSAGE_CODEPAGE, TOPIC, CONVERSATION_INDEX = 0x3FDE, 0x3FFD, 0x0070, 0x0071
# Recipients
RECIPIENT_TYPE, DISPLAY_NAME, ADDRESS_TYPE, EMAIL, SMTP_ADDRESS = 0x0C15, 0x3001, 0x3002, 0x3003, 0x39FE
# Attachments
ATTACH_DATA, ATTACH_EXTENSION, ATTACH_NAME, ATTACH_METHOD, ATTACH_LONG_NAME = 0x3701, 0x3703, 0x3704, 0x3705, 0x3707
ATTACH_MIME_TAG, ATTACH_CONTENT_ID = 0x370E, 0x3712
BY_VALUE, EMBEDDED_MESSAGE, OLE = 1, 5, 6  # values of ATTACH_METHOD
WITHOUT_DATA: Final = frozenset((0, 2, 3, 4, 7))  # others: nothing, and links

_NEVER = 2_650_467_744_000_000_000  # ticks of the year 10000
_EPOCH = 116_444_736_000_000_000  # 1970 in 100 ns since 1601


class Properties(Struct):
    """Properties of one object by id: (type, raw value). Strings of eight bits are in `codec`; "" means unknown.
    `detected` is the codec of a message with its origin."""

    values: dict[int, tuple[int, bytes]] = field(default_factory=dict)
    codec: str = ""
    detected: Detected | None = None

    def raw(self, ident: int) -> bytes:
        """Return the value as stored; b"" if there is none."""
        return self.values.get(ident, (0, b""))[1]

    def text(self, ident: int) -> str | None:
        """Return a string without NULs at its end; None if there is none, or another type."""
        kind, value = self.values.get(ident, (0, b""))
        if kind == STRING:
            return value[: len(value) & ~1].decode("utf-16-le", "replace").rstrip("\0")
        if kind == STRING_8:
            if self.codec and not self.codec.startswith("utf-"):
                return value.rstrip(b"\0").decode(self.codec, "replace")
            return charset.decode(value.rstrip(b"\0"), self.codec)[0]
        return None

    def number(self, ident: int) -> int | None:
        """Return an integer or a boolean."""
        kind, value = self.values.get(ident, (0, b""))
        if kind == INTEGER_32 and len(value) >= 4:
            return int(struct.unpack_from("<i", value)[0])
        if kind in (INTEGER_16, BOOLEAN) and value:
            return int.from_bytes(value[:2], "little", signed=True)
        if kind == INTEGER_64 and len(value) >= 8:
            return int(struct.unpack_from("<q", value)[0])
        return None

    def time(self, ident: int) -> int | None:
        """Return a time in seconds UTC since the epoch; None if there is none."""
        kind, value = self.values.get(ident, (0, b""))
        if kind != TIME or len(value) < 8:
            return None
        ticks = int(struct.unpack_from("<Q", value)[0])
        return (ticks - _EPOCH) // 10_000_000 if 0 < ticks < _NEVER else None


def string_charset(tables: Sequence[Properties], declared: str = "") -> Detected:
    """Return the charset of a message's strings of eight bits: its code page (`declared` if another place gives it),
    unless they contradict it; without one the charset detected for all of them. "" if they are ASCII or UTF-8."""
    pages = (own.number(ident) or 0 for own in tables for ident in (MESSAGE_CODEPAGE, INTERNET_CODEPAGE))
    declared = declared or next((codec for codec in map(by_page, pages) if codec), "")
    strings = (value.rstrip(b"\0") for own in tables for kind, value in own.values.values() if kind == STRING_8)
    sample = b"\n".join(value for value in strings if not value.isascii())
    if not sample or declared.startswith("utf-"):
        return Detected(declared, CharsetSource.DECLARED)
    if declared:
        return charset.of_code_page(sample, declared)
    detected = charset.decode(sample)[1]
    return detected if detected.charset != "utf-8" else Detected("", CharsetSource.UTF8)


def decode_strings(own: Properties, people: Sequence[Properties] = ()) -> None:
    """Set the charset of the message's strings for the message and its recipients."""
    own.detected = string_charset([own])
    for one in (own, *people):
        one.codec = own.detected.charset


class MapiAttachment(Struct):
    """One attachment. `data` and `message` read when they are called; both are None for a link."""

    properties: Properties
    size: int = 0  # bytes announced, to refuse a too large one before reading
    data: Callable[[], tuple[bytes, bytes]] | None = None  # (name of a packaged file or b"", bytes)
    message: Callable[[], MapiMessage] | None = None
    error: DocumentError | None = None  # why neither can be read


class MapiMessage(Struct):
    """One message: attachments are read when they are requested."""

    properties: Properties
    recipients: list[Properties]
    attachments: Callable[[], Iterator[MapiAttachment]]
    announced: int | None = None  # number of attachments, if the message announces it


# All properties that the form of a message uses.
WANTED: Final = frozenset(
    (
        *(MESSAGE_CLASS, SUBJECT, SUBMIT_TIME, SUBJECT_PREFIX, HEADERS, NORMALIZED_SUBJECT, DELIVERY_TIME, TOPIC),
        CONVERSATION_INDEX,
        *(REPRESENTING_NAME, REPRESENTING_TYPE, REPRESENTING_EMAIL, REPRESENTING_SMTP),
        *(SENDER_NAME, SENDER_TYPE, SENDER_EMAIL, SENDER_SMTP, DISPLAY_BCC, DISPLAY_CC, DISPLAY_TO),
        *(BODY, RTF_COMPRESSED, HTML, MESSAGE_ID, REFERENCES, IN_REPLY_TO, INTERNET_CODEPAGE, MESSAGE_CODEPAGE),
        *(RECIPIENT_TYPE, DISPLAY_NAME, ADDRESS_TYPE, EMAIL, SMTP_ADDRESS),
        *(ATTACH_NAME, ATTACH_METHOD, ATTACH_LONG_NAME, ATTACH_MIME_TAG, ATTACH_CONTENT_ID),
    )
)
