"""Messages as MAPI has them: objects with properties ([MS-OXCDATA] 2.11, [MS-OXPROPS]). Writers of .msg and winmail.dat
take these.

A property is a tag (identifier << 16 | type) and a value: `int` for Long, Integer64 and Time (a FILETIME), `bool`, `str`
for String, `bytes` for Binary and Guid, a list of `str` or `int` for the multiple ones. A named property has a `Named`
instead of a tag; the format decides how its identifier is assigned.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

LONG, BOOLEAN, OBJECT, INTEGER64, STRING8, STRING, TIME, GUID, BINARY = (
    0x0003, 0x000B, 0x000D, 0x0014, 0x001E, 0x001F, 0x0040, 0x0048, 0x0102,
)  # fmt: skip
MANY_LONG, MANY_STRING = 0x1003, 0x101F

Value: TypeAlias = int | bool | str | bytes | Sequence[int] | Sequence[str]
Properties: TypeAlias = dict[int, Value]

_TO_1601 = 11_644_473_600  # seconds between 1601-01-01 and 1970-01-01


def guid(text: str) -> bytes:
    """A GUID as it lies on disk: the first three fields little-endian."""
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


def crc(data: bytes) -> int:
    """The CRC of [MS-OXRTFCP] 3.1.3.2: CRC-32 that neither starts nor ends with inverted bits."""
    return zlib.crc32(data, 0xFFFFFFFF) ^ 0xFFFFFFFF


def one_off(name: str, address: str) -> bytes:
    """The entry identifier of somebody in no address book ([MS-OXCDATA] 2.2.5.1)."""
    head = bytes(4) + bytes.fromhex("812b1fa4bea310199d6e00dd010f5402") + b"\0\0\x01\x80"
    return head + f"{name}\0SMTP\0{address}\0".encode("utf-16-le", "replace")
