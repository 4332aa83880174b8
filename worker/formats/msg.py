"""Outlook's loose messages (`.msg`, [MS-OXMSG]): read by way of their canonical form (core.mail_form)."""

from __future__ import annotations

from collections.abc import Iterator

from core.errors import DocumentError
from core.mail_form import write_message
from core.records import Limits
from worker.formats.base import Child, Handler, LeafHandler, MemorySource, MessageHashes, Part, Source, Text
from worker.formats.compound import CompoundFile
from worker.formats.eml import EmlHandler
from worker.formats.mapi_form import FormReader
from worker.formats.msg_reader import read_message

_EML = EmlHandler()
_EMPTY = MemorySource(b"", b"")


class MsgHandler(LeafHandler):
    """One message. It keeps its own bytes; text, children and hashes are those of its canonical form."""

    name = "msg"
    media_types: tuple[str, ...] = ("application/vnd.ms-outlook",)

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
        return out

    def message_hashes(self, source: Source, limits: Limits) -> MessageHashes | None:
        """Those of the same message as an Internet message."""
        try:
            form, _ = _canonical(source, limits)
        except DocumentError:
            form = _EMPTY
        return _EML.message_hashes(form, limits)


def _canonical(source: Source, limits: Limits) -> tuple[MemorySource, DocumentError | None]:
    """The canonical form, and what of the message it lacks."""
    compound = CompoundFile(source.whole(limits.parse_bytes))
    reader = FormReader(limits)
    form = reader.form(read_message(compound, compound.root, top=True))
    return MemorySource(source.name, write_message(form)), reader.error or compound.error


HANDLERS: tuple[Handler, ...] = (MsgHandler(),)
