"""Base64 in mail (RFC 2045, 6.8): decoding as far as possible, and a report of the damage."""

from __future__ import annotations

import binascii
import re

BASE64_ALPHABET = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
_NOT_BASE64 = bytes(c for c in range(256) if c not in BASE64_ALPHABET + b"=")
_SPACE = b"\r\n \t"
_BASE64_LINE = re.compile(rb"^[A-Za-z0-9+/]{40,}={0,2}\r?$", re.MULTILINE)
_WORDS = re.compile(rb"[^A-Za-z0-9+/=\s]|\S[ \t]+\S")  # what no line of base64 has
_PADDED_BLOCKS = re.compile(rb"(?:(?:[^=]{4}|(?!))*+(?:[^=]{2}==|[^=]{3}=)|(?!))*+(?:[^=]{4}|(?!))*+(?:[^=]{2,3}=*)?")
_PADDED_WITHIN = re.compile(rb"^(?=.{76}\r?$)[A-Za-z0-9+/]+=+[A-Za-z0-9+/]", re.MULTILINE)


def from_base64(data: bytes) -> bytes:
    """Decode base64 up to its padding; foreign characters are skipped, missing padding is added, a lone last character
    (six bits) is dropped."""
    kept = data.translate(None, _NOT_BASE64).partition(b"=")[0]
    if len(kept) % 4 == 1:
        kept = kept[:-1]
    return binascii.a2b_base64(kept + b"=" * (-len(kept) % 4))


def sound_base64(raw: bytes) -> bytes | None:
    """Decode base64 that follows RFC 2045; return None for any other, which `decode_base64` reads as far as it can."""
    packed = raw.translate(None, _SPACE)
    if len(packed) % 4 or packed.endswith(b"==="):
        return None
    try:
        return binascii.a2b_base64(packed, strict_mode=True)
    except binascii.Error:
        return None


def decode_base64(raw: bytes) -> bytes:
    """Decode base64 with anything in between: foreign characters are skipped, missing padding is tolerated. Bytes after
    the padding are decoded too if they are only base64 (encoders that pad each block), else dropped (footers of mailing
    lists)."""
    at = raw.find(b"=")
    if at < 0 or not raw[at:].strip(b"=\r\n \t"):
        try:
            return binascii.a2b_base64(raw)  # skips junk by itself, twice as fast
        except binascii.Error:
            pass  # padding is missing
    head, _, rest = raw.partition(b"=")
    rest = rest.translate(None, _SPACE)
    if rest.translate(None, BASE64_ALPHABET + b"="):
        return from_base64(head)
    return b"".join(from_base64(block) for block in (head, *rest.split(b"=")) if block)


def footer_after(data: bytes, start: int, end: int) -> int:
    """Return the position of the text after padded base64 in this range; the end of the range if there is none."""
    padding = data.find(b"=", start, end)
    line = data.find(b"\n", padding, end) + 1 if padding >= 0 else 0
    if not line or not _WORDS.search(data, line, end) or _BASE64_LINE.search(data[line:end]):
        return end
    return end if base64_damage(data[start:line]) else line


def base64_damage(raw: bytes) -> str | None:
    """Return the damage by which the decoded bytes are not what was encoded; None if there is none.

    Missing padding loses nothing. Bytes after the padding are usually a mailing list's, but no list puts whole lines of
    base64 there, nor anything into the line that was padded."""
    head, pad, rest = raw.partition(b"=")
    foreign = head.translate(None, BASE64_ALPHABET + _SPACE)
    if foreign:
        return f"{len(foreign)} characters in it are not base64"
    digits = len(head.translate(None, _SPACE))
    if digits % 4 == 1:
        return "its base64 ends in the middle of a byte"
    if pad and digits % 4 == 0:
        return "its base64 has padding where none is allowed"
    return _late_damage(raw, rest.lstrip(b"=")) if rest.strip(b"=" + _SPACE) else None


def _late_damage(raw: bytes, rest: bytes) -> str | None:
    """Return the damage in bytes after the first padding. Blocks that are padded each are sound (some encoders write
    them), but not in the middle of a line of the usual length."""
    packed = raw.translate(None, _SPACE)
    if not packed.translate(None, BASE64_ALPHABET + b"="):
        if _PADDED_BLOCKS.fullmatch(packed) is None or _PADDED_WITHIN.search(raw):
            return "its base64 has padding where none is allowed"
        return None
    if not rest.startswith((b"\r", b"\n", b" ", b"\t")) or _BASE64_LINE.search(rest):
        return "its base64 continues after the padding"
    return None
