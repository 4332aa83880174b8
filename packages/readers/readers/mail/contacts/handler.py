"""vCards (RFC 6350 and older) and calendars (RFC 5545): text, names, addresses and dates; what is attached inline."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from readers import clean
from readers.base import Child, Handler, LeafHandler, Part, Source, Text
from readers.charset import CHARSET_KEYS
from readers.declared import Declared
from readers.errors import DocumentError, ExceptionCode
from readers.mail.contacts.content_lines import ContentLine, content_lines, may_have, unfolded
from readers.mail.contacts.fields import ContactFields, EventFields, Gathered
from readers.records import Kind, Limits, TextState
from readers.text.plain import TEXT

_BINARY = frozenset(("PHOTO", "LOGO", "SOUND", "KEY", "ATTACH", "IMAGE"))


class _ContentLinesHandler(LeafHandler):
    """What both have in common. Files too large to be parsed whole are read as plain text."""

    whole = False
    gathered: Callable[[], Gathered]  # what the metadata of one file comes from

    def children(self, source: Source, limits: Limits, part: Part | None = None) -> Iterator[Child]:
        """Inline binary values (photos, attachments) in order, under the names they are given."""
        if source.size > limits.parse_bytes:
            return
        position = 0
        data = source.whole(limits.parse_bytes)
        for line in content_lines(unfolded(data)[0]) if may_have(data, _BINARY) else ():
            if line.name not in _BINARY:
                continue
            content = line.binary
            if content:
                name = line.file_name or f"{line.name.lower()}-{position}"
                yield Child(
                    name=name.encode("utf-8", "backslashreplace"),
                    kind=Kind.EMBEDDED_OBJECT,
                    ordinal=position,
                    data=content,
                    error=DocumentError(ExceptionCode.CORRUPT, damage) if (damage := line.damage) else None,
                )
                position += 1

    def text(self, source: Source, limits: Limits) -> Text:
        """One line for each property, unfolded and decoded, inline binary values left out."""
        if source.size > limits.parse_bytes:
            return TEXT.text(source, limits)
        collector = clean.Collector(limits.text_characters)
        gathered = self.gathered()
        text, detected = unfolded(source.whole(limits.parse_bytes))
        opened: list[str] = []
        for line in content_lines(text):
            if not collector.add(_shown(line) + "\n"):
                break
            gathered.take(line)
            if line.name == "BEGIN":
                opened.append(line.value.strip().upper())
            elif line.name == "END" and (ended := line.value.strip().upper()) in opened:
                while opened.pop() != ended:
                    pass  # one inside of it was not closed
        out = collector.read_in(detected)
        out.metadata |= gathered.metadata()
        if opened and out.state is not TextState.TRUNCATED_BY_LIMIT:
            out.error = DocumentError(ExceptionCode.TRUNCATED, f"it ends inside of its {opened[-1][:40]}")
        return out


def _shown(line: ContentLine) -> str:
    """A line of text: inline bytes left out, the name of a person put in, the content of other parameters after it."""
    value = "" if line.name in _BINARY and line.binary is not None else line.plain
    name = line.parameters.get("CN")
    shown = f"{line.name}{':' if line.name else ''}{f'{name} ' if name else ''}{value}"
    return " ".join([shown, *told]) if (told := line.told) else shown


class VCardHandler(_ContentLinesHandler):
    """One contact or many."""

    name = "vcard"
    media_types: tuple[str, ...] = ("text/vcard",)
    declared: tuple[Declared, ...] = (
        Declared(
            title="Contacts (vCard)",
            extensions=("vcf", "vcard"),
            text="one line for each property, decoded",
            metadata=("title", "names", "mail", "contacts", *CHARSET_KEYS),
            children="photographs, logos, sounds and keys that are inside",
            leaves_out=(
                "names and addresses beyond the first 100 in the metadata",
                "parameters of a property but names, addresses and labels (`TYPE`, `LANGUAGE`, a program's own)",
                "files over the parse limit are plain text",
            ),
        ),
    )

    gathered = ContactFields


class CalendarHandler(_ContentLinesHandler):
    """Events, tasks and journals."""

    name = "calendar"
    media_types: tuple[str, ...] = ("text/calendar",)
    declared: tuple[Declared, ...] = (
        Declared(
            title="Calendars",
            extensions=("ics", "ical", "ifb", "vcs"),
            text="one line for each property, decoded",
            metadata=("subject", "location", "start", "end", "from", "to", "events", *CHARSET_KEYS),
            children="attachments that are inside",
            leaves_out=(
                "metadata of events after the first",
                "dates on which an event is repeated",
                "parameters of a property but names and addresses (`ROLE`, `PARTSTAT`, a program's own)",
                "files over the parse limit are plain text",
            ),
        ),
    )

    gathered = EventFields


HANDLERS: tuple[Handler, ...] = (VCardHandler(), CalendarHandler())
