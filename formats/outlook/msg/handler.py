"""Outlook's loose messages (`.msg`, [MS-OXMSG]): read by way of their canonical form (core.mail_form)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from core.errors import DocumentError
from core.mail_form import write_message
from core.records import Limits
from formats.base import Child, Handler, LeafHandler, MemorySource, MessageHashes, Part, Source, Text
from formats.declared import Declared
from formats.last import Last
from formats.mail.eml import MAIL_KEYS, EmlHandler
from formats.office.ole.compound import CompoundFile
from formats.outlook.mapi.form import FormReader, conversation_of
from formats.outlook.msg.reader import read_message

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
            text="the plain body, and behind it the lines of the HTML body with words that it lacks; the RTF body where there is neither, "
            "or where it says much more; of one of at most 4,000 bytes the lines with words that the plain body lacks; the fields of a contact",
            metadata=MAIL_KEYS,
            children="attachments in order: messages in messages as mail messages, embedded OLE objects as files",
            announces="",
            leaves_out=(
                "attachments that are only linked to",
                "properties that no field of a mail message stands for (flags, categories, voting)",
                "more than 20,000 recipients or attachments",
            ),
        ),
    )

    def children(self, source: Source, limits: Limits, part: Part | None = None) -> Iterator[Child]:
        """Attachments in order, messages among them as message/rfc822. Raises at the end what made one unreadable."""
        form, error = _canonical(source, limits)
        yield from _EML.children(form, limits)
        if error is not None:
            raise error

    def text(self, source: Source, limits: Limits) -> Text:
        """Body text; the fields a reviewer filters by as metadata."""
        form, error = _canonical(source, limits)
        out = _EML.text(form, limits)
        out.error = out.error or error
        if conversation := _FORMS(source.whole(limits.parse_bytes), limits).conversation:
            out.metadata["conversation"] = conversation
        return out

    def message_hashes(self, source: Source, limits: Limits) -> MessageHashes | None:
        """Those of the same message as an Internet message."""
        try:
            form, _ = _canonical(source, limits)
        except DocumentError:
            form = _EMPTY
        return _EML.message_hashes(form, limits)


class _Form(NamedTuple):
    message: bytes
    error: DocumentError | None
    conversation: str


def _canonical(source: Source, limits: Limits) -> tuple[MemorySource, DocumentError | None]:
    """The canonical form, and what of the message it lacks."""
    form = _FORMS(source.whole(limits.parse_bytes), limits)
    return MemorySource(source.name, form.message), form.error


def _form(data: bytes, limits: Limits) -> _Form:
    compound = CompoundFile(data)
    reader = FormReader(limits)
    message = read_message(compound, compound.root, top=True)
    form = reader.form(message)
    return _Form(write_message(form), reader.error or compound.error, conversation_of(message.properties))


_FORMS = Last(_form)


HANDLERS: tuple[Handler, ...] = (MsgHandler(),)
