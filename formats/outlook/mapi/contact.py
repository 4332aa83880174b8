"""Contacts as Outlook stores them ([MS-OXOCNTC]): what they say is in properties, not in a body."""

from __future__ import annotations

import re
from collections.abc import Iterator

from formats.outlook.mapi import properties as mapi
from formats.outlook.mapi.properties import Properties

EVERYTHING = range(0x10000)  # property ids: addresses are in named ones, whose ids differ from file to file
_CLASS = "ipm.contact"
_FIELDS = (
    ("Name", mapi.DISPLAY_NAME),
    ("Title", 0x3A17),
    ("Department", 0x3A18),
    ("Company", 0x3A16),
    ("Business phone", 0x3A08),
    ("Home phone", 0x3A09),
    ("Mobile phone", 0x3A1C),
    ("Fax", 0x3A24),
    ("Street", 0x3A29),
    ("City", 0x3A27),
    ("Postal code", 0x3A2A),
    ("State", 0x3A28),
    ("Country", 0x3A26),
    ("Web page", 0x3A51),
)
_FIRST_NAMED = 0x8000
_EMAIL = re.compile(r"[^\s@<>]{1,128}@[^\s@<>]{1,255}")


def is_contact(own: Properties) -> bool:
    """Whether this item is a contact."""
    return (own.text(mapi.MESSAGE_CLASS) or "").lower().startswith(_CLASS)


def contact_text(own: Properties) -> str:
    """A line for each field that says something, and each address."""
    return "".join(f"{label}: {said}\n" for label, said in _lines(own))


def _lines(own: Properties) -> Iterator[tuple[str, str]]:
    for label, ident in _FIELDS:
        if said := " ".join((own.text(ident) or "").split()):
            yield label, said
    known: set[str] = set()
    for ident in sorted(own.values):
        said = (own.text(ident) or "").strip() if ident >= _FIRST_NAMED else ""
        if said not in known and _EMAIL.fullmatch(said):
            known.add(said)
            yield "E-mail", said
