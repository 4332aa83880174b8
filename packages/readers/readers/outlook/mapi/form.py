"""Conversion of MAPI properties to the fields of an Internet message ([MS-OXCMAIL] 2.2), so that a message of a PST, an
MSG or a winmail.dat is read by the same code as any other."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from email.utils import getaddresses
from itertools import islice
from typing import Any

from readers.base import TEXT_STATE, Child, Text
from readers.charset import Detected, least_certain
from readers.charset_labels import by_page
from readers.documents.rtf.compressed import decompress
from readers.documents.rtf.handler import read_rtf
from readers.errors import DocumentError, ExceptionCode, corrupt, too_large
from readers.mail.dates import utc_time
from readers.mail.headers import (
    Fields,
    conversation_hex,
    conversation_index,
    decode_text,
    decode_words,
    message_ids,
    parse_fields,
    raw_text,
)
from readers.mail.text import KnownWords, much_more
from readers.mail_form import Address, MailAttachment, MailForm, clean_text
from readers.outlook.mapi import properties as mapi
from readers.outlook.mapi.fields import contact_text, is_contact, noted
from readers.outlook.mapi.properties import MapiAttachment, MapiMessage, Properties
from readers.records import Limits, TextState
from readers.text.html import html_decode

# The bodies of an Outlook message in plain text, HTML and RTF; it may have any of them.

# Bytes of an RTF body whose words are compared; longer ones take too long relative to a message's other work.
_RTF_SHORT = 4_000
_RTF_MOST = 50_000_000  # bytes of one that are unpacked
_RTF_FRAME = 1_000  # bytes: fonts, colours and styles around the text of an RTF body


@dataclass(slots=True)
class Body:
    """Text of a message: plain text, HTML, why it is incomplete, and the charsets that it was decoded from."""

    plain: str | None
    html: str | None
    damage: DocumentError | None = None
    read: list[Detected | None] = field(default_factory=list)

    def notes(self) -> dict[str, Any]:
        """Return its item's metadata about that."""
        found = least_certain(self.read)
        notes = found.metadata() if found else {}
        if self.damage is not None:
            notes[TEXT_STATE] = TextState.PARTIAL.value
        elif found and found.guessed:
            notes[TEXT_STATE] = TextState.GUESSED.value
        return notes


def body_of(own: Properties, limit: int) -> Body:
    """Return plain text and HTML; the text of an RTF body if there is neither. An RTF body that is much longer than the
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
    """Add the text of an RTF body to the plain one, if it may add words."""
    length = len(body.plain.strip()) if body.plain else 0
    size = int.from_bytes(packed[4:8], "little")
    if length and _RTF_SHORT < size <= 2 * length + _RTF_FRAME:
        return
    try:
        unpacked = decompress(packed, max(limit, _RTF_MOST))
    except DocumentError as error:  # the rest of the message is kept
        body.damage = _of_body(error)
        return
    reader = read_rtf(unpacked.data, limit + 1)  # one more shows that text was cut at the limit
    if (lacking := unpacked.error or reader.error) is not None:
        body.damage = _of_body(lacking)
    rich = clean_text(reader.text)
    more = rich if not length or much_more(rich, length) else KnownWords(body.plain or "").other_lines(rich)
    if more:
        body.read.append(reader.detected)
    if not length:
        body.plain = body.plain if body.plain and _blank(rich) else rich
    elif more:
        body.plain = f"{body.plain}\n{more}"


def _of_body(error: DocumentError) -> DocumentError:
    return DocumentError(error.code, f"the body in RTF: {error.detail}")


def _blank(body: str | None) -> bool:
    """Return whether it has no text: programs leave a blank line if the body is in another form."""
    return not body or body.isspace()


def _html(own: Properties) -> tuple[str | None, Detected | None]:
    """Return the HTML body, and the charset that its bytes were decoded with."""
    text = own.text(mapi.HTML)
    data = own.raw(mapi.HTML)
    if text is not None or not data:
        return text, None
    data = data.rstrip(b"\0") if not data.startswith(b"\xff\xfe") else data
    return html_decode(data, by_page(own.number(mapi.INTERNET_CODEPAGE) or 0))


_MAX_DEPTH = 24  # messages inside one another; each is two storages deeper in an MSG
_MAX_PEOPLE = 20_000  # recipients of one message
_MAX_ATTACHMENTS = 20_000  # the most that are counted as missing from one message
_MAX_REFERENCES = 1_000
_ROOM = 0.7  # share of the parse limit for attachments: base64 makes four bytes of three, and the form has to be parsed
_TO, _CC, _BCC = 1, 2, 3
# The text between commas: the standard library needs quadratic time for a group of many.
_ADDRESS = re.compile(r'(?:[^,"\\<(]++|\\.?|"(?:[^"\\]++|\\.|(?!))*+"|<[^<>]*+>|\([^()]*+\)|["<(]|(?!))++', re.DOTALL)
_LONGEST_ADDRESS = 4_000  # characters
_MOST_NESTED = 50
_WITHOUT_NESTING = str.maketrans("(:", "  ")


@dataclass(slots=True)
class FormReader:
    """Converter of one message to a form; `error` reports its unreadable parts, including those of messages inside it.
    Their attachments together share the memory that the parse limit allows."""

    limits: Limits
    _lost: list[DocumentError] = field(default_factory=list)  # one for each omitted attachment
    _left: int = field(init=False)

    def __post_init__(self) -> None:
        self._left = int(self.limits.parse_bytes * _ROOM)

    @property
    def error(self) -> DocumentError | None:
        """The reason why attachments were omitted, and their number."""
        if not self._lost:
            return None
        count, first = len(self._lost), self._lost[0]
        detail = first.detail if count == 1 else f"{count} attachments cannot be read; {first.detail}"
        return DocumentError(first.code, detail, missing=count)

    def form(self, message: MapiMessage, *, attachments: bool = True, depth: int = 0) -> MailForm:
        """Return the fields of this message. Attachments that cannot be read or are too large are omitted."""
        own = message.properties
        header = _Header(own)
        to, cc, bcc = _people(message, header)
        body = body_of(own, self.limits.text_characters)
        return MailForm(
            message_id=_first_id(own.text(mapi.MESSAGE_ID) or "") or _first_id(header.text(b"message-id")),
            sent=_sent(own, header),
            sender=_sender(own, header),
            to=to,
            cc=cc,
            bcc=bcc,
            subject=_subject(own, header),
            in_reply_to=_first_id(own.text(mapi.IN_REPLY_TO) or "") or _first_id(header.text(b"in-reply-to")),
            references=tuple(message_ids(own.text(mapi.REFERENCES) or header.text(b"references"))[:_MAX_REFERENCES]),
            plain=body.plain,
            html=body.html,
            attachments=tuple(self._attachments(message, depth)) if attachments else (),
            damage=body.damage,
            notes=body.notes() | noted(own),
        )

    def _attachments(self, message: MapiMessage, depth: int) -> Iterator[MailAttachment]:
        """Yield the attachments in order; a failure of the list itself ends it."""
        attachments, count = message.attachments(), 0
        while True:
            try:
                attachment = next(attachments, None)
            except DocumentError as e:
                self._lost.append(e)
                self._missing(message.announced, count + 1)
                return
            if attachment is None:
                self._missing(message.announced, count)
                return
            count += 1
            try:
                made = self.attachment(attachment, depth)
            except DocumentError as e:
                name = attachment_name(attachment.properties)
                self._lost.append(DocumentError(e.code, f"attachment {name[:80]!r}: {e.detail}"))
            else:
                if made is not None:
                    yield made

    def attachment(self, attachment: MapiAttachment, depth: int = 0) -> MailAttachment | None:
        """Return one attachment; None for a link. Raises DocumentError if it cannot be read."""
        own = attachment.properties
        if attachment.error is not None:
            raise attachment.error
        identifier = (own.text(mapi.ATTACH_CONTENT_ID) or "").strip("<> ")
        if attachment.message is not None:
            if depth + 1 >= _MAX_DEPTH:
                raise DocumentError(ExceptionCode.NESTING_LIMIT, f"messages nested {_MAX_DEPTH} deep")
            form = self.form(attachment.message(), depth=depth + 1)
            return MailAttachment(name="", message=form, content_id=identifier)
        if attachment.data is None:
            if own.number(mapi.ATTACH_METHOD) in mapi.WITHOUT_DATA:
                return None
            raise corrupt("its data is missing")
        self._reserve(attachment.size)
        packaged, data = attachment.data()
        self._reserve(len(data) - attachment.size)
        return MailAttachment(
            name=packaged.decode("utf-8", "replace") or attachment_name(own),
            data=data,
            media_type=own.text(mapi.ATTACH_MIME_TAG) or "application/octet-stream",
            content_id=identifier,
        )

    def _reserve(self, size: int) -> None:
        if size > self._left:
            limit = int(self.limits.parse_bytes * _ROOM)
            raise too_large(f"{size} bytes; the limit for all attachments of a message is {limit}")
        self._left -= size

    def _missing(self, announced: int | None, found: int) -> None:
        """Record attachments that the message announces but does not contain."""
        for position in range(found, min(announced or 0, _MAX_ATTACHMENTS)):
            self._lost.append(corrupt(f"attachment {position + 1} of {announced} is not in the message"))


def attachment_name(own: Properties) -> str:
    """Return the long name, else the short one, else the displayed one; "" if there is none."""
    for ident in (mapi.ATTACH_LONG_NAME, mapi.ATTACH_NAME, mapi.DISPLAY_NAME):
        if name := (own.text(ident) or "").strip():
            return name
    return ""


class _Header:
    """The header with which a message arrived, if any; parsed when its first field is requested."""

    __slots__ = ("_fields", "_own")

    def __init__(self, own: Properties) -> None:
        self._own = own
        self._fields: Fields | None = None

    def raw(self, name: bytes) -> bytes:
        """Return the first field of this name."""
        if self._fields is None:
            data = (self._own.text(mapi.HEADERS) or "").encode("utf-8", "replace").lstrip()
            self._fields = parse_fields(data, 0, len(data))[0]
        return self._fields.raw(name)

    def text(self, name: bytes) -> str:
        """Return the first field of this name, decoded."""
        return decode_text(self.raw(name))


def conversation_of(own: Properties) -> str:
    """Return a message's position in its conversation in hexadecimal, "" if none is stored. It is not part of the form,
    whose bytes and hash do not depend on it."""
    return conversation_hex(own.raw(mapi.CONVERSATION_INDEX)) or conversation_index(_Header(own).text(b"thread-index"))


def _first_id(text: str) -> str:
    ids = message_ids(text)
    return ids[0] if ids else ""


def _sent(own: Properties, header: _Header) -> int | None:
    """Return the time of sending, else the date of its header, else the time of arrival."""
    sent = own.time(mapi.SUBMIT_TIME)
    if sent is None:
        sent = utc_time(header.text(b"date"))
    return own.time(mapi.DELIVERY_TIME) if sent is None else sent


def _subject(own: Properties, header: _Header) -> str:
    """Return the subject; the two characters before it give the length of its prefix ([MS-PST] 2.5.3.1.1.1). A
    winmail.dat may lack it, because the message around it has one, but contain the topic: the subject without
    prefixes."""
    subject = own.text(mapi.SUBJECT)
    if subject is None:
        normalized = own.text(mapi.NORMALIZED_SUBJECT)
        if normalized is None:
            return header.text(b"subject") or own.text(mapi.TOPIC) or ""
        subject = (own.text(mapi.SUBJECT_PREFIX) or "") + normalized
    return subject[2:] if subject.startswith("\x01") else subject


def _sender(own: Properties, header: _Header) -> Address | None:
    """Return the author of the message: the represented sender, else the sender, else the header's From."""
    best: Address | None = None
    for name, smtp, kind, email in (
        (mapi.REPRESENTING_NAME, mapi.REPRESENTING_SMTP, mapi.REPRESENTING_TYPE, mapi.REPRESENTING_EMAIL),
        (mapi.SENDER_NAME, mapi.SENDER_SMTP, mapi.SENDER_TYPE, mapi.SENDER_EMAIL),
    ):
        address = _address(own, name, smtp, kind, email)
        if address is not None and address[1]:
            return address
        best = best or address
    named = _from_header(header, b"from")
    return named[0] if named else best


def _address(own: Properties, name: int, smtp: int, kind: int, email: int) -> Address | None:
    """Return name and SMTP address; the address is "" if there is only one of another system (X.500)."""
    shown = (own.text(name) or "").strip()
    address = (own.text(smtp) or "").strip()
    if not address:
        other = (own.text(email) or "").strip()
        if (own.text(kind) or "").upper() == "SMTP" or ("@" in other and not other.startswith("/")):
            address = other
    if "@" not in address and "@" in shown and " " not in shown:
        address = shown
    return (shown, address) if shown or address else None


def _people(message: MapiMessage, header: _Header) -> tuple[tuple[Address, ...], ...]:
    """Return recipients by type; without a table of them the header's, else the displayed names."""
    kinds: dict[int, list[Address]] = {_TO: [], _CC: [], _BCC: []}
    for row in message.recipients[:_MAX_PEOPLE]:
        kind = (row.number(mapi.RECIPIENT_TYPE) or 0) & 0xF  # flags in the upper bits
        address = _address(row, mapi.DISPLAY_NAME, mapi.SMTP_ADDRESS, mapi.ADDRESS_TYPE, mapi.EMAIL)
        if address is not None and kind in kinds:
            kinds[kind].append(address)
    complete = all(address for people in kinds.values() for _, address in people)
    if any(kinds.values()) and (complete or not message.properties.text(mapi.HEADERS)):
        return tuple(tuple(kinds[kind]) for kind in (_TO, _CC, _BCC))
    named = tuple(_from_header(header, name) for name in (b"to", b"cc", b"bcc"))
    if any(kinds.values()):  # some with Exchange addresses only, for which the header has the external ones
        known = {name.strip().lower(): address for people in named for name, address in people if name and address}
        return tuple(
            tuple((name, address or known.get(name.lower(), "")) for name, address in kinds[kind])
            for kind in (_TO, _CC, _BCC)
        )
    if any(named):
        return named
    shown = (mapi.DISPLAY_TO, mapi.DISPLAY_CC, mapi.DISPLAY_BCC)
    return tuple(_shown(message.properties.text(ident) or "") for ident in shown)


def _from_header(header: _Header, name: bytes) -> tuple[Address, ...]:
    raw = header.raw(name)
    if not raw:
        return ()
    one_by_one = islice(_ADDRESS.finditer(raw_text(raw[:1_000_000])), _MAX_PEOPLE)
    addresses = [address for one in one_by_one for address in _taken_apart(_plain(one[0]))]
    return tuple((decode_words(shown), address) for shown, address in addresses if shown or address)


def _taken_apart(one: str) -> list[Address]:
    """Parse an address. The standard library removes the blanks of a name without an address."""
    found = getaddresses([one])
    if len(found) == 1 and not found[0][0] and "@" not in found[0][1] and " " in (name := one.strip('" ')):
        return [(name, "")]
    return found


def _plain(address: str) -> str:
    """Simplify an address for the standard library, which calls itself for each bracket and each name of a group."""
    address = address[:_LONGEST_ADDRESS].strip("; ")
    return address if address.count("(") + address.count(":") < _MOST_NESTED else address.translate(_WITHOUT_NESTING)


def _shown(names: str) -> tuple[Address, ...]:
    pieces = [piece.strip() for piece in names[:1_000_000].split(";")]
    return tuple((piece, piece if "@" in piece and " " not in piece else "") for piece in pieces if piece)


def without_content(form: MailForm) -> MailForm:
    """Reduce a form to the facts about a message that are not in its bytes: its own, and those of the messages attached
    to it."""
    inner = (
        MailAttachment(name="", message=without_content(one.message)) if one.message else MailAttachment(name="")
        for one in form.attachments
    )
    return MailForm(attachments=tuple(inner), damage=form.damage, notes=form.notes)


def note_in_text(out: Text, form: MailForm) -> None:
    """Add to a message's text what its bytes do not show."""
    out.error = form.damage or out.error
    out.metadata |= {key: noted for key, noted in form.notes.items() if key != TEXT_STATE}
    if form.notes.get(TEXT_STATE) == TextState.GUESSED:
        out.state = out.state or TextState.GUESSED


def note_in_child(child: Child, form: MailForm | None) -> Child:
    """Add the same to a message that is a child."""
    if form is not None:
        child.notes |= form.notes
        child.error = _both(child.error, _damage(form))
    return child


def _damage(form: MailForm) -> DocumentError | None:
    """Return the damage of its body, or of the body of a message in it, which is reported nowhere else."""
    inside = (_damage(one.message) for one in form.attachments if one.message is not None)
    return form.damage or next(filter(None, inside), None)


def _both(error: DocumentError | None, other: DocumentError | None) -> DocumentError | None:
    if error is None or other is None:
        return error or other
    return DocumentError(error.code, f"{error.detail}; {other.detail}", missing=error.missing)
