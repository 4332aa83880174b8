"""vCards (RFC 6350 and older) and calendars (RFC 5545): text, names, addresses and dates; what is attached inline."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from core.records import Kind, Limits
from worker.formats import clean
from worker.formats.base import Child, Handler, LeafHandler, Part, Source, Text
from worker.formats.content_lines import ContentLine, content_lines
from worker.formats.declared import Declared
from worker.formats.text import TEXT

_MAX_VALUES = 100  # names or addresses kept in the metadata
_BINARY = frozenset(("PHOTO", "LOGO", "SOUND", "KEY", "ATTACH", "IMAGE"))
_DATE = re.compile(r"(\d{4})-?(\d\d)-?(\d\d)(?:T(\d\d):?(\d\d):?(\d\d)(Z)?)?")


def _iso(value: str) -> str:
    """20201123T190000 as 2020-11-23T19:00:00; what is no such date, as it is."""
    found = _DATE.match(value)
    if found is None:
        return value
    year, month, day, hour, minute, second, utc = found.groups()
    date = f"{year}-{month}-{day}"
    return f"{date}T{hour}:{minute}:{second}{'+00:00' if utc else ''}" if hour else date


class _ContentLinesHandler(LeafHandler):
    """What both have in common. Files too large to be parsed whole are read as plain text."""

    whole = False

    def children(self, source: Source, limits: Limits, part: Part | None = None) -> Iterator[Child]:
        """Inline binary values (photos, attachments) in order, under the names they are given."""
        if source.size > limits.parse_bytes:
            return
        position = 0
        for line in content_lines(source.whole(limits.parse_bytes)):
            if line.name not in _BINARY:
                continue
            data = line.binary
            if data:
                name = line.file_name or f"{line.name.lower()}-{position}"
                yield Child(
                    name=name.encode("utf-8", "backslashreplace"),
                    kind=Kind.EMBEDDED_OBJECT,
                    ordinal=position,
                    data=data,
                )
                position += 1

    def text(self, source: Source, limits: Limits) -> Text:
        """One line for each property, unfolded and decoded, inline binary values left out."""
        if source.size > limits.parse_bytes:
            return TEXT.text(source, limits)
        collector = clean.Collector(limits.text_characters)
        lines: list[ContentLine] = []
        for line in content_lines(source.whole(limits.parse_bytes)):
            if not collector.add(_shown(line) + "\n"):
                break
            lines.append(line)
        out = collector.result()
        out.metadata = self.metadata(lines)
        return out

    def metadata(self, lines: list[ContentLine]) -> dict[str, Any]:
        """Of these properties."""
        raise NotImplementedError


def _shown(line: ContentLine) -> str:
    """A line of text: inline bytes left out, the name of a person put in."""
    value = "" if line.name in _BINARY and line.binary is not None else line.plain
    name = line.parameters.get("CN")
    return f"{line.name}{':' if line.name else ''}{f'{name} ' if name else ''}{value}"


def _values(lines: list[ContentLine], *names: str) -> list[str]:
    """Distinct values of these properties in order."""
    found = (clean.value(line.plain) for line in lines if line.name in names)
    return list(dict.fromkeys(filter(None, found)))[:_MAX_VALUES]


class VCardHandler(_ContentLinesHandler):
    """One contact or many."""

    name = "vcard"
    media_types: tuple[str, ...] = ("text/vcard",)
    declared: tuple[Declared, ...] = (
        Declared(
            title="Contacts (vCard)",
            extensions=("vcf", "vcard"),
            text="one line for each property, decoded",
            metadata=("title", "names", "mail", "contacts", "charset"),
            children="photographs, logos, sounds and keys that are inside",
            leaves_out=(
                "names and addresses beyond the first 100 in the metadata",
                "files over the parse limit are plain text",
            ),
        ),
    )

    def metadata(self, lines: list[ContentLine]) -> dict[str, Any]:
        """`names` and `mail` addresses; `title`, the first name; `contacts`, how many there are."""
        names, mail = _values(lines, "FN"), _values(lines, "EMAIL")
        out: dict[str, Any] = {"contacts": sum(line.name == "BEGIN" for line in lines)}
        if names:
            out["title"], out["names"] = names[0], names
        if mail:
            out["mail"] = mail
        return out


class CalendarHandler(_ContentLinesHandler):
    """Events, tasks and journals."""

    name = "calendar"
    media_types: tuple[str, ...] = ("text/calendar",)
    declared: tuple[Declared, ...] = (
        Declared(
            title="Calendars",
            extensions=("ics", "ical", "ifb", "vcs"),
            text="one line for each property, decoded",
            metadata=("subject", "location", "start", "end", "from", "to", "events", "charset"),
            children="attachments that are inside",
            leaves_out=(
                "metadata of events after the first",
                "dates on which an event is repeated",
                "files over the parse limit are plain text",
            ),
        ),
    )

    def metadata(self, lines: list[ContentLine]) -> dict[str, Any]:
        """Of the first event: `subject`, `start`, `end`, `location`, `from` (organiser), `to` (who is invited); `events`,
        how many there are."""
        events = [i for i, line in enumerate(lines) if line.name == "BEGIN" and line.value.upper() in _EVENTS]
        last = events[1] if len(events) > 1 else len(lines)
        first = lines[events[0] : last] if events else []
        out: dict[str, Any] = {"events": len(events)}
        for key, name in (("subject", "SUMMARY"), ("location", "LOCATION"), ("start", "DTSTART"), ("end", "DTEND")):
            if values := _values(first, name):
                out[key] = _iso(values[0]) if key in ("start", "end") else values[0]
        people = {key: [_person(line) for line in first if line.name == name] for key, name in _PEOPLE}
        if people["from"]:
            out["from"] = people["from"][0]
        if people["to"]:
            out["to"] = ", ".join(people["to"][:_MAX_VALUES])
        return out


_EVENTS = frozenset(("VEVENT", "VTODO", "VJOURNAL"))
_PEOPLE = (("from", "ORGANIZER"), ("to", "ATTENDEE"))


def _person(line: ContentLine) -> str:
    """`Name <address>`, or the address alone."""
    address = clean.value(re.sub(r"(?i)^mailto:", "", line.value))
    name = clean.value(line.parameters.get("CN", ""))
    return f"{name} <{address}>" if name and name != address else address


HANDLERS: tuple[Handler, ...] = (VCardHandler(), CalendarHandler())
