"""Transfer encodings (RFC 2045, 6): the meaning of a label, however it is spelled, and the decoded bytes."""

from __future__ import annotations

import binascii
import re

from readers.last import remembered
from readers.mail.base64 import base64_damage, decode_base64, sound_base64
from readers.mail.header_lines import without_comments
from readers.mail.inline import BINHEX, UUENCODE, YENC, decode_binhex, decode_uu, decode_yenc

BASE64, QUOTED_PRINTABLE, NONE = b"base64", b"quoted-printable", b""
_LABELS = {BASE64: BASE64, QUOTED_PRINTABLE: QUOTED_PRINTABLE, b"7bit": NONE, b"8bit": NONE, b"binary": NONE, b"": NONE}
_NOT_IN_NAME = re.compile(r"[^a-z0-9]+")
# Names without punctuation, as programs misspell them.
_SPELLINGS = (
    (BASE64, re.compile(r"(?:x|mime|encoding)*(?:base64|b64|bas64|base)(?:encod.*)?")),
    (
        QUOTED_PRINTABLE,
        re.compile(r"(?:x|mime|encoding)*(?:quoted?print(?:able|ed|ible)|quotedprintible|qp|quoted)(?:encod.*)?"),
    ),
    (UUENCODE, re.compile(r"x?(?:unix)?uu(?:e|encoded?|encoding)?")),
    (YENC, re.compile(r"x?yenc(?:oded?)?")),
    (BINHEX, re.compile(r"x?(?:mac)?(?:binhex|hqx)(?:40?)?")),
    (NONE, re.compile(r"x?(?:[78]bits?|bit[78]|binary|none|identity|raw)(?:mime)?")),
)
_BASE64_LINE = re.compile(rb"\s*[A-Za-z0-9+/]{28,76}={0,2}[ \t]*(?:\r?\n|\Z)")  # the first line of a body
_QUOTED = re.compile(rb"=3D|=[CD][0-9A-F]=[89AB][0-9A-F]|=E[0-9A-F](?:=[89AB][0-9A-F]){2}")
_NOT_QUOTED = re.compile(rb"[^\n]{300}|=(?![0-9A-F]{2}|[ \t]*\r?(?:\n|\Z))|[\x80-\xff]")
_FEWEST = 20  # bytes
_NO_CONTROLS = bytes(c for c in range(256) if c >= 32 or c in b"\t\n\f\r\x1b")
_EQUALS_SIGN = b"="[0]
_SOFT_BREAK = re.compile(rb"=\r?\n")
_BLANK_BEHIND = re.compile(rb"=[ \t]")
_PADDED_BREAK = re.compile(rb"=[ \t]+(?:\r*(?=\r?\n)|\Z)")


def encoding_of(field: bytes) -> bytes:
    """Return the encoding that a Content-Transfer-Encoding field declares: one of the names here; else the label as
    written."""
    known = _LABELS.get(field.lower())
    return _spelled(field.lower()) if known is None else known


@remembered
def _spelled(label: bytes) -> bytes:
    text = without_comments(label.decode("latin-1")).partition(";")[0]
    name = _NOT_IN_NAME.sub("", text)
    return next((encoding for encoding, spelling in _SPELLINGS if spelling.fullmatch(name)), label if name else NONE)


def decoded(encoding: bytes, raw: bytes) -> tuple[bytes, str | None]:
    """Decode the bytes as far as possible; return also the damage, None if there is none, as far as the encoding shows
    it. Bytes in an unknown encoding are returned unchanged, and that is reported."""
    if encoding == NONE:
        return raw, None
    if encoding == BASE64:
        sound = sound_base64(raw)
        return (sound, None) if sound is not None else (decode_base64(raw), base64_damage(raw))
    if encoding == QUOTED_PRINTABLE:
        return from_quoted_printable(raw), None
    if (decode := _DECODERS.get(encoding)) is not None:
        return decode(raw)
    return raw, f"unknown transfer encoding: {encoding[:40].decode('latin-1')}" if raw.strip() else None


def from_quoted_printable(raw: bytes) -> bytes:
    """Decode quoted-printable (RFC 2045, 6.7); remove blanks added in transit to soft line breaks."""
    raw = raw.removesuffix(b"=")  # a soft break, whose line end belongs to a delimiter
    decoded = binascii.a2b_qp(raw)
    # Such a break is left as it is; few texts have an equals sign.
    if _EQUALS_SIGN in decoded and _BLANK_BEHIND.search(decoded):
        decoded = binascii.a2b_qp(_PADDED_BREAK.sub(b"=", raw).removesuffix(b"="))
    return decoded


def unlabelled(data: bytes, start: int, end: int) -> bytes:
    """Return the encoding that all lines of a body show and no field declares: lines of base64 that decode to a text,
    or soft breaks and an escaped equals sign or letters of UTF-8. NONE if that is not certain."""
    if _BASE64_LINE.match(data, start, end) is not None:
        raw = data[start:end]
        decoded = sound_base64(raw)
        if decoded is None and base64_damage(raw) is None:
            decoded = decode_base64(raw)  # in blocks that are padded each
        if decoded is not None and len(decoded) >= _FEWEST and _is_text(decoded):
            return BASE64
    elif (
        _SOFT_BREAK.search(data, start, end)
        and _QUOTED.search(data, start, end)
        and not _NOT_QUOTED.search(data, start, end)
    ):
        return QUOTED_PRINTABLE
    return NONE


def _is_text(data: bytes) -> bool:
    try:
        return not data.translate(None, _NO_CONTROLS) and bool(data.decode("utf-8"))
    except UnicodeDecodeError:
        return False


_DECODERS = {UUENCODE: decode_uu, YENC: decode_yenc, BINHEX: decode_binhex}
