"""Outlook's loose messages (`.msg`, [MS-OXMSG]), read through their canonical form (readers.mail_form)."""

from __future__ import annotations

import re
import struct
from collections.abc import Collection, Iterator
from typing import NamedTuple
from weakref import WeakKeyDictionary

from readers.base import Child, Declared, LeafHandler, MemorySource, MessageHashes, Part, Source, Text
from readers.cfb import LEFT_OUT
from readers.errors import DocumentError, corrupt, truncated
from readers.last import Last
from readers.mail.eml import MAIL_KEYS, EmlHandler
from readers.mail_form import MailForm, write_message
from readers.office.ole import objects as ole_objects
from readers.office.ole.compound import CompoundFile, DirectoryEntry
from readers.outlook.mapi import properties as mapi
from readers.outlook.mapi.fields import EVERYTHING, FIELD_KEYS, LEFT_OF_FIELDS, has_fields, is_contact, our_ids, rename
from readers.outlook.mapi.form import FormReader, conversation_of, note_in_child, note_in_text, without_content
from readers.outlook.mapi.properties import MapiAttachment, MapiMessage, Properties, decode_strings
from readers.records import Kind, Limits
from readers.rest import AFTER_CONTENT, rest

_FIXED = "__properties_version1.0"
_NAMES, _NAME_STREAMS = "__nameid_version1.0", ("__substg1.0_00020102", "__substg1.0_00030102")
_KNOWN = WeakKeyDictionary[CompoundFile, dict[int, int]]()
_STREAM = re.compile(r"__substg1\.0_([0-9A-F]{4})([0-9A-F]{4})", re.IGNORECASE)
_NUMBERED = re.compile(r"__(recip|attach)_version1\.0_#([0-9A-F]{1,8})", re.IGNORECASE)
_ENTRY = struct.Struct("<HHI8s")  # type, id, flags, value (2.4.2)
_TOP, _EMBEDDED, _OTHER = 32, 24, 8  # bytes before the entries (2.4.1)
_ATTACHMENTS = 20  # offset of the number of attachments in the properties of a message (2.4.1.1, 2.4.1.2)
_MAX_OBJECTS = 20_000  # recipients or attachments of a message
_DATA = {f"__substg1.0_{mapi.ATTACH_DATA:04x}{kind:04x}" for kind in (mapi.BINARY, mapi.OBJECT)}


def read_message(compound: CompoundFile, storage: DirectoryEntry, *, top: bool) -> MapiMessage:
    """Return the message in this storage. Raises DocumentError if it has no properties at all."""
    own = _properties(compound, storage, _TOP if top else _EMBEDDED)
    if has_fields(own.text(mapi.MESSAGE_CLASS)):
        own = _with_names(compound, storage, own, _TOP if top else _EMBEDDED)
    if not own.values:
        raise corrupt("the message has no properties")
    recipients, attachments = _objects(storage)
    people = [_properties(compound, entry, _OTHER) for entry in recipients]
    decode_strings(own, people)
    fixed = compound.read(storage.stream(_FIXED))  # properties of a fixed length (2.4)
    announced = int.from_bytes(fixed[_ATTACHMENTS : _ATTACHMENTS + 4], "little")
    return MapiMessage(own, people, lambda: _attachments(compound, attachments, own.codec), announced)


def _with_names(compound: CompoundFile, storage: DirectoryEntry, own: Properties, skip: int) -> Properties:
    """Return the properties including the named ones."""
    ids = _names(compound)
    own = _properties(compound, storage, skip, EVERYTHING if is_contact(own) else mapi.WANTED | ids.keys())
    rename(own, ids)
    return own


def _names(compound: CompoundFile) -> dict[int, int]:
    """Return our ids of named properties, which are stored at the top level of the file (2.2.3) and read once for all
    messages in it."""
    known = _KNOWN.get(compound)
    if known is None:
        top = compound.root.find(_NAMES)
        streams = () if top is None else [compound.read(top.stream(name)) for name in _NAME_STREAMS]
        known = _KNOWN[compound] = our_ids(*streams) if streams else {}
    return known


def _objects(storage: DirectoryEntry) -> tuple[list[DirectoryEntry], list[DirectoryEntry]]:
    """Return storages of recipients and of attachments, by their numbers."""
    by_kind: dict[str, list[tuple[int, DirectoryEntry]]] = {"recip": [], "attach": []}
    for entry in storage.children:
        named = _NUMBERED.fullmatch(entry.name) if entry.storage else None
        if named:
            by_kind[named[1].lower()].append((int(named[2], 16), entry))
    ordered = [sorted(entries, key=lambda pair: pair[0])[:_MAX_OBJECTS] for entries in by_kind.values()]
    return [e for _, e in ordered[0]], [e for _, e in ordered[1]]


def _properties(
    compound: CompoundFile, storage: DirectoryEntry, skip: int, wanted: Collection[int] = mapi.WANTED
) -> Properties:
    out = Properties()
    fixed = b""
    for entry in storage.children:
        if entry.storage:
            continue
        named = _STREAM.fullmatch(entry.name)
        if named is None:
            if entry.name.lower() == _FIXED:
                fixed = compound.read(entry)
            continue
        ident, kind = int(named[1], 16), int(named[2], 16)
        if ident in wanted and ident != mapi.ATTACH_DATA and not kind & mapi.MULTIPLE:
            out.values[ident] = (kind, compound.read(entry))
    for kind, ident, _, value in _ENTRY.iter_unpack(fixed[skip : skip + (len(fixed) - skip) // 16 * 16]):
        if ident in wanted and kind not in (mapi.STRING, mapi.STRING_8, mapi.BINARY):
            out.values.setdefault(ident, (kind, value))
    return out


def _attachments(compound: CompoundFile, entries: list[DirectoryEntry], codec: str) -> Iterator[MapiAttachment]:
    for entry in entries:
        own = _properties(compound, entry, _OTHER)
        own.codec = codec
        data = next((e for e in entry.children if e.name.lower() in _DATA), None)
        yield _attachment(compound, own, data)


def _attachment(compound: CompoundFile, own: Properties, data: DirectoryEntry | None) -> MapiAttachment:
    if data is None:
        return MapiAttachment(own)
    if not data.storage:
        return MapiAttachment(own, size=data.size, data=lambda: (b"", _whole(compound, data)))
    if own.number(mapi.ATTACH_METHOD) == mapi.OLE or data.find(_FIXED) is None:
        size = sum(entry.size for entry in data.children)
        return MapiAttachment(own, size=size, data=lambda: _carried(compound, data))
    return MapiAttachment(own, message=lambda: read_message(compound, data, top=False))


def _whole(compound: CompoundFile, entry: DirectoryEntry) -> bytes:
    data = compound.read(entry)
    if len(data) < entry.size:
        raise truncated(f"it ends after {len(data)} of {entry.size} bytes")
    return data


def _carried(compound: CompoundFile, storage: DirectoryEntry) -> tuple[bytes, bytes]:
    """Return the content of an OLE object: the file in it, else a compound file of its own."""
    return ole_objects.carried(compound, storage) or (b"", ole_objects.rewritten(compound, storage))


_EML = EmlHandler()
_EMPTY = MemorySource(b"", b"")


class MsgHandler(LeafHandler):
    """An Outlook message. It keeps its own bytes; text, children and hashes are those of its canonical form."""

    name = "msg"
    declared = Declared(
        title="Outlook messages",
        extensions=("msg", "oft"),
        text="the plain body, then those lines of the HTML body that have other words; the RTF body if there is "
        "neither or if it has much more text; from an RTF body of at most 4,000 bytes, the lines that have "
        "other words than the plain body; the fields of a contact before its note",
        metadata=(*MAIL_KEYS, *FIELD_KEYS),
        children="attachments in order: attached messages as mail messages, embedded OLE objects as files",
        announces="",
        leaves_out=(
            LEFT_OUT,
            "properties without a corresponding field of a mail message (flags, categories, voting)",
            LEFT_OF_FIELDS,
            "more than 20,000 recipients or attachments",
        ),
    ).alone()

    def children(self, source: Source, limits: Limits, part: Part | None = None) -> Iterator[Child]:
        """Yield attachments in order, messages as message/rfc822. Raises an unreadable one's error at the end."""
        canonical, made = _canonical(source, limits)
        children = list(_EML.children(canonical, limits))  # files in the text come first
        for child, about in zip(reversed(children), reversed(made.about.attachments), strict=False):
            note_in_child(child, about.message)
        yield from children
        if made.error is not None:
            raise made.error
        with source.open() as file:
            yield from rest(file, made.end, source.size, AFTER_CONTENT, "compound file", kind=Kind.EMBEDDED_OBJECT)

    def text(self, source: Source, limits: Limits) -> Text:
        """Return body text; the fields that reviewers filter by as metadata."""
        canonical, made = _canonical(source, limits)
        out = _EML.text(canonical, limits)
        out.error = out.error or made.error
        note_in_text(out, made.about)
        if made.conversation:
            out.metadata["conversation"] = made.conversation
        return out

    def message_hashes(self, source: Source, limits: Limits) -> MessageHashes | None:
        """Return the hashes of the same message as an Internet message."""
        try:
            canonical, _ = _canonical(source, limits)
        except DocumentError:
            canonical = _EMPTY
        return _EML.message_hashes(canonical, limits)


class _Form(NamedTuple):
    message: bytes
    error: DocumentError | None  # what the form lacks of the message
    conversation: str
    about: MailForm  # facts that are not in the bytes
    end: int  # end of the sectors in use


def _canonical(source: Source, limits: Limits) -> tuple[MemorySource, _Form]:
    """Return the canonical form, as bytes and with the facts that are not in them."""
    made = _FORMS(source.whole(limits.parse_bytes), limits)
    return MemorySource(source.name, made.message), made


def _form(data: bytes, limits: Limits) -> _Form:
    compound = CompoundFile(data)
    reader = FormReader(limits)
    message = read_message(compound, compound.root, top=True)
    form = reader.form(message)
    error = reader.error or compound.error
    return _Form(write_message(form), error, conversation_of(message.properties), without_content(form), compound.end)


_FORMS = Last(_form)
