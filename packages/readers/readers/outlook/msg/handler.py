"""Outlook's loose messages (`.msg`, [MS-OXMSG]): read by way of their canonical form (readers.mail_form)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from readers.base import Child, Handler, LeafHandler, MemorySource, MessageHashes, Part, Source, Text
from readers.declared import Declared
from readers.errors import DocumentError
from readers.last import Last
from readers.mail.eml import MAIL_KEYS, EmlHandler
from readers.mail_form import MailForm, write_message
from readers.office.ole.compound import CompoundFile
from readers.outlook.mapi.fields import FIELD_KEYS, LEFT_OF_FIELDS
from readers.outlook.mapi.form import FormReader, beside, conversation_of, note_in_child, note_in_text
from readers.outlook.msg.reader import read_message
from readers.records import Kind, Limits
from readers.rest import AFTER_CONTENT, rest

_EML = EmlHandler()
_EMPTY = MemorySource(b"", b"")


class MsgHandler(LeafHandler):
    """One message. It keeps its own bytes; text, children and hashes are those of its canonical form."""

    name = "msg"
    media_types: tuple[str, ...] = ("application/vnd.ms-outlook",)
    declared: tuple[Declared, ...] = (
        Declared(
            title="Outlook messages",
            extensions=("msg", "oft"),
            text="the plain body, then the lines of the HTML body with words that it lacks; the RTF body where there is neither, "
            "or where it has much more text; of one of at most 4,000 bytes the lines with words that the plain body lacks; the fields of a contact, before "
            "its note",
            metadata=(*MAIL_KEYS, *FIELD_KEYS),
            children="attachments in order: messages in messages as mail messages, embedded OLE objects as files",
            announces="",
            leaves_out=(
                "attachments that are only linked to",
                "properties that no field of a mail message stands for (flags, categories, voting)",
                LEFT_OF_FIELDS,
                "more than 20,000 recipients or attachments",
            ),
        ),
    )

    def children(self, source: Source, limits: Limits, part: Part | None = None) -> Iterator[Child]:
        """Attachments in order, messages among them as message/rfc822. Raises at the end what made one unreadable."""
        canonical, made = _canonical(source, limits)
        about = made.about.attachments
        for number, child in enumerate(_EML.children(canonical, limits)):
            yield note_in_child(child, about[number].message if number < len(about) else None)
        if made.error is not None:
            raise made.error
        with source.open() as file:
            yield from rest(file, made.end, source.size, AFTER_CONTENT, "compound file", kind=Kind.EMBEDDED_OBJECT)

    def text(self, source: Source, limits: Limits) -> Text:
        """Body text; the fields a reviewer filters by as metadata."""
        canonical, made = _canonical(source, limits)
        out = _EML.text(canonical, limits)
        out.error = out.error or made.error
        note_in_text(out, made.about)
        if made.conversation:
            out.metadata["conversation"] = made.conversation
        return out

    def message_hashes(self, source: Source, limits: Limits) -> MessageHashes | None:
        """Those of the same message as an Internet message."""
        try:
            canonical, _ = _canonical(source, limits)
        except DocumentError:
            canonical = _EMPTY
        return _EML.message_hashes(canonical, limits)


class _Form(NamedTuple):
    message: bytes
    error: DocumentError | None  # what of the message it lacks
    conversation: str
    about: MailForm  # without what is in the bytes
    end: int  # of what the file's table of sectors has in use


def _canonical(source: Source, limits: Limits) -> tuple[MemorySource, _Form]:
    """The canonical form, as bytes to be read and with what is known beside them."""
    made = _FORMS(source.whole(limits.parse_bytes), limits)
    return MemorySource(source.name, made.message), made


def _form(data: bytes, limits: Limits) -> _Form:
    compound = CompoundFile(data)
    reader = FormReader(limits)
    message = read_message(compound, compound.root, top=True)
    form = reader.form(message)
    error = reader.error or compound.error
    return _Form(write_message(form), error, conversation_of(message.properties), beside(form), compound.end)


_FORMS = Last(_form)


HANDLERS: tuple[Handler, ...] = (MsgHandler(),)
