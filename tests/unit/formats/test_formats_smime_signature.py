"""formats.mail.smime.signature: signatures made by `cryptography`, and what is said where content or signature differ."""

from __future__ import annotations

import datetime
import functools

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, padding, rsa
from cryptography.hazmat.primitives.serialization import pkcs7

from core.records import Limits
from formats.base import MemorySource
from formats.mail.eml import EmlHandler
from formats.mail.smime.handler import SmimeHandler
from formats.mail.smime.signature import signature_metadata

CONTENT = b"Content-Type: text/plain\r\n\r\nsigned words\r\n"
Key = rsa.RSAPrivateKey | ec.EllipticCurvePrivateKey


@functools.cache
def signer(kind: str) -> tuple[x509.Certificate, Key]:
    """A certificate of ann@example.org, signed by itself."""
    key: Key = ec.generate_private_key(ec.SECP256R1()) if kind == "ec" else rsa.generate_private_key(65537, 2048)
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "Ann")])
    since = datetime.datetime(2024, 1, 1, tzinfo=datetime.UTC)
    builder = x509.CertificateBuilder(name, name, key.public_key(), 77, since, since + datetime.timedelta(days=9))
    builder = builder.add_extension(x509.SubjectAlternativeName([x509.RFC822Name("ann@example.org")]), critical=False)
    return builder.sign(key, hashes.SHA256()), key


def signed(kind: str, *options: pkcs7.PKCS7Options, smime: bool = False) -> bytes:
    certificate, key = signer(kind)
    scheme = padding.PSS(padding.MGF1(hashes.SHA256()), 32) if kind == "pss" else None
    builder = pkcs7.PKCS7SignatureBuilder().set_data(CONTENT)
    builder = builder.add_signer(certificate, key, hashes.SHA256(), rsa_padding=scheme)
    encoding = serialization.Encoding.SMIME if smime else serialization.Encoding.DER
    return builder.sign(encoding, [pkcs7.PKCS7Options.Binary, *options])


@pytest.mark.parametrize("kind", ["rsa", "pss", "ec"])
@pytest.mark.parametrize("options", [(), (pkcs7.PKCS7Options.NoAttributes,)], ids=["attributes", "bare"])
def test_a_signature_is_held_against_the_content(kind: str, options: tuple[pkcs7.PKCS7Options, ...]) -> None:
    """Valid as it came, invalid with another content or another signature."""
    data = signed(kind, *options)
    said = {"signed": True, "signer": "ann@example.org", "signature": "valid"}
    assert signature_metadata(data, CONTENT) == said
    assert SmimeHandler().text(MemorySource(b"smime.p7m", data), Limits()).metadata == said
    assert signature_metadata(data, CONTENT + b"!")["signature"] == "invalid"
    broken = data[:-5] + bytes(byte ^ 1 for byte in data[-5:])
    assert signature_metadata(broken, CONTENT)["signature"] == "invalid"


def test_what_cannot_be_checked_says_so() -> None:
    """Without content, without certificate, and of a damaged object."""
    assert signature_metadata(signed("rsa"), None)["signature"] == "not checked"
    bare = signature_metadata(signed("rsa", pkcs7.PKCS7Options.NoCerts), CONTENT)
    assert bare == {"signed": True, "signature": "not checked"}
    for length in range(0, 600, 7):
        assert signature_metadata(signed("rsa")[:length], CONTENT)["signature"] == "not checked"


def test_a_certificate_of_no_version_is_left_out() -> None:
    """What a damaged byte makes of it is no reason to lose the message (x509.InvalidVersion is no ValueError)."""
    data = signed("rsa")
    version = b"\xa0\x03\x02\x01\x02"  # [0] version 3 of the certificate
    assert data.count(version) == 1
    spoiled = data.replace(version, version[:-1] + b"\x42")
    assert signature_metadata(spoiled, CONTENT) == {"signed": True, "signature": "not checked"}


@pytest.mark.parametrize("newline", [b"\n", b"\r\n"])
def test_a_signature_beside_the_message(newline: bytes) -> None:
    """multipart/signed, with the line ends of the wire or of a disk; a changed word is seen."""
    data = b"From: a@b.example\r\n" + signed("rsa", pkcs7.PKCS7Options.DetachedSignature, smime=True)
    data = data.replace(b"\r\n", b"\n").replace(b"\n", newline)
    for words, verdict in ((b"signed words", "valid"), (b"forged words", "invalid")):
        changed = data.replace(b"signed words", words)
        found = EmlHandler().text(MemorySource(b"a.eml", changed), Limits())
        assert words.decode() in found.text
        assert found.metadata["signed"] is True
        assert (found.metadata["signer"], found.metadata["signature"]) == ("ann@example.org", verdict)


def test_pgp_is_signed_and_not_checked() -> None:
    """Its keys are elsewhere."""
    data = (
        b"From: a@b.example\nContent-Type: multipart/signed; boundary=B\n\n--B\n\nwords\n--B\n"
        b"Content-Type: application/pgp-signature\n\n-----BEGIN PGP SIGNATURE-----\n--B--\n"
    )
    found = EmlHandler().text(MemorySource(b"a.eml", data), Limits()).metadata
    assert (found["signed"], found["signature"]) == (True, "not checked")
    assert "signed" not in EmlHandler().text(MemorySource(b"a.eml", b"From: a@b.example\n\nwords\n"), Limits()).metadata
