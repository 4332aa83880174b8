"""Header fields of a message or MIME part (RFC 5322, 2045 to 2047, 2231), read so that nothing in them can raise."""

from __future__ import annotations

import binascii
import functools
import hashlib
import re
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime
from email.utils import mktime_tz, parsedate_tz
from typing import ParamSpec, TypeVar
from urllib.parse import unquote_to_bytes

from worker.formats import charset

_FIELD = re.compile(rb"([!-9;-~]+)[ \t]*:([^\n]*+(?:\n[ \t][^\n]*+)*+)\n?")  # with the lines that continue it
_CONTINUED = re.compile(rb"[ \t][^\n]*\n?")
_FOLDED = re.compile(rb"\r*\n")
_FROM_LINE = re.compile(rb">?From ")
_WORD = re.compile(r"=\?([^?\s]{1,64})\?([bBqQ])\?([^?]*)\?=")
_PARAMETER = re.compile(r';\s*([^\s=;"]+)\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^;]*))')
_SEGMENT = re.compile(r"(.+?)(?:\*(\d{1,3}))?(\*)?")
_MEDIA_TYPE = re.compile(r"\s*([A-Za-z0-9!#$&.+^_-]{1,80}/[A-Za-z0-9!#$&.+^_-]{1,80})\s*(?=;|$|\s)")
_ADDRESS = re.compile(r"[^\s<>,;:\"'()\[\]@]{1,128}@[^\s<>,;:\"'()\[\]@]{1,255}")
_ID = re.compile(r"<([^<>]+)>")
_QUOTED_PAIR = re.compile(r"\\(.)")


P = ParamSpec("P")
T = TypeVar("T")
_SHORT = 300  # characters of a value that is worth remembering; what is remembered is bounded with it


def _remembered(function: Callable[P, T]) -> Callable[P, T]:
    """A pure function of strings whose results for the last short ones are kept: messages have many fields in common,
    and each is asked about its own twice."""
    known = functools.lru_cache(maxsize=256)(function)

    def ask(*args: P.args, **kwargs: P.kwargs) -> T:
        short = len(str(args[0])) <= _SHORT
        return known(*args, **kwargs) if short else function(*args, **kwargs)  # type: ignore[arg-type]

    return ask


class Fields:
    """The fields of one header, by lower-case name, values raw and unfolded."""

    __slots__ = ("_by_name", "_texts")

    def __init__(self) -> None:
        self._by_name: dict[bytes, list[bytes]] = {}
        self._texts: dict[bytes, str] = {}  # what was asked for: hashes and metadata want the same fields

    def add(self, name: bytes, value: bytes) -> None:
        """Append one field; names are given in lower case."""
        self._by_name.setdefault(name, []).append(value)

    def __len__(self) -> int:
        return len(self._by_name)

    def raw(self, name: bytes) -> bytes:
        """The first field of this name; b"" if there is none."""
        values = self._by_name.get(name)
        return values[0] if values else b""

    def text(self, name: bytes) -> str:
        """The fields of this name as readable text; several are joined by commas (only address fields repeat)."""
        known = self._texts.get(name)
        if known is None:
            values = self._by_name.get(name)
            known = self._texts[name] = ", ".join(map(decode_text, values)) if values else ""
        return known


def parse_fields(data: bytes, start: int, end: int) -> tuple[Fields, int]:
    """The header that starts at `start`, and where the body begins: after the first blank line, or at the first
    line that is no field. A From_ line in front is skipped."""
    fields = Fields()
    at = _skip_continued(data, start, end)
    match, add = _FIELD.match, fields.add
    field = match(data, at, end)
    if field is None and at == start and _FROM_LINE.match(data, at, end):
        at = _skip_continued(data, _next_line(data, at, end), end)
        field = match(data, at, end)
    while field is not None:
        name, value = field.groups()
        add(name.lower(), (_FOLDED.sub(b"", value) if b"\n" in value else value).strip())
        at = field.end()
        field = match(data, at, end)
    after = _next_line(data, at, end)
    return fields, after if not data[at:after].strip(b"\r\n") else at


def _skip_continued(data: bytes, at: int, end: int) -> int:
    """Past lines that continue a field that is not there."""
    while (line := _CONTINUED.match(data, at, end)) is not None:
        at = line.end()
    return at


def _next_line(data: bytes, at: int, end: int) -> int:
    return data.find(b"\n", at, end) + 1 or end


def raw_text(value: bytes) -> str:
    """A field's value as text, encoded words left as they are (structured fields are taken apart first)."""
    return value.decode("ascii") if value.isascii() else charset.decode(value)[0]


def decode_text(value: bytes) -> str:
    """A field's value with its encoded words (RFC 2047) and eight-bit characters as text."""
    return decode_words(raw_text(value))


def decode_words(text: str) -> str:
    """RFC 2047, and what real mailers make of it: words inside quotes and words split inside a character."""
    if "=?" not in text:
        return text
    out: list[str] = []
    last, pending, codec = 0, b"", ""
    for word in _WORD.finditer(text):
        between = text[last : word.start()]
        label = word[1].partition("*")[0].lower()
        data = _word_bytes(word[2], word[3])
        if pending and not between.strip() and label == codec:
            pending += data
        else:
            out.append(_decode(pending, codec))
            if between.strip() or not last:
                out.append(between)
            pending, codec = data, label
        last = word.end()
    out.append(_decode(pending, codec))
    out.append(text[last:])
    return "".join(out)


def _word_bytes(encoding: str, payload: str) -> bytes:
    data = payload.encode("ascii", "ignore")
    if encoding in "qQ":
        return binascii.a2b_qp(data, header=True)
    return from_base64(data)


def from_base64(data: bytes) -> bytes:
    """Base64 up to its padding; foreign characters are skipped, missing padding is put in, a lone last character
    (six bits) is dropped."""
    kept = data.translate(None, _NOT_BASE64).partition(b"=")[0]
    if len(kept) % 4 == 1:
        kept = kept[:-1]
    return binascii.a2b_base64(kept + b"=" * (-len(kept) % 4))


BASE64_ALPHABET = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
_NOT_BASE64 = bytes(c for c in range(256) if c not in BASE64_ALPHABET + b"=")


def _decode(data: bytes, label: str) -> str:
    if not data:
        return ""
    codec = charset.by_label(label)
    try:
        return data.decode(codec, "replace") if codec else charset.decode(data)[0]
    except (UnicodeError, LookupError, ValueError):  # codecs that ignore `replace`
        return data.decode("latin-1")


@_remembered
def media_type(value: str, default: str) -> str:
    """The type/subtype of a Content-Type in lower case; the default when it is missing or malformed."""
    found = _MEDIA_TYPE.match(value)
    return found[1].lower() if found else default


@_remembered
def parameters(value: str) -> Mapping[str, str]:
    """The parameters of a Content-Type or Content-Disposition by lower-case name, RFC 2231 pieces joined and decoded."""
    plain: dict[str, str] = {}
    pieces: dict[str, dict[int, tuple[bool, str]]] = {}
    for found in _PARAMETER.finditer(value):
        quoted, bare = found[2], found[3]
        content = _QUOTED_PAIR.sub(r"\1", quoted) if quoted is not None else bare.strip().strip('"')
        segment = _SEGMENT.fullmatch(found[1].lower())
        if segment is None or not (segment[2] or segment[3]):
            plain.setdefault(found[1].lower(), content)
        else:
            pieces.setdefault(segment[1], {}).setdefault(int(segment[2] or 0), (bool(segment[3]), content))
    for name, parts in pieces.items():
        plain[name] = _join_pieces(parts)
    return plain


def _join_pieces(parts: dict[int, tuple[bool, str]]) -> str:
    """RFC 2231: pieces in order, percent-decoded where marked; the first one may begin with charset'language'."""
    out = b""
    label = ""
    for number in sorted(parts):
        encoded, content = parts[number]
        if encoded:
            if number == min(parts) and content.count("'") >= 2:
                label, _, content = content.split("'", 2)
            out += unquote_to_bytes(content)
        else:
            out += content.encode("utf-8", "replace")
    return _decode(out, label)


def file_name(disposition: Mapping[str, str], content_type: Mapping[str, str]) -> str:
    """The file name that a part declares; "" if none."""
    return decode_words(disposition.get("filename") or content_type.get("name") or "").strip()


def utc_time(value: str) -> int | None:
    """A Date field in seconds UTC since the epoch; None when it cannot be read."""
    try:
        parsed = parsedate_tz(value)
        return None if parsed is None else int(mktime_tz(parsed))
    except (ValueError, OverflowError, IndexError, TypeError):  # what parsedate_tz makes of nonsense
        return None


@_remembered
def utc_date(value: str) -> str:
    """A Date field as ISO 8601 in UTC to the second; "" when it cannot be read."""
    when = utc_time(value)
    try:
        return "" if when is None else datetime.fromtimestamp(when, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    except (ValueError, OverflowError, OSError):  # years beyond 9999
        return ""


def addresses(value: str) -> list[str]:
    """The mail addresses in a field, lower case, sorted; the folded text itself where there is none."""
    found = {address.lower() for address in _ADDRESS.findall(value)}
    if found:
        return sorted(found)
    folded = " ".join(value.lower().split())
    return [folded] if folded else []


def message_ids(value: str) -> list[str]:
    """The message ids in a field, without angle brackets; the whole value where it has none."""
    found = [part.strip() for part in _ID.findall(value)]
    if found:
        return found
    bare = value.strip()
    return [bare] if bare else []


def message_id_hash(fields: Fields) -> bytes | None:
    """EDRM MIH: MD5 of the Message-ID without its angle brackets; None when there is no Message-ID."""
    ids = message_ids(decode_text(fields.raw(b"message-id")))
    if not ids:
        return None
    return hashlib.md5(ids[0].encode("utf-8", "replace"), usedforsecurity=False).digest()


def header_metadata(fields: Fields) -> Iterator[tuple[str, str]]:
    """The metadata keys of a message that are plain text."""
    for key in ("subject", "from", "to", "cc", "bcc"):
        yield key, fields.text(key.encode())
    yield "date", utc_date(decode_text(fields.raw(b"date")))
    for key, name in (("message_id", b"message-id"), ("in_reply_to", b"in-reply-to")):
        ids = message_ids(decode_text(fields.raw(name)))
        yield key, ids[0] if ids else ""
