"""Contacts as Outlook stores them ([MS-OXOCNTC]): what they say is in properties, not in a body."""

from __future__ import annotations

import re
from collections.abc import Iterator

from readers.outlook.mapi import named
from readers.outlook.mapi import properties as mapi
from readers.outlook.mapi.fields import iso
from readers.outlook.mapi.properties import Properties

EVERYTHING = range(0x10000)  # property ids: addresses are in named ones, whose ids differ from file to file
_CLASS = "ipm.contact"
_FIELDS = (
    ("Name", mapi.DISPLAY_NAME),
    ("Nickname", 0x3A4F),
    ("Title", 0x3A17),
    ("Profession", 0x3A46),
    ("Department", 0x3A18),
    ("Office", 0x3A19),
    ("Company", 0x3A16),
    ("Manager", 0x3A4E),
    ("Assistant", 0x3A30),
    ("Spouse", 0x3A48),
    ("Business phone", 0x3A08),
    ("Business phone 2", 0x3A1B),
    ("Company phone", 0x3A57),
    ("Home phone", 0x3A09),
    ("Home phone 2", 0x3A2F),
    ("Mobile phone", 0x3A1C),
    ("Primary phone", 0x3A1A),
    ("Car phone", 0x3A1E),
    ("Radio phone", 0x3A1D),
    ("Other phone", 0x3A1F),
    ("Callback", 0x3A02),
    ("Assistant's phone", 0x3A2E),
    ("Pager", 0x3A21),
    ("Fax", 0x3A24),
    ("Home fax", 0x3A25),
    ("Other fax", 0x3A23),
    ("Street", 0x3A29),
    ("Post office box", 0x3A2B),
    ("City", 0x3A27),
    ("Postal code", 0x3A2A),
    ("State", 0x3A28),
    ("Country", 0x3A26),
    ("Home street", 0x3A5D),
    ("Home post office box", 0x3A5E),
    ("Home city", 0x3A59),
    ("Home postal code", 0x3A5B),
    ("Home state", 0x3A5C),
    ("Home country", 0x3A5A),
    ("Other street", 0x3A63),
    ("Other post office box", 0x3A64),
    ("Other city", 0x3A5F),
    ("Other postal code", 0x3A61),
    ("Other state", 0x3A62),
    ("Other country", 0x3A60),
    ("Business address", named.WORK_ADDRESS),
    ("Home address", named.HOME_ADDRESS),
    ("Other address", named.OTHER_ADDRESS),
    ("Web page", 0x3A51),
    ("Personal web page", 0x3A50),
)
# Days at which they are, then the moments at which these begin, somewhere.
_DAYS = (("Birthday", named.BIRTHDAY, 0x3A42), ("Anniversary", named.ANNIVERSARY, 0x3A41))
_EMAIL = re.compile(r"[^\s@<>]{1,128}@[^\s@<>]{1,255}")
_WORDS = re.compile(r"\w+")


def is_contact(own: Properties) -> bool:
    """Whether this item is a contact."""
    return (own.text(mapi.MESSAGE_CLASS) or "").lower().startswith(_CLASS)


def contact_text(own: Properties) -> str:
    """A line for each field with a value, and each address."""
    return "".join(f"{label}: {said}\n" for label, said in _lines(own))


def _lines(own: Properties) -> Iterator[tuple[str, str]]:
    words: set[str] = set()
    for label, ident in _FIELDS:
        said = " ".join((own.text(ident) or "").split())
        # An address in one piece is stored next to its pieces: it is shown where it has other words.
        if said and not (ident >= named.OURS and words.issuperset(_WORDS.findall(said))):
            words.update(_WORDS.findall(said))
            yield label, said
    for label, day, moment in _DAYS:
        if when := iso(own, day) or iso(own, moment):
            yield label, when.removesuffix("T00:00:00Z")
    known: set[str] = set()
    for ident in sorted(own.values):
        said = (own.text(ident) or "").strip() if named.NAMED <= ident < named.OURS else ""
        if said not in known and _EMAIL.fullmatch(said):
            known.add(said)
            yield "E-mail", said
