"""Identification of S/MIME objects (RFC 5652) by the object identifier in their first bytes, in binary or in base64."""

from __future__ import annotations

import re

from readers.mail.base64 import decode_base64

DATA, SIGNED, DIGESTED, COMPRESSED, ENCRYPTED, OTHER = "data", "signed", "digested", "compressed", "encrypted", "other"
_PKCS7 = bytes.fromhex("06092a864886f70d0107")  # 1.2.840.113549.1.7.…
_SMIME = bytes.fromhex("060b2a864886f70d01091001")  # 1.2.840.113549.1.9.16.1.…
_KINDS = {1: DATA, 2: SIGNED, 3: ENCRYPTED, 4: ENCRYPTED, 5: DIGESTED, 6: ENCRYPTED}
_SMIME_KINDS = {9: COMPRESSED, 23: ENCRYPTED}  # RFC 3274, RFC 5083
_ARMOUR = re.compile(rb"\s*-----BEGIN (?:PKCS[ #]*7[A-Z ]*|CMS)-----\s*")
_LETTERS = re.compile(rb"\s*M[A-P][A-Za-z0-9+/=\s]{30}")


def content_type(head: bytes) -> str | None:
    """Return the kind of the object that begins here; None if it is none."""
    if head[:1] != b"\x30" or len(head) < 24:
        return None
    length = head[1]
    at = 2 + (length & 0x7F if length > 0x80 else 0)
    if head.startswith(_PKCS7, at) and at + 10 < len(head):
        return _KINDS.get(head[at + 10], OTHER)
    if head.startswith(_SMIME, at) and at + 12 < len(head):
        return _SMIME_KINDS.get(head[at + 12], OTHER)
    return None


def in_binary(data: bytes) -> bytes:
    """Return the object of a file that may have it in base64, as PEM (RFC 7468) or as a mail program left it."""
    if data[:1] == b"\x30":
        return data
    armour = _ARMOUR.match(data)
    letters = data[armour.end() if armour else 0 :].partition(b"-----END")[0]
    return decode_base64(letters) if armour or _LETTERS.match(letters) else data


def is_in_base64(head: bytes, *, named: bool) -> bool:
    """Return whether an object in base64 begins so; without PEM's first line it has to be `named` so."""
    likely = _ARMOUR.match(head) is not None or (named and _LETTERS.match(head) is not None)
    return likely and content_type(in_binary(head[:200])) is not None
