"""winmail.dat, what Outlook sends to those who do not have Outlook ([MS-OXTNEF]): a document whose children are the
attachments of the message that it stands for."""

from __future__ import annotations

from collections.abc import Iterator

from readers.base import Child, Handler, LeafHandler, MemorySource, Part, Source, Text
from readers.declared import Declared
from readers.errors import DocumentError
from readers.last import Last
from readers.mail.eml import MAIL_KEYS, EmlHandler
from readers.mail_form import message_name, write_message
from readers.outlook.mapi.fields import FIELD_KEYS, LEFT_OF_FIELDS
from readers.outlook.mapi.form import FormReader, note_in_child, note_in_text
from readers.outlook.tnef.reader import read
from readers.records import Kind, Limits

_EML = EmlHandler()
_STREAMS = Last(read)


class TnefHandler(LeafHandler):
    """One TNEF stream."""

    name = "tnef"
    media_types: tuple[str, ...] = ("application/vnd.ms-tnef",)
    declared: tuple[Declared, ...] = (
        Declared(
            title="Outlook attachments in one (winmail.dat)",
            extensions=("dat", "tnef"),
            text="the body of the message that it stands for; the fields of a contact, in front of its note",
            metadata=(*MAIL_KEYS, *FIELD_KEYS),
            children="attachments in order: messages as mail messages, embedded OLE objects as files",
            leaves_out=(
                "properties that no field of a mail message stands for",
                LEFT_OF_FIELDS,
                "more than 20,000 recipients",
            ),
        ),
    )

    def children(self, source: Source, limits: Limits, part: Part | None = None) -> Iterator[Child]:
        """The attachments in order, messages among them in canonical form. Raises at the end what is damaged."""
        stream = _STREAMS(source.whole(limits.parse_bytes))
        position = 0
        for attachment in stream.as_message().attachments():
            reader = FormReader(limits)
            try:
                made = reader.attachment(attachment)
            except DocumentError as e:
                yield Child(name=b"", kind=Kind.ATTACHMENT, ordinal=position, error=e, emit=False)
                position += 1
                continue
            if made is None:
                continue
            name, data, declared = made.name, made.data, made.media_type
            if made.message is not None:
                name, data, declared = message_name(made.message.subject), write_message(made.message), "message/rfc822"
            child = Child(
                name=name.encode("utf-8", "backslashreplace") or b"part-%d" % position,
                kind=Kind.ATTACHMENT,
                ordinal=position,
                data=data,
                error=reader.error,
                media_type=declared,
            )
            yield note_in_child(child, made.message)
            position += 1
        if stream.error is not None:
            raise stream.error

    def text(self, source: Source, limits: Limits) -> Text:
        """The message's body; its fields as metadata."""
        stream = _STREAMS(source.whole(limits.parse_bytes))
        form = FormReader(limits).form(stream.as_message(), attachments=False)
        out = _EML.text(MemorySource(source.name, write_message(form)), limits)
        out.error = out.error or stream.error
        note_in_text(out, form)
        return out


HANDLERS: tuple[Handler, ...] = (TnefHandler(),)
