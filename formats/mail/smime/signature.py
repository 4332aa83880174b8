"""Whether an S/MIME signature (RFC 5652, 5.4) fits what it signs and the certificate that comes with it.

That is integrity only: whom the certificate belongs to, who issued it and whether it was revoked is not looked at.
"""

from __future__ import annotations

import hashlib
import itertools
from collections.abc import Iterator
from dataclasses import dataclass

from cryptography import x509
from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, padding, rsa

from core.errors import DocumentError
from formats.clean import value
from formats.mail.smime.ber import (
    EXPLICIT,
    OCTETS,
    SEQUENCE,
    SET,
    Element,
    corrupt,
    element,
    encoded,
    enter,
    inside,
    octets,
)

VALID, INVALID, NOT_CHECKED = "valid", "invalid", "not checked"
KEYS = ("signed", "signer", "signature")
_UNREADABLE = (
    ValueError,
    UnsupportedAlgorithm,
    x509.InvalidVersion,
    x509.DuplicateExtension,
    x509.UnsupportedGeneralNameType,
)  # what a damaged certificate raises
_MAX_SIGNERS = 16
_MAX_CERTIFICATES = 100
_DIGESTS: dict[bytes, tuple[str, hashes.HashAlgorithm]] = {
    bytes.fromhex("2a864886f70d0205"): ("md5", hashes.MD5()),
    bytes.fromhex("2b0e03021a"): ("sha1", hashes.SHA1()),
    bytes.fromhex("608648016503040201"): ("sha256", hashes.SHA256()),
    bytes.fromhex("608648016503040202"): ("sha384", hashes.SHA384()),
    bytes.fromhex("608648016503040203"): ("sha512", hashes.SHA512()),
}
_MESSAGE_DIGEST = bytes.fromhex("2a864886f70d010904")  # 1.2.840.113549.1.9.4
_PSS = bytes.fromhex("2a864886f70d01010a")


@dataclass(frozen=True, slots=True)
class _Signer:
    """One SignerInfo (5.3), its parts as they stand in the object."""

    issuer: bytes  # b"" where the signer is named by a key's identifier
    serial: int
    key_id: bytes
    digest: bytes
    attributes: dict[bytes, bytes] | None  # None: the content itself is signed
    signed_bytes: bytes  # the attributes as they are signed: as a SET, whatever tag they have here
    algorithm: bytes
    signature: bytes


def signature_metadata(data: bytes, content: bytes | None) -> dict[str, object]:
    """`signed`, `signer` (addresses or subject of the certificate) and `signature`: valid, invalid, or not checked
    where `content` is None, the certificate is missing or the algorithm is not known. Never raises."""
    out: dict[str, object] = {"signed": True, "signature": NOT_CHECKED}
    try:
        certificates, signers = _read(data)
    except DocumentError:
        return out
    verdicts = []
    for signer in signers:
        certificate = next((c for c in certificates if _is_of(c, signer)), None)
        if certificate is not None:
            out.setdefault("signer", _name(certificate))
        verdicts.append(_verdict(signer, certificate, content))
    if verdicts and content is not None:
        out["signature"] = next((v for v in (INVALID, NOT_CHECKED) if v in verdicts), VALID)
    return out


def _read(data: bytes) -> tuple[list[x509.Certificate], list[_Signer]]:
    """The certificates and signers of a SignedData object (5.1). DocumentError where it is damaged."""
    signed_data = enter(data, enter(data, element(data, 0, len(data)), EXPLICIT, 1), SEQUENCE)
    fields = list(inside(data, signed_data))
    if len(fields) < 4:
        raise corrupt()
    certificates = [c for field in fields[3:] if field.tag == EXPLICIT for c in _certificates(data, field)]
    infos = itertools.islice(inside(data, fields[-1]), _MAX_SIGNERS)
    return certificates, [_signer(data, info) for info in infos]


def _certificates(data: bytes, field: Element) -> Iterator[x509.Certificate]:
    """Those that can be read."""
    for found in itertools.islice(inside(data, field), _MAX_CERTIFICATES):
        try:
            certificate = x509.load_der_x509_certificate(encoded(data, found))
        except _UNREADABLE:
            continue
        yield certificate


def _is_whole(certificate: x509.Certificate) -> bool:
    """Whether the parts can be read that are asked for."""
    try:
        _ = certificate.issuer, certificate.subject, certificate.extensions
    except _UNREADABLE:
        return False
    return True


def _signer(data: bytes, info: Element) -> _Signer:
    """Version, who, digest algorithm, [0] attributes, signature algorithm, signature."""
    fields = list(inside(data, info))
    attributes = next((f for f in fields[3:4] if f.tag == EXPLICIT), None)
    behind = fields[4 if attributes else 3 :]
    if len(fields) < 5 or len(behind) < 2:
        raise corrupt()
    issuer, serial, key_id = b"", 0, b""
    if fields[1].tag == SEQUENCE:
        name, number, *_ = [*inside(data, fields[1]), None, None]
        if name is None or number is None:
            raise corrupt()
        issuer = encoded(data, name)
        serial = int.from_bytes(data[number.start : number.end], "big", signed=True)
    else:
        key_id = data[fields[1].start : fields[1].end]
    return _Signer(
        issuer=issuer,
        serial=serial,
        key_id=key_id,
        digest=_first(data, fields[2]),
        attributes=_attributes(data, attributes) if attributes else None,
        signed_bytes=b"1" + encoded(data, attributes)[1:] if attributes else b"",
        algorithm=_first(data, behind[0]),
        signature=octets(data, behind[1]),
    )


def _first(data: bytes, algorithm: Element) -> bytes:
    """The object identifier of an AlgorithmIdentifier or Attribute."""
    found = next(inside(data, algorithm), None)
    if found is None:
        raise corrupt()
    return data[found.start : found.end]


def _attributes(data: bytes, field: Element) -> dict[bytes, bytes]:
    """Signed attributes (5.3) whose value is an octet string, by object identifier."""
    out: dict[bytes, bytes] = {}
    for attribute in inside(data, field):
        values = enter(data, attribute, SET, 1)
        value = next(inside(data, values), None)
        if value is not None and value.tag == OCTETS:
            out[_first(data, attribute)] = data[value.start : value.end]
    return out


def _is_of(certificate: x509.Certificate, signer: _Signer) -> bool:
    if signer.issuer and certificate.serial_number != signer.serial:
        return False  # the others of its chain; looking at their parts takes longest of all
    if not _is_whole(certificate):
        return False
    if signer.issuer:
        return certificate.issuer.public_bytes() == signer.issuer
    try:
        found = certificate.extensions.get_extension_for_class(x509.SubjectKeyIdentifier)
    except x509.ExtensionNotFound:
        return False
    return found.value.digest == signer.key_id


def _name(certificate: x509.Certificate) -> str:
    """The mail addresses it is for, else its subject."""
    try:
        names = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
        addresses = names.get_values_for_type(x509.RFC822Name)
    except x509.ExtensionNotFound:
        addresses = []
    if not addresses:
        addresses = [str(a.value) for a in certificate.subject.get_attributes_for_oid(x509.NameOID.EMAIL_ADDRESS)]
    return value(", ".join(addresses) or certificate.subject.rfc4514_string())


def _verdict(signer: _Signer, certificate: x509.Certificate | None, content: bytes | None) -> str:
    algorithm = _DIGESTS.get(signer.digest)
    if content is None or algorithm is None:
        return NOT_CHECKED
    name, digest = algorithm
    signed = content
    if signer.attributes is not None:
        if signer.attributes.get(_MESSAGE_DIGEST) != hashlib.new(name, content, usedforsecurity=False).digest():
            return INVALID
        signed = signer.signed_bytes
    if certificate is None:
        return NOT_CHECKED
    try:
        return _verified(certificate.public_key(), signer, signed, digest)
    except InvalidSignature:
        return INVALID
    except (UnsupportedAlgorithm, ValueError):
        return NOT_CHECKED


def _verified(key: object, signer: _Signer, signed: bytes, digest: hashes.HashAlgorithm) -> str:
    """Raises InvalidSignature."""
    if isinstance(key, rsa.RSAPublicKey):
        scheme: padding.AsymmetricPadding = padding.PKCS1v15()
        if signer.algorithm == _PSS:
            scheme = padding.PSS(mgf=padding.MGF1(digest), salt_length=padding.PSS.AUTO)
        key.verify(signer.signature, signed, scheme, digest)
    elif isinstance(key, ec.EllipticCurvePublicKey):
        key.verify(signer.signature, signed, ec.ECDSA(digest))
    elif isinstance(key, ed25519.Ed25519PublicKey):
        key.verify(signer.signature, signed)
    else:
        return NOT_CHECKED
    return VALID
