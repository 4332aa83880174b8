"""Telling the objects of S/MIME (RFC 5652) by the object identifier in their first bytes."""

from __future__ import annotations

SIGNED, ENCRYPTED, OTHER = "signed", "encrypted", "other"
_PKCS7 = bytes.fromhex("06092a864886f70d0107")  # 1.2.840.113549.1.7.…
_SMIME = bytes.fromhex("060b2a864886f70d01091001")  # 1.2.840.113549.1.9.16.1.…
_KINDS = {2: SIGNED, 3: ENCRYPTED, 4: ENCRYPTED, 6: ENCRYPTED}
_AUTHENTICATED_ENVELOPE = 23


def content_type(head: bytes) -> str | None:
    """What kind of object begins here; None when it is none."""
    if head[:1] != b"\x30" or len(head) < 24:
        return None
    length = head[1]
    at = 2 + (length & 0x7F if length > 0x80 else 0)
    if head.startswith(_PKCS7, at) and at + 10 < len(head):
        return _KINDS.get(head[at + 10], OTHER)
    if head.startswith(_SMIME, at) and at + 12 < len(head):
        return ENCRYPTED if head[at + 12] == _AUTHENTICATED_ENVELOPE else OTHER
    return None
