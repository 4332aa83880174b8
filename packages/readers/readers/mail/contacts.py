"""vCards (RFC 6350 and older) and calendars (RFC 5545): text, names, addresses and dates; inline attachments."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from readers import charset, clean
from readers.base import Child, Declared, LeafHandler, Part, Source, Text
from readers.charset import CHARSET_KEYS, Detected
from readers.errors import corrupt, truncated
from readers.mail.base64 import base64_damage, decode_base64
from readers.mail.transfer import from_quoted_printable
from readers.records import Kind, Limits, TextState
from readers.text.plain import TEXT

# The lines that vCards and calendars consist of (RFC 6350 section 3.3, RFC 5545 section 3.1, vCard 2.1 section 2).

_FOLD = re.compile(rb"\r?\n[ \t]")
# Within the bytes of one character, where a blank cannot belong to the value.
_SPLIT_CHARACTER = re.compile(rb"(=[0-9A-Fa-f]{2})=?[ \t]*\r?\n[ \t]+(?==[89ABab][0-9A-Fa-f])")
_BASE64_LINE = re.compile(r"[A-Za-z0-9+/]+={0,2}\s*")
# vCard 2.1 and vCalendar 1.0 fold at a blank, which is kept (RFC 822, 3.4.8).
_OLD_FOLD, _OLD = re.compile(rb"\r?\n(?=[ \t])"), (b"2.1", b"1.0")
_VERSION = re.compile(rb"^VERSION:[ \t]*([0-9.]+)", re.IGNORECASE | re.MULTILINE)
# Without backtracking: a property may have endless parameters.
_HEAD = re.compile(r"([A-Za-z0-9.-]++)((?:;(?:[^\":;]++|\"[^\"]*+\"|(?!))*+|(?!))*+):")
_MOST_PARAMETERS = 1_000  # of one property
_PARAMETER = re.compile(r";([A-Za-z0-9-]+)(?:=((?:\"[^\"]*+\"|[^\";]++|(?!))*+))?")
_ESCAPED = re.compile(r"\\([nN\\;,:])")
_IN_PARAMETER = re.compile(r"\^([n'^])")  # RFC 6868
_WITH_TEXT = ("EMAIL", "SENT-BY", "DELEGATED-TO", "DELEGATED-FROM", "MEMBER", "LABEL", "X-TITLE", "X-ADDRESS")
_MAILTO = re.compile("mailto:", re.IGNORECASE)
_NAMES = ("X-FILENAME", "FILENAME", "X-APPLE-FILENAME", "X-ORACLE-FILENAME", "X-LABEL")
_MARKED_SOFT = re.compile(rb"(?im)^[^:\r\n]*QUOTED-PRINTABLE[^\r\n]*")


class ContentLine(Struct, frozen=True):
    """One property: name in capitals without its group, parameters by name in capitals, value as text."""

    name: str
    parameters: dict[str, str]
    value: str

    @property
    def plain(self) -> str:
        """The value without its escapes."""
        return _without_escapes(self.value)

    @property
    def parameter_texts(self) -> list[str]:
        """People and places in parameters that the value does not contain: addresses, an address as printed."""
        if not self.parameters:
            return []
        texts = (_without_escapes(self.parameters[name]) for name in _WITH_TEXT if name in self.parameters)
        return [plain for text in texts if (plain := _MAILTO.sub("", text)) and plain not in self.value]

    @property
    def is_base64(self) -> bool:
        """Whether a parameter declares the value to be base64."""
        encoding = self.parameters.get("ENCODING")
        if encoding is None:
            return "BASE64" in self.parameters
        return encoding.upper().partition(",")[0] in ("B", "BASE64") or "BASE64" in self.parameters

    @property
    def base64(self) -> bytes | None:
        """A value that is encoded as base64, as it is; None for other values."""
        if self.is_base64:
            return self.value.encode("ascii", "replace")
        if self.value.startswith("data:") and ";base64," in self.value[:200]:  # vCard 4.0
            return self.value.partition(",")[2].encode("ascii", "replace")
        return None

    @property
    def binary(self) -> bytes | None:
        """The bytes of such a value."""
        coded = self.base64
        return None if coded is None else decode_base64(coded)

    @property
    def damage(self) -> str | None:
        """Error in that base64; None if there is none."""
        coded = self.base64
        return None if coded is None else base64_damage(coded)

    @property
    def file_name(self) -> str:
        """File name of a binary value; "" if it has none."""
        return next((self.parameters[name] for name in _NAMES if self.parameters.get(name)), "")


def unfolded(data: bytes) -> tuple[str, Detected]:
    """Return the text with its lines unfolded, and its charset."""
    if b"\0" in data:  # UTF-16
        text, detected = charset.decode(data)
        return unfolded(text.replace("\0", " ").encode("utf-8", "replace"))[0], detected
    if b"\r" in data and b"\n" not in data:  # of a Macintosh
        data = data.replace(b"\r", b"\n")
    if b"quoted-printable" in data.lower():
        data = _SPLIT_CHARACTER.sub(rb"\1", data)
        data = _without_soft_breaks(data)
    old = b":2.1" in data or b":1.0" in data
    if old and all(version[1] in _OLD for version in _VERSION.finditer(data)):
        return charset.decode(_OLD_FOLD.sub(b"", data))
    return charset.decode(_FOLD.sub(b"", data))


def _without_escapes(text: str) -> str:
    return _ESCAPED.sub(lambda match: "\n" if match[1] in "nN" else match[1], text) if "\\" in text else text


def content_lines(text: str) -> Iterator[ContentLine]:
    """Yield every property of an unfolded text, decoded; any other line is a value without a name."""
    waiting: ContentLine | None = None  # base64, which may continue in lines that are not folded
    more: list[str] = []
    for line in _lines(text):
        if waiting is not None:
            if _BASE64_LINE.fullmatch(line):
                more.append(line.strip())
                continue
            yield replace(waiting, value="".join([waiting.value, *more])) if more else waiting
            waiting, more = None, []
        match = _HEAD.match(line)
        if match is None:
            if line.strip():
                yield ContentLine("", {}, line)
            continue
        name = match[1].rpartition(".")[2].upper()
        stated = itertools.islice(_PARAMETER.finditer(match[2]), _MOST_PARAMETERS)
        parameters = {one[1].upper(): _of_parameter(one[2] or "") for one in stated}
        found = ContentLine(name, parameters, _decoded(line[match.end() :], parameters))
        if parameters and found.is_base64:
            waiting = found
        else:
            yield found
    if waiting is not None:
        yield replace(waiting, value="".join([waiting.value, *more])) if more else waiting


def may_have(data: bytes, words: Iterable[str]) -> bool:
    """Return whether there can be a property with one of these words (in capitals); faster than parsing all of them."""
    if b"\0" in data:  # UTF-16
        return True
    text = _FOLD.sub(b"", data).upper()
    return any(word.encode() in text for word in words)


def _of_parameter(value: str) -> str:
    """Return the value without its quotes and escapes."""
    if '"' in value:
        value = value.replace('"', "")
    return _IN_PARAMETER.sub(lambda match: {"n": "\n", "'": '"', "^": "^"}[match[1]], value) if "^" in value else value


def _lines(text: str) -> Iterator[str]:
    """Yield the lines one at a time: a list of millions would take many times the text's memory."""
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    start = 0
    while (end := text.find("\n", start)) >= 0:
        yield text[start:end]
        start = end + 1
    yield text[start:]


def _without_soft_breaks(data: bytes) -> bytes:
    """Join lines of quoted-printable values: in vCard 2.1 they end with "=" if they continue (RFC 2045, 6.7)."""
    out = bytearray()
    joining = False
    for text in _lines(data.decode("latin-1")):
        line = text.encode("latin-1")
        inside = joining or _MARKED_SOFT.match(line) is not None
        soft = line.rstrip(b" \t")
        joining = inside and soft.endswith(b"=")
        out += soft[:-1] if joining else line + b"\n"
    return bytes(out)


def _decoded(value: str, parameters: dict[str, str]) -> str:
    encoding = parameters.get("ENCODING", "").upper()
    if encoding != "QUOTED-PRINTABLE" and "QUOTED-PRINTABLE" not in parameters:
        return value
    raw = from_quoted_printable(value.encode("utf-8", "replace"))
    return charset.decode(raw, parameters.get("CHARSET", ""))[0]


# The metadata of vCards and calendars, gathered property by property: there may be millions of them.

_MAX_VALUES = 100  # names or addresses kept in the metadata
_DATE = re.compile(r"(\d{4})-?(\d\d)-?(\d\d)(?:T(\d\d):?(\d\d)(?::?(\d\d))?(?:(Z)|([+-]\d\d):?(\d\d))?)?")
_EVENTS = frozenset(("VEVENT", "VTODO", "VJOURNAL"))
_OF_EVENT = {"SUMMARY": "subject", "LOCATION": "location", "DTSTART": "start", "DTEND": "end"}
_PEOPLE = {"ORGANIZER": "from", "ATTENDEE": "to"}
_NOT_A_NAME = re.compile(r"[\[\]]|^/[^/]+(?:/.*)?/(?=[^/]+/[^/]+\Z)")  # brackets; the owner of a global name (/…/)
_ZONE_CHARACTERS = 100
_MAILTO_AT_START = re.compile("^mailto:", re.IGNORECASE)


class ContactFields:
    """Metadata of vCards: `names` and `mail` addresses; `title`, the first name; `contacts`, their number."""

    def __init__(self) -> None:
        self._contacts = 0
        self._values: dict[str, dict[str, None]] = {"FN": {}, "EMAIL": {}}  # distinct ones in order

    def take(self, line: ContentLine) -> None:
        if line.name == "BEGIN":
            self._contacts += 1
            return
        values = self._values.get(line.name)
        if values is not None and len(values) < _MAX_VALUES and (value := clean.value(line.plain)):
            values[value] = None

    def metadata(self) -> dict[str, Any]:
        out: dict[str, Any] = {"contacts": self._contacts}
        names, mail = (list(values) for values in self._values.values())
        if names:
            out["title"], out["names"] = names[0], names
        if mail:
            out["mail"] = mail
        return out


class EventFields:
    """Metadata of the first event: `subject`, `start`, `end`, `location`, `from` (organiser), `to` (the invited);
    `events`, the number of events."""

    def __init__(self) -> None:
        self._events = 0
        self._values: dict[str, str] = {}
        self._people: dict[str, list[str]] = {"from": [], "to": []}

    def take(self, line: ContentLine) -> None:
        if line.name == "BEGIN" and line.value.upper() in _EVENTS:
            self._events += 1
        elif self._events != 1:
            return
        elif line.name in _OF_EVENT:
            if (key := _OF_EVENT[line.name]) not in self._values and (value := clean.value(line.plain)):
                self._values[key] = _iso(value, line.parameters.get("TZID", "")) if key in ("start", "end") else value
        elif line.name in _PEOPLE and len(people := self._people[_PEOPLE[line.name]]) < _MAX_VALUES:
            people.append(_person(line))

    def metadata(self) -> dict[str, Any]:
        out: dict[str, Any] = {"events": self._events}
        for key in _OF_EVENT.values():
            if key in self._values:
                out[key] = self._values[key]
        if self._people["from"]:
            out["from"] = self._people["from"][0]
        if self._people["to"]:
            out["to"] = ", ".join(self._people["to"])
        return out


def _iso(value: str, zone: str) -> str:
    """Return 20201123T190000 as 2020-11-23T19:00:00, with the zone's name appended if there is one (RFC 9557); any
    other value unchanged."""
    match = _DATE.fullmatch(value.strip())
    if match is None:
        return value
    year, month, day, hour, minute, second, utc, hours, minutes = match.groups()
    try:
        datetime(int(year), int(month), int(day), int(hour or 0), int(minute or 0), min(int(second or 0), 59))
    except ValueError:
        return value
    date = f"{year}-{month}-{day}"
    named = f"[{name}]" if (name := _NOT_A_NAME.sub("", clean.value(zone))[:_ZONE_CHARACTERS]) else ""
    offset = f"{hours}:{minutes}" if hours else "+00:00" if utc else named
    return f"{date}T{hour}:{minute}:{min(int(second or 0), 59):02}{offset}" if hour else date


def _person(line: ContentLine) -> str:
    """Return `Name <address>`, or the address alone. Apple stores the address in a parameter."""
    address = clean.value(_MAILTO_AT_START.sub("", line.value))
    if "@" not in address:
        address = clean.value(_MAILTO_AT_START.sub("", line.parameters.get("EMAIL", ""))) or address
    name = clean.value(line.parameters.get("CN", ""))
    return f"{name} <{address}>" if name and name != address else address


# Of any property: Outlook has a picture in one of its own.
_BINARY = ("BASE64", "ENCODING=B", 'ENCODING="B')


class _ContentLinesHandler(LeafHandler):
    """Base class of both handlers. Files too large to be parsed whole are read as plain text."""

    whole = False
    gathered: type[ContactFields] | type[EventFields]  # collects the metadata of one file

    def children(self, source: Source, limits: Limits, part: Part | None = None) -> Iterator[Child]:
        """Yield inline binary values (photos, attachments) in order, under the names they are given."""
        if source.size > limits.parse_bytes:
            return
        position = 0
        data = source.whole(limits.parse_bytes)
        for line in content_lines(unfolded(data)[0]) if may_have(data, _BINARY) else ():
            if content := line.binary:
                name = line.file_name or f"{line.name.lower()}-{position}"
                yield Child(
                    name=name.encode("utf-8", "backslashreplace"),
                    kind=Kind.EMBEDDED_OBJECT,
                    ordinal=position,
                    data=content,
                    error=corrupt(damage) if (damage := line.damage) else None,
                )
                position += 1

    def text(self, source: Source, limits: Limits) -> Text:
        """Return one line for each property, unfolded and decoded, without inline binary values."""
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
                    pass  # a component inside it was not closed
        out = collector.result(detected=detected)
        out.metadata |= gathered.metadata()
        if opened and out.state is not TextState.TRUNCATED_BY_LIMIT:
            out.error = truncated(f"it ends inside its {opened[-1][:40]}")
        return out


def _shown(line: ContentLine) -> str:
    """Return a line of text without inline bytes, with a person's name and other parameters."""
    value = "" if line.base64 is not None and line.damage is None else line.plain
    name = line.parameters.get("CN")
    shown = f"{line.name}{':' if line.name else ''}{f'{name} ' if name else ''}{value}"
    return " ".join([shown, *parameter_texts]) if (parameter_texts := line.parameter_texts) else shown


class VCardHandler(_ContentLinesHandler):
    """One contact or many."""

    name = "vcard"
    media_types: tuple[str, ...] = ("text/vcard",)
    declared = Declared(
        title="Contacts (vCard)",
        extensions=("vcf", "vcard"),
        text="one line for each property, decoded",
        metadata=("title", "names", "mail", "contacts", *CHARSET_KEYS),
        children="embedded photographs, logos, sounds and keys",
        leaves_out=(
            "names and addresses beyond the first 100 in the metadata",
            "parameters of a property other than names, addresses and labels (`TYPE`, `LANGUAGE`, private ones)",
            "files over the parse limit, which are read as plain text",
        ),
    ).alone()

    gathered = ContactFields


class CalendarHandler(_ContentLinesHandler):
    """Events, tasks and journals."""

    name = "calendar"
    media_types: tuple[str, ...] = ("text/calendar",)
    declared = Declared(
        title="Calendars",
        extensions=("ics", "ical", "ifb", "vcs"),
        text="one line for each property, decoded",
        metadata=("subject", "location", "start", "end", "from", "to", "events", *CHARSET_KEYS),
        children="embedded attachments",
        leaves_out=(
            "metadata of events after the first",
            "dates of repetitions of an event",
            "parameters of a property other than names and addresses (`ROLE`, `PARTSTAT`, private ones)",
            "files over the parse limit, which are read as plain text",
        ),
    ).alone()

    gathered = EventFields
