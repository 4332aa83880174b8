"""Outlook items as files: .msg ([MS-OXMSG]), a compound file with a storage an object and a stream a property.

    write(Message(properties={SUBJECT: "…"}, recipients=[…], attachments=[…]))

`mapi_mail.message_of` makes such a message from the fields of a mail.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass, field

from dataset_gen.formats.outlook.mapi_mail import (
    BINARY,
    BOOLEAN,
    GUID,
    INTEGER64,
    LONG,
    MANY_LONG,
    MANY_STRING,
    PS_MAPI,
    PS_PUBLIC_STRINGS,
    STRING,
    TIME,
    Attachment,
    Message,
    Named,
    Properties,
    Value,
    crc,
    guid,
)
from readers import cfb
from readers.cfb import Storage

MEDIA_TYPE = "application/vnd.ms-outlook"
_CLASS = guid("00020D0B-0000-0000-C000-000000000046")
_PROPERTIES = "__properties_version1.0"
_READ_WRITE = 6  # flags of a property: it may be read and changed (2.4.2.1)
_FIXED = {
    LONG: struct.Struct("<IIi4x"),
    BOOLEAN: struct.Struct("<II?7x"),
    TIME: struct.Struct("<IIQ"),
    INTEGER64: struct.Struct("<IIq"),
}
_SIZED = struct.Struct("<IIII")
_ATTACH_DATA_OBJECT = 0x3701000D
_FIRST_NAMED = 0x8000
_NAME_STREAMS = 0x1F


def write(message: Message) -> bytes:
    """The file. Raises ValueError for a property type that is not known here."""
    names = _Names()
    root = Storage(clsid=_CLASS)
    _fill(root, message, names, top=True)
    root.storages.append(names.storage())
    return cfb.write(root)


@dataclass(slots=True)
class _Names:
    """The identifiers that a file gives to named properties (2.2.3), in order of their first use."""

    indexes: dict[tuple[bytes, int | str], int] = field(default_factory=dict)

    def tag(self, named: Named) -> int:
        """The tag under which the property's value is stored."""
        index = self.indexes.setdefault((named.set, named.name), len(self.indexes))
        return _FIRST_NAMED + index << 16 | named.type

    def storage(self) -> Storage:
        """The named property mapping storage: property sets, entries, strings, and entries by hash."""
        sets = [PS_MAPI, PS_PUBLIC_STRINGS]
        entries, strings = bytearray(), bytearray()
        hashed: dict[int, bytearray] = {}
        for (owner, name), index in self.indexes.items():
            if owner not in sets:
                sets.append(owner)
            where = sets.index(owner) + 1
            if isinstance(name, str):
                raw = name.encode("utf-16-le")
                kind, offset, key = where << 1 | 1, len(strings), crc(raw)
                strings += struct.pack("<I", len(raw)) + raw + bytes(-len(raw) % 4)
            else:
                kind, offset, key = where << 1, name, name
            entries += struct.pack("<IHH", offset, kind, index)
            stream = hashed.setdefault(0x1000 + (key ^ kind) % _NAME_STREAMS, bytearray())
            stream += struct.pack("<IHH", key, kind, index)
        streams = {"00020102": b"".join(sets[2:]), "00030102": bytes(entries), "00040102": bytes(strings)}
        streams |= {f"{number:04X}0102": bytes(data) for number, data in hashed.items()}
        return Storage("__nameid_version1.0", streams={f"__substg1.0_{n}": data for n, data in streams.items()})


def _fill(storage: Storage, message: Message, names: _Names, *, top: bool) -> None:
    """A message's properties, recipients and attachments (2.2, 2.4.1.1, 2.4.1.2)."""
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


def _attach(storage: Storage, attachment: Attachment, names: _Names) -> None:
    if attachment.message is None:
        _put(storage, bytes(8), attachment.properties)
        return
    entry = _SIZED.pack(_ATTACH_DATA_OBJECT, _READ_WRITE, 0xFFFFFFFF, 1)
    _put(storage, bytes(8) + entry, attachment.properties)
    inner = Storage(f"__substg1.0_{_ATTACH_DATA_OBJECT:08X}")
    _fill(inner, attachment.message, names, top=False)
    storage.storages.append(inner)


def _put(storage: Storage, head: bytes, properties: Properties) -> None:
    """The property stream, and a stream for each value that has not its place in it (2.4.2)."""
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


def _variable(tag: int, value: Value, streams: dict[str, bytes]) -> tuple[bytes, int]:
    """A value's stream and the size stated of it: a string's has its terminator counted, which is not stored. The
    strings of a multiple one go into streams of their own (2.1.4.2)."""
    kind = tag & 0xFFFF
    if kind == STRING and isinstance(value, str):
        data = value.encode("utf-16-le", "replace")
        return data, len(data) + 2
    if kind in (BINARY, GUID) and isinstance(value, bytes):
        return value, len(value)
    if kind == MANY_STRING and isinstance(value, Sequence):
        texts = [f"{text}\0".encode("utf-16-le", "replace") for text in value]
        streams |= {f"__substg1.0_{tag:08X}-{number:08X}": text for number, text in enumerate(texts)}
        lengths = struct.pack(f"<{len(texts)}I", *map(len, texts))
        return lengths, len(lengths)
    if kind == MANY_LONG and isinstance(value, Sequence):
        data = struct.pack(f"<{len(value)}i", *value)
        return data, len(data)
    raise ValueError(f"a property {tag:#010x} cannot have {type(value).__name__} as its value")
