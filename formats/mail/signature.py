"""Signatures that lie beside what they sign, in a multipart/signed (RFC 1847; RFC 8551, 3.5.3)."""

from __future__ import annotations

from formats.mail.parts import MailPart, part_ranges
from formats.mail.smime.signature import NOT_CHECKED, signature_metadata

_SMIME = ("application/pkcs7-signature", "application/x-pkcs7-signature")


def detached_signature(part: MailPart) -> dict[str, object]:
    """What there is to say of the signature of a multipart/signed; one of another kind (PGP) is not checked."""
    ranges = part_ranges(part)
    if len(part.children) != 2 or len(ranges) != 2 or part.children[1].media_type not in _SMIME:
        return {"signed": True, "signature": NOT_CHECKED}
    start, end = ranges[0]
    content = part.data[start:end].replace(b"\r\n", b"\n").replace(b"\n", b"\r\n")  # as it was signed (RFC 8551, 3.1.1)
    return signature_metadata(part.children[1].content(), content)
