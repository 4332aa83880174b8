"""The bodies of a message of Outlook in plain text, HTML and RTF, of which it may have any."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from readers.base import TEXT_STATE
from readers.charset import Detected, least_certain
from readers.documents.rtf.compressed import decompress
from readers.documents.rtf.handler import read_rtf
from readers.errors import DocumentError
from readers.mail.text import much_more
from readers.mail.unsaid import Said
from readers.mail_form import clean_text
from readers.outlook.mapi import properties as mapi
from readers.outlook.mapi.contact import contact_text, is_contact
from readers.outlook.mapi.properties import Properties
from readers.records import TextState
from readers.text.html.handler import html_decode

# Bytes of an RTF body whose words are compared; longer ones take too long relative to a message's other work.
_RTF_SHORT = 4_000
_RTF_MOST = 50_000_000  # bytes of one that are unpacked
_RTF_FRAME = 1_000  # bytes: fonts, colours and styles around the text of an RTF body


@dataclass(slots=True)
class Body:
    """The text of a message: plain text, HTML, why it is incomplete, and the charsets that it was decoded from."""

    plain: str | None
    html: str | None
    damage: DocumentError | None = None
    read: list[Detected | None] = field(default_factory=list)

    def notes(self) -> dict[str, Any]:
        """What its item's metadata has of that."""
        found = least_certain(self.read)
        notes = found.metadata() if found else {}
        if self.damage is not None:
            notes[TEXT_STATE] = TextState.PARTIAL.value
        elif found and found.guessed:
            notes[TEXT_STATE] = TextState.GUESSED.value
        return notes


def body_of(own: Properties, limit: int) -> Body:
    """Plain text and HTML; the text of an RTF body where there is neither. An RTF body that is much longer than the
    plain one is appended to it; of a short one, the lines with words that the plain one lacks. A contact's fields come
    before its note."""
    html, found = _html(own)
    body = Body(own.text(mapi.BODY), html, read=[own.detected, found])
    if body.html is not None:
        body.html = clean_text(body.html)
    if body.plain is not None:
        body.plain = clean_text(body.plain)
    if _blank(body.html) and (packed := own.raw(mapi.RTF_COMPRESSED)):
        _add_rtf(body, packed, limit)
    if is_contact(own):
        body.plain = "\n".join(filter(None, (contact_text(own), "" if _blank(body.plain) else body.plain)))
    return body


def _add_rtf(body: Body, packed: bytes, limit: int) -> None:
    """Add the text of an RTF body to the plain one, if it is to be read at all."""
    said = len(body.plain.strip()) if body.plain else 0
    size = int.from_bytes(packed[4:8], "little")
    if said and _RTF_SHORT < size <= 2 * said + _RTF_FRAME:
        return
    try:
        unpacked = decompress(packed, max(limit, _RTF_MOST))
    except DocumentError as error:  # the rest of the message is still worth having
        body.damage = _of_body(error)
        return
    reader = read_rtf(unpacked.data, limit + 1)  # one more shows that text was cut at the limit
    if (lacking := unpacked.error or reader.error) is not None:
        body.damage = _of_body(lacking)
    rich = clean_text(reader.text)
    more = rich if not said or much_more(rich, said) else Said(body.plain or "").unsaid(rich)
    if more:
        body.read.append(reader.detected)
    if not said:
        body.plain = body.plain if body.plain and _blank(rich) else rich
    elif more:
        body.plain = f"{body.plain}\n{more}"


def _of_body(error: DocumentError) -> DocumentError:
    return DocumentError(error.code, f"the body in RTF: {error.detail}")


def _blank(body: str | None) -> bool:
    """Whether it has no text: programs leave a blank line where the body is in another form."""
    return not body or body.isspace()


def _html(own: Properties) -> tuple[str | None, Detected | None]:
    """The HTML body, and the charset that its bytes were read in."""
    text = own.text(mapi.HTML)
    data = own.raw(mapi.HTML)
    if text is not None or not data:
        return text, None
    data = data.rstrip(b"\0") if not data.startswith(b"\xff\xfe") else data
    return html_decode(data, mapi.codec_of(own.number(mapi.INTERNET_CODEPAGE)))
