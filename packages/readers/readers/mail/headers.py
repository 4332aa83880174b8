"""Header fields of a message or MIME part (RFC 5322, 2045 to 2047, 2231), read so that nothing in them can raise."""

from __future__ import annotations

import binascii
import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping
from urllib.parse import unquote_to_bytes

from readers import charset
from readers.charset_guess import reads
from readers.charset_labels import by_label
from readers.last import remembered
from readers.mail.base64 import from_base64
from readers.mail.dates import Moment, moment
from readers.mail.header_lines import take_fields, without_comments

_FOLDED = re.compile(rb"\r*\n")
_WORD = re.compile(r"=\?([^?\s]{1,64})\?([bBqQ])\?((?:[^?=]++|\?(?!=)|=(?!\?)|(?!))*+=*+)\?=")  # some leave a "?" in it
_PARAMETER = re.compile(r';\s*([^\s=;"]+)\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^;]*))')
_SEGMENT = re.compile(r"(.+?)(?:\*(\d{1,3}))?(\*)?")
_MEDIA_TYPE = re.compile(
    r"[\s\"']*([A-Za-z0-9!#$&.+^_-]{1,80})\s*/\s*([A-Za-z0-9!#$&*.+^_-]{1,80})[\"']?\s*(?=[;,]|$|\s)"
)
_MULTIPART = re.compile(r"[\s\"']*multipart\b", re.IGNORECASE)
# Parameters without a semicolon before them, or after a quote that is not closed.
_LOOSE = tuple(
    (name, re.compile(rf"(?:^|[\s,;\"']){name}\s*=\s*(?:\"([^\"]*)\"|[\"']?([^\s;,\"']+))", re.IGNORECASE))
    for name in ("boundary", "charset", "name", "filename")
)
_ADDRESS = re.compile(r"[^\s<>,;:\"'()\[\]@]{1,128}+@[^\s<>,;:\"'()\[\]@]{1,255}+")
_BRACKETED = re.compile(f"<({_ADDRESS.pattern})>")  # the usual case, which is faster to search
_ID = re.compile(r"<([^<>]+)>")
_BLANK_OR_COMMA = re.compile(r"[\s,\"]")
_QUOTED_PAIR = re.compile(r"\\(.)")


_LINE_FEED, _EQUALS_SIGN = b"\n="  # numbers: bytes are searched for one in a tenth of the time of a byte string
_TITLES = (b"subject", b"from", b"to", b"cc")
_CONCLUSIVE = 4  # bytes of an encoded word
_MOST_ODD = 50  # fields with eight-bit characters that are examined together


class Fields:
    """Fields of one header, by lower-case name; values are unfolded when they are requested."""

    __slots__ = ("_by_name", "_texts", "around", "detected", "odd_end", "repeats")

    def __init__(self) -> None:
        self._by_name: dict[bytes, list[bytes]] = {}  # as stored, including line ends
        self.repeats = False  # a name occurs twice
        self.around = ""  # a charset of the texts below it
        self.odd_end = False  # the header ends at a line that is neither blank nor a field
        # Charset of fields with eight-bit characters, once one was requested.
        self.detected: charset.Detected | None = None
        self._texts: dict[bytes, str] = {}  # requested values: hashes and metadata use the same fields

    def add(self, pairs: Iterable[tuple[bytes, bytes]]) -> None:
        """Append fields: names and values as stored."""
        by_name = self._by_name
        for name, value in pairs:
            key = name.lower()
            if key in by_name:
                by_name[key].append(value)
                self.repeats = True
            else:
                by_name[key] = [value]

    def wrap(self, name: bytes, line: bytes) -> None:
        """Append a line to the last field of this name (in lower case)."""
        self._by_name[name][-1] += b"\n " + line

    def __len__(self) -> int:
        return len(self._by_name)

    def items(self) -> Iterator[tuple[str, str]]:
        """Yield name, in lower case, and value of every field as readable text."""
        for name, values in self._by_name.items():
            for value in values:
                yield name.decode("latin-1"), decode_text(unfolded(value))

    def has_any(self, names: frozenset[bytes]) -> bool:
        """Return whether there is a field with one of these names (in lower case)."""
        return not names.isdisjoint(self._by_name)

    def stored(self, name: bytes) -> bytes:
        """Return the first field of this name (in lower case) as stored, with line ends; b"" if there is none."""
        values = self._by_name.get(name)
        return values[0] if values else b""

    def all_stored(self, name: bytes) -> list[bytes]:
        """Return every field of this name as stored."""
        return self._by_name.get(name, [])

    def raw(self, name: bytes) -> bytes:
        """Return the first field of this name, unfolded; b"" if there is none."""
        values = self._by_name.get(name)
        return unfolded(values[0]) if values else b""

    def text(self, name: bytes) -> str:
        """Return the fields of this name as text; several are joined by commas (only address fields repeat)."""
        known = self._texts.get(name)
        if known is None:
            values = self._by_name.get(name)
            if values is None:
                return ""
            known = self._texts[name] = (
                self._read(values[0]) if len(values) == 1 else ", ".join(map(self._read, values))
            )
        return known

    def _read(self, value: bytes) -> str:
        value = unfolded(value)
        return decode_words(value.decode("ascii")) if value.isascii() else decode_text(value, self.likely())

    def likely(self) -> str:
        """Return the likeliest charset of all fields with eight-bit characters together, as a single one may be too
        short to detect it. The charset that is declared for the body, or that the texts have, counts if it is possible.
        "" if there are no such fields."""
        if self.detected is None:
            odd = [unfolded(value) for values in self._by_name.values() for value in values if not value.isascii()]
            if not odd:
                return ""
            declared = parameters(self.raw(b"content-type").decode("latin-1")).get("charset", "")
            self.detected = charset.decode(b"\n".join(odd[:_MOST_ODD]), hint=declared or self.around)[1]
        return self.detected.charset


def unfolded(value: bytes) -> bytes:
    """Return a field's value on one line."""
    if _LINE_FEED in value:
        value = _FOLDED.sub(b"", value) if b"\r\r" in value else value.replace(b"\r\n", b"").replace(b"\n", b"")
    return value.strip()


def parse_fields(data: bytes, start: int, end: int) -> tuple[Fields, int]:
    """Return the header that starts at `start`, and the start of the body: after the first blank line, or at the first
    line that is no field, unless the header continues after it. A From_ line before it is skipped."""
    fields = Fields()
    return fields, take_fields(fields, data, start, end)


def raw_text(value: bytes, hint: str = "") -> str:
    """Return a field's value as text, with encoded words undecoded (structured fields are split first)."""
    return value.decode("ascii") if value.isascii() else charset.decode(value, hint=hint)[0]


def decode_text(value: bytes, hint: str = "") -> str:
    """Return a field's value with its encoded words (RFC 2047) and eight-bit characters as text; the hint is a charset
    that these may be in."""
    text = value.decode("ascii") if value.isascii() else charset.decode(value, hint=hint)[0]
    return decode_words(text) if "=?" in text else text


def decode_words(text: str) -> str:
    """Decode RFC 2047 as real mailers write it: words inside quotes, and split inside a character."""
    if "=?" not in text:
        return text
    out: list[str] = []
    done, codec = 0, ""
    pending: list[bytes] = []  # bytes of adjacent words: one may end inside a character
    for word in _WORD.finditer(text):
        between = text[done : word.start()]
        label = word[1].partition("*")[0].lower()
        data = _word_bytes(word[2], word[3])
        if pending and not between.strip() and label == codec:
            pending.append(data)
        else:
            out.append(_decode(b"".join(pending), codec))
            if between.strip() or not done:
                out.append(between)
            pending, codec = [data], label
        done = word.end()
    out.append(_decode(b"".join(pending), codec))
    out.append(text[done:])
    return "".join(out)


def words_guessed(fields: Fields) -> bool:
    """Return whether an encoded word of subject or people has an unknown charset, and is not UTF-8."""
    return any(
        not by_label(word[1]) and not reads(_word_bytes(word[2], word[3]), "utf-8")
        for name in _TITLES
        for value in fields.all_stored(name)
        if _EQUALS_SIGN in value
        for word in _WORD.finditer(value.decode("latin-1"))
    )


def _word_bytes(encoding: str, payload: str) -> bytes:
    data = payload.encode("ascii", "ignore")
    if encoding in "qQ":
        return binascii.a2b_qp(data, header=True)
    return from_base64(data)


def _decode(data: bytes, label: str) -> str:
    """Decode an encoded word or a parameter: in the charset of its label, if the bytes do not contradict that (a few
    bytes cannot, nor those below 128, in which other charsets shift). UTF-8 may end inside a character."""
    if not data:
        return ""
    codec = by_label(label)
    believed = data.isascii() or len(data) < _CONCLUSIVE or (codec == "utf-8" and reads(data, codec))
    try:
        return charset.read_in(data, codec) if codec and believed else charset.decode(data, label)[0]
    except (UnicodeError, LookupError, ValueError):  # codecs that ignore `replace`
        return data.decode("latin-1")


def media_type(value: str, default: str) -> str:
    """Return the type/subtype of a Content-Type in lower case; the default if it is missing or malformed,
    `multipart/mixed` for a multipart without a subtype."""
    if "(" in value:
        value = without_comments(value)
    if (match := _MEDIA_TYPE.match(value)) is not None:
        return f"{match[1]}/{match[2]}".lower()
    return "multipart/mixed" if _MULTIPART.match(value) else default


def parameters(value: str) -> Mapping[str, str]:
    """Return the parameters of a Content-Type or Content-Disposition by lower-case name, RFC 2231 pieces joined and
    decoded. Comments are not part of them, except in an unquoted file name such as `a (1).pdf`."""
    found = _parameters(value)
    if "(" in value:
        plain = _parameters(without_comments(value))
        return plain | {name: text for name, text in found.items() if name in ("name", "filename")}
    return found


def _parameters(value: str) -> dict[str, str]:
    plain: dict[str, str] = {}
    pieces: dict[str, dict[int, tuple[bool, str]]] = {}
    found = _PARAMETER.findall(value)
    for name, quoted, bare in found:
        content = _QUOTED_PAIR.sub(r"\1", quoted) if "\\" in quoted else quoted or bare.strip().strip('"')
        segment = _SEGMENT.fullmatch(name.lower()) if "*" in name else None
        if segment is None or not (segment[2] or segment[3]):
            plain.setdefault(name.lower(), content)
        else:
            pieces.setdefault(segment[1], {}).setdefault(int(segment[2] or 0), (bool(segment[3]), content))
    for joined, parts in pieces.items():
        plain[joined] = _join_pieces(parts)
    if value.count("=") > len(found) and value.count("=") > len(found) + sum(
        quoted.count("=") for _, quoted, _ in found
    ):
        _add_loose(plain, value)
    return plain


def _add_loose(plain: dict[str, str], value: str) -> None:
    """Add parameters that are not separated correctly, outside of the quoted values of others."""
    outside = _PARAMETER.sub(lambda match: match[0] if match[2] is None else ";", value)
    for name, pattern in _LOOSE:
        if name not in plain and (match := pattern.search(outside)) is not None:
            plain[name] = match[1] or match[2] or ""
            if name != "charset" and "charset" in plain:
                plain["charset"] = _BLANK_OR_COMMA.split(plain["charset"].strip(), maxsplit=1)[0]


def _join_pieces(parts: dict[int, tuple[bool, str]]) -> str:
    """Join pieces by RFC 2231: in order, percent-decoded if marked; the first one may begin with charset'language'."""
    out: list[bytes] = []
    label = ""
    first = min(parts)
    for number in sorted(parts):
        encoded, content = parts[number]
        if encoded:
            if number == first and content.count("'") >= 2:
                label, _, content = content.split("'", 2)
            out.append(unquote_to_bytes(content))
        else:
            out.append(content.encode("utf-8", "replace"))
    return _decode(b"".join(out), label)


def file_name(disposition: Mapping[str, str], content_type: Mapping[str, str]) -> str:
    """Return the file name that a part declares; "" if none."""
    return decode_words(disposition.get("filename") or content_type.get("name") or "").strip()


@remembered
def field_moment(value: bytes) -> Moment | None:
    """Return the moment of a Date field, as stored; None if that is not certain."""
    return moment(decode_text(unfolded(value)))


@remembered
def field_date(value: bytes) -> str:
    """Return the same in ISO 8601 in UTC to the second; "" if that is not certain."""
    found = field_moment(value)
    return "" if found is None else f"{found.when.isoformat()}Z"


def noted_date(value: bytes) -> str:
    """Return a Date field for the metadata: in UTC too, but without the `Z` if the field has no zone. (`-0000` is a
    zone: the time is in UTC, RFC 5322, 3.3.)"""
    found = field_moment(value)
    return "" if found is None else field_date(value) if found.zoned else found.when.isoformat()


@remembered
def addresses(value: str) -> tuple[str, ...]:
    """Return the mail addresses in a field, lower case, sorted; the folded text itself if there is none."""
    matches = _BRACKETED.findall(value)
    if len(matches) != value.count("@"):
        matches = _ADDRESS.findall(value)
    if matches:
        return tuple(sorted({address.lower() for address in matches}))
    folded = " ".join(value.lower().split())
    return (folded,) if folded else ()


def message_ids(value: str) -> list[str]:
    """Return the message ids in a field, without angle brackets; the whole value if it has none."""
    ids = [part.strip() for part in _ID.findall(value)]
    if ids:
        return ids
    bare = value.strip()
    return [bare] if bare else []


def message_id_hash(fields: Fields) -> bytes | None:
    """Return the EDRM Message Identification Hash 1.0: MD5 of the Message-ID in its angle brackets; None if there is
    none.

    One that is stored without brackets is hashed with them, because Outlook's property and the header of the same
    message may differ only in that."""
    first = first_message_id(fields.stored(b"message-id"))
    if first is None:
        return None
    return hashlib.md5(f"<{first}>".encode("utf-8", "replace"), usedforsecurity=False).digest()


def header_metadata(fields: Fields) -> list[tuple[str, str]]:
    """Return the metadata keys of a message that are plain text."""
    text, stored = fields.text, fields.stored
    pairs = (
        ("subject", text(b"subject")),
        ("from", text(b"from")),
        ("to", text(b"to")),
        ("cc", text(b"cc")),
        ("bcc", text(b"bcc")),
        ("date", noted_date(stored(b"date"))),
        ("message_id", first_message_id(stored(b"message-id")) or ""),
        ("in_reply_to", first_message_id(stored(b"in-reply-to")) or ""),
        ("date_original", text(b"date")),
        ("conversation", conversation_index(text(b"thread-index"))),
    )
    described = [pair for pair in pairs if pair[1]]
    return described + _rarer(fields, described) if fields.has_any(_RARER_FIELDS) else described


# By metadata key, fields that most messages lack, or that usually repeat others.
_RARER = {
    "reply_to": (b"reply-to",),
    "sent_by": (b"sender",),
    "resent_from": (b"resent-from", b"resent-sender"),
    "resent_to": (b"resent-to", b"resent-cc", b"resent-bcc"),
    "delivered_to": (b"delivered-to", b"x-original-to", b"envelope-to"),
    "keywords": (b"keywords",),
    "description": (b"comments",),
    "company": (b"organization", b"organisation"),
}
_RARER_FIELDS = frozenset(name for names in _RARER.values() for name in names)
RARER_KEYS = tuple(_RARER)


def _rarer(fields: Fields, described: list[tuple[str, str]]) -> list[tuple[str, str]]:
    """Return the values of these fields, without those that From or To have."""
    known = {text for key, text in described if key in ("from", "to")}
    texts = ((key, ", ".join(filter(None, map(fields.text, names)))) for key, names in _RARER.items())
    return [(key, text) for key, text in texts if text and text not in known]


_REFERENCES_AT_END = 99
_CONVERSATION_CHARACTERS = 2_000  # of base64: 300 nested answers


def reference_ids(ids: list[str]) -> list[str]:
    """Return the Message-IDs in a References field that make threads, oldest first: all, or of more than a hundred the
    first and the last 99."""
    return ids if len(ids) <= 1 + _REFERENCES_AT_END else [ids[0], *ids[-_REFERENCES_AT_END:]]


def conversation_index(value: str) -> str:
    """Return a Thread-Index field ([MS-OXOMSG] 2.2.1.3) in hexadecimal; "" if it is invalid: it has a header of 22
    bytes, and 5 for each answer."""
    try:
        index = binascii.a2b_base64(value[:_CONVERSATION_CHARACTERS], strict_mode=True)
    except ValueError:  # binascii.Error is one
        return ""
    return conversation_hex(index)


def conversation_hex(index: bytes) -> str:
    """Return the index itself in hexadecimal; "" if it is invalid or too long for a field."""
    right = len(index) >= 22 and len(index) % 5 == 2 and len(index) * 4 <= _CONVERSATION_CHARACTERS * 3
    return index.hex() if right else ""


@remembered
def first_message_id(value: bytes) -> str | None:
    """Return the first message id in a field as stored; None if there is none."""
    text = decode_text(unfolded(value))
    match = _ID.search(text)
    return text.strip() or None if match is None else match[1].strip()
