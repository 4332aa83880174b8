"""Messages without bytes of their own (in a PST, an MSG, a winmail.dat) as an Internet message in canonical form.

`write_message` depends only on the fields: the same fields give the same bytes on every machine, so such messages have
a hash, and the manifest of a generated corpus can contain it. Any MIME parser reads the result (RFC 5322, 2045 to 2047,
2183, 2231, and RFC 6532 for the rare address that is not ASCII). Lines end in LF."""

from __future__ import annotations

import binascii
import hashlib
import re
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, TypeAlias

from readers.errors import DocumentError

Address = tuple[str, str]  # display name, SMTP address; either may be ""

_LINE = 76
_BASE64_AT_ONCE = 57 * 4096  # whole lines
_WORD_BYTES = 42  # of UTF-8 in one encoded word: 56 characters of base64, 68 with its frame (RFC 2047: at most 75)
_NAME_BYTES = 200  # of one part of a name in a mail store
_LONGEST_WORD = 900  # a line may not be over 998 characters (RFC 5322, 2.1.1)
_FIRST_TIME, _LAST_TIME = -62_135_596_800, 253_402_300_799  # years 1 to 9999
_DAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_MEDIA_TYPE = re.compile(r"[a-z0-9][a-z0-9!#$&.+^_-]{0,79}/[a-z0-9][a-z0-9!#$&.+^_-]{0,79}")
_NOT_IN_ID = re.compile(r"[\x00-\x1f\x7f<>]+")
_NOT_IN_ADDRESS = re.compile(r"[\x00-\x20\x7f<>,;\"]+")
_FOLD = re.compile(r"(?<=[^ ]) (?=[^ ])")
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")


@dataclass(frozen=True, slots=True, kw_only=True)
class MailAttachment:
    """One attachment: exactly one of `data` and `message` is given."""

    name: str  # as it is stored; "" if it has none. Not used for messages: their name is that of their subject
    data: bytes | None = None
    message: MailForm | None = None
    media_type: str = "application/octet-stream"
    content_id: str = ""  # without angle brackets


@dataclass(frozen=True, slots=True, kw_only=True)
class MailForm:
    """Fields of one message. Texts have LF at their line ends and no NULs at their end (see `clean_text`)."""

    message_id: str = ""  # without angle brackets; "" if it has none
    sent: int | None = None  # seconds UTC since the epoch
    sender: Address | None = None
    to: tuple[Address, ...] = ()
    cc: tuple[Address, ...] = ()
    bcc: tuple[Address, ...] = ()
    subject: str = ""
    in_reply_to: str = ""  # without angle brackets
    references: tuple[str, ...] = ()  # without angle brackets
    plain: str | None = None
    html: str | None = None
    attachments: tuple[MailAttachment, ...] = ()
    # Not in its bytes: the damage of its body, and further metadata of its item
    damage: DocumentError | None = field(default=None, compare=False)
    notes: Mapping[str, Any] = field(default_factory=dict, compare=False)


def write_message(form: MailForm) -> bytes:
    """Return the message: header, then one text part, or multipart/alternative of both, or multipart/mixed of these and
    the attachments in order. Text parts are UTF-8 in base64, messages 8bit, other attachments base64."""
    return _write(form)[0]


def clean_text(text: str) -> str:
    """Return a stored text as a form has it: CRLF and CR become LF, NULs at the end are removed."""
    text = text.rstrip("\0")
    return text.replace("\r\n", "\n").replace("\r", "\n") if "\r" in text else text


def store_name(folders: Sequence[str], subject: str) -> bytes:
    """Return the name of a message inside a mail store: folders and subject, joined by "/". It is a generated name, so
    it is made safe: no separators, control characters or ".." in a part, no part over 200 bytes."""
    parts = [_part_of_name(folder) or "_" for folder in folders]
    parts.append(_part_of_name(subject) or "message")
    return _no_drive("/".join(parts)).encode()


def message_name(subject: str) -> str:
    """Return the name of a message that is an attachment."""
    return _no_drive(_part_of_name(subject) or "message") + ".eml"


def _part_of_name(text: str) -> str:
    text = _CONTROL.sub("_", text.replace("/", "_").replace("\\", "_")).strip()
    raw = text.encode("utf-8", "replace")
    if len(raw) > _NAME_BYTES:
        raw = raw[:_NAME_BYTES]
    text = raw.decode("utf-8", "ignore").strip()
    return "__" if text == ".." else text


def _no_drive(name: str) -> str:
    """Replace the colon of a name like "R: lunch", which looks like a path on another drive."""
    return name[0] + "_" + name[2:] if name[1:2] == ":" else name


_Part: TypeAlias = tuple[bytes, bytes]  # header with the empty line after it, content


def _write(form: MailForm) -> tuple[bytes, int]:
    """Return the message, and how many levels of messages it contains (itself counted). The level is in the boundaries,
    so that a message's are never those of one inside it; no other line can begin with two dashes."""
    head = "\n".join(_headers(form)).encode("utf-8", "replace")
    level = 1
    files: list[_Part] = []
    for attachment in form.attachments:
        if attachment.message is not None:
            inner, inside = _write(attachment.message)
            level = max(level, inside + 1)
            files.append((_message_head(attachment), inner))
        else:
            files.append((_file_head(attachment), base64_lines(attachment.data or b"")))
    texts = [_text_part(text, kind) for text, kind in ((form.plain, "plain"), (form.html, "html")) if text is not None]
    tag = _tag(head, [*texts, *files], level)
    if len(texts) == 2:
        texts = [_multipart("alternative", f"=_a{tag}", texts)]
    if files:
        texts = [_multipart("mixed", f"=_m{tag}", [*texts, *files])]
    part_head, content = texts[0] if texts else _text_part("", "plain")
    return b"".join((head, b"\n", part_head, content)), level


def _tag(head: bytes, parts: list[_Part], level: int) -> str:
    """Return the end of boundaries: a hash of header and parts' sizes and first bytes, and the level."""
    state = hashlib.sha256(head)
    for part_head, content in parts:
        state.update(b"%d:" % (len(part_head) + len(content)))
        state.update((part_head + content[:512])[:512])
    return f"{state.hexdigest()[:24]}.{level}"


def _headers(form: MailForm) -> list[str]:
    out = []
    if message_id := _bare_id(form.message_id):
        out.append(f"Message-ID: <{message_id}>")
    if form.sent is not None and _FIRST_TIME <= form.sent <= _LAST_TIME:
        out.append(f"Date: {_date(form.sent)}")
    senders = (form.sender,) if form.sender is not None else ()
    for name, people in (("From", senders), ("To", form.to), ("Cc", form.cc), ("Bcc", form.bcc)):
        written = [text for text in map(_address, people) if text]
        if written:
            out.append(f"{name}: " + ",\n ".join(written))
    if form.subject:
        out.append("Subject: " + _unstructured(form.subject))
    if parent := _bare_id(form.in_reply_to):
        out.append(f"In-Reply-To: <{parent}>")
    references = [f"<{bare}>" for bare in map(_bare_id, form.references) if bare]
    if references:
        out.append("References: " + "\n ".join(references))
    out.append("MIME-Version: 1.0")
    return out


def _date(when: int) -> str:
    """Return an RFC 5322 date in UTC, independent of the locale."""
    t = datetime.fromtimestamp(when, UTC)
    return f"{_DAYS[t.weekday()]}, {t.day:02d} {_MONTHS[t.month - 1]} {t.year:04d} {t:%H:%M:%S} +0000"


def _bare_id(text: str) -> str:
    return _NOT_IN_ID.sub("", text).strip()


def _plain_ascii(text: str) -> bool:
    """Return whether the text may be in a header unchanged (but for folding)."""
    if not (text.isascii() and text.isprintable()) or "=?" in text or text != text.strip():
        return False
    return len(text) <= _LONGEST_WORD or all(len(word) <= _LONGEST_WORD for word in text.split(" "))


def _unstructured(text: str) -> str:
    """Return a header text, encoded if it must be, folded if it is long."""
    if not _plain_ascii(text):
        return _encoded(text)
    if len(text) <= _LINE - 9:
        return text
    lines: list[str] = []
    line = ""
    for word in _FOLD.split(text):
        if line and len(line) + 1 + len(word) > _LINE - 9:
            lines.append(line)
            line = word
        else:
            line = f"{line} {word}" if line else word
    lines.append(line)
    return "\n ".join(lines)


def _encoded(text: str) -> str:
    """Return encoded words (RFC 2047) of whole characters, one on a line."""
    raw = text.encode("utf-8", "replace")
    words = []
    at = 0
    while at < len(raw):
        stop = min(at + _WORD_BYTES, len(raw))
        while stop < len(raw) and raw[stop] & 0xC0 == 0x80:
            stop -= 1
        words.append(f"=?utf-8?b?{binascii.b2a_base64(raw[at:stop], newline=False).decode()}?=")
        at = stop
    return "\n ".join(words)


def _address(person: Address) -> str:
    """Return `"Name" <address>`, or one of them if the other is missing; "" if both are."""
    name, address = person[0].strip(), _NOT_IN_ADDRESS.sub("", person[1])
    if not name or name == address:
        return address
    if _plain_ascii(name) and len(name) <= _LONGEST_WORD:
        escaped = name.replace("\\", "\\\\").replace('"', '\\"')
        shown = f'"{escaped}"'
    else:
        shown = _encoded(name)
    return f"{shown} <{address}>" if address else shown


def base64_lines(data: bytes) -> bytes:
    """Return what `base64.encodebytes` does, eight times as fast: lines of 76 characters, each ended by LF."""
    if len(data) > _BASE64_AT_ONCE:  # the lines take three times the memory of the data
        pieces = range(0, len(data), _BASE64_AT_ONCE)
        return b"".join([base64_lines(data[at : at + _BASE64_AT_ONCE]) for at in pieces])
    text = binascii.b2a_base64(data, newline=False)
    whole = len(text) // _LINE
    lines: list[bytes] = list(struct.unpack_from(f"{_LINE}s" * whole, text))
    if rest := text[whole * _LINE :]:
        lines.append(rest)
    lines.append(b"")
    return b"\n".join(lines)


def _text_part(text: str, subtype: str) -> _Part:
    head = f"Content-Type: text/{subtype}; charset=utf-8\nContent-Transfer-Encoding: base64\n\n"
    return head.encode(), base64_lines(text.encode("utf-8", "replace"))


def _file_head(attachment: MailAttachment) -> bytes:
    media_type = attachment.media_type.partition(";")[0].strip().lower()
    if not _MEDIA_TYPE.fullmatch(media_type) or media_type.startswith(("multipart/", "message/")):
        media_type = "application/octet-stream"  # multiparts and messages may not be base64 (RFC 2045, 6.4; 2046, 5.2)
    head = f"Content-Type: {media_type}\n"
    if identifier := _bare_id(attachment.content_id):
        head += f"Content-ID: <{identifier}>\n"
    head += f"Content-Disposition: attachment{_file_name(attachment.name)}\nContent-Transfer-Encoding: base64\n\n"
    return head.encode("utf-8", "replace")


def _message_head(attachment: MailAttachment) -> bytes:
    subject = attachment.message.subject if attachment.message else ""
    head = "Content-Type: message/rfc822\n"
    if identifier := _bare_id(attachment.content_id):
        head += f"Content-ID: <{identifier}>\n"
    head += f"Content-Disposition: attachment{_file_name(message_name(subject))}\nContent-Transfer-Encoding: 8bit\n\n"
    return head.encode("utf-8", "replace")


def _file_name(name: str) -> str:
    """Return the parameter of a Content-Disposition: quoted (RFC 2183), or by RFC 2231 if it is not plain ASCII."""
    if not name:
        return ""
    if name.isascii() and name.isprintable() and len(name) <= _LONGEST_WORD:
        escaped = name.replace("\\", "\\\\").replace('"', '\\"')
        return f';\n filename="{escaped}"'
    raw = name.encode("utf-8", "replace")
    quoted = "".join(chr(b) if b < 128 and chr(b).isalnum() else f"%{b:02X}" for b in raw)
    return f";\n filename*=utf-8''{quoted}"


def _multipart(kind: str, boundary: str, parts: list[_Part]) -> _Part:
    """Join the parts with boundary lines; a part's last newline belongs to the boundary line after it."""
    head = f'Content-Type: multipart/{kind}; boundary="{boundary}"\n\n'.encode()
    line = f"--{boundary}\n".encode()
    pieces: list[bytes] = []
    for part_head, content in parts:
        pieces += (line, part_head, content, b"\n")
    pieces.append(f"--{boundary}--\n".encode())
    return head, b"".join(pieces)
