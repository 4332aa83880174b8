"""The metadata of vCards and calendars, gathered property by property: there may be millions of them."""

from __future__ import annotations

import re
from datetime import datetime
from typing import Any, Protocol

from readers import clean
from readers.mail.contacts.content_lines import ContentLine

_MAX_VALUES = 100  # names or addresses kept in the metadata
_DATE = re.compile(r"(\d{4})-?(\d\d)-?(\d\d)(?:T(\d\d):?(\d\d)(?::?(\d\d))?(?:(Z)|([+-]\d\d):?(\d\d))?)?")
_EVENTS = frozenset(("VEVENT", "VTODO", "VJOURNAL"))
_OF_EVENT = {"SUMMARY": "subject", "LOCATION": "location", "DTSTART": "start", "DTEND": "end"}
_PEOPLE = {"ORGANIZER": "from", "ATTENDEE": "to"}
_NOT_A_NAME = re.compile(r"[\[\]]|^/[^/]+(?:/.*)?/(?=[^/]+/[^/]+\Z)")  # brackets; who a global name (/…/) is by
_ZONE_CHARACTERS = 100
_MAILTO = re.compile("^mailto:", re.IGNORECASE)


class Gathered(Protocol):
    """Grows by a property at a time; of bounded size."""

    def take(self, line: ContentLine) -> None:
        """The next one."""

    def metadata(self) -> dict[str, Any]:
        """Of all so far."""


class ContactFields:
    """`names` and `mail` addresses; `title`, the first name; `contacts`, how many there are."""

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
    """Of the first event: `subject`, `start`, `end`, `location`, `from` (organiser), `to` (who is invited); `events`, how
    many there are."""

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
    """20201123T190000 as 2020-11-23T19:00:00, with the zone's name behind where one is named (RFC 9557); what is no such
    date, as it is."""
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
    """`Name <address>`, or the address alone. Apple's value leads to a person of a server, the address is a parameter."""
    address = clean.value(_MAILTO.sub("", line.value))
    if "@" not in address:
        address = clean.value(_MAILTO.sub("", line.parameters.get("EMAIL", ""))) or address
    name = clean.value(line.parameters.get("CN", ""))
    return f"{name} <{address}>" if name and name != address else address
